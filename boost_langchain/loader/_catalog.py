"""The tapped catalog as a stream of Documents, for a mirror in a vector store."""

import hashlib
import json
import uuid
from collections.abc import Iterator
from typing import override

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from boost_langchain._documents import item_document
from boost_langchain._entry import KINDS, Kind, kind_of
from boost_langchain._home import open_whole_catalog
from boost_langchain._notices import forget, say_nothing_tapped
from boost_langchain.errors import BoostRetrievalError

_KEYS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:boost-langchain:document")
_KEYED = ("name", "kind", "version")


class CatalogLoader(BaseLoader):
    """Load every tapped item as a Document, one at a time.

    Ids, page_content and metadata are those of `BoostRetriever`, without what belongs to an
    answer: no `engine`, `score`, `rank` or `snippet`. `commit` is the one that the
    registry's catalog was scanned at. Memory does not grow with the catalog: entries and
    bodies are read as they are asked for.

    Made for `langchain_core.indexing.index(..., cleanup="full", key_encoder=document_key)`,
    which deletes whatever the loader no longer yields. So, unlike the retriever, it raises
    where the catalog may be incomplete, and every registry is checked before the first
    document: what was raised has deleted nothing. A configuration that reads well and names
    no registry is an empty stream, with one log line: then the mirror is to be emptied.

    An item whose body cannot be read (`has_body` False) comes with its description alone.

    Args:
        kind: Only items of this kind; None: all three.
        tap: Only this registry; None: all of them. One that is not tapped raises, since a
            mirror of it would be emptied.

    Raises:
        BoostRetrievalError: While loading: the configuration or a catalog cache is damaged,
            a registry has neither clone nor cache, or `tap` is not tapped.
        ValueError: `kind` is none of the three.
        TypeError: `tap` is not a string.

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain.loader import CatalogLoader

        print(next(CatalogLoader(kind="rule").lazy_load()).id)
        #> langchain-procedures::rules/async-nodes.mdc
        ```
    """

    def __init__(self, kind: Kind | None = None, tap: str | None = None) -> None:
        if kind is not None and kind not in KINDS:
            msg = f"CatalogLoader has no kind {kind!r}; give one of {', '.join(KINDS)}, or None"
            raise ValueError(msg)
        if tap is not None and not isinstance(tap, str):
            msg = f"CatalogLoader needs the name of a registry as tap, not {tap!r}"
            raise TypeError(msg)
        self.kind = kind
        self.tap = tap

    @override
    def lazy_load(self) -> Iterator[Document]:
        catalog = open_whole_catalog()
        if self.tap is not None and self.tap not in catalog.taps:
            tapped = ", ".join(sorted(catalog.taps)) or "nothing"
            msg = f"{self.tap!r} is not tapped, so it cannot be loaded; tapped: {tapped}"
            raise BoostRetrievalError(msg)
        if catalog.taps:
            forget("empty", catalog.home)
        else:
            say_nothing_tapped(catalog.home)
        scans = [catalog.scan(tap) for tap in catalog.taps if self.tap in {None, tap}]
        for scan in scans:
            for entry in scan.entries:
                if self.kind in {None, kind_of(entry)}:
                    item = catalog.item(entry)
                    yield item_document(entry, item, catalog, commit=scan.commit)


def document_key(document: Document) -> str:
    """A UUIDv5 of a document's id and content: the `key_encoder` for `index`.

    The key is how `index` notices a change. The content is page_content with the item's
    name, kind and version; a commit, a score or a path on this machine changes no key, so
    an update of a registry rewrites only what it edited. Chunks that a text splitter makes
    have keys of their own.

    Args:
        document: A document of `CatalogLoader` or `BoostRetriever`, or a chunk of one.

    Raises:
        ValueError: It has no id, neither as `id` nor in its metadata.
    """
    identity = document.id or document.metadata.get("id")
    if not identity:
        msg = f"a document without an id has no key: {document.page_content[:40]!r}"
        raise ValueError(msg)
    content = [document.page_content, *(document.metadata.get(name) for name in _KEYED)]
    digest = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
    return str(uuid.uuid5(_KEYS, f"{identity} {digest}"))
