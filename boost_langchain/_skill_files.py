"""The files beside a SKILL.md, from the clone or from git's object store.

A registry's clone checks out Markdown only; a skill's scripts are in the index and, as a rule,
not on disk. Nothing outside the skill's own folder is ever read.
"""

import os
import posixpath
from pathlib import Path
from typing import NamedTuple

from boost_cli.core import gitutil
from boost_cli.errors import BoostError

from boost_langchain._catalog import Catalog
from boost_langchain._entry import Entry, kind_of
from boost_langchain._files import RefusedFileError, read_whole, refuse_large

_PATIENCE = 8
"""Seconds for git to answer, or to fetch one file; a FIFO in its directory never would."""


class Blob(NamedTuple):
    """A file as git tracks it."""

    mode: str
    digest: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file, and neither a link nor a submodule."""
        return self.mode.startswith("100")


def list_files(catalog: Catalog, entry: Entry) -> list[str]:
    """The names of the files in a skill's folder, sorted, links and submodules left out.

    Raises:
        RefusedFileError: The item is not a skill, or its folder leads out of the registry.
    """
    folder, real = _folder(catalog, entry)
    tracked = _tracked(catalog.root(entry["tap"]), folder)
    if tracked is not None:
        return sorted(name for name, blob in tracked.items() if blob.is_file)
    # A registry without git, such as the one in the engine's own wheel.
    found = (
        os.path.join(where, name)
        for where, _, names in os.walk(real)
        if ".git" not in Path(where).relative_to(real).parts
        for name in names
    )
    return sorted(
        Path(path).relative_to(real).as_posix()
        for path in found
        if not os.path.islink(path) and os.path.isfile(path)
    )


def read_file(catalog: Catalog, entry: Entry, name: str, *, fetch: bool = True) -> str:
    """The text of one file in a skill's folder.

    A file that git tracks but did not check out is read from the clone's object store, where
    git fetches it from the registry if it is not there yet.

    Args:
        catalog: The registries of this machine.
        entry: The skill.
        name: The file's path in the skill's folder.
        fetch: Whether git may ask the registry for a file that the clone does not hold.

    Raises:
        RefusedFileError: The name leads out of the folder or names no text file of at most
            1,000,000 bytes; the message says which.
    """
    relative = _checked_name(name)
    folder, real = _folder(catalog, entry)
    if os.path.lexists(os.path.join(real, relative)):
        return _checked_text(read_whole(real, relative))
    root = catalog.root(entry["tap"])
    blob = (_tracked(root, folder) or {}).get(relative)
    if root is None or blob is None or not blob.is_file:
        msg = "is no file of this skill; call without a name for the list"
        raise RefusedFileError(msg)
    # Every transport is closed to the fetch that git would start by itself.
    options = () if fetch else ("-c", "protocol.allow=never")
    try:
        refuse_large(int(_git(root, *options, "cat-file", "-s", blob.digest)))
        return _checked_text(_git(root, *options, "cat-file", "blob", blob.digest))
    except BoostError as e:
        msg = "cannot be fetched from its registry"
        if not fetch:
            msg = 'was not fetched from its registry yet, and refresh="never" fetches nothing'
        raise RefusedFileError(msg) from e


def _folder(catalog: Catalog, entry: Entry) -> tuple[str, str]:
    """A skill's folder below its clone, and its resolved path."""
    if kind_of(entry) != "skill":
        msg = f"is a {entry['kind']}, which is one file; only a skill has files of its own"
        raise RefusedFileError(msg)
    root = catalog.root(entry["tap"])
    folder = posixpath.dirname(entry["skill_md"]) or "."
    try:
        real = "" if root is None else os.path.realpath(os.path.join(root, folder))
    except ValueError:  # no path at all
        real = ""
    if real == root or (root is not None and real.startswith(root + os.sep)):
        return folder, real
    msg = "leads out of its registry"
    raise RefusedFileError(msg)


def _tracked(root: str | None, folder: str) -> dict[str, Blob] | None:
    """The tracked files below `folder`, by name; None where the registry has no git.

    Raises:
        RefusedFileError: It has, and git cannot be asked.
    """
    if root is None or not os.path.exists(os.path.join(root, ".git")):
        return None
    try:
        # Literally: a folder's name may hold what git takes for a pattern.
        listed = _git(root, "--literal-pathspecs", "ls-files", "--stage", "-z", "--", folder)
    except BoostError as e:
        # Not what git says, which names directories of this machine.
        msg = "cannot be looked up, because git failed; run `boost heal`"
        if not gitutil.has_git():
            msg = "cannot be looked up, because git is not on PATH; install it"
        raise RefusedFileError(msg) from e
    rows = (row.split("\t", 1) for row in listed.split("\0") if row)
    return {posixpath.relpath(path, folder): Blob(*about.split()[:2]) for about, path in rows}


def _git(root: str, *arguments: str) -> str:
    """What git prints of the clone at `root`; raises the engine's error where it fails."""
    # Named, so that neither a repository around it nor GIT_DIR stands in for it.
    where = (f"--git-dir={os.path.join(root, '.git')}", f"--work-tree={root}")
    return str(gitutil.run([*where, *arguments], cwd=Path(root), timeout=_PATIENCE).stdout)


def _checked_name(name: str) -> str:
    parts = name.split("/")
    if not name.strip() or "\0" in name or "\\" in name:
        msg = "is not a relative path with forward slashes"
        raise RefusedFileError(msg)
    if name.startswith(("/", "~")) or ".." in parts or ".git" in parts:
        msg = "leads out of the skill's folder"
        raise RefusedFileError(msg)
    return posixpath.normpath(name)


def _checked_text(text: str) -> str:
    if "\0" in text:
        msg = "is binary"
        raise RefusedFileError(msg)
    return text
