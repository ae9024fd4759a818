"""What would answer a query here, and what keeps a better rung from it.

Reads the engine's state, writes nothing, asks no model.
"""

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from boost_cli.core import dense, rag

import boost_langchain.retriever
from boost_langchain._catalog import Catalog
from boost_langchain._entry import kind_of
from boost_langchain._freshness import RENEWED, changed_taps
from boost_langchain._home import home_in_force, open_catalog, open_whole_catalog
from boost_langchain._index import damaged_index, index_fault
from boost_langchain.errors import BoostRetrievalError

BM25 = "BM25 full-content"
HYBRID = "hybrid RRF (BM25 + dense)"
DENSE = "dense vectors"

_WHY_NO_DENSE = {
    "disabled": "BOOST_NO_EMBED switches it off",
    "corrupt": "the dense store is unreadable",
    "no-backend": "the [rag] extra is not installed",
    "no-extension-load": "this Python's sqlite3 cannot load extensions",
    "no-key": "no embedder is available",
    "no-store": "no dense store is built",
    "version-changed": "the dense store is of another version of the engine",
    "provider-changed": "the dense store was built with another embedder",
    "model-changed": "the dense store was built with another model",
    "dim-changed": "the dense store has vectors of another size",
    "empty": "the dense store is empty",
    "model-unavailable": "the embedding model could not be loaded",
}


@dataclass(frozen=True)
class Rung:
    """One way of answering, and why it does not if it does not."""

    name: str
    answers: bool
    why_not: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Report:
    """What `python -m boost_langchain doctor` says."""

    home: str
    problem: str = ""
    """What is broken, with its remedy; "" when nothing is."""
    taps: int = 0
    items: dict[str, int] = field(default_factory=dict)
    """How many of each kind."""
    index: dict[str, Any] = field(default_factory=dict)
    """Facts of the BM25 index on disk; {} when there is none."""
    answers: str = "nothing"
    """The label of the rung that answers now."""
    rungs: list[Rung] = field(default_factory=list)
    """The better rungs, best first."""
    embedder: str = ""
    """The hosted embedder that each query is sent to, or ""."""
    versions: dict[str, str] = field(default_factory=dict)
    imported: str = ""
    """Where the imported package lies."""

    @property
    def healthy(self) -> bool:
        """Whether the default rung or a better one answers and nothing is broken."""
        return not self.problem and self.answers in {BM25, HYBRID, DENSE}


def examine() -> Report:
    """Look at the boost home in force; never raises for what it finds."""
    package = Path(boost_langchain.retriever.__file__)
    about: dict[str, Any] = {
        "versions": _versions(),
        "imported": str(package.parent.parent),
    }
    try:
        catalog = open_catalog()
        if not catalog.taps:
            open_whole_catalog()  # the configuration may have lost them
    except BoostRetrievalError as e:
        return Report(home_in_force(), problem=str(e), **about)
    status = _dense_status()
    index, fault = _index(catalog)
    bm25, hybrid = bool(index), bool(status.get("ready"))
    if not catalog.taps:
        answers = "nothing"
    elif bm25:
        answers = HYBRID if hybrid else BM25
    else:
        answers = DENSE if hybrid else rag.HEURISTIC_ENGINE
    return Report(
        catalog.home,
        problem=catalog.diagnosis()
        or fault
        or _lost_clones(catalog)
        or _stale(index.get("changed", ()))
        or _editable(),
        taps=len(catalog.taps),
        items=_kinds(catalog),
        index=index,
        answers=answers,
        rungs=[_hybrid_rung(status, bm25=bm25), _bm25_rung(catalog, built=bm25)],
        embedder=str(status["provider"]) if hybrid and status.get("provider") != "local" else "",
        **about,
    )


def as_json(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return asdict(report) | {"healthy": report.healthy}


def as_text(report: Report) -> str:
    """The report for a person."""
    kinds = ", ".join(f"{count:,} {kind}s" for kind, count in report.items.items())
    lines = [
        f"boost home      {report.home or 'unknown'}",
        f"registries      {report.taps}",
        f"items           {kinds or 'none'}",
    ]
    if report.index:
        index = report.index
        changed = len(index["changed"])
        noun = "registry" if changed == 1 else "registries"
        stale = f"{changed} {noun} changed since" if changed else "current"
        lines += [
            f"index           {index['documents']:,} documents, built {index['built']}, {stale}",
            f"                k1={index['k1']}, b={index['b']}, from:",
            *(
                f"                  {tap} @ {commit[:12]}"
                for tap, commit in index["commits"].items()
            ),
        ]
    else:
        lines.append("index           none")
    lines.append(f"answers now     {report.answers}")
    for rung in report.rungs:
        if not rung.answers:
            lines += [
                f"  better        {rung.name}: {rung.why_not}",
                f"                -> {rung.remedy}",
            ]
    if report.embedder:
        lines.append(
            f"note            every query is sent to the hosted embedder {report.embedder}"
        )
    lines.append(f"versions        {', '.join(f'{n} {v}' for n, v in report.versions.items())}")
    lines.append(f"imported from   {report.imported}")
    if report.problem:
        lines.append(f"problem         {report.problem}")
    lines.append("healthy" if report.healthy else "needs attention")
    return "\n".join(lines)


def _versions() -> dict[str, str]:
    found = {}
    for name in ("boost-langchain", "boost-skill-cli", "langchain-core", "langgraph", "langchain"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}


def _lost_clones(catalog: Catalog) -> str:
    lost = [name for name, tap in catalog.taps.items() if not tap.is_cloned]
    if not lost:
        return ""
    return f"no clone of {', '.join(lost)}, so their items have no body; run `boost update`"


def _stale(changed: Sequence[str]) -> str:
    """More changed registries than the next query renews."""
    if len(changed) <= RENEWED:
        return ""
    return f"{len(changed)} registries changed since the index was built; run `boost reindex`"


def _editable() -> str:
    """Whether other directories would import the engine's copy of the package."""
    try:
        origin = json.loads(distribution("boost-langchain").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    if not origin.get("dir_info", {}).get("editable"):
        return ""
    return "in an editable install the engine's copy of this package wins; run `pip install .`"


def _kinds(catalog: Catalog) -> dict[str, int]:
    counts = {"skill": 0, "rule": 0, "workflow": 0}
    for entry in catalog.all_entries(write=False):
        kind = kind_of(entry)
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def _index(catalog: Catalog) -> tuple[dict[str, Any], str]:
    """Facts of the index, and what is wrong with it."""
    if catalog.blocked_index:
        return {}, catalog.blocked_index
    try:
        if not rag.ready():
            return {}, ""
        raw = rag._load_raw() or {}  # noqa: SLF001 - no public way to the parameters
        if fault := index_fault(raw, list(catalog.all_entries(write=False))):
            return {}, fault
        facts = {
            "built": str(raw.get("generated", "")),
            "documents": len(raw["docs"]),
            "k1": raw["params"]["k1"],
            "b": raw["params"]["b"],
            "commits": dict(catalog.index_commits),
            "changed": sorted(changed_taps(catalog) or ()),
        }
    except Exception as e:  # noqa: BLE001 - a broken index is what a doctor looks for
        return {}, damaged_index(e)
    return facts, ""


def _dense_status() -> dict[str, Any]:
    try:
        return dict(dense.status())
    except Exception:  # noqa: BLE001 - a store that cannot even be asked
        return {"ready": False, "reason": "corrupt"}


def _bm25_rung(catalog: Catalog, *, built: bool) -> Rung:
    if built:
        return Rung(BM25, answers=True)
    if not catalog.taps:
        return Rung(BM25, answers=False, why_not="nothing is tapped", remedy="boost tap --defaults")
    why = "no index is built; the first query builds it"
    if rag.index_path().exists():
        why = "the index on disk cannot be read; the next query builds it anew"
    if not os.access(_first_existing(rag.index_path().parent), os.W_OK):
        why = "no index is built, and the boost home cannot be written"
    return Rung(BM25, answers=False, why_not=why, remedy="boost reindex")


def _first_existing(directory: Path) -> Path:
    return next(path for path in (directory, *directory.parents) if path.exists())


def _hybrid_rung(status: dict[str, Any], *, bm25: bool) -> Rung:
    if status.get("ready"):
        if bm25:
            return Rung(HYBRID, answers=True)
        return Rung(HYBRID, answers=False, why_not="no BM25 index is built", remedy="boost reindex")
    reason = str(status.get("reason"))
    why = _WHY_NO_DENSE.get(reason, reason)
    if reason == "no-backend" and not hasattr(sqlite3.Connection, "enable_load_extension"):
        why += ", and this Python's sqlite3 could not load what it brings"
    return Rung(HYBRID, answers=False, why_not=why, remedy=dense.fix_hint(reason, status))
