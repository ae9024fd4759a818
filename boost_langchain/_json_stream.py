"""Reads a large JSON object in flat memory: its small members, and one array by elements.

The catalog cache of a registry of 20,000 items is some 20 MB of JSON, and several times
that when it is parsed whole.
"""

import codecs
import json
from collections.abc import Iterator
from typing import BinaryIO

_CHUNK = 65_536
_DECODER = json.JSONDecoder()
_DELIMITERS = tuple(",:]} \t\r\n")


class JsonStream:
    """One pass over a JSON object of which the member `key` is an array.

    `members` holds the members before the array.

    Raises:
        ValueError: The file is not UTF-8 or not JSON, or there is no such array in it.
        RecursionError: It is nested too deep.
    """

    def __init__(self, file: BinaryIO, key: str) -> None:
        self.members: dict[str, object] = {}
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._take("{")
        while (name := self._name()) != key:
            self.members[name] = self._value(",")
        self._take("[")

    def elements(self) -> Iterator[object]:
        """The array's elements, one at a time; then the rest of the object is checked."""
        if self._peek() == "]":
            self._take("]")
        else:
            yield self._value(",]")
            while self._took == ",":
                yield self._value(",]")
        self._take(",}")
        while self._took == ",":
            self._name()
            self._value(",}")
        if self._peek():
            self._fail()

    def _name(self) -> str:
        if self._peek() != '"':
            self._fail()
        return str(self._value(":"))

    def _value(self, before: str) -> object:
        """The next value, which one of the characters in `before` must follow."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except ValueError:
                if self._ended:
                    raise
            else:
                # A number at the end of what was read may go on: 1, 1. and 1.5 are a value.
                if self._buffer[end : end + 1] in _DELIMITERS or self._ended:
                    self._at = end
                    self._take(before)
                    return value
            self._fill()

    def _take(self, expected: str) -> None:
        found = self._peek()
        if not found or found not in expected:
            self._fail()
        self._took = found
        self._at += 1

    def _peek(self) -> str:
        """The next character that is not whitespace, or "" at the end."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._fill()

    def _fill(self) -> None:
        kept = self._buffer[self._at :]
        # As much again as a value that is still incomplete: twice read, not once per chunk.
        chunk = self._file.read(max(_CHUNK, len(kept)))
        self._ended = not chunk
        self._buffer = kept + self._decoder.decode(chunk, final=self._ended)
        self._at = 0

    def _fail(self) -> None:
        msg = f"unexpected JSON at {self._buffer[self._at : self._at + 20]!r}"
        raise ValueError(msg)
