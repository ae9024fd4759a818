"""One query, down the ladder: current index, the engine's answer, its heuristic, nothing.

Ranking is the engine's (`rag.retrieve_any`, `catalog.search`). What is decided here is when
an index is brought up to date, and what answers when a rung fails.
"""

import os
import threading
import time
from dataclasses import dataclass
from typing import Literal

from boost_cli.core import catalog as boost_catalog
from boost_cli.core import rag

from boost_langchain._engine import Catalog, Entry, home_in_force, open_catalog
from boost_langchain._notices import forget, say_nothing_tapped, say_once
from boost_langchain.errors import BoostRetrievalError

type Kind = Literal["skill", "rule", "workflow"]

REBUILD_AFTER = 60.0
"""Seconds before a build that failed is tried again: at 10,000 items one try takes a minute."""

_build_lock = threading.Lock()
_failed_builds: dict[str, float] = {}


@dataclass(frozen=True)
class Query:
    """What is asked of the ladder; the fields mean what they mean on `BoostRetriever`."""

    text: str
    k: int
    kind: Kind | None = None
    tap: str | None = None
    collapse_near_duplicates: bool = False
    refresh: Literal["auto", "never"] = "auto"
    on_error: Literal["empty", "raise"] = "empty"


@dataclass(frozen=True)
class Answer:
    """The hits, best first, the label of the rung that found them, and where they lie."""

    hits: list[rag.Hit]
    engine: str = ""
    catalog: Catalog | None = None


def answer(query: Query) -> Answer:
    """Ask the engine; degrade as the package promises.

    Raises:
        BoostRetrievalError: The engine failed and `query.on_error` is "raise".
    """
    try:
        catalog = open_catalog()
    except BoostRetrievalError as e:
        _report(e, query, home_in_force())
        return Answer([])
    if not _can_answer(catalog, query):
        return Answer([], catalog=catalog)
    try:
        hits, engine = _ask_engine(catalog, query)
    except Exception as e:  # noqa: BLE001 - whatever escapes the engine is its fault, not the chain's
        _report(_fault(catalog, e), query, catalog.home)
        hits, engine = _ask_heuristic(catalog, query)
    else:
        forget("fault", catalog.home)
    return Answer(hits, engine, catalog)


def _can_answer(catalog: Catalog, query: Query) -> bool:
    if not catalog.taps:
        say_nothing_tapped(catalog.home)
        return False
    forget("empty", catalog.home)
    if query.tap is not None and query.tap not in catalog.taps:
        say_once(
            "tap",
            catalog.home,
            f"{query.tap!r} is not tapped, so its answers are empty; "
            f"tapped: {', '.join(sorted(catalog.taps))}",
        )
        return False
    return True


def _ask_engine(catalog: Catalog, query: Query) -> tuple[list[rag.Hit], str]:
    if query.refresh == "auto":
        _bring_up_to_date(catalog)
    hits, engine = _ask_index(catalog, query)
    if hits is None and query.refresh == "auto" and not rag.ready():
        # It looked current but its postings cannot be read, which is dear to ask beforehand.
        _build_once(catalog)
        hits, engine = _ask_index(catalog, query)
    return (hits, engine) if hits is not None else _ask_heuristic(catalog, query)


def _ask_index(catalog: Catalog, query: Query) -> tuple[list[rag.Hit] | None, str]:
    hits, engine = rag.retrieve_any(
        query.text,
        k=query.k,
        kind=query.kind,
        entries=_pool(catalog, query),
        collapse_near_duplicates=query.collapse_near_duplicates,
    )
    if not hits and query.tap is not None and query.tap not in catalog.index_commits:
        return None, ""  # the index does not know this registry yet
    return hits, engine


def _pool(catalog: Catalog, query: Query) -> list[Entry] | None:
    """The entries to search, or None for all of them as the engine finds them."""
    write = query.refresh == "auto"
    if query.tap is not None:
        return catalog.entries(query.tap, write=write)
    # Without a list the engine may rescan a registry and save its cache.
    return None if write else list(catalog.all_entries(write=False))


def _ask_heuristic(catalog: Catalog, query: Query) -> tuple[list[rag.Hit], str]:
    """Rank as `boost search` does without an index, over whatever can be read."""
    write = query.refresh == "auto"
    pool = [
        entry
        for entry in catalog.all_entries(write=write)
        if query.tap in (None, entry["tap"]) and query.kind in (None, entry.get("kind") or "skill")
    ]
    try:
        scored = boost_catalog.search(query.text, pool)
    except Exception as e:  # noqa: BLE001 - the last rung: after it there is only []
        _report(_fault(catalog, e), query, catalog.home)
        return [], ""
    hits = [rag.Hit(entry=entry, score=float(score)) for entry, score in scored[: query.k]]
    return hits, rag.HEURISTIC_ENGINE


def _bring_up_to_date(catalog: Catalog) -> None:
    """Build a missing index, or renew one where at most one registry changed."""
    if _wants_build(catalog):
        _build_once(catalog)


def _build_once(catalog: Catalog) -> None:
    with _build_lock:
        if rag.ready() and not _wants_build(catalog):  # another thread built it meanwhile
            return
        if time.monotonic() < _failed_builds.get(catalog.home, 0.0):
            return
        if _build(catalog):
            _failed_builds.pop(catalog.home, None)
            catalog.__dict__.pop("index_commits", None)
            forget("build", catalog.home)
        else:
            _failed_builds[catalog.home] = time.monotonic() + REBUILD_AFTER
            say_once(
                "build",
                catalog.home,
                f"the search index in {catalog.home} cannot be built, so simpler ranking "
                f"answers; {_damage(catalog) or 'run `boost reindex` to see why'}",
            )


def _wants_build(catalog: Catalog) -> bool:
    changed = changed_taps(catalog)
    if changed is None:
        return True
    if len(changed) > 1:
        say_once(
            "stale",
            catalog.home,
            f"{len(changed)} registries changed since the search index in {catalog.home} was "
            "built, so answers may be out of date; run `boost reindex`",
        )
        return False
    forget("stale", catalog.home)
    return bool(changed)


def changed_taps(catalog: Catalog) -> set[str] | None:
    """The registries that the index does not reflect, or None when there is no index.

    By time stamps alone, as `rag.stale` does: reading every cache costs more than the query.
    """
    raw = rag._load_raw()  # noqa: SLF001 - rag.stale says whether, not how many
    if not raw or not raw.get("docs"):
        return None
    recorded = set(raw.get("commits") or {})
    index = str(rag.index_path())
    built = os.stat(index).st_mtime
    names = {tap.safe_name for tap in catalog.taps.values()}
    changed = recorded ^ names
    for name in names:
        try:
            # The registries' caches lie beside the index (`registry.Tap.cache_file`).
            if os.stat(os.path.join(os.path.dirname(index), f"{name}.json")).st_mtime > built:
                changed.add(name)
        except OSError:
            continue
    return changed


def _build(catalog: Catalog) -> bool:
    """Build the index, without the items that must not be read; True when it can answer."""
    changed = changed_taps(catalog)
    readable: list[Entry] = []
    refused: list[str] = []
    unscanned: list[str] = []
    for name, tap in catalog.taps.items():
        try:
            entries = catalog.entries(name)
        except BoostRetrievalError as e:
            unscanned.append(str(e))
            continue
        for entry in entries:
            # The engine reuses what it holds of an unchanged registry and reads nothing.
            reread = changed is None or tap.safe_name in changed
            if reread and not catalog.is_safe(entry):
                refused.append(f"{name}::{entry['skill_md']}")
            else:
                readable.append(entry)
    if not refused and not unscanned:
        return bool(rag.ensure())
    for fault in unscanned:
        say_once("scan", catalog.home, fault)
    if refused:
        say_once(
            "refused",
            catalog.home,
            f"left out of the search index, because they lead out of their registry or are no "
            f"regular files: {', '.join(refused)}; run `boost heal`",
        )
    try:
        rag.build(readable)
        return bool(rag.ready())
    except Exception:  # noqa: BLE001 - like rag.ensure: a failed build is answered by the next rung
        return False


def _fault(catalog: Catalog, cause: Exception) -> BoostRetrievalError:
    if isinstance(cause, BoostRetrievalError):
        return cause
    fault = BoostRetrievalError(
        _damage(catalog)
        or f"the search index is damaged ({type(cause).__name__}); delete cache/rag_index.json "
        "and run `boost reindex --force`"
    )
    fault.__cause__ = cause
    return fault


def _damage(catalog: Catalog) -> str | None:
    try:
        return catalog.damage()
    except Exception:  # noqa: BLE001 - the diagnosis itself may meet the fault
        return None


def _report(fault: BoostRetrievalError, query: Query, home: str) -> None:
    """Raise the fault, or say it once and go on, as the query wants it."""
    if query.on_error == "raise":
        raise fault
    say_once("fault", home, f"{fault} (boost home: {home})")
