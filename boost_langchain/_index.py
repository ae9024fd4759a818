"""The two files of the engine's search index: whether they can be read, and fit together.

The engine writes the postings first, then the documents that they number. Reading and
writing them stay the engine's.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from boost_cli.core import rag

from boost_langchain._entry import Entry
from boost_langchain._locks import ForkSafeLock
from boost_langchain._special_files import never_ends, status_of

TORN = "the search index is of two builds, one of them interrupted; run `boost reindex --force`"
"""What to say of an index whose files do not fit together."""

WRITING = 2.0
"""Seconds within which postings that are younger than the documents may be still at work."""


def blocked_index() -> str | None:
    """Which file of the index would never be read to its end, with the remedy."""
    for path in (rag.index_path(), rag.postings_path()):
        if never_ends(str(path)):
            return f"cache/{path.name} is no regular file; delete it"
    return None


def damaged_index(cause: Exception) -> str:
    """What to say of an index that made the engine fail, with its remedy."""
    return (
        f"the search index is damaged ({type(cause).__name__}); delete cache/rag_index.json and "
        "run `boost reindex --force`"
    )


def index_is_torn() -> bool:
    """Whether a build was interrupted between the two files: the numbers then lie.

    The engine would answer with the wrong items, and keep them through later builds. Only
    postings that are younger than the documents are read, once: it takes a second for 2,000
    items. A copied home may have such stamps too, and is whole.
    """
    if not _looks_torn():
        return False
    path, stamp = str(rag.index_path()), index_stamp()
    with _torn_lock:
        if path not in _torn or _torn[path][0] != stamp:
            _torn[path] = (stamp, not index_fits())
        return _torn[path][1]


def index_fits() -> bool:
    """Whether the documents on disk are those that the postings number: reads all of both."""
    try:
        return _fits(rag._load_raw() or {})  # noqa: SLF001 - no public way
    except Exception:  # noqa: BLE001 - damaged in another way, which the engine meets itself
        return True


def wait_for_writer() -> None:
    """Give another process a moment if it is between the two files of the index right now."""
    for _ in range(40):
        if not _looks_torn():
            return
        _, postings = _statuses()
        if postings is None or abs(time.time() - postings.st_mtime) > WRITING:
            return
        time.sleep(0.05)


def index_stamp() -> tuple[object, ...]:
    """What tells one state of the index's files from another."""
    return tuple(s and (s.st_ino, s.st_mtime_ns, s.st_size) for s in _statuses())


def _looks_torn() -> bool:
    documents, postings = _statuses()
    return bool(documents and postings and postings.st_mtime_ns > documents.st_mtime_ns)


def _statuses() -> tuple[os.stat_result | None, os.stat_result | None]:
    """What the file system says of the documents and of the postings."""
    return status_of(str(rag.index_path())), status_of(str(rag.postings_path()))


def index_fault(raw: Mapping[str, Any], entries: list[Entry]) -> str:
    """Read all of an index over these catalog entries; say what is wrong with it, or ""."""
    try:
        if not _fits(raw):
            return TORN
        names = " ".join(str(doc["n"]) for doc in raw["docs"][:100])
        rag.retrieve_any(names, k=1, entries=entries)
    except Exception as e:  # noqa: BLE001 - a broken index is what is looked for
        return damaged_index(e)
    return ""


def _fits(raw: Mapping[str, Any]) -> bool:
    """Whether each document is as long as its postings say."""
    lengths = [0] * len(raw.get("docs") or ())
    stored = rag._all_postings()  # noqa: SLF001 - no public way
    if stored is None:
        return True  # unreadable, which the engine notices
    for postings in stored.values():
        for number, count in postings:
            if number >= len(lengths):
                return False
            lengths[number] += count
    return lengths == [doc["l"] for doc in raw.get("docs") or ()]


_torn: dict[str, tuple[object, bool]] = {}
"""Whether an index was found torn, by its path: for which stamp, and what was found."""
_torn_lock = ForkSafeLock()
