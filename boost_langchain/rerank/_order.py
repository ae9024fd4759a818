"""A new order as documents: copies with their reasons, or the old order where none was had."""

import logging
from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

logger = logging.getLogger("boost_langchain")


def description(document: Document) -> str:
    """What a document of the retriever says the item is for, in one line.

    Full content begins with the name, and the description is its second line.
    """
    lines = document.page_content.strip().split("\n")
    return lines[1] if document.metadata.get("has_body") and len(lines) > 1 else lines[0]


def reordered(
    documents: Sequence[Document],
    order: Sequence[int],
    *,
    reranker: str,
    why: Mapping[int, str] | None = None,
) -> list[Document]:
    """The documents in a new order, as copies.

    Args:
        documents: What the first stage found, best first.
        order: Indexes into `documents`, best first, each once.
        reranker: What made the order, or "" where nothing did.
        why: A reason per index; without one, the document's snippet.
    """
    reasons = why or {}
    return [
        _copy(documents[index], rank, reranker, reasons.get(index))
        for rank, index in enumerate(order, start=1)
    ]


def untouched(documents: Sequence[Document], reranker: str, reason: str) -> list[Document]:
    """The documents in their old order, with one warning that says why."""
    logger.warning("%s left the order as it was: %s", reranker, reason)
    return reordered(documents, range(len(documents)), reranker="")


def _copy(document: Document, rank: int, reranker: str, why: str | None) -> Document:
    metadata = {
        **document.metadata,
        "rank": rank,
        "reranker": reranker,
        "why": document.metadata.get("snippet", "") if why is None else why,
    }
    return document.model_copy(update={"metadata": metadata})
