"""What tests write and read: procedures as text, and directories as snapshots."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "tests" / "catalog"
OWN_TAP = "langchain-procedures"


def skill(name, description="", body="", **fields):
    """The text of a SKILL.md."""
    header = {"name": name, "description": description, **fields}
    lines = "".join(f"{key}: {value}\n" for key, value in header.items() if value != "")
    return f"---\n{lines}---\n{body}\n"


def shows_no_home(text):
    """Whether a text that a model reads names no home directory of this machine."""
    homes = (os.environ.get(variable) for variable in ("HOME", "BOOST_HOME"))
    return not any(home in text for home in homes if home)


def snapshot(directory):
    """Every file below a directory, with its bytes and time of change."""
    return {
        path.relative_to(directory).as_posix(): (
            path.lstat().st_mtime_ns,
            os.readlink(path) if path.is_symlink() else path.read_bytes(),
        )
        for path in sorted(directory.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
