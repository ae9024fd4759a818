"""A retriever over a golden file: one rank per judgment, and what follows from the ranks."""

import reprlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from pydantic import Field, TypeAdapter, ValidationError

from boost_langchain._entry import KINDS
from boost_langchain.errors import EvaluationFileError
from boost_langchain.evaluation._golden import Judgment
from boost_langchain.evaluation._grading import GradedBy, Grader
from boost_langchain.evaluation._metrics import METRICS, Scores, check_places, label, mean, score

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
    rank: Annotated[int, Field(ge=1)] | None
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

    k: Annotated[int, Field(ge=1)]
    graded_by: GradedBy
    engines: tuple[str, ...]
    """The labels of the rungs that answered."""
    ungraded: Annotated[int, Field(ge=0)]
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
    retriever: Runnable[str, list[Document]],
    judgments: Iterable[Judgment],
    grader: Grader,
    *,
    k: int = 10,
) -> Evaluation:
    """Ask a retriever every judgment that the grader can grade.

    Args:
        retriever: What is measured. It must return at least k documents where it has them,
            with the catalog's ids: `BoostRetriever(k=10, on_error="raise")`, say.
        judgments: From `read_golden`.
        grader: From `open_grader`, over the catalog that the retriever searches.
        k: How many places count.

    Raises:
        TypeError: `k` is no integer.
        ValueError: `k` is not positive, or none of the judgments can be graded.

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
    check_places(k)
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
        EvaluationFileError: The file is missing or holds something else; the message names the
            row and the value.
    """
    try:
        found = TypeAdapter(Evaluation).validate_json(Path(path).read_bytes(), strict=True)
        _refuse_repeats(found.rows)
    except ValidationError as e:
        raise _not_saved(path, _first_error(e)) from e
    except (OSError, ValueError) as e:
        raise _not_saved(path, str(e)) from e
    return found


def _refuse_repeats(rows: Iterable[Graded]) -> None:
    lines: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        first = lines.setdefault(row.golden_id, number)
        if first != number:
            msg = f"row {number} is the judgment of row {first} again"
            raise ValueError(msg)


def _first_error(error: ValidationError) -> str:
    """What is wrong with the first value that is, and where it stands."""
    first = error.errors(include_url=False)[0]
    match first["loc"]:
        case ("rows", int(index), *keys):
            where = [f"row {index + 1}", *map(str, keys)]
        case keys:
            where = [*map(str, keys)]
    if where and first["type"] != "missing":
        where[-1] += f" is {reprlib.repr(first['input'])}"
    return ": ".join(filter(None, [", ".join(where), first["msg"]]))


def _not_saved(path: str | Path, reason: str) -> EvaluationFileError:
    return EvaluationFileError(f"{path}: not a saved evaluation ({reason}); write one with --json")
