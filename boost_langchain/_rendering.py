r"""Documents as labelled text for a model, and a label back to its fields.

Every procedure begins with one line that says where it comes from::

    ### name (kind — tap:path @ version)

The line is a contract: there are as many such lines as documents, whatever third-party text
the documents carry. Fields are one line each, and a backslash stands before each of
`\ ( ) : ; @ —` inside a field; `parse_prefix` undoes both. A body line that looks like such
a line gets a backslash in front.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from boost_langchain._invisible import visible
from boost_langchain._text import nfkc, visible_line

DESCRIPTION_ONLY = "description only, body not included"
INTRODUCTION = (
    "Procedures from the boost catalog relevant to the current request. Apply the ones that "
    "fit; each is labelled with its source so that it can be audited."
)

_LEAST_CUT = 400
"""Characters of body below which a cut procedure says too little to be worth its place."""

_FENCE_ROOM = 40
"""Characters kept for closing a code fence; a body whose fence is longer is left out."""

_FIELD = r"(?:[^\\():;@—]|\\.)*"
_PREFIX = (
    rf"### (?P<name>{_FIELD}) \((?P<kind>{_FIELD}) — (?P<tap>{_FIELD}):(?P<path>{_FIELD})"
    rf"(?: @ (?P<version>{_FIELD}))?(?P<notes>(?:; {_FIELD})*)\)"
)


@dataclass(frozen=True)
class Prefix:
    """The fields of a procedure's first line, cleaned: one line each, nothing invisible."""

    name: str
    kind: str
    tap: str
    path: str
    version: str = ""
    """What the file declares, or "": then the line has no ` @ version`."""
    notes: tuple[str, ...] = ()
    """Remarks after the version: that the body is missing, what a screen found."""

    def __str__(self) -> str:
        """The line, as `parse_prefix` reads it."""
        version = f" @ {_escape(self.version)}" if self.version else ""
        notes = "".join(f"; {_escape(note)}" for note in self.notes)
        where = f"{_escape(self.tap)}:{_escape(self.path)}{version}{notes}"
        return f"### {_escape(self.name)} ({_escape(self.kind)} — {where})"


def prefix_of(document: Document) -> Prefix:
    """The label of a document; a field that is missing or empty gets a stand-in."""
    metadata = document.metadata
    return Prefix(
        name=visible_line(metadata.get("name")) or "unnamed",
        kind=visible_line(metadata.get("kind")) or "skill",
        tap=visible_line(metadata.get("tap")) or "?",
        path=visible_line(metadata.get("path")) or "?",
        version=visible_line(metadata.get("version")),
        notes=(DESCRIPTION_ONLY,) if metadata.get("has_body") is False else (),
    )


def parse_prefix(line: str) -> Prefix | None:
    """The fields of a line that `Prefix` wrote, or None when it is no such line."""
    match = re.fullmatch(_PREFIX, line)
    if match is None:
        return None
    fields = {key: _unescape(value or "") for key, value in match.groupdict().items()}
    notes = tuple(_unescape(note) for note in re.findall(rf"; ({_FIELD})", match["notes"]))
    return Prefix(**(fields | {"notes": notes}))  # type: ignore[arg-type]  # notes is the tuple


def format_procedures(documents: Iterable[Document], *, budget: int | None = None) -> str:
    """Render documents as prompt text with provenance; usable after `|` in a chain.

    Args:
        documents: What a `BoostRetriever` returned, best first.
        budget: The most characters of the result; None: no limit.

    Returns:
        One labelled block per document, or "" for none.

    Example:
        ```python
        from boost_langchain.retriever import BoostRetriever, format_procedures

        context = BoostRetriever(k=2) | format_procedures
        text = context.invoke("chunk long documents")
        ```
    """
    documents = list(documents)
    return render_procedures(documents, [prefix_of(d) for d in documents], budget=budget)


def render_procedures(
    documents: Sequence[Document], prefixes: Sequence[Prefix | str], *, budget: int | None = None
) -> str:
    """Render documents under the given labels, within a budget of characters.

    Whole procedures in rank order. One that does not fit is cut at a paragraph, with a line
    that says how much is missing, or listed by its label alone. Where even the labels do not
    fit, the last ones are counted in one closing line.

    Args:
        documents: Best first.
        prefixes: The label of each document.
        budget: The most characters of the result; None: no limit.
    """
    check_budget(budget)
    bodies = [_body(document) for document in documents]
    labels = [str(prefix) for prefix in prefixes]
    blocks = [_block(label, body) for label, body in zip(labels, bodies, strict=True)]
    if budget is None or len("\n\n".join(blocks)) <= budget:
        return "\n\n".join(blocks)
    shortest = [_block(label, _left_out(body)) for label, body in zip(labels, bodies, strict=True)]
    kept, closing = _fitting(shortest, budget)
    shown: list[str] = shortest[:kept]
    room = budget - len("\n\n".join([*shown, *closing]))
    for index in range(kept):
        room += len(shown[index])
        if len(blocks[index]) <= room:
            shown[index] = blocks[index]
        elif cut := _cut(bodies[index], room - len(_block(labels[index], " ")) + 1):
            shown[index] = _block(labels[index], cut)
        room -= len(shown[index])
    return "\n\n".join([*shown, *closing])


def check_budget(budget: int | None, *, least: int = 1) -> None:
    """Raise unless `budget` is None or a whole number of at least `least`."""
    if budget is None:
        return
    if isinstance(budget, bool) or not isinstance(budget, int):
        msg = f"budget is a number of characters or None, not {budget!r}"
        raise TypeError(msg)
    if budget < least:
        msg = f"budget={budget} leaves no room; pass at least {least}, or None for no limit"
        raise ValueError(msg)


def with_notes(prefix: Prefix, notes: Iterable[str]) -> Prefix:
    """The label with further remarks behind those it has."""
    return replace(prefix, notes=(*prefix.notes, *map(visible_line, notes)))


def _body(document: Document) -> str:
    body = "\n".join(map(_defused, visible(document.page_content).strip().split("\n")))
    fence = _open_fence(body)
    return f"{body}\n{fence}" if fence else body


def _defused(line: str) -> str:
    """The line, with a backslash before its heading mark if a reader would take it for a label.

    Looser than the parser: a quoted, listed or bold heading, wide or look-alike characters,
    something behind the bracket.
    """
    head = re.match(r"[\s>*_+\-\u2800]*", line)
    start = head.end() if head else 0
    # Most lines are no heading: only one that is pays for the rest.
    if line[start : start + 1] not in {"#", "\uff03", "\ufe5f"}:
        return line
    plain = nfkc(line[start:])
    _, bracket, inside = plain.partition("(")
    if (
        bracket
        and re.search("[\u2010-\u2015\u2212-]", inside)
        and re.search("[:\u2236\ua789]", inside)
    ):
        return f"{line[:start]}\\{line[start:]}"
    return line


def _block(label: str, body: str) -> str:
    return f"{label}\n\n{body}" if body else label


def _left_out(body: str) -> str:
    return f"[{len(body):,} characters left out: over the budget]"


def _fitting(blocks: Sequence[str], budget: int) -> tuple[int, list[str]]:
    """How many leading blocks fit, and the closing line that counts the others."""
    for kept in range(len(blocks), -1, -1):
        missing = len(blocks) - kept
        noun = "procedure" if missing == 1 else "procedures"
        closing = [f"[{missing} more {noun} left out: over the budget]"] if missing else []
        if len("\n\n".join([*blocks[:kept], *closing])) <= budget:
            return kept, closing
    return 0, []


def _cut(body: str, room: int) -> str:
    """The first paragraphs of `body` with a note, in at most `room` characters, or ""."""
    reserve = len(_marker(len(body))) + _FENCE_ROOM
    if room - reserve < _LEAST_CUT:
        return ""
    head = body[: room - reserve]
    for boundary in ("\n\n", "\n", " "):
        end = head.rfind(boundary)
        if end >= _LEAST_CUT // 2:
            head = head[:end]
            break
    head = head.rstrip()
    # A fence that the cut left open would swallow the next label.
    fence = _open_fence(head)
    if len(fence) > _FENCE_ROOM - len("\n\n\n"):
        return ""
    closed = f"{head}\n{fence}" if fence else head
    return f"{closed}\n\n{_marker(len(body) - len(head))}"


def _open_fence(text: str) -> str:
    """The fence that closes the code block which `text` leaves open, or "".

    By CommonMark's rules (https://spec.commonmark.org/0.31.2/#fenced-code-blocks): nothing
    stands behind a closing fence, and no backtick behind an opening one of backticks.
    """
    opened = ""
    for mark, behind in re.findall(r"^ {0,3}(`{3,}|~{3,})(.*)$", text, re.MULTILINE):
        if not opened:
            opened = "" if mark[0] == "`" and "`" in behind else mark
        elif mark.startswith(opened) and not behind.strip(" \t"):
            opened = ""
    return opened


def _marker(missing: int) -> str:
    return f"[... {missing:,} more characters of this procedure left out: over the budget]"


def _escape(field: str) -> str:
    return re.sub(r"([\\():;@—])", r"\\\1", field)


def _unescape(field: str) -> str:
    return re.sub(r"\\(.)", r"\1", field)
