"""Where the engine keeps an installed skill, or why there is nothing to load.

Translates the engine's store and lock files into one directory, or one SkillLoadError.
"""

import os
from pathlib import Path

from boost_cli.core import integrity, lockfile, store
from boost_cli.errors import BoostError

from boost_langchain.errors import SkillLoadError


def installed_skill(name: str) -> Path:
    """The directory of an installed skill in the canonical store.

    Raises:
        TypeError: `name` is not a string.
        SkillLoadError: It is no safe name, not installed in user scope, installed as
            another kind or set aside, or the lock file that would tell cannot be read.
    """
    if not isinstance(name, str):
        msg = f"from_installed needs the name of a skill, not {name!r}"
        raise TypeError(msg)
    try:
        directory = Path(store.skill_store_dir(name))
        problem = _problem_of_lock()
        found = None if problem else lockfile.find_any(name)
    except BoostError as e:
        hint = f" ({e.hint})" if e.hint else ""
        msg = f"{e}{hint}; give the bare name of an installed skill, as `boost list` shows it"
        raise SkillLoadError(msg) from e
    if problem:
        msg = (
            f"{name} cannot be looked up: the lock file in {directory.parent} is {problem}; "
            "`boost doctor` says how to repair it"
        )
        raise SkillLoadError(msg)
    kind, entry = found or ("skill", {})
    if kind != "skill":
        msg = (
            f"{name} is installed as a {kind}, and a {kind} is no SKILL.md to load; "
            f"retrieve it with BoostRetriever(kind={kind!r})"
        )
        raise SkillLoadError(msg)
    if store.is_held(entry):
        msg = (
            f"{name} is installed but set aside, so the store has no copy of it; `boost info "
            f"{name}` says why, `boost quarantine --release {name}` ends a quarantine"
        )
        raise SkillLoadError(msg)
    if not os.path.isdir(directory):  # False, too, for a name that no file system takes
        raise SkillLoadError(_absent(name, directory, recorded=found is not None))
    return directory


def _problem_of_lock() -> str | None:
    """Why the lock file cannot tell a skill from a workflow, or None when it can."""
    lock = lockfile.check()
    if lock.ok or lock.problem == "missing":
        return None
    return "of another version of boost" if lock.problem == "schema" else str(lock.problem)


def _absent(name: str, directory: Path, *, recorded: bool) -> str:
    """Why there is no copy in the store, and what to run."""
    if recorded:
        return f"{name} is installed, but {directory} is gone; run `boost reinstall {name}`"
    looked = f"{name} is not installed in user scope ({directory.parent})"
    if local := _project_copy(name):
        return (
            f"{looked}, only in this project; load that copy with "
            f"SkillMarkdownLoader({str(local)!r})"
        )
    return f"{looked} nor in this project; run `boost install {name}`"


def _project_copy(name: str) -> Path | None:
    """The copy of a skill that the project around the current directory holds."""
    try:
        base, skills = integrity.project_skills()
        entry = skills.get(name)
        return integrity.project_skill_dir(entry, base) if entry else None
    except (AttributeError, BoostError, OSError, TypeError):  # a damaged project lock has none
        return None
