"""Documents as the text that a model reads, with a record of what was handed over.

One way for the graph node and the agent middleware: screen, label, fit the budget, record.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from boost_langchain._rendering import (
    INTRODUCTION,
    check_budget,
    parse_prefix,
    prefix_of,
    render_procedures,
    with_notes,
)
from boost_langchain._screening import fired_rules

type Screen = Literal["label", "drop"] | None

BUDGET = 120_000
"""Characters of procedure text by default: three bodies of real registries have a median of
23,000 and a maximum of 129,000."""

LEAST_BUDGET = 500
"""Below this not even the introduction and one label fit."""

_KEY = "boost_procedures"


@dataclass(frozen=True)
class Procedure:
    """One procedure that was handed to a model: enough to find the file that said it."""

    name: str
    kind: str
    tap: str
    path: str
    version: str = ""
    commit: str = ""
    engine: str = ""
    score: float = 0.0
    warnings: tuple[str, ...] = ()
    """What its label says besides: that the body is missing, which rules of the screen fired."""


@dataclass(frozen=True)
class ProcedureText:
    """The text of one message, and the procedures in it."""

    text: str
    procedures: tuple[Procedure, ...]

    @property
    def record(self) -> dict[str, Any]:
        """The procedures as message metadata, strict JSON, for `procedures` to read."""
        return {_KEY: [asdict(p) | {"warnings": list(p.warnings)} for p in self.procedures]}


def procedures(message: BaseMessage) -> list[Procedure]:
    """The procedures that a message of this package carries, in rank order.

    They lie in `response_metadata`, which no provider sends to a model. Works on the node's
    message and on what `leading_system` made of it; any other message has none.

    Args:
        message: A message from a state, a transcript or a stream.
    """
    known = {field.name for field in fields(Procedure)}
    return [
        Procedure(
            **{key: value for key, value in row.items() if key in known}
            | {"warnings": tuple(row.get("warnings", ()))}
        )
        for row in _rows(message)
    ]


def merged_records(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The records of several messages as one; {} where there is none."""
    rows = [row for message in messages for row in _rows(message)]
    return {_KEY: rows} if rows else {}


def check_options(budget: int | None, screen: Screen) -> None:
    """Raise unless the options of a message are ones that mean something.

    Raises:
        TypeError: `budget` is no number.
        ValueError: `budget` has no room for a procedure, or `screen` is unknown.
    """
    check_budget(budget, least=LEAST_BUDGET)
    if screen is not None and screen not in ("label", "drop"):
        msg = f"screen={screen!r} is unknown; pass 'label', 'drop' or None"
        raise ValueError(msg)


def procedure_text(
    documents: Sequence[Document], *, budget: int | None = BUDGET, screen: Screen = None
) -> ProcedureText | None:
    """Render documents as one message's text; None when nothing is left to say.

    Args:
        documents: What a retriever returned, best first.
        budget: The most characters of the text, introduction included; None: no limit.
        screen: "label" names in each label the rules of the engine's injection scan that
            fired, "drop" leaves such a document out, None does not scan.
    """
    check_options(budget, screen)
    shown: list[Document] = []
    prefixes = []
    for document in documents:
        prefix = prefix_of(document)
        fired = fired_rules(f"{prefix.name}\n{document.page_content}") if screen else ()
        if fired and screen == "drop":
            continue
        notes = [f"flagged by the injection scan: {', '.join(fired)}"] if fired else []
        shown.append(document)
        prefixes.append(with_notes(prefix, notes))
    introduction = f"{INTRODUCTION}\n\n"
    room = None if budget is None else budget - len(introduction)
    text = render_procedures(shown, prefixes, budget=room)
    listed = sum(1 for line in text.split("\n") if parse_prefix(line))
    if not listed:
        return None
    handed = tuple(
        Procedure(
            name=prefix.name,
            kind=prefix.kind,
            tap=prefix.tap,
            path=prefix.path,
            version=prefix.version,
            commit=str(document.metadata.get("commit") or ""),
            engine=str(document.metadata.get("engine") or ""),
            score=_number(document.metadata.get("score")),
            warnings=prefix.notes,
        )
        for document, prefix in list(zip(shown, prefixes, strict=True))[:listed]
    )
    return ProcedureText(introduction + text, handed)


def _rows(message: BaseMessage) -> list[dict[str, Any]]:
    rows = message.response_metadata.get(_KEY)
    if not isinstance(rows, list):
        return []
    needed = {"name", "kind", "tap", "path"}
    return [row for row in rows if isinstance(row, dict) and needed <= row.keys()]


def _number(value: object) -> float:
    """A score as strict JSON; another retriever's may be anything."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
