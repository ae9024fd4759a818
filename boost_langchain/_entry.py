"""One entry of the engine's catalog: its shape, and the facts that are read off it."""

from typing import Any, Literal, TypeGuard, get_args

from boost_cli.core import catalog

type Kind = Literal["skill", "rule", "workflow"]

KINDS: tuple[str, ...] = get_args(Kind.__value__)

type Entry = dict[str, Any]
"""A catalog entry of the engine: name, tap, kind, description, skill_md, meta, ..."""

_FIELDS = {"name": str, "tap": str, "skill_md": str}
_OPTIONAL = {"description": str, "kind": str, "search_blob": str}


def kind_of(entry: Entry) -> str:
    """The kind of an item; one that names none is a skill, as everywhere in the engine."""
    return str(entry.get("kind") or "skill")


def declared_version(entry: Entry) -> str:
    """The version that the item's own file declares, or ""."""
    return str(catalog.declared_version(entry) or "")


def content_digest(entry: Entry) -> str:
    """The engine's digest of the item's name, description and body, or "".

    Equal for byte-identical copies; the search collapses those to one hit by the same digest.
    """
    return str(entry.get("content") or "")


def file_of(entry: Entry) -> str | None:
    """The item's path in its registry, or None where it names none that could be opened."""
    relative = entry.get("skill_md")
    return relative if isinstance(relative, str) and relative and "\0" not in relative else None


def is_well_formed(entry: object) -> TypeGuard[Entry]:
    """Whether the engine can search this, whoever wrote it."""
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), kind) for key, kind in _FIELDS.items())
        and all(isinstance(entry.get(key), kind | None) for key, kind in _OPTIONAL.items())
    )


def belongs(entry: object, tap: str) -> TypeGuard[Entry]:
    """Whether this is an item of the registry `tap`, with a file."""
    return is_well_formed(entry) and entry["tap"] == tap and bool(entry["skill_md"])
