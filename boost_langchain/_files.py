"""Reads a file that a registry names, and nothing else.

A registry is somebody else's repository: between its scan and our read a file may have become
a link to a private key, a FIFO that never answers or a device that never ends. Every read
of the package goes through here.
"""

import codecs
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

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


def open_regular(real: str) -> BinaryIO:
    """Open a regular file for reading.

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
        file = os.fdopen(os.open(real, flags), "rb")
    except (OSError, ValueError) as e:
        raise _unreadable(e) from e
    try:
        _require_regular(os.fstat(file.fileno()))
    except RefusedFileError:
        file.close()
        raise
    return file


def read_bytes(real: str) -> tuple[bytes, int]:
    """Read a regular file, up to `MAX_BYTES`; return its bytes and how many were left.

    Raises:
        RefusedFileError: See `open_regular`.
    """
    with open_regular(real) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            data = file.read(MAX_BYTES)
        except OSError as e:
            raise _unreadable(e) from e
    return data, max(0, size - len(data))


def read_contained(root: str, relative: str) -> FileText:
    """Read a UTF-8 file that lies inside `root`, as the engine reads one.

    Bytes that are not UTF-8 become U+FFFD, as in the engine's own reading.

    Raises:
        RefusedFileError: See `contained_path` and `open_regular`.
    """
    return _decode(*read_bytes(contained_path(root, relative)))


def read_whole(root: str, relative: str) -> str:
    """Read a UTF-8 file that lies inside `root`, all of it or nothing.

    Raises:
        RefusedFileError: It is larger than `MAX_BYTES`; or see `read_contained`.
    """
    with open_regular(contained_path(root, relative)) as file:
        try:
            refuse_large(os.fstat(file.fileno()).st_size)
            data = file.read(MAX_BYTES)
        except OSError as e:
            raise _unreadable(e) from e
    return _decode(data).text


def refuse_large(size: int) -> None:
    """Raise RefusedFileError if a file of `size` bytes is one that is not read in part."""
    if size > MAX_BYTES:
        msg = f"is larger than {MAX_BYTES:,} bytes ({size:,})"
        raise RefusedFileError(msg)


def read_text(real: str) -> FileText:
    """Read a file that a user names: as `read_contained` does, but only if it is text.

    Raises:
        RefusedFileError: It is binary or UTF-16; or see `open_regular`.
    """
    data, omitted = read_bytes(real)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        msg = "is UTF-16"
        raise RefusedFileError(msg)
    if b"\0" in data:
        msg = "is binary, or UTF-16 (it holds NUL bytes)"
        raise RefusedFileError(msg)
    return _decode(data, omitted)


def _decode(data: bytes, omitted: int = 0) -> FileText:
    # A cut may fall inside a character: the decoder then keeps its first bytes back.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=not omitted)
    if "\r" in text:  # Path.read_text, which the engine uses, folds line ends the same way
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return FileText(text, omitted)


def _unreadable(cause: Exception) -> RefusedFileError:
    reason = getattr(cause, "strerror", None) or str(cause)
    return RefusedFileError(f"cannot be read ({reason})")


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        msg = "is not a regular file"
        raise RefusedFileError(msg)
