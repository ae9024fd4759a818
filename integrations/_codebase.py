"""A repository on disk, read once: its files and its history; and the options that name it.

Paths are the repository's own: nothing of this machine.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from boost_langchain import BoostRetriever
from boost_langchain.testing import TappedCatalog

from _local_model import OLLAMA_PORT

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {".cfg", ".ini", ".json", ".md", ".mdc", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}
MOST_BYTES = 200_000
HIDDEN = {"node_modules", "build", "dist", "__pycache__"}


@dataclass(frozen=True)
class Commit:
    """One commit of the repository's history."""

    sha: str
    day: str
    subject: str
    body: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class CodeBase:
    """A repository on disk, read once."""

    root: Path
    leave_out: tuple[Path, ...] = ()
    """Directories that explain nothing."""

    @cached_property
    def paths(self) -> list[Path]:
        """Its text files: what git tracks, or without git what lies there."""
        listed = self.git("ls-files", "-z").split("\0")
        found = [self.root / name for name in listed if name] or list(self._walk())
        return sorted(path for path in found if self._is_text(path))

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each file, by its path in the repository."""
        read = {}
        for path in self.paths:
            try:
                read[path.relative_to(self.root).as_posix()] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
        return read

    @cached_property
    def commits(self) -> list[Commit]:
        """The history, newest first; a clone without one has none."""
        form = "--format=%x1e%H%x1f%cI%x1f%s%x1f%b%x1f"
        commits = []
        for record in self.git("log", "--name-only", form).split("\x1e")[1:]:
            sha, day, subject, body, files = record.split("\x1f")
            names = tuple(name for name in files.split("\n") if name)
            commits.append(Commit(sha, day, subject, body.strip(), names))
        return commits

    @cached_property
    def modified(self) -> dict[str, str]:
        """When each file was last committed; {} where history is cut short or absent."""
        if self.git("rev-parse", "--is-shallow-repository").strip() != "false":
            return {}
        # Newest first, so that the last one written is the newest.
        return {name: commit.day for commit in reversed(self.commits) for name in commit.files}

    def git(self, *arguments: str) -> str:
        """What git prints about this repository, or "" without git or without a repository."""
        git = shutil.which("git")
        if git is None or not (self.root / ".git").exists():
            return ""
        command = [git, "-C", str(self.root), "-c", "core.quotePath=false", *arguments]
        done = subprocess.run(  # noqa: S603 - git, reading
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
        return done.stdout if done.returncode == 0 else ""

    def _walk(self) -> Iterator[Path]:
        for directory, folders, names in self.root.walk():
            folders[:] = [f for f in folders if not f.startswith(".") and f not in HIDDEN]
            yield from (directory / name for name in names)

    def _is_text(self, path: Path) -> bool:
        if path.suffix not in TEXTS or any(path.is_relative_to(d) for d in self.leave_out):
            return False
        return path.is_file() and not path.is_symlink() and path.stat().st_size <= MOST_BYTES


def with_code_base(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that say which code base, which database and which local model."""
    parser.add_argument(
        "--repository",
        type=Path,
        default=ROOT,
        help="the code base to explain (default: this repository)",
    )
    parser.add_argument(
        "--database",
        type=Path,
        help="a SQLite file (default for this repository: the index that the engine built)",
    )
    parser.add_argument(
        "--ollama-port",
        type=int,
        default=OLLAMA_PORT,
        help="where an Ollama server of this machine would answer",
    )
    return parser


def opened(
    options: argparse.Namespace, tapped: TappedCatalog | None
) -> tuple[CodeBase, Path | None]:
    """The code base and the database that the options name; exit where there is none."""
    if not options.repository.is_dir():
        sys.exit(f"--repository {options.repository} is no directory")
    if options.database is not None and not _is_sqlite(options.database):
        sys.exit(f"--database {options.database} is no SQLite file")
    # This repository's recipes and tests quote the questions themselves.
    quoting = (ROOT / "integrations", ROOT / "tests")
    code = CodeBase(options.repository.resolve(), leave_out=quoting)
    if options.database is not None or tapped is None or code.root != ROOT:
        return code, options.database
    BoostRetriever().invoke("build the index")
    return code, tapped.boost_home / "cache" / "rag_postings.sqlite"


def _is_sqlite(path: Path) -> bool:
    """By the beginning of the file; SQLite takes an empty one too."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) in {b"SQLite format 3\0", b""}
