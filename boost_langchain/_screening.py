"""The engine's scan for prompt injection, remembered by content.

A scan costs some 17 ms a body and the same procedure comes back turn after turn.
"""

import hashlib
import threading
from collections import OrderedDict

from boost_cli.core import injectscan

_KEPT = 1024
_rules: OrderedDict[str, tuple[str, ...]] = OrderedDict()
_lock = threading.Lock()


def fired_rules(text: str) -> tuple[str, ...]:
    """The ids of the engine's rules that match `text`, worst first, each once."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    with _lock:
        if digest in _rules:
            _rules.move_to_end(digest)
            return _rules[digest]
    fired = tuple(dict.fromkeys(finding.rule_id for finding in injectscan.scan_text(text)))
    with _lock:
        _rules[digest] = fired
        if len(_rules) > _KEPT:
            _rules.popitem(last=False)
    return fired
