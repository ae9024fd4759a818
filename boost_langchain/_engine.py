"""The engine's catalog as one call sees it: registries, entries, commits and bodies.

Translates `boost_cli.core` state into plain values and its faults into
`BoostRetrievalError`. Ranking is in `_ladder`, the only other module that calls the engine
to answer a query.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from boost_cli.core import catalog as boost_catalog
from boost_cli.core import config, frontmatter, paths, rag, registry
from boost_cli.errors import BoostError

from boost_langchain._cache_file import CacheFile, UnusableCacheError, open_cache
from boost_langchain._entry import Entry, belongs, file_of, is_well_formed
from boost_langchain._files import RefusedFileError, contained_path, read_contained
from boost_langchain._index import blocked_index
from boost_langchain._notices import say_once
from boost_langchain._special_files import never_ends, special_file, status_of
from boost_langchain.errors import BoostRetrievalError


@dataclass(frozen=True)
class Item:
    """The text of one entry, as the engine indexes it."""

    text: str
    has_body: bool
    file: str = ""
    """The path on this machine, or "" where no file may be read."""
    contained: bool = True
    """False when the file leads somewhere that must not be read: nothing indexed from it
    may be shown either."""


@dataclass(frozen=True)
class Scan:
    """The entries of one registry, to be read once."""

    commit: str
    """The commit that was scanned, or ""."""
    entries: Iterable[Entry]


@dataclass(frozen=True)
class Catalog:
    """The registries of one boost home at one moment: made once per call, never kept."""

    home: str
    taps: Mapping[str, registry.Tap]
    _roots: dict[str, str] = field(default_factory=dict)

    @cached_property
    def index_commits(self) -> Mapping[str, str]:
        """Commit per registry that the index on disk was built from."""
        if self.blocked_index:
            return {}
        try:
            raw = rag._load_raw()  # noqa: SLF001 - the public way reads every cache file
            commits = (raw or {}).get("commits") or {}
            found = {name: commits.get(tap.safe_name) for name, tap in self.taps.items()}
        except Exception:  # noqa: BLE001 - a broken index has no commits; the ladder reports it
            return {}
        return {name: str(commit or "") for name, commit in found.items() if commit is not None}

    def commit(self, tap: str) -> str:
        """The commit of `tap` in the index, else the one its catalog was scanned at, or ""."""
        if indexed := self.index_commits.get(tap):
            return indexed
        return self.scanned_commit(tap)

    def scanned_commit(self, tap: str) -> str:
        """The commit of `tap` that its catalog was scanned at, or ""."""
        try:
            record = boost_catalog._cache_record(self.taps[tap])  # noqa: SLF001 - no public way
        except Exception:  # noqa: BLE001 - an unreadable cache has no commit
            return ""
        return record[2] if record else ""

    def never_ends(self, tap: str) -> bool:
        """Whether the engine would wait for a file of `tap` when it builds an index."""
        head = os.path.join(self.taps[tap].path, ".git", "HEAD")
        return never_ends(str(self.taps[tap].cache_file)) or never_ends(head)

    @cached_property
    def blocked_index(self) -> str | None:
        """Which file of the index would never be read to its end, with the remedy."""
        return blocked_index()

    @cached_property
    def cache_stats(self) -> Mapping[str, os.stat_result | None]:
        """What the file system says of each registry's cache; None where there is none."""
        # Not `Tap.cache_file`, which asks the environment for the home each time.
        directory = str(paths.cache_dir())
        return {
            tap: status_of(os.path.join(directory, f"{_cache_name(tap)}.json")) for tap in self.taps
        }

    def forget_index(self) -> None:
        """The index was built anew: read its commits again."""
        self.__dict__.pop("index_commits", None)

    def forget_caches(self) -> None:
        """A cache may have been made anew: look at them again."""
        self.__dict__.pop("cache_stats", None)

    def is_settled(self, tap: str) -> bool:
        """Whether the engine would read the cache of `tap` as it is, without a new scan.

        Looks at the beginning of the file alone: parsing every cache costs more than a query.
        """
        status = self.cache_stats[tap]
        if status is None or not stat.S_ISREG(status.st_mode):
            return False
        stamp = (self.home, tap, status.st_mtime_ns, status.st_size)
        if stamp in _settled:
            return True
        with open(self.taps[tap].cache_file, "rb") as file:
            written = re.search(rb'"format": (\d+)', file.read(2_000))
        if not self.taps[tap].is_cloned or (
            written and int(written[1]) == boost_catalog.CACHE_FORMAT
        ):
            _settled.add(stamp)
            return True
        return False

    def root(self, tap: str) -> str | None:
        """The clone of `tap`, links followed; None when it is not tapped."""
        if tap not in self.taps:
            return None
        if tap not in self._roots:
            self._roots[tap] = os.path.realpath(self.taps[tap].path)
        return self._roots[tap]

    def entries(self, tap: str, *, write: bool = True) -> list[Entry]:
        """The entries of one registry, from the engine's cache.

        Args:
            tap: The name of a tapped registry.
            write: Whether the engine may rescan the clone and save its cache when the
                cache is missing or of an older format.

        Raises:
            BoostRetrievalError: The cache is damaged, or the clone cannot be scanned.
        """
        loaded = self._load(self.taps[tap], write=write)
        if not isinstance(loaded, list) or not all(map(is_well_formed, loaded)):
            raise _damaged(tap)
        return loaded

    def scan(self, tap: str) -> Scan:
        """Check the entries of one registry, then hand them out one at a time.

        Where the engine's cache is missing or of an older format, the engine scans the
        clone and saves it first.

        Args:
            tap: The name of a tapped registry.

        Raises:
            BoostRetrievalError: The cache is damaged, the clone cannot be scanned, or there
                is neither.
        """
        record = self.taps[tap]
        path = str(record.cache_file)
        if os.path.lexists(path):
            if not os.path.isfile(path):  # the engine would wait for a FIFO
                raise _damaged(tap)
        elif not record.is_cloned:
            msg = f"{tap} has neither a clone nor a catalog cache; run `boost update {tap}`"
            raise BoostRetrievalError(msg)
        own = record.owns_cache_file
        if own and (cache := _sound_cache(path, tap)):
            return Scan(cache.commit, self._stream(tap, cache))
        loaded = self.entries(tap)
        usable = bool(loaded) and all(belongs(entry, tap) for entry in loaded)
        if not record.is_cloned and not usable:
            raise _damaged(tap)  # and there is nothing to make it anew from
        if own and (cache := _sound_cache(path, tap)):
            return Scan(cache.commit, self._stream(tap, cache))
        if os.path.lexists(path) and own and not loaded:
            raise _damaged(tap)  # the engine reads what is no catalog as an empty one
        if not os.path.exists(os.path.join(record.path, ".git")) and not loaded:
            msg = f"the clone of {tap} is empty; run `boost heal`"
            raise BoostRetrievalError(msg)
        return Scan(self.commit(tap), loaded)  # the cache cannot be saved

    def all_entries(self, *, write: bool = True) -> Iterator[Entry]:
        """The well-formed entries of every registry that can be read, in tap order."""
        for tap in self.taps.values():
            try:
                loaded = self._load(tap, write=write)
            except BoostRetrievalError as e:
                say_once("scan", self.home, str(e))
                continue
            yield from filter(is_well_formed, loaded if isinstance(loaded, list) else ())

    def diagnosis(self) -> str | None:
        """What is wrong with the configuration or a catalog cache, with its remedy."""
        try:
            return self._damage()
        except Exception:  # noqa: BLE001 - the diagnosis itself may meet the fault
            return None

    def _damage(self) -> str | None:
        if any(not isinstance(tap.name, str) for tap in registry.list_taps()):
            return "config.json names a registry that is not a string; correct its `taps`"
        for name in self.taps:
            try:
                self.entries(name, write=False)
            except BoostRetrievalError as e:
                return str(e)
        return None

    def item(self, entry: Entry) -> Item:
        """Read one entry's text: name, description and body, as the index holds them.

        The body is read only from a regular file that lies inside its registry's clone,
        links followed; otherwise the description stands in for it.
        """
        described = str(entry.get("description") or "") or str(entry.get("name") or "")
        root = self.root(str(entry.get("tap") or ""))
        relative = file_of(entry)
        if root is None or relative is None:
            return Item(described, has_body=False)
        path = os.path.join(root, relative)
        try:
            file = read_contained(root, relative)
        except RefusedFileError:
            return Item(described, has_body=False, contained=not os.path.lexists(path))
        if file.omitted and frontmatter.unclosed(file.text):
            return Item(described, has_body=False, file=path)  # the header alone is too long
        _header, body = frontmatter.split(file.text)
        body = replace(file, text=body).marked
        text = f"{entry.get('name') or ''}\n{entry.get('description') or ''}\n{body}".strip()
        return Item(text, has_body=True, file=path)

    def is_safe(self, entry: Entry) -> bool:
        """Whether the engine may read the entry's file: absent, or regular and contained."""
        root = self.root(str(entry.get("tap") or ""))
        relative = file_of(entry)
        if root is None or not entry.get("skill_md"):
            return True  # the engine has nothing to open
        if relative is None:
            return False
        try:
            real = contained_path(root, relative)
        except RefusedFileError:
            return False
        return not os.path.lexists(real) or os.path.isfile(real)

    @staticmethod
    def _stream(tap: str, cache: CacheFile) -> Iterator[Entry]:
        try:
            for entry in cache:
                if not belongs(entry, tap):
                    raise _damaged(tap)
                yield entry
        except UnusableCacheError as e:  # it was sound a moment ago
            raise _damaged(tap) from e

    def _load(self, tap: registry.Tap, *, write: bool) -> object:
        if never_ends(str(tap.cache_file)):
            file = f"cache/{_cache_name(tap.name)}.json"
            msg = f"the catalog cache of {tap.name} is no regular file; delete {file}"
            raise BoostRetrievalError(msg)
        try:
            cached = boost_catalog._cached_tap(tap)  # noqa: SLF001 - the only read that never writes
            if cached is not None and (cached[1] or not write or not tap.is_cloned):
                return cached[0]
            if not write:
                if os.path.isdir(tap.cache_file):
                    raise _damaged(tap.name)
                return []
            if irregular := special_file(tap.path):
                msg = f"{tap.name} cannot be scanned: {irregular} is not a regular file; delete it"
                raise BoostRetrievalError(msg)
            return boost_catalog.load_tap(tap)
        except BoostRetrievalError:
            raise
        except Exception as e:
            msg = (
                f"the catalog cache of {tap.name} cannot be read ({type(e).__name__}); "
                f"delete cache/{_cache_name(tap.name)}.json"
            )
            raise BoostRetrievalError(msg) from e


def open_catalog() -> Catalog:
    """List the registries of the boost home in force (`BOOST_HOME`, else `~/.boost`).

    Raises:
        BoostRetrievalError: The home cannot be told, or its configuration cannot be read.
    """
    try:
        home = str(paths.boost_home())
    except BoostError as e:
        msg = f"{e}; {e.hint}"
        raise BoostRetrievalError(msg) from e
    if never_ends(str(paths.config_path())):
        msg = "boost's config.json is no regular file; delete it"
        raise BoostRetrievalError(msg)
    try:
        taps = registry.list_taps()
        problem = None if taps else config.check()
    except Exception as e:
        msg = f"boost's config.json cannot be read ({type(e).__name__}); repair or delete it"
        raise BoostRetrievalError(msg) from e
    if problem:
        msg = "boost's config.json cannot be read; `boost doctor` says why"
        raise BoostRetrievalError(msg)
    return Catalog(home, {tap.name: tap for tap in taps if isinstance(tap.name, str)})


def open_whole_catalog() -> Catalog:
    """Open the catalog for a reader to whom an absent registry is a removed one.

    Raises:
        BoostRetrievalError: See `open_catalog`; or the configuration may have lost a
            registry: a row of it has no name, or it is gone while clones are there.
    """
    catalog = open_catalog()
    rows = config.get("taps", [])
    if not all(isinstance(row, dict) and _is_name(row.get("name")) for row in rows):
        msg = "config.json names a registry that is not a string; correct its `taps`"
        raise BoostRetrievalError(msg)
    if not catalog.taps and _entries_of(paths.repos_dir()):
        msg = (
            "config.json is gone or names no registry, but repos/ holds clones; restore it, or "
            "delete them"
        )
        raise BoostRetrievalError(msg)
    if os.path.lexists(catalog.home) and not os.path.isdir(catalog.home):
        msg = "the boost home is no directory; set BOOST_HOME to one"
        raise BoostRetrievalError(msg)
    return catalog


def home_in_force() -> str:
    """The boost home that a call would use, or "" where it cannot be told."""
    try:
        return str(paths.boost_home())
    except BoostError:  # open_catalog reports it
        return ""


def _damaged(tap: str) -> BoostRetrievalError:
    return BoostRetrievalError(
        f"the catalog cache of {tap} is damaged; delete cache/{_cache_name(tap)}.json"
    )


def _sound_cache(path: str, tap: str) -> CacheFile | None:
    """The cache at `path`, if this engine wrote it and every entry of it can be used."""
    try:
        cache = open_cache(path)
        return cache if all(belongs(entry, tap) for entry in cache) else None
    except UnusableCacheError:
        return None


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _entries_of(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _cache_name(tap: str) -> str:
    return tap.replace("/", "__")


_settled: set[tuple[str, str, int, int]] = set()
"""Caches that were seen to be of the engine's format, by home, registry, time and size."""
