"""When the index is brought up to date, and what is kept out of it.

Time stamps decide, as in the engine (`rag.stale`): reading every cache would cost more than
the query.
"""

import json
import os
import stat
import time
from collections.abc import Collection

from boost_cli.core import rag, util

from boost_langchain._catalog import Catalog
from boost_langchain._entry import Entry
from boost_langchain._index import index_fits
from boost_langchain._locks import ForkSafeLock
from boost_langchain._notices import forget, say_fault, say_once
from boost_langchain.errors import BoostRetrievalError

REBUILD_AFTER = 60.0
"""Seconds before a build that failed is tried again: at 10,000 items one try takes a minute."""

RENEWED = 1
"""The most changed registries that a query brings up to date; more are for `boost reindex`."""

_build_lock = ForkSafeLock()
_failed_builds: dict[str, float] = {}
_own_builds: dict[str, float] = {}
"""When the file system says that this process last built the index, by home."""


def bring_up_to_date(catalog: Catalog) -> None:
    """Build a missing index, or renew one where at most one registry changed."""
    if _wants_build(catalog):
        build_once(catalog)


def build_once(catalog: Catalog) -> None:
    """Build the index, unless another thread did meanwhile or a build failed a moment ago."""
    with _build_lock:
        catalog.forget_index()
        if rag.ready() and not _wants_build(catalog):
            return
        if time.monotonic() < _failed_builds.get(catalog.home, 0.0):
            return
        if _build(catalog):
            _failed_builds.pop(catalog.home, None)
            catalog.forget_index()
            forget("build", catalog.home)
            return
        if not any(True for _ in catalog.all_entries(write=False)):
            return  # nothing to index is no fault
        _failed_builds[catalog.home] = time.monotonic() + REBUILD_AFTER
        say_once(
            "build",
            catalog.home,
            f"the search index in {catalog.home} cannot be built, so an older one or simpler "
            f"ranking answers; {catalog.diagnosis() or 'run `boost reindex` to see why'}",
        )


def say_what_never_leaves(catalog: Catalog) -> None:
    """With refresh="never", say once what is missing and will not be made."""
    if changed_taps(catalog) is None and not catalog.torn_index:
        say_once(
            "never index",
            catalog.home,
            f'there is no search index in {catalog.home} and refresh="never" builds none, so '
            "simpler ranking answers; run `boost reindex`",
        )
    else:
        forget("never index", catalog.home)
    unscanned = [
        name
        for name, status in catalog.cache_stats.items()
        if status is None or stat.S_ISDIR(status.st_mode)
    ]
    if not unscanned:
        forget("never", catalog.home)
    for name in unscanned:
        say_once(
            "never",
            catalog.home,
            f'{name} has no catalog cache in {catalog.home} and refresh="never" makes none, '
            "so it is not searched; run `boost heal`",
        )


def changed_taps(catalog: Catalog) -> set[str] | None:
    """The registries that the index does not reflect, or None when no index can be used."""
    if catalog.torn_index:
        return None
    raw = rag._load_raw()  # noqa: SLF001 - rag.stale says whether, not how many
    if not raw or not raw.get("docs"):
        return None
    commits = raw.get("commits") or {}
    built = os.stat(rag.index_path()).st_mtime
    names = {name: tap.safe_name for name, tap in catalog.taps.items()}
    changed = set(commits) ^ set(names.values())
    for name, status in catalog.cache_stats.items():
        if status is None or names[name] in changed:
            continue
        indexed, scanned = str(commits[names[name]] or ""), catalog.scanned_commit(name)
        own = _own_builds.get(catalog.home) == built
        if _differs(indexed, scanned, built=built, written=status.st_mtime, own=own):
            changed.add(names[name])
    return changed


def _differs(indexed: str, scanned: str, *, built: float, written: float, own: bool) -> bool:
    """Whether a registry's cache is of another scan than the one that was indexed.

    The commits tell of an update that came while the index was being built, which stamps
    hide; and they decide alone where a stamp is from the future, left by a clock that was
    set back. Without both, an index that this process built is never too young: the file
    system's clock may be ahead of ours.
    """
    known = bool(indexed and scanned)
    if known and indexed != scanned:
        return True
    if max(built, written) <= time.time() + 1 or (own and not known):
        return written > built
    return built > written and not known


def _wants_build(catalog: Catalog) -> bool:
    changed = changed_taps(catalog)
    if changed is None:
        return True
    if len(changed) > RENEWED:
        say_once(
            "stale",
            catalog.home,
            f"{len(changed)} registries changed since the search index in {catalog.home} was "
            "built, so answers may be out of date; run `boost reindex`",
        )
        return False
    forget("stale", catalog.home)
    return bool(changed)


def _build(catalog: Catalog) -> bool:
    """Build the index, without the items that must not be read; True when it can answer."""
    changed = changed_taps(catalog)
    readable: list[Entry] = []
    refused: list[str] = []
    incomplete: set[str] = set()
    for name, tap in catalog.taps.items():
        try:
            entries = catalog.entries(name)
        except BoostRetrievalError as e:
            say_fault("scan", catalog.home, e)
            incomplete.add(tap.safe_name)
            continue
        for entry in entries:
            # The engine reuses what it holds of an unchanged registry and reads nothing.
            reread = changed is None or tap.safe_name in changed
            if reread and not catalog.is_safe(entry):
                refused.append(f"{name}::{entry['skill_md']}")
                incomplete.add(tap.safe_name)
            else:
                readable.append(entry)
    if refused:
        say_once(
            "refused",
            catalog.home,
            "left out of the search index, because they lead out of their registry or are no "
            f"regular files: {', '.join(refused)}; mend them and run `boost reindex`",
        )
    else:
        forget("refused", catalog.home)
    if changed is None and not readable:
        return False
    if any(map(catalog.never_ends, catalog.taps)):
        return False
    try:
        # By force where no index can be used: the engine would reuse what it holds.
        _write(catalog, readable if incomplete else None, incomplete, force=changed is None)
        return bool(rag.ready())
    except Exception:  # noqa: BLE001 - like rag.ensure: a failed build is answered by the next rung
        return False


def _write(
    catalog: Catalog, entries: list[Entry] | None, incomplete: Collection[str], *, force: bool
) -> None:
    # Not rag.ensure: it builds nothing where the clock was set back.
    rag.build(entries, force=force)
    if not index_fits():  # another process built at the same time
        rag.build(entries, force=True)
    if incomplete:
        _forget_commits(incomplete)
    _own_builds[catalog.home] = os.stat(rag.index_path()).st_mtime


def _forget_commits(names: Collection[str]) -> None:
    """Blank the commits of registries that the index holds in part.

    The engine reuses what it holds of a registry whose commit did not change; without this
    what was left out would stay out, whatever is mended.
    """
    path = rag.index_path()
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["commits"] |= dict.fromkeys(set(names) & set(raw["commits"]), "")
    util.atomic_write_text(path, json.dumps(raw))
