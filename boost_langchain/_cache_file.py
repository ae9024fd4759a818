"""The engine's catalog cache of one registry, read one entry at a time.

The engine parses it whole and keeps it; a loader that passes over 20,000 items once must
not. Writing and repairing the cache stay the engine's.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from boost_cli.core import catalog as boost_catalog

from boost_langchain._files import RefusedFileError, open_regular
from boost_langchain._json_stream import JsonStream


class UnusableCacheError(Exception):
    """A cache that is missing, damaged, or of another version of the engine."""


@dataclass(frozen=True)
class CacheFile:
    """A cache of the format that this engine writes."""

    path: str
    commit: str
    """The commit of the registry that was scanned, or ""."""

    def __iter__(self) -> Iterator[object]:
        """Read the file anew, entry by entry, whatever they are.

        Raises:
            UnusableCacheError: The file is gone, or no longer what it was.
        """
        try:
            with open_regular(os.path.realpath(self.path)) as file:
                yield from JsonStream(file, "skills").elements()
        except _UNUSABLE as e:
            raise UnusableCacheError(str(e)) from e


def open_cache(path: str) -> CacheFile:
    """Read what precedes the entries of a cache.

    Raises:
        UnusableCacheError: It is missing or unreadable, or the engine would scan again.
    """
    try:
        with open_regular(os.path.realpath(path)) as file:
            members = JsonStream(file, "skills").members
    except _UNUSABLE as e:
        raise UnusableCacheError(str(e)) from e
    if members.get("format") != boost_catalog.CACHE_FORMAT:
        msg = f"its format is {members.get('format')!r}"
        raise UnusableCacheError(msg)
    commit = members.get("commit")
    return CacheFile(path, commit if isinstance(commit, str) else "")


_UNUSABLE = (OSError, RefusedFileError, RecursionError, ValueError)
