"""The engine's scan for prompt injection, remembered by content and bounded in time.

A scan costs some 17 ms a body and the same procedure comes back turn after turn.
"""

import hashlib
from collections import OrderedDict

from boost_langchain._invisible import visible
from boost_langchain._locks import ForkSafeLock

TOO_LONG = "too-long-to-scan"
"""Reported beside the engine's rules for a text of which only the beginning was scanned."""

_SCANNED = 200_000
"""Characters scanned of one text: a second of work at most."""
_LINE, _OVERLAP = 2_000, 200
"""The scan takes time with the square of a line's length: longer lines are scanned in windows."""
_KEPT = 1024
_rules: OrderedDict[str, tuple[str, ...]] = OrderedDict()
_lock = ForkSafeLock()


def fired_rules(text: str) -> tuple[str, ...]:
    """The ids of the engine's rules that match `text`, as it is or as a model reads it."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    with _lock:
        if digest in _rules:
            _rules.move_to_end(digest)
            return _rules[digest]
    # Hidden characters are a finding, and they hide others: scan what a model reads as well.
    clean = visible(text)
    forms = [text] if clean == text else [text, clean, " ".join(clean.split())]
    fired = tuple(dict.fromkeys(rule for form in forms for rule in _scan(form)))
    with _lock:
        _rules[digest] = fired
        if len(_rules) > _KEPT:
            _rules.popitem(last=False)
    return fired


def _scan(text: str) -> list[str]:
    from boost_cli.core import injectscan  # noqa: PLC0415 - costs as much as the rest of an import

    lines = text[:_SCANNED].splitlines()
    windows = (line[at : at + _LINE] for line in lines for at in _starts(len(line)))
    found = [finding.rule_id for finding in injectscan.scan_text("\n".join(windows))]
    return [*found, TOO_LONG] if len(text) > _SCANNED else found


def _starts(length: int) -> range:
    return range(0, max(length, 1), _LINE - _OVERLAP) if length > _LINE else range(1)
