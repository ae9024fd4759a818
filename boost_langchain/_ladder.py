"""One query, down the ladder: current index, the engine's answer, its heuristic, nothing.

Ranking is the engine's (`rag.retrieve_any`, `catalog.search`). What is decided here is what
answers when a rung fails.
"""

from dataclasses import dataclass
from typing import Literal

from boost_cli.core import catalog as boost_catalog
from boost_cli.core import rag

from boost_langchain._catalog import Catalog
from boost_langchain._entry import Entry, Kind, kind_of
from boost_langchain._freshness import bring_up_to_date, build_once, say_what_never_leaves
from boost_langchain._home import home_in_force, open_catalog
from boost_langchain._index import TORN, damaged_index, index_stamp, wait_for_writer
from boost_langchain._notices import forget, say_fault, say_nothing_tapped, say_once
from boost_langchain.errors import BoostRetrievalError

_SHOWN_TAPS = 20

_TRIES = 3
"""How often a query is asked anew because the index changed under it."""


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
        hits, engine = _ask_steadily(catalog, query)
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
        names = sorted(catalog.taps)
        more = f" and {len(names) - _SHOWN_TAPS} more" if len(names) > _SHOWN_TAPS else ""
        say_once(
            "tap",
            catalog.home,
            f"{query.tap!r} is not tapped, so its answers are empty; "
            f"tapped: {', '.join(names[:_SHOWN_TAPS])}{more}",
        )
        return False
    return True


def _ask_steadily(catalog: Catalog, query: Query) -> tuple[list[rag.Hit], str]:
    """Ask the engine; ask again where another process wrote the index meanwhile.

    It reads documents and postings one after the other: of two builds they give wrong items.
    """
    for _ in range(_TRIES):
        before = index_stamp()
        try:
            found = _ask_engine(catalog, query)
        except Exception:
            if index_stamp() == before:
                raise
        else:
            if index_stamp() == before:
                return found
        catalog.forget_index()
        catalog.forget_caches()
    return _ask_engine(catalog, query)


def _ask_engine(catalog: Catalog, query: Query) -> tuple[list[rag.Hit], str]:
    if catalog.blocked_index:
        raise BoostRetrievalError(catalog.blocked_index)
    wait_for_writer()
    # First: a cache that this makes is younger than the index, which must know of it.
    pool = _pool(catalog, query)
    if query.refresh == "auto":
        bring_up_to_date(catalog)
    else:
        say_what_never_leaves(catalog)
    if catalog.torn_index:
        raise BoostRetrievalError(TORN)
    hits, engine = _ask_index(catalog, query, pool)
    if hits is None and query.refresh == "auto" and not rag.ready():
        # It looked current but its postings cannot be read, which is dear to ask beforehand.
        build_once(catalog)
        hits, engine = _ask_index(catalog, query, pool)
    return (hits, engine) if hits is not None else _ask_heuristic(catalog, query)


def _ask_index(
    catalog: Catalog, query: Query, pool: list[Entry] | None
) -> tuple[list[rag.Hit] | None, str]:
    hits, engine = rag.retrieve_any(
        query.text,
        k=query.k,
        kind=query.kind,
        entries=pool,
        collapse_near_duplicates=query.collapse_near_duplicates,
    )
    if not hits and query.tap is not None and query.tap not in catalog.index_commits:
        return None, ""  # the index does not know this registry yet
    return hits, engine


def _pool(catalog: Catalog, query: Query) -> list[Entry] | None:
    """The entries to search, or None for all of them as the engine finds them."""
    write = query.refresh == "auto"
    if query.tap is not None:
        entries = catalog.entries(query.tap, write=write)
        catalog.forget_caches()
        return entries
    # Without a list the engine rescans a registry whose cache is missing or old: it saves the
    # cache, and never finishes where a FIFO lies in the clone.
    if write and all(map(catalog.is_settled, catalog.taps)):
        forget("scan", catalog.home)
        return None
    entries = list(catalog.all_entries(write=write))
    catalog.forget_caches()
    return entries


def _ask_heuristic(catalog: Catalog, query: Query) -> tuple[list[rag.Hit], str]:
    """Rank as `boost search` does without an index, over whatever can be read."""
    write = query.refresh == "auto"
    pool = [
        entry
        for entry in catalog.all_entries(write=write)
        if query.tap in (None, entry["tap"]) and query.kind in (None, kind_of(entry))
    ]
    try:
        scored = boost_catalog.search(query.text, pool)
    except Exception as e:  # noqa: BLE001 - the last rung: after it there is only []
        _report(_fault(catalog, e), query, catalog.home)
        return [], ""
    hits = [rag.Hit(entry=entry, score=float(score)) for entry, score in scored[: query.k]]
    return hits, rag.HEURISTIC_ENGINE


def _fault(catalog: Catalog, cause: Exception) -> BoostRetrievalError:
    if isinstance(cause, BoostRetrievalError):
        return cause
    fault = BoostRetrievalError(catalog.diagnosis() or damaged_index(cause))
    fault.__cause__ = cause
    return fault


def _report(fault: BoostRetrievalError, query: Query, home: str) -> None:
    """Raise the fault, or say it once and go on, as the query wants it."""
    if query.on_error == "raise":
        raise fault
    say_fault("fault", home, fault)
