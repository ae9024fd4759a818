"""What tests write, read and run: procedures, snapshots of directories, Python as a command."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "tests" / "catalog"
OWN_TAP = "langchain-procedures"

HEADINGS = [
    "# How [X] Works",
    "## Overview",
    "## Key Files (path:line)",
    "## Data Flow",
    "## Relevant Decisions",
    "## Gotchas",
]
"""Of an explanation."""


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


def python(*arguments, cwd="/", timeout=120, **environment):
    """Run Python as a shell would; return its exit code and its two outputs.

    Args:
        *arguments: What follows `python`: a script or `-m` and a module, and its arguments.
        cwd: Where; not the checkout, whose package would be imported instead of the wheel.
        timeout: In seconds.
        **environment: Variables to set; None takes one away.
    """
    variables = {**os.environ, "PYTHONWARNINGS": "error", **environment}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=timeout,
        env={name: value for name, value in variables.items() if value is not None},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr
