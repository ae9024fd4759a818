"""From the rank of the right answer to recall@k, hit@1, MRR and nDCG@k.

A judgment has one right answer, whichever acceptable item comes first, so its rank decides all
four. Further acceptable items below it neither add nor cost anything.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from statistics import fmean

METRICS = ("recall", "hit", "mrr", "ndcg")
"""The metrics, as floors and JSON name them."""

DECIMALS = 4
"""The most that LangSmith stores of a score. A judgment's scores are rounded to it here as
well, or the averages there would differ from those computed here."""


@dataclass(frozen=True)
class Scores:
    """The four metrics of one judgment, or their means over several; each from 0 to 1."""

    recall: float
    """recall@k: whether the right answer is among the first k."""
    hit: float
    """hit@1: whether it comes first."""
    mrr: float
    """The reciprocal of its rank, 0 beyond k."""
    ndcg: float
    """nDCG@k: its discount, 1 / log2(rank + 1), 0 beyond k. Rank 1 is the ideal."""

    def as_dict(self) -> dict[str, float]:
        """The scores by metric."""
        return asdict(self)


def score(rank: int | None, k: int) -> Scores:
    """Score one answer.

    Args:
        rank: Where the right answer stands, from 1, or None when it is not there.
        k: How many places count.
    """
    if rank is None or rank > k:
        return Scores(0.0, 0.0, 0.0, 0.0)
    return Scores(
        recall=1.0,
        hit=float(rank == 1),
        mrr=round(1 / rank, DECIMALS),
        ndcg=round(1 / math.log2(rank + 1), DECIMALS),
    )


def check_places(k: int) -> None:
    """Raise unless `k` is a number of places.

    Raises:
        TypeError: It is no integer.
        ValueError: It is not positive.
    """
    if not isinstance(k, int) or isinstance(k, bool):
        msg = f"k={k!r} is no number of places; pass an integer"
        raise TypeError(msg)
    if k < 1:
        msg = f"k={k} leaves no place to find anything in; pass 1 or more"
        raise ValueError(msg)


def mean(scores: Iterable[Scores]) -> Scores:
    """The mean of each metric; the order of `scores` does not change a digit.

    Raises:
        ValueError: There are no scores.
    """
    columns = zip(*map(astuple, scores), strict=True)
    means = [fmean(column) for column in columns]
    if not means:
        msg = "no scores to average; grade at least one judgment"
        raise ValueError(msg)
    return Scores(*means)


def label(metric: str, k: int) -> str:
    """How people write a metric: "recall@10" for "recall", say."""
    return {"recall": f"recall@{k}", "hit": "hit@1", "mrr": "MRR", "ndcg": f"nDCG@{k}"}[metric]
