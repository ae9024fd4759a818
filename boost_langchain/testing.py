"""A throwaway boost home for tests: a directory of procedures, tapped by the real engine."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from boost_cli.core import catalog, gitutil, registry

__all__ = ["TappedCatalog", "tapped_catalog"]

_WHO = "boost-langchain"
_WHEN = "2026-01-01T00:00:00Z"
# One author and date: the commit ids in metadata are the same on every machine.
_GIT: dict[str, str | None] = {
    "GIT_AUTHOR_NAME": _WHO,
    "GIT_AUTHOR_EMAIL": f"{_WHO}@example.invalid",
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_COMMITTER_NAME": _WHO,
    "GIT_COMMITTER_EMAIL": f"{_WHO}@example.invalid",
    "GIT_COMMITTER_DATE": _WHEN,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    # Set while git runs a hook; they would send our commits into the caller's repository.
    "GIT_DIR": None,
    "GIT_INDEX_FILE": None,
    "GIT_WORK_TREE": None,
}


@dataclass(frozen=True)
class TappedCatalog:
    """A boost home that lives as long as the `with` block that made it."""

    home: Path
    """The directory that HOME names meanwhile."""
    taps: tuple[str, ...]
    """The names of the registries, as `metadata["tap"]` has them."""
    _repositories: dict[str, Path] = field(default_factory=dict, repr=False, compare=False)

    @property
    def boost_home(self) -> Path:
        """The directory that BOOST_HOME names meanwhile."""
        return self.home / ".boost"

    def repository(self, tap: str) -> Path:
        """The git repository that `tap` was cloned from, for a test that changes it.

        Raises:
            ValueError: No registry of this name was tapped here.
        """
        if tap not in self._repositories:
            there_are = ", ".join(self._repositories) or "none"
            msg = f"no registry {tap!r} was tapped here; there are: {there_are}"
            raise ValueError(msg)
        return self._repositories[tap]

    def clone(self, tap: str) -> Path:
        """The engine's clone of `tap`, for a test that damages it."""
        return Path(registry.get(tap).path)

    def entries(self) -> list[dict[str, Any]]:
        """The engine's catalog entries of this home."""
        return list(catalog.all_entries())

    def tap(self, directory: str | Path, name: str | None = None) -> str:
        """Tap one more directory; return the name of the registry.

        Args:
            directory: A directory of procedures; it is copied, and links stay links.
            name: What to call the registry; by default the directory's own name, which the
                engine may change: white space in it becomes "-".

        Raises:
            FileNotFoundError: There is no such directory.
            ValueError: The engine would give the registry another name than `name`.
            boost_cli.errors.BoostError: The engine refuses it, for a name that is taken, say.
        """
        source = Path(directory)
        if not source.is_dir():
            msg = f"{source} is not a directory; give one that holds procedures"
            raise FileNotFoundError(msg)
        called = source.resolve().name.strip() if name is None else _checked(name)
        # A folder for each: a name that is taken is the engine's to refuse.
        folder = Path(tempfile.mkdtemp(dir=self.home, prefix="registry-"))
        repository = folder / called
        shutil.copytree(source, repository, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        _git(repository, "init", "--quiet", "--initial-branch=main")
        if name is not None and (other := registry.parse_spec(str(repository))[0]) != name:
            raise ValueError(_other_name(name, other))
        return self._add(repository)

    def update(self, tap: str) -> None:
        """Commit what a test changed in `repository(tap)`, and bring the registry up to date.

        Raises:
            ValueError: No registry of this name was tapped here.
        """
        self._commit(self.repository(tap))
        tapped = registry.get(tap)
        gitutil.pull(tapped.path)
        catalog.rebuild_tap(tapped)

    def untap(self, tap: str) -> None:
        """Remove a registry from the home."""
        registry.remove(tap)

    def _add(self, repository: Path) -> str:
        self._commit(repository)
        tapped = registry.add(str(repository))
        catalog.rebuild_tap(tapped)
        self._repositories[tapped.name] = repository
        return str(tapped.name)

    @staticmethod
    def _commit(repository: Path) -> None:
        _git(repository, "add", "--all", "--force")
        _git(repository, "commit", "--quiet", "--allow-empty", "--message", "Procedures")


@contextmanager
def tapped_catalog(*directories: str | Path, name: str | None = None) -> Iterator[TappedCatalog]:
    """Tap directories of procedures into a throwaway home, for the length of a `with` block.

    HOME and BOOST_HOME name the throwaway home meanwhile, and BOOST_NO_AI keeps the engine
    from calling a model: nothing is read from the user's own home or written to it. These
    are variables of the process, so one block at a time.

    Args:
        *directories: Directories of procedures, one registry each; none for an empty home.
        name: What to call the registry when there is one directory; by default the
            directory's own name, which the engine may change: white space in it becomes "-".

    Yields:
        The home, with the names of its registries.

    Raises:
        FileNotFoundError: A directory does not exist, or git is not installed.
        ValueError: `name` is given with more than one directory, or the engine would give the
            registry another one.

    Example:
        As a pytest fixture, where `procedures/` lies beside the tests:

        ```python
        import pytest
        from boost_langchain.testing import tapped_catalog

        @pytest.fixture
        def catalog():
            with tapped_catalog("procedures") as catalog:
                yield catalog
        ```
    """
    if name is not None and len(directories) != 1:
        msg = f"name={name!r} names one registry, but {len(directories)} directories are given"
        raise ValueError(msg)
    with tempfile.TemporaryDirectory(prefix="boost-langchain-") as temporary:
        home = Path(temporary).resolve() / "home"
        home.mkdir()
        with _environment({"HOME": str(home), "BOOST_HOME": str(home / ".boost")}):
            empty = TappedCatalog(home, ())
            taps = tuple(empty.tap(directory, name) for directory in directories)
            yield replace(empty, taps=taps)


def _checked(name: str) -> str:
    """The name, if a directory can be called so; the engine names a registry after its own."""
    plain = Path(name.strip()).name
    if plain != name or name in {"", ".."}:
        raise ValueError(_other_name(name, plain))
    return name


def _other_name(name: str, other: str) -> str:
    return (
        f"name={name!r} is no name of a local registry; pass one word without slashes, such as "
        f"{other if other not in {'', '..'} else 'procedures'!r}"
    )


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    changed = {"BOOST_NO_AI": "1", "BOOST_ASSUME_YES": "1", **_GIT, **variables}
    before = {key: os.environ.get(key) for key in changed}
    _set(changed)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for key, value in variables.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def _git(repository: Path, *arguments: str) -> None:
    git = shutil.which("git")
    if git is None:
        msg = "git is not installed, and the engine taps git repositories; install git"
        raise FileNotFoundError(msg)
    command = [git, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", *arguments]
    subprocess.run(command, cwd=repository, check=True)  # noqa: S603 - git, on a copy that we made
