"""What `client.evaluate` needs: the retriever as a target, and the four metrics as an evaluator.

Both are plain functions over dicts, and nothing here imports langsmith.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from boost_langchain.evaluation._golden import Judgment
from boost_langchain.evaluation._grading import Grader
from boost_langchain.evaluation._metrics import METRICS, check_places, label, score


def retrieval_target(
    retriever: Runnable[str, list[Document]],
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What `client.evaluate` calls for each row: the retriever over the row's query.

    The answer is the documents' metadata, best first; a body would make every row of the
    experiment as long as the procedures found.
    """

    def boost(inputs: dict[str, Any]) -> dict[str, Any]:
        found = retriever.invoke(inputs["query"])
        return {"documents": [{**each.metadata, "id": each.id} for each in found]}

    return boost


def retrieval_evaluator(
    grader: Grader, *, k: int = 10
) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """An evaluator for `client.evaluate`: the four metrics, as `evaluate` computes them.

    A row that the catalog cannot grade gets no score, as offline, so that the averages are
    over the same rows.

    Args:
        grader: From `open_grader`, over the catalog that the target searches.
        k: How many places count.

    Raises:
        TypeError: `k` is no integer.
        ValueError: `k` is not positive.
    """
    check_places(k)

    def retrieval(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> dict[str, Any]:
        judgment = Judgment.from_row({}, reference_outputs)
        if not grader.can_grade(judgment):
            return {"results": []}
        ids = [each["id"] for each in outputs["documents"]][:k]
        scores = score(grader.rank(judgment, ids), k).as_dict()
        return {
            "results": [{"key": label(metric, k), "score": scores[metric]} for metric in METRICS]
        }

    return retrieval
