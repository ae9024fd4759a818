"""The engine's catalog as one call sees it: registries, entries, commits and texts.

Translates the engine's state into plain values. Ranking is in `_ladder`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from boost_cli.core import paths, rag, registry

from boost_langchain._entry import Entry, is_well_formed
from boost_langchain._index import blocked_index, index_is_torn
from boost_langchain._item import Item, may_be_read, read_item
from boost_langchain._notices import forget, say_fault
from boost_langchain._special_files import never_ends, status_of
from boost_langchain._tap_cache import (
    CacheHead,
    Scan,
    cache_head,
    cache_name,
    damaged,
    load,
    load_entries,
    scan,
)
from boost_langchain.errors import BoostRetrievalError


@dataclass(frozen=True)
class Catalog:
    """The registries of one boost home at one moment: made once per call, never kept."""

    home: str
    taps: Mapping[str, registry.Tap]
    _roots: dict[str, str] = field(default_factory=dict)

    @cached_property
    def blocked_index(self) -> str | None:
        """Which file of the index would never be read to its end, with the remedy."""
        return blocked_index()

    @cached_property
    def torn_index(self) -> bool:
        """Whether the two files of the index are of different builds."""
        return index_is_torn()

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

    @cached_property
    def cache_stats(self) -> Mapping[str, os.stat_result | None]:
        """What the file system says of each registry's cache; None where there is none."""
        directory = self._cache_directory
        return {tap: status_of(os.path.join(directory, cache_name(tap))) for tap in self.taps}

    @cached_property
    def _cache_directory(self) -> str:
        # Not `Tap.cache_file`, which asks the environment for the home each time.
        return str(paths.cache_dir())

    def forget_index(self) -> None:
        """The index was built anew: look at it again."""
        for name in ("index_commits", "torn_index"):
            self.__dict__.pop(name, None)

    def forget_caches(self) -> None:
        """A cache may have been made anew: look at them again."""
        self.__dict__.pop("cache_stats", None)

    def commit(self, tap: str) -> str:
        """The commit of `tap` in the index, else the one its catalog was scanned at, or ""."""
        return self.index_commits.get(tap) or self.scanned_commit(tap)

    def scanned_commit(self, tap: str) -> str:
        """The commit of `tap` that its catalog was scanned at, or ""."""
        head = self._cache_head(tap)
        return head.commit if head else ""

    def never_ends(self, tap: str) -> bool:
        """Whether the engine would wait for a file of `tap` when it builds an index."""
        head = os.path.join(self.taps[tap].path, ".git", "HEAD")
        return never_ends(str(self.taps[tap].cache_file)) or never_ends(head)

    def is_settled(self, tap: str) -> bool:
        """Whether the engine would read the cache of `tap` as it is, without a new scan."""
        head = self._cache_head(tap)
        return head is not None and (head.current or not self.taps[tap].is_cloned)

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
        return load_entries(self.taps[tap], write=write)

    def scan(self, tap: str) -> Scan:
        """Check the entries of one registry, then hand them out one at a time.

        Raises:
            BoostRetrievalError: See `_tap_cache.scan`.
        """
        return scan(self.taps[tap])

    def all_entries(self, *, write: bool = True) -> Iterator[Entry]:
        """The well-formed entries of every registry that can be read, in tap order."""
        whole = True
        for name, tap in self.taps.items():
            try:
                loaded = load(tap, write=write)
                entries = loaded if isinstance(loaded, list) else []
                sound = list(filter(is_well_formed, entries))
                if not isinstance(loaded, list) or len(sound) < len(entries):
                    whole = False
                    say_fault("scan", self.home, damaged(name))
            except BoostRetrievalError as e:
                whole = False
                say_fault("scan", self.home, e)
            else:
                yield from sound
        if whole:
            forget("scan", self.home)

    def item(self, entry: Entry) -> Item:
        """Read one entry's text, as `read_item` does, from its registry's clone."""
        return read_item(entry, self.root(str(entry.get("tap") or "")))

    def is_safe(self, entry: Entry) -> bool:
        """Whether the engine may read the entry's file, as `may_be_read` says."""
        return may_be_read(entry, self.root(str(entry.get("tap") or "")))

    def diagnosis(self) -> str | None:
        """What is wrong with the configuration or a catalog cache, with its remedy."""
        try:
            return self._damage()
        except Exception:  # noqa: BLE001 - the diagnosis itself may meet the fault
            return None

    def _cache_head(self, tap: str) -> CacheHead | None:
        path = os.path.join(self._cache_directory, cache_name(tap))
        return cache_head(path, self.cache_stats[tap])

    def _damage(self) -> str | None:
        if any(not isinstance(tap.name, str) for tap in registry.list_taps()):
            return "config.json names a registry that is not a string; correct its `taps`"
        for name in self.taps:
            try:
                self.entries(name, write=False)
            except BoostRetrievalError as e:
                return str(e)
        return None
