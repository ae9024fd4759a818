"""A retriever over a golden file: one rank per judgment, and what follows from the ranks."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.retrievers import BaseRetriever

from boost_langchain._entry import KINDS
from boost_langchain.errors import EvaluationFileError
from boost_langchain.evaluation._golden import Judgment
from boost_langchain.evaluation._grading import GradedBy, Grader
from boost_langchain.evaluation._metrics import METRICS, Scores, label, mean, score

ALL = "all"
"""The slice of every judgment."""
MIXED = "mixed"
"""The slice of the judgments that more than one kind answers."""


@dataclass(frozen=True)
class Graded:
    """One judgment's result."""

    golden_id: str
    query: str
    kind: str | None
    rank: int | None
    """Where the first right answer stands, from 1; None: not among the first k."""


@dataclass(frozen=True)
class Slice:
    """The means over some of the judgments."""

    judgments: int
    scores: Scores

    def figure(self, name: str) -> float:
        """A metric by its name ("recall", "hit", "mrr", "ndcg"), or "judgments"."""
        return self.judgments if name == "judgments" else self.scores.as_dict()[name]


@dataclass(frozen=True)
class Evaluation:
    """What a retriever scored over a golden file."""

    k: int
    graded_by: GradedBy
    engines: tuple[str, ...]
    """The labels of the rungs that answered."""
    ungraded: int
    """Judgments left out, because no item that they pin is in the catalog."""
    rows: tuple[Graded, ...]

    def labels(self) -> dict[str, str]:
        """How people write each metric, by its name: recall@10, hit@1, MRR, nDCG@10."""
        return {metric: label(metric, self.k) for metric in METRICS}

    def slices(self) -> dict[str, Slice]:
        """The means: overall under "all", then per kind; only slices that hold a judgment."""
        parts = {ALL: list(self.rows)}
        for name in (*KINDS, None):
            parts[name or MIXED] = [row for row in self.rows if row.kind == name]
        return {
            name: Slice(len(rows), mean(score(row.rank, self.k) for row in rows))
            for name, rows in parts.items()
            if rows
        }

    def as_json(self) -> dict[str, Any]:
        """The evaluation as JSON values: settings, the means per slice, each judgment's rank."""
        return {
            "k": self.k,
            "graded_by": self.graded_by,
            "engines": list(self.engines),
            "ungraded": self.ungraded,
            "slices": {
                name: {"judgments": part.judgments, **part.scores.as_dict()}
                for name, part in self.slices().items()
            },
            "rows": [asdict(row) for row in self.rows],
        }


def evaluate(
    retriever: BaseRetriever, judgments: Iterable[Judgment], grader: Grader, *, k: int = 10
) -> Evaluation:
    """Ask a retriever every judgment that the grader can grade.

    Args:
        retriever: What is measured. It must return at least k documents where it has them,
            with the catalog's ids: `BoostRetriever(k=10, on_error="raise")`, say.
        judgments: From `read_golden`.
        grader: From `open_grader`, over the catalog that the retriever searches.
        k: How many places count.

    Raises:
        ValueError: None of the judgments can be graded.

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain import BoostRetriever
        from boost_langchain.evaluation import evaluate, open_grader, read_golden

        found = evaluate(
            BoostRetriever(k=10, on_error="raise"),
            read_golden("tests/eval/golden.jsonl"),
            open_grader(),
        )
        print(found.slices()["all"].judgments)
        #> 138
        ```
    """
    rows: list[Graded] = []
    engines: dict[str, None] = {}
    ungraded = 0
    for judgment in judgments:
        if not grader.can_grade(judgment):
            ungraded += 1
            continue
        documents = retriever.invoke(judgment.query)[:k]
        engines |= dict.fromkeys(str(found.metadata.get("engine", "")) for found in documents)
        rank = grader.rank(judgment, [found.id or "" for found in documents])
        rows.append(Graded(judgment.golden_id, judgment.query, judgment.kind, rank))
    if not rows:
        msg = f"none of the {ungraded} judgments pins an item of this catalog; tap what they pin"
        raise ValueError(msg)
    return Evaluation(k, grader.by, tuple(engines), ungraded, tuple(rows))


def read_evaluation(path: str | Path) -> Evaluation:
    """Read back what `Evaluation.as_json` gave.

    Raises:
        EvaluationFileError: The file is missing or is no such JSON.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return Evaluation(
            k=int(found["k"]),
            graded_by=found["graded_by"],
            engines=tuple(found["engines"]),
            ungraded=int(found["ungraded"]),
            rows=tuple(Graded(**row) for row in found["rows"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as e:
        msg = f"{path}: not a saved evaluation ({e!r}); write one with --json"
        raise EvaluationFileError(msg) from e
