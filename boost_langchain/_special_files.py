"""Files that would never be read to their end: FIFOs, sockets and devices.

The engine opens what a clone or its own home holds without asking; we ask first.
"""

import os
import stat
from pathlib import Path


def status_of(path: str) -> os.stat_result | None:
    """What the file system says of a path, links followed; None where there is nothing."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def never_ends(path: str) -> bool:
    """Whether reading `path` might never end."""
    status = status_of(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def special_file(root: Path) -> str | None:
    """The first file of a clone that the engine's scan would open and never finish reading."""
    skills: set[Path] = set()
    for directory, folders, names in os.walk(root):
        here = Path(directory)
        if here == root / ".git":
            folders[:] = []
            opened = names
        elif "SKILL.md" in names:
            skills.add(here)
            opened = ["SKILL.md"]
        elif skills.intersection(here.parents):
            opened = []  # files of a skill, which the scan leaves alone
        else:
            opened = [name for name in names if name.endswith((".md", ".mdc")) or name[0] == "."]
        for name in opened:
            if never_ends(str(here / name)):
                return (here / name).relative_to(root).as_posix()
    return None
