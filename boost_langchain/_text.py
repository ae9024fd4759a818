"""Third-party text in a form that is safe to place: one line, one spelling.

What cannot be seen is removed by `visible`; here the rest is brought into shape.
"""

import re
import unicodedata

from boost_langchain._invisible import visible

_PIECES = re.compile(r"\S{1,500}|\s+")
"""Words, and what is longer than any word cut up."""


def valid(text: str) -> str:
    """`text` without lone surrogates, which are Python strings but not Unicode text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(value: object) -> str:
    """`value` as one line of valid Unicode, whitespace folded; None is ""."""
    return " ".join(valid("" if value is None else str(value)).split())


def visible_line(value: object) -> str:
    """`value` as one line without hidden characters; None is ""."""
    return " ".join(visible("" if value is None else str(value)).split())


def nfkc(text: str) -> str:
    """`text` in Unicode's compatibility form, in linear time.

    Piece by piece: normalizing sorts each run of combining marks, in the square of its length.
    """
    return "".join(unicodedata.normalize("NFKC", piece) for piece in _PIECES.findall(text))
