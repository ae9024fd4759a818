"""A catalog entry, or an engine hit, as a LangChain Document.

One id and one set of metadata for the retriever and the loaders: provenance reads the same
wherever a document came from. Every metadata value is strict JSON.
"""

import math
from typing import Any

from boost_cli.core.rag import Hit
from langchain_core.documents import Document

from boost_langchain._catalog import Catalog
from boost_langchain._entry import Entry, declared_version
from boost_langchain._item import Item
from boost_langchain._text import one_line, valid


def item_id(entry: Entry) -> str:
    """The item's address, `tap::path`: a document's id, and what a golden file pins."""
    return "::".join(_address(entry))


def item_document(
    entry: Entry,
    item: Item,
    catalog: Catalog,
    *,
    full_content: bool = True,
    commit: str | None = None,
) -> Document:
    """Turn a catalog entry into a Document with the metadata that every source shares.

    Args:
        entry: The engine's catalog entry.
        item: Its text, read by `Catalog.item`.
        catalog: Where it lies.
        full_content: Whether page_content is the whole item or its one-line description.
        commit: The commit of its registry, where the caller knows it better than the index.
    """
    tap, path = _address(entry)
    name = one_line(entry.get("name"))
    whole = full_content and item.has_body
    content = valid(item.text) if whole else one_line(entry.get("description")) or name
    identity = item_id(entry)
    if commit is None:
        commit = catalog.commit(str(entry.get("tap") or ""))
    metadata: dict[str, Any] = {
        "id": identity,
        "name": name,
        "kind": one_line(entry.get("kind")) or "skill",
        "tap": tap,
        "source": path,
        "path": path,
        "version": one_line(declared_version(entry)),
        "commit": valid(commit),
        "has_body": whole,
    }
    return Document(page_content=content, id=identity, metadata=metadata)


def hit_document(  # noqa: PLR0913 - one hit's context, named at each call
    hit: Hit,
    catalog: Catalog,
    *,
    engine: str,
    rank: int,
    full_content: bool,
    local_paths: bool,
) -> Document:
    """Turn an engine hit into a Document: the item's, plus how it was found.

    Args:
        hit: The engine's hit.
        catalog: Where its item lies.
        engine: The label of the rung that found it.
        rank: Its place in the answer, from 1.
        full_content: Whether page_content is the whole item or its one-line description.
        local_paths: Whether metadata says where the file lies on this machine.
    """
    item = catalog.item(hit["entry"])
    document = item_document(hit["entry"], item, catalog, full_content=full_content)
    score = float(hit.get("score", 0.0))
    document.metadata |= {
        "engine": engine,
        "score": score if math.isfinite(score) else 0.0,
        "rank": rank,
        # The index may hold a passage of what the file led to when it was built.
        "snippet": valid(hit.get("snippet") or "") if item.contained else "",
    }
    if local_paths:
        document.metadata["file"] = item.file
    return document


def _address(entry: Entry) -> tuple[str, str]:
    return valid(str(entry.get("tap") or "")), valid(str(entry.get("skill_md") or ""))
