"""Golden files: judged queries, one JSON object per line, read and checked as a whole.

The format is that of the boost engine's own golden file, so that either project can grade the
other's: comments begin with `#`, and an exemplar is one id or a list of them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from boost_langchain._entry import KINDS
from boost_langchain.errors import EvaluationFileError

_KEYS = ("query", "relevant", "exemplar", "kind", "note")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Judgment:
    """One query and what answers it.

    The items named are one class: any of them is the right answer, none is needed besides.
    """

    query: str
    """What a user would ask, of the whole catalog."""
    relevant: tuple[str, ...] = ()
    """The names of the items that answer it; they decide where nothing is pinned."""
    exemplars: tuple[str, ...] = ()
    """The ids, `tap::path`, of the items the query was written about."""
    kind: str | None = None
    """"skill", "rule" or "workflow": the slice that the judgment counts in. It never narrows
    the search. None: more than one kind answers."""
    note: str = ""
    """Why, for people."""

    @property
    def golden_id(self) -> str:
        """What makes it the same judgment in another file or place: its query and kind."""
        identity = json.dumps([self.query, self.kind], ensure_ascii=False)
        # A row that somebody else made may hold half of a surrogate pair.
        return sha256(identity.encode(errors="surrogatepass")).hexdigest()[:32]

    @property
    def inputs(self) -> dict[str, Any]:
        """What a LangSmith dataset asks."""
        return {"query": self.query}

    @property
    def outputs(self) -> dict[str, Any]:
        """What a LangSmith dataset holds an answer against."""
        return {
            "relevant": list(self.relevant),
            "exemplars": list(self.exemplars),
            "kind": self.kind,
        }

    @classmethod
    def from_row(cls, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> "Judgment":
        """The judgment in a row of a LangSmith dataset; what is missing is empty."""
        return cls(
            query=inputs.get("query", ""),
            relevant=_names(outputs.get("relevant")),
            exemplars=_names(outputs.get("exemplars")),
            kind=outputs.get("kind"),
        )


def read_golden(path: str | Path) -> list[Judgment]:
    """Read a golden file, and check every line before any is used.

    Args:
        path: UTF-8 text, with or without a byte order mark, with either line end.

    Returns:
        The judgments, in the file's order; at least one.

    Raises:
        EvaluationFileError: The file cannot be read or holds no judgment, or a line is not a
            judgment or repeats one. The message names file and line, the value, and what
            to do.

    Example:
        ```python
        from boost_langchain.evaluation import read_golden

        judgment = read_golden("tests/eval/golden.jsonl")[0]
        print(judgment.kind, judgment.relevant)
        #> skill ('chunk-documents',)
        ```
    """
    judgments: dict[str, Judgment] = {}
    lines: dict[str, int] = {}
    for number, line in _lines(Path(path)):
        try:
            judgment = _judgment(line)
            if judgment.golden_id in judgments:
                msg = (
                    f"repeats line {lines[judgment.golden_id]}: the query {judgment.query!r} "
                    f"with kind {judgment.kind!r}; merge the two or delete one"
                )
                raise ValueError(msg)
        except ValueError as e:
            msg = f"{path}:{number}: {e}"
            raise EvaluationFileError(msg) from e
        judgments[judgment.golden_id] = judgment
        lines[judgment.golden_id] = number
    if not judgments:
        msg = f"{path}: holds no judgment; write one JSON object per line"
        raise EvaluationFileError(msg)
    return list(judgments.values())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are neither blank nor a comment, numbered from 1.

    Split on line feeds alone: JSON text may hold U+2028, at which `str.splitlines` splits.
    """
    try:
        data = path.read_bytes()
    except OSError as e:
        msg = f"{path}: cannot be read ({e.strerror}); give the path of a golden file"
        raise EvaluationFileError(msg) from e
    for number, raw in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        line = raw.strip()
        if line and not line.startswith(b"#"):
            yield number, line


def _judgment(line: bytes) -> Judgment:
    row = _parse(line)
    if unknown := sorted(row.keys() - set(_KEYS)):
        msg = f"unknown key {unknown[0]!r}; a judgment has {', '.join(_KEYS)}"
        raise ValueError(msg)
    if "query" not in row:
        msg = "has no query; write what a user would ask"
        raise ValueError(msg)
    judgment = Judgment(
        query=_text("query", row["query"]),
        relevant=_texts("relevant", row.get("relevant")),
        exemplars=_texts("exemplar", row.get("exemplar")),
        kind=row.get("kind"),
        note=_note(row.get("note")),
    )
    if judgment.kind is not None and judgment.kind not in KINDS:
        msg = f"unknown kind {judgment.kind!r}; use {', '.join(KINDS)} or null"
        raise ValueError(msg)
    for exemplar in judgment.exemplars:
        if not all(exemplar.partition("::")):
            msg = f"exemplar {exemplar!r} is not an id; write tap::path"
            raise ValueError(msg)
    if not judgment.relevant and not judgment.exemplars:
        msg = "names nothing that answers; give relevant names or an exemplar"
        raise ValueError(msg)
    return judgment


def _parse(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as e:
        msg = f"byte {e.start + 1} is not UTF-8 ({e.object[e.start]:#04x}); save the file as UTF-8"
        raise ValueError(msg) from e
    except json.JSONDecodeError as e:
        msg = f"not JSON: {e.msg} at column {e.colno}; write one JSON object per line"
        raise ValueError(msg) from e
    except RecursionError as e:
        msg = "not a judgment: nested too deep; write one JSON object per line"
        raise ValueError(msg) from e
    if not isinstance(row, dict):
        msg = f"not a judgment: {_short(row)}; write one JSON object per line"
        raise ValueError(msg)  # noqa: TRY004 - the content is at fault, not an argument's type
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; json itself would keep the last of two equal keys and say nothing."""
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        msg = f"has the key {repeated!r} twice; keep one"
        raise ValueError(msg)
    return row


def _texts(key: str, value: object) -> tuple[str, ...]:
    """One string or a list of them, without repeats."""
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(_text(key, each) for each in values))


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        msg = f"{key} is {_short(value)}; write text that is not blank"
        raise ValueError(msg)
    return _unicode(key, value)


def _note(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        msg = f"note is {_short(value)}; write text"
        raise ValueError(msg)  # noqa: TRY004 - the content is at fault, not an argument's type
    return _unicode("note", value)


def _unicode(key: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as e:
        msg = f"{key} {_short(value)} holds half of a surrogate pair; write the whole character"
        raise ValueError(msg) from e
    return value


def _short(value: object) -> str:
    text = ascii(value)
    limit = 80
    return text if len(text) <= limit else f"{text[:limit]}..."


def _names(value: object) -> tuple[str, ...]:
    """Names in a row that others may have written: one, several, or nothing usable."""
    found = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return tuple(name for name in found if isinstance(name, str))
