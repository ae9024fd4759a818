"""The retriever as an experiment in LangSmith, over the published golden dataset.

    python scripts/publish_golden_dataset.py
    python integrations/langsmith_online_evals.py
    python integrations/langsmith_online_evals.py --name mine --own-home

Needs LANGSMITH_API_KEY. The averages are those of scripts/evaluate_retrieval.py over the same
rows: the same judgments, graded by the same code.
"""

import importlib.util
import logging
import sys
from contextlib import closing
from statistics import fmean
from typing import TYPE_CHECKING

# boost_langchain imports langchain-core, which does not import without langsmith either.
if importlib.util.find_spec("langsmith") is None:
    sys.exit("langsmith is not installed: pip install --upgrade 'boost-langchain[langsmith]'")

from boost_langchain import BoostRetriever
from boost_langchain.errors import BoostLangChainError, LangSmithServiceError
from boost_langchain.evaluation import (
    langsmith_errors,
    open_client,
    open_grader,
    retrieval_evaluator,
    retrieval_target,
)

from _setup import catalog, parser

if TYPE_CHECKING:
    from langsmith import Client
    from langsmith.evaluation import ExperimentResults

K = 10


def run(client: "Client", dataset: str) -> "ExperimentResults":
    """Run the experiment: what an application would write, with a retriever of its own."""
    return client.evaluate(
        retrieval_target(BoostRetriever(k=K, on_error="raise")),
        data=dataset,
        evaluators=[retrieval_evaluator(open_grader(), k=K)],
        experiment_prefix="boost",
        max_concurrency=4,
    )


def averages(results: "ExperimentResults") -> dict[str, tuple[float, int]]:
    """The mean of each metric, and over how many rows.

    Raises:
        LangSmithServiceError: The target or an evaluator failed on a row.
    """
    scores: dict[str, list[float]] = {}
    for row in results:
        failed = row["run"].error or next(
            (each.comment for each in row["evaluation_results"]["results"] if each.score is None),
            None,
        )
        if failed:
            msg = f"a row failed, and averages without it would flatter: {failed.splitlines()[-1]}"
            raise LangSmithServiceError(msg)
        for each in row["evaluation_results"]["results"]:
            scores.setdefault(each.key, []).append(float(each.score or 0))
    return {key: (fmean(values), len(values)) for key, values in scores.items()}


def main() -> int:
    """Run one experiment and print its averages."""
    command = parser(__doc__)
    command.add_argument("--name", default="boost-golden-retrieval", help="the published dataset")
    options = command.parse_args()
    # What goes wrong is said in one line, at the end.
    logging.getLogger("langsmith").setLevel(logging.CRITICAL)
    try:
        client = open_client()
        with closing(client), catalog(options), langsmith_errors(client.api_url):
            if not client.has_dataset(dataset_name=options.name):
                msg = (
                    f"no dataset {options.name!r}: run scripts/publish_golden_dataset.py "
                    f"--name {options.name} first"
                )
                raise LangSmithServiceError(msg)
            found = averages(run(client, options.name))
    except (BoostLangChainError, FileNotFoundError) as e:  # the latter: git, say
        print(e, file=sys.stderr)
        return 1
    if not found:
        print(f"no row of {options.name!r} pins an item of this catalog", file=sys.stderr)
        return 1
    for key, (value, rows) in found.items():
        print(f"{key:>10} {value:.3f} over {rows} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
