"""Shortens this machine's own directories in text that a model reads.

A path of a home names its user; what the path is about is below it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from boost_cli.core import paths
from boost_cli.errors import BoostError


def without_home(text: str) -> str:
    """`text` with `~/.boost` for the boost home and `~` for the user's home directory.

    The engine's store of installed skills is `~/.agents/skills`, wherever it lies. All are
    resolved as the engine does at this moment, and found with links followed as well.
    """
    homes = dict(_homes())
    # The longest first: one home may lie in another.
    spelled = "|".join(re.escape(home) for home in sorted(homes, key=len, reverse=True))
    if not spelled:
        return text
    # Neither the end of a longer path nor the beginning of a longer name; what stands before
    # may be a line end as JSON and `repr` write it.
    whole = rf"(?:(?<![\w.~])|(?<=\\[nrt]))(?:{spelled})(?![\w-]|\.\w)"
    return re.sub(whole, lambda match: homes[match[0]], text)


def _homes() -> Iterator[tuple[str, str]]:
    """Each home as it may be spelled, with what to say instead; of two equal ones the last."""
    for shown, directory in (
        ("~", Path.home),
        ("~", paths.home),
        ("~/.agents/skills", paths.store_dir),
        ("~/.boost", paths.boost_home),
    ):
        try:
            path = str(directory())
        except (BoostError, RuntimeError):  # it cannot be told
            continue
        for spelled in (path.rstrip(os.sep), os.path.realpath(path)):
            # A home of "/", as containers have it, names nobody.
            if os.path.isabs(spelled) and os.path.dirname(spelled) != spelled:
                yield spelled, shown
