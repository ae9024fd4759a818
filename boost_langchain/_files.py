"""Reads a file that a registry names, and nothing else.

A registry is somebody else's repository: between its scan and our read a file may have become
a link to a private key, a FIFO that never answers or a device that never ends. Every read
of the package goes through here.
"""

import codecs
import os
import stat
from dataclasses import dataclass

MAX_BYTES = 1_000_000
"""The most bytes read of one file; the largest procedure of 14 real registries has 129,000."""


class RefusedFileError(Exception):
    """A file that must not or cannot be read; the message says why, without its path."""


@dataclass(frozen=True)
class FileText:
    """What a file says, and how many of its bytes were left out."""

    text: str
    omitted: int = 0

    @property
    def marked(self) -> str:
        """The text, ending in a visible note where bytes were left out."""
        if not self.omitted:
            return self.text
        return f"{self.text}\n\n[... {self.omitted:,} more bytes of this file were not read]"


def contained_path(root: str, relative: str) -> str:
    """Resolve `relative`, links followed, and return the path if it lies inside `root`.

    Args:
        root: A directory that is already resolved (`os.path.realpath`). Resolving it once
            per registry instead of once per file is why `catalog.escapes` is not used.
        relative: The file below it, as a registry names it.

    Raises:
        RefusedFileError: It leads out of `root`, into its `.git`, or is no path at all.
    """
    inside = root.rstrip(os.sep) + os.sep
    real = inside + relative
    parts = relative.split("/")
    try:
        if {"", ".", ".."}.intersection(parts) or _meets_link(inside, parts):
            real = os.path.realpath(real)
    except (OSError, ValueError) as e:
        msg = "is not a path"
        raise RefusedFileError(msg) from e
    if not real.startswith(inside):
        msg = "leads out of its directory"
        raise RefusedFileError(msg)
    if ".git" in real[len(inside) :].split(os.sep):
        msg = "lies in git's own directory"
        raise RefusedFileError(msg)
    return real


def _meets_link(path: str, parts: list[str]) -> bool:
    """Whether a link lies on the way: without one, the path is resolved as it is.

    A look at three or four names, where `realpath` looks at every one from the top; it runs
    for every hit of every query.
    """
    for part in parts:
        path = os.path.join(path, part)
        if os.path.islink(path):
            return True
    return False


def read_bytes(real: str) -> tuple[bytes, int]:
    """Read a regular file, up to `MAX_BYTES`; return its bytes and how many were left.

    Never blocks on a FIFO and never opens a device: the kind of file is checked before it
    is opened and once more on the open file, in case it was swapped in between.

    Raises:
        RefusedFileError: It is missing, unreadable or not a regular file.
    """
    try:
        _require_regular(os.stat(real, follow_symlinks=False))
        flags = os.O_RDONLY
        for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
            flags |= getattr(os, name, 0)
        with os.fdopen(os.open(real, flags), "rb") as file:
            status = os.fstat(file.fileno())
            _require_regular(status)
            data = file.read(MAX_BYTES)
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or str(e)
        msg = f"cannot be read ({reason})"
        raise RefusedFileError(msg) from e
    return data, max(0, status.st_size - len(data))


def read_contained(root: str, relative: str) -> FileText:
    """Read a UTF-8 file that lies inside `root`, as the engine reads one.

    Bytes that are not UTF-8 become U+FFFD, as in the engine's own reading.

    Raises:
        RefusedFileError: See `contained_path` and `read_bytes`.
    """
    data, omitted = read_bytes(contained_path(root, relative))
    # A cut may fall inside a character: the decoder then keeps its first bytes back.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=not omitted)
    if "\r" in text:  # Path.read_text, which the engine uses, folds line ends the same way
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return FileText(text, omitted)


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        msg = "is not a regular file"
        raise RefusedFileError(msg)
