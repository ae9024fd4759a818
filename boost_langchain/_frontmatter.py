"""The text of a procedure file as fields, body and warnings.

Translates what the engine's frontmatter parser reads into strict JSON. Where that parser
departs from what the author evidently meant, the reading carries a warning.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from boost_cli.core import frontmatter

_FENCES = ("---", "...")
_FIRST = 2
"""The line of a file on which the first line of its header stands."""
_BLOCK_SCALAR = re.compile(r"([|>])([1-9][+-]?|[+-][1-9]?)?")
_FIELD = re.compile(r"\s*[\w\"'][^:]*:(\s|$)")
_WORD = re.compile(r"\w+")
_NOT_PLAIN = re.compile(r"[\"'{\[]|[|>].|[&*!]!?\w+(\s|$)")
"""How a YAML value begins that is more than plain text; `*.py` is meant as text."""
_QUOTED = re.compile(r"\"([^\"\\]|\\.)*\"|'[^']*'")
"""A quoted value of one line, without a comment or quotes within quotes."""


@dataclass(frozen=True)
class Reading:
    """What a procedure file says."""

    fields: dict[str, Any]
    """The header's fields: strict JSON, and `description` one string."""
    body: str
    warnings: list[str]
    """One sentence for each place where the catalog's reading is not the evident one."""


def read_procedure(text: str) -> Reading:
    """Read a procedure file as the engine's catalog reads it, and say where that misleads.

    One thing is read otherwise than the catalog does: a header ends at the first `---` or
    `...` at column 0, where the engine takes an indented one, in a block scalar say, as the
    end. An indented one still ends a header that no other ends, and one after which there
    is no more header, but text.

    Args:
        text: The file, with line ends folded to a newline.
    """
    text = text.removeprefix(frontmatter.BOM)
    lines = text.splitlines()
    fences = [i for i, line in enumerate(lines) if i and line.strip() in _FENCES]
    if not text.startswith("---") or lines[0].rstrip() != "---":
        return Reading({"description": ""}, text, [*_late_header(lines), *_replaced(text)])
    if not fences:
        msg = "the header is not closed (no --- at column 0), so all of it is read as text"
        return Reading({"description": ""}, text, [msg, *_replaced(text)])
    end, warnings = _end_of_header(text, lines, fences)
    header = lines[1:end]
    fields = _parse(header)
    warnings += _left_out(header, fields)
    warnings += _kept_syntax(header, fields)
    warnings += _replaced(text)
    body = "\n".join(lines[end + 1 :]).lstrip("\n")
    fields = {key: _json(value) for key, value in fields.items()}
    fields["description"] = _one_string(fields.get("description"))
    return Reading(fields, body, warnings)


def _end_of_header(text: str, lines: Sequence[str], fences: Sequence[int]) -> tuple[int, list[str]]:
    """The index of the line that ends the header, and a warning where the engine's differs."""
    engine = fences[0]
    # Of the lines that the engine sees, those that an editor shows as lines of their own:
    # the engine also breaks a line at U+2028 and its like.
    raw = text.splitlines(keepends=True)
    ends = (i for i in fences if raw[i].rstrip(" \t\n") in _FENCES and raw[i - 1].endswith("\n"))
    end = next(ends, None)
    if end == engine:
        return end, []
    where = f"the {lines[engine].strip()} on line {engine + 1} does not begin a line"
    if end is None or max(_lost_lines(lines[1:end]), default=0) > engine:
        return engine, [f"{where}; the header ends there all the same, as in the catalog"]
    return end, [f"{where}, so it is content here; the catalog ends the header there"]


def _parse(header: Sequence[str]) -> dict[str, Any]:
    """Parse a header with the engine's parser, which knows `|` and `>` but not `>2` or `|2-`."""
    plain = [line for _, line in _plain_block_scalars(header)]
    parsed: dict[str, Any] = frontmatter.parse_block("\n".join(plain))
    return parsed


def _plain_block_scalars(header: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Each line, without a block scalar's indicators, and whether it is a scalar's content."""
    top: int | None = None
    block: int | None = None  # the indent of the line that opened the block scalar
    nested = False  # whether deeper lines are fields of a map
    for line in header:
        written = line.lstrip()
        indent = len(line) - len(written)
        if block is not None and (not written or indent > block):
            yield True, line
            continue
        block = None
        key, colon, value = line.partition(":")
        if not colon or written.startswith(("#", "- ")):
            yield False, line
            continue
        top = indent if top is None else top
        value = _uncommented(value)
        opened = _BLOCK_SCALAR.fullmatch(value) if indent <= top or nested else None
        if opened:
            block = indent
        elif indent <= top:
            nested = not value
        yield False, f"{key}: {opened[1]}" if opened else line


def _late_header(lines: Sequence[str]) -> Iterator[str]:
    """Say that what looks like a header is none, because it does not begin the file."""
    written = ((i, line) for i, line in enumerate(lines, start=1) if line.strip())
    number, first = next(written, (0, ""))
    _, second = next(written, (0, ""))
    if first.strip() == "---" and _FIELD.match(second):
        yield (
            f"the header begins on line {number}, not with the first characters of the file, "
            "so it is read as text, as in the catalog"
        )


def _lost_lines(header: Sequence[str], fields: dict[str, Any] | None = None) -> list[int]:
    """The indices, in the file, of header lines whose words are not all in the fields."""
    kept = set(_words(_parse(header) if fields is None else fields))
    lost = []
    for i, (content, line) in enumerate(_plain_block_scalars(header), start=1):
        if content or not line.lstrip().startswith("#"):
            key, colon, value = line.partition(":")
            written = (line if content else key + colon + _uncommented(value)).lower()
            # Between double quotes the engine reads \n as a line end, elsewhere as it stands.
            either = (written, written.replace("\\n", " "))
            if not any(kept.issuperset(_WORD.findall(text)) for text in either):
                lost.append(i)
    return lost


def _left_out(header: Sequence[str], fields: dict[str, Any]) -> Iterator[str]:
    """Say which lines of the header are not, or not wholly, in the metadata."""
    lost = [i + 1 for i in _lost_lines(header, fields)]
    if lost:
        shown = ", ".join(map(str, lost[:10])) + (", ..." if lost[10:] else "")
        yield (
            f"not all of the header is in the metadata (line {shown}): the catalog reads "
            "`field: value`, lists, maps of one level, and the last field of a name"
        )
    if "warnings" in fields:
        yield "the header's own `warnings` is left out: metadata has these under that name"


def _kept_syntax(header: Sequence[str], fields: dict[str, Any]) -> Iterator[str]:
    """Say which values and names keep their YAML syntax, which the engine does not know."""
    for i, (content, line) in enumerate(_plain_block_scalars(header)):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if content or not colon or key not in fields:
            continue
        read = fields[key]
        if key.startswith(("'", '"')):
            yield f"the quotes of {key} on line {i + _FIRST} are read as part of the name"
        if isinstance(read, str) and _NOT_PLAIN.match(value) and not _QUOTED.fullmatch(value):
            yield f"{key} on line {i + _FIRST} is read as it stands, not by the rules of YAML"


def _replaced(text: str) -> Iterator[str]:
    if "\N{REPLACEMENT CHARACTER}" in text:
        yield "bytes that are not UTF-8 are read as U+FFFD; save the file as UTF-8"


def _uncommented(value: str) -> str:
    """A value without its trailing comment, by the engine's rule."""
    value = value.strip()
    return value if value.startswith(("'", '"', "[")) else value.split(" #", 1)[0].strip()


def _words(value: object) -> Iterator[str]:
    """The words of a parsed value, small, its fields' names among them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _words(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    else:
        yield from _WORD.findall("null" if value is None else str(value).lower())


def _json(value: object) -> object:
    """`value` as strict JSON: a number that JSON does not have stays the text it was."""
    if isinstance(value, dict):
        return {key: _json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_json(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _one_string(value: object) -> str:
    """A description as one string, whatever the engine took it for."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_one_string(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_one_string, value))
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
