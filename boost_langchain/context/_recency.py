"""A small advantage for what was changed lately."""

import logging
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby
from numbers import Real
from typing import override

from boost_cli.core.rag import RRF_K
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from boost_langchain.context._history import last_changes

logger = logging.getLogger("boost_langchain")

_MOST = 0.2
"""What a file that was changed today gains."""
_DAYS = 30
"""After how many days it gains nothing."""


class RecencyBoost(BaseDocumentCompressor):
    """Order documents by their weight times a factor for how lately their files were changed.

    The weight is the document's score, or 1/(60 + rank) where it has none; a document that a
    second stage has put in its place (`metadata["reranker"]`) counts by its rank, because its
    score is the first stage's. The factor is 1.20 for a file changed today or in the future,
    falls linearly by the day and is 1.00 at 30 days. It is in `metadata["recency"]`.

    The date is `metadata["modified"]`: an ISO 8601 date or time, a `date`, a `datetime` or
    seconds since the epoch; without a time zone it is UTC. Anything else there is no date, with
    one warning. A document of the catalog without it has the date of the commit that last
    touched its file, where the registry's clone has a history (`boost tap` makes a shallow
    clone of a remote one, which has none). No date: 1.00.

    Equal weights keep their order. Scores are comparable within one answer only: documents of a
    `ContextBuilder` keep their sources' order and are ordered within each.

    Example:
        ```python
        from datetime import UTC, datetime

        from langchain_core.documents import Document

        from boost_langchain.context import RecencyBoost

        found = [
            Document("Old.", metadata={"score": 1.1, "modified": "2025-01-01"}),
            Document("New.", metadata={"score": 1.0, "modified": "2026-01-30"}),
        ]
        boost = RecencyBoost(now=datetime(2026, 1, 30, tzinfo=UTC))
        for document in boost.compress_documents(found, "What is new?"):
            print(document.page_content, document.metadata["recency"])
            #> New. 1.2
            #> Old. 1.0
        ```
    """

    model_config = ConfigDict(strict=True, extra="forbid", validate_assignment=True)

    now: datetime | Callable[[], datetime] | None = None
    """What time it is, or who says so; None: the clock. Without a time zone it is UTC."""

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        now = self._now()
        factors = [recency(date, now) for date in _dates(documents)]
        ordered: list[Document] = []
        rows = zip(documents, factors, strict=True)
        for _, answer in groupby(rows, lambda row: row[0].metadata.get("context")):
            ordered += _ordered(list(answer))
        return [
            document.model_copy(update={"metadata": {**document.metadata, "rank": rank}})
            for rank, document in enumerate(ordered, start=1)
        ]

    def _now(self) -> datetime:
        if self.now is None:
            return datetime.now(UTC)
        return _aware(self.now() if callable(self.now) else self.now)


def recency(modified: datetime | None, now: datetime) -> float:
    """The factor for a file: 1.2 today, 1.0 from 30 days on, linear by whole days between."""
    if modified is None:
        return 1.0
    # Whole days: a date without a time is midnight, and today all day long.
    days = max(0, (now - modified).days)
    return 1 + _MOST * max(0, _DAYS - days) / _DAYS


def _ordered(rows: Sequence[tuple[Document, float]]) -> list[Document]:
    """One answer in its new order; each document says its factor."""
    weights = [
        _boosted(_weight(document, rank), factor)
        for rank, (document, factor) in enumerate(rows, start=1)
    ]
    order = sorted(range(len(rows)), key=lambda index: -weights[index])
    return [
        document.model_copy(update={"metadata": {**document.metadata, "recency": factor}})
        for document, factor in (rows[index] for index in order)
    ]


def _weight(document: Document, rank: int) -> float:
    score = _number(document.metadata.get("score"))
    if score is None or document.metadata.get("reranker"):
        return 1 / float(RRF_K + rank)
    return score


def _number(value: object) -> float | None:
    """A finite number of any type, numpy's too, or None."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        return None
    return number if math.isfinite(number) else None


def _boosted(weight: float, factor: float) -> float:
    """Never less than the weight, also where an engine's scores are below zero."""
    return weight * factor if weight >= 0 else weight / factor


def _dates(documents: Sequence[Document]) -> list[datetime | None]:
    """Each document's own date, else its file's last commit."""
    undated = [document for document in documents if _says_no_date(document)]
    committed = iter(last_changes(undated))
    return [
        next(committed) if _says_no_date(document) else _stated(document) for document in documents
    ]


def _says_no_date(document: Document) -> bool:
    modified = document.metadata.get("modified")
    return modified is None or modified == ""  # an empty field of a table is none


def _stated(document: Document) -> datetime | None:
    value = document.metadata["modified"]
    try:
        return _instant(value)
    except (TypeError, ValueError, OverflowError, OSError):
        logger.warning(
            "%s has no date that can be read: modified is %r; give an ISO 8601 date or time, or "
            "seconds since the epoch",
            document.id or "a document",
            value,
        )
        return None


def _instant(value: object) -> datetime:
    if isinstance(value, str):
        return _aware(datetime.fromisoformat(value.strip()))
    if isinstance(value, datetime):
        return _aware(value)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    if (seconds := _number(value)) is not None:
        return datetime.fromtimestamp(seconds, UTC)
    msg = f"{value!r} is no date"
    raise TypeError(msg)


def _aware(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value
