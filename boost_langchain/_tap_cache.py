"""What the engine holds of one registry: its catalog cache, or a scan of the clone.

The engine's reading of a cache trusts it, and may wait for a FIFO; here it is looked at
first, and its faults become `BoostRetrievalError`.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from boost_cli.core import catalog
from boost_cli.core.registry import Tap

from boost_langchain._cache_file import CacheFile, UnusableCacheError, open_cache
from boost_langchain._entry import Entry, belongs, is_well_formed
from boost_langchain._special_files import never_ends, special_file
from boost_langchain.errors import BoostRetrievalError


@dataclass(frozen=True)
class Scan:
    """The entries of one registry, to be read once."""

    commit: str
    """The commit that was scanned, or ""."""
    entries: Iterable[Entry]


@dataclass(frozen=True)
class CacheHead:
    """What a cache says of itself before its entries."""

    current: bool
    """Whether it is of the format that this engine writes."""
    commit: str
    """The commit of the registry that was scanned, or ""."""


def cache_name(tap: str) -> str:
    """The file that holds the cache of a registry, below the engine's cache directory."""
    return f"{tap.replace('/', '__')}.json"


def cache_head(path: str, status: os.stat_result | None) -> CacheHead | None:
    """What a cache says of itself, read once for as long as the file stays the same.

    Looks at the beginning of the file alone: parsing every cache costs more than a query.
    """
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    stamp = (status.st_mtime_ns, status.st_size)
    if path not in _heads or _heads[path][0] != stamp:
        try:
            with open(path, "rb") as file:
                # What follows is third-party text, in which the marker cannot stand.
                head = file.read(2_000).partition(b'"skills": [')[0]
        except OSError:
            return None
        written = re.search(rb'"format": (\d+)', head)
        commit = re.search(rb'"commit": "([0-9a-f]+)"', head)
        found = CacheHead(
            current=written is not None and int(written[1]) == catalog.CACHE_FORMAT,
            commit=commit[1].decode() if commit else "",
        )
        _heads[path] = (stamp, found)
    return _heads[path][1]


def load(tap: Tap, *, write: bool) -> object:
    """Read the cache of one registry as the engine does, whatever is in it.

    Args:
        tap: A tapped registry.
        write: Whether the engine may rescan the clone and save its cache when the cache is
            missing or of an older format.

    Raises:
        BoostRetrievalError: The cache cannot be read, or the clone cannot be scanned.
    """
    if never_ends(str(tap.cache_file)):
        file = f"cache/{cache_name(tap.name)}"
        msg = f"the catalog cache of {tap.name} is no regular file; delete {file}"
        raise BoostRetrievalError(msg)
    try:
        cached = catalog._cached_tap(tap)  # noqa: SLF001 - the only read that never writes
        if cached is not None and (cached[1] or not write or not tap.is_cloned):
            return cached[0]
        if not write:
            if os.path.isdir(tap.cache_file):
                raise damaged(tap.name)
            return []
        if special := special_file(tap.path):
            msg = f"{tap.name} cannot be scanned: {special} is not a regular file; delete it"
            raise BoostRetrievalError(msg)
        return catalog.load_tap(tap)
    except BoostRetrievalError:
        raise
    except Exception as e:
        msg = (
            f"the catalog cache of {tap.name} cannot be read ({type(e).__name__}); "
            f"delete cache/{cache_name(tap.name)}"
        )
        raise BoostRetrievalError(msg) from e


def load_entries(tap: Tap, *, write: bool) -> list[Entry]:
    """Read the entries of one registry; see `load`.

    Raises:
        BoostRetrievalError: Besides, an entry is not what the engine writes.
    """
    loaded = load(tap, write=write)
    if not isinstance(loaded, list) or not all(map(is_well_formed, loaded)):
        raise damaged(tap.name)
    # Two registries may share one cache: a/b and a__b.
    return [entry for entry in loaded if entry["tap"] == tap.name]


def scan(tap: Tap) -> Scan:
    """Check the entries of one registry, then hand them out one at a time.

    Where the engine's cache is missing or of an older format, the engine scans the clone and
    saves it first.

    Raises:
        BoostRetrievalError: The cache is damaged, the clone cannot be scanned, or there is
            neither.
    """
    path = str(tap.cache_file)
    if os.path.lexists(path):
        if not os.path.isfile(path):  # the engine would wait for a FIFO
            raise damaged(tap.name)
    elif not tap.is_cloned:
        msg = f"{tap.name} has neither a clone nor a catalog cache; run `boost update {tap.name}`"
        raise BoostRetrievalError(msg)
    own = tap.owns_cache_file
    if own and (cache := _sound_cache(path, tap.name)):
        return Scan(cache.commit, _stream(tap.name, cache))
    loaded = load_entries(tap, write=True)
    usable = bool(loaded) and all(belongs(entry, tap.name) for entry in loaded)
    if not tap.is_cloned and not usable:
        raise damaged(tap.name)  # and there is nothing to make it anew from
    if own and (cache := _sound_cache(path, tap.name)):
        return Scan(cache.commit, _stream(tap.name, cache))
    if os.path.lexists(path) and own and not loaded:
        raise damaged(tap.name)  # the engine reads what is no catalog as an empty one
    if not os.path.exists(os.path.join(tap.path, ".git")) and not loaded:
        msg = f"the clone of {tap.name} is empty; run `boost heal`"
        raise BoostRetrievalError(msg)
    return Scan("", loaded)  # the cache cannot be saved


def damaged(tap: str) -> BoostRetrievalError:
    """What to say of a cache that is not what the engine writes, with its remedy."""
    return BoostRetrievalError(
        f"the catalog cache of {tap} is damaged; delete cache/{cache_name(tap)}"
    )


def _stream(tap: str, cache: CacheFile) -> Iterator[Entry]:
    try:
        for entry in cache:
            if not belongs(entry, tap):
                raise damaged(tap)
            yield entry
    except UnusableCacheError as e:  # it was sound a moment ago
        raise damaged(tap) from e


def _sound_cache(path: str, tap: str) -> CacheFile | None:
    """The cache at `path`, if this engine wrote it and every entry of it can be used."""
    try:
        cache = open_cache(path)
        return cache if all(belongs(entry, tap) for entry in cache) else None
    except UnusableCacheError:
        return None


_heads: dict[str, tuple[tuple[int, int], CacheHead]] = {}
"""What each cache said of itself, by path, with the time and size that it had."""
