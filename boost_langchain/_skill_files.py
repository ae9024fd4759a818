"""The files beside a SKILL.md, from the clone or from git's object store.

A registry's clone checks out Markdown only; a skill's scripts are in the index and, as a rule,
not on disk. Nothing outside the skill's own folder is ever read.
"""

import os
import posixpath
from pathlib import Path

from boost_cli.core import gitutil
from boost_cli.errors import BoostError

from boost_langchain._catalog import Catalog
from boost_langchain._entry import Entry, kind_of
from boost_langchain._files import MAX_BYTES, RefusedFileError, read_contained


def list_files(catalog: Catalog, entry: Entry) -> list[str]:
    """The names of the files in a skill's folder, sorted, links and submodules left out.

    Raises:
        RefusedFileError: The item is not a skill, or its folder leads out of the registry.
    """
    folder, real = _folder(catalog, entry)
    tracked = _tracked(catalog.root(entry["tap"]), folder)
    if tracked is not None:
        return sorted(name for name, mode in tracked.items() if mode.startswith("100"))
    # A registry without git, such as the one in the engine's own wheel.
    found = (
        Path(where, name)
        for where, _, names in os.walk(real)
        if ".git" not in Path(where).relative_to(real).parts
        for name in names
    )
    return sorted(
        p.relative_to(real).as_posix() for p in found if not p.is_symlink() and p.is_file()
    )


def read_file(catalog: Catalog, entry: Entry, name: str) -> str:
    """The text of one file in a skill's folder.

    A file that git tracks but did not check out is read from the clone's object store, where
    git fetches it from the registry if it is not there yet.

    Raises:
        RefusedFileError: The name leads out of the folder or names no text file of at most
            1,000,000 bytes; the message says which.
    """
    relative = _checked_name(name)
    folder, real = _folder(catalog, entry)
    if os.path.lexists(os.path.join(real, relative)):
        file = read_contained(real, relative)
        if file.omitted:
            raise RefusedFileError(_too_large(len(file.text) + file.omitted))
        return _checked_text(file.text)
    root = catalog.root(entry["tap"])
    mode = (_tracked(root, folder) or {}).get(relative)
    if root is None or mode is None or not mode.startswith("100"):
        msg = "is no file of this skill; call without a name for the list"
        raise RefusedFileError(msg)
    data = gitutil.read_blob(Path(root), "HEAD", posixpath.normpath(f"{folder}/{relative}"))
    if data is None:
        msg = "cannot be fetched from its registry"
        raise RefusedFileError(msg)
    if len(data) > MAX_BYTES:
        raise RefusedFileError(_too_large(len(data)))
    return _checked_text(data.decode("utf-8", "replace"))


def _folder(catalog: Catalog, entry: Entry) -> tuple[str, str]:
    """A skill's folder below its clone, and its resolved path."""
    if kind_of(entry) != "skill":
        msg = f"is a {entry['kind']}, which is one file; only a skill has files of its own"
        raise RefusedFileError(msg)
    root = catalog.root(entry["tap"])
    folder = posixpath.dirname(entry["skill_md"]) or "."
    if root is not None:
        real = os.path.realpath(os.path.join(root, folder))
        if real == root or real.startswith(root + os.sep):
            return folder, real
    msg = "leads out of its registry"
    raise RefusedFileError(msg)


def _tracked(root: str | None, folder: str) -> dict[str, str] | None:
    """Git's mode of each tracked file below `folder`; None where the registry has no git.

    Raises:
        RefusedFileError: It has, and git cannot be asked.
    """
    if root is None or not os.path.exists(os.path.join(root, ".git")):
        return None
    # Named, so that neither a repository around it nor GIT_DIR stands in for it.
    where = [f"--git-dir={os.path.join(root, '.git')}", f"--work-tree={root}"]
    try:
        listed = gitutil.run([*where, "ls-files", "--stage", "-z", "--", folder], cwd=Path(root))
    except BoostError as e:
        msg = f"cannot be looked up, because git failed: {e}"
        raise RefusedFileError(msg) from e
    rows = (row.split("\t", 1) for row in listed.stdout.split("\0") if row)
    return {posixpath.relpath(path, folder): about.split()[0] for about, path in rows}


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


def _too_large(size: int) -> str:
    return f"is larger than {MAX_BYTES:,} bytes ({size:,})"
