"""The boost home in force, opened for one call.

What cannot be read in it, or may have been lost, becomes a `BoostRetrievalError` here.
"""

import os
from pathlib import Path

from boost_cli.core import config, paths, registry
from boost_cli.errors import BoostError

from boost_langchain._catalog import Catalog
from boost_langchain._notices import say_once
from boost_langchain._special_files import never_ends
from boost_langchain.errors import BoostRetrievalError


def open_catalog() -> Catalog:
    """List the registries of the boost home in force (`BOOST_HOME`, else `~/.boost`).

    Raises:
        BoostRetrievalError: The home cannot be told, or its configuration cannot be read.
    """
    try:
        home = str(paths.boost_home())
    except BoostError as e:
        msg = f"{e}; {e.hint}"
        raise BoostRetrievalError(msg) from e
    if never_ends(str(paths.config_path())):
        msg = "boost's config.json is no regular file; delete it"
        raise BoostRetrievalError(msg)
    try:
        taps = registry.list_taps()
        problem = None if taps else config.check()
    except Exception as e:
        msg = f"boost's config.json cannot be read ({type(e).__name__}); repair or delete it"
        raise BoostRetrievalError(msg) from e
    if problem:
        msg = "boost's config.json cannot be read; `boost doctor` says why"
        raise BoostRetrievalError(msg)
    catalog = Catalog(home, {tap.name: tap for tap in taps if isinstance(tap.name, str)})
    if len({tap.safe_name for tap in catalog.taps.values()}) < len(catalog.taps):
        say_once("sharing", home, _sharing(catalog))
    return catalog


def open_whole_catalog() -> Catalog:
    """Open the catalog for a reader to whom an absent registry is a removed one.

    Raises:
        BoostRetrievalError: See `open_catalog`; or the configuration may have lost a
            registry: a row of it has no name, or it is gone while clones are there.
    """
    catalog = open_catalog()
    rows = config.get("taps", [])
    if not all(isinstance(row, dict) and _is_name(row.get("name")) for row in rows):
        msg = "config.json names a registry that is not a string; correct its `taps`"
        raise BoostRetrievalError(msg)
    if shared := _sharing(catalog):
        raise BoostRetrievalError(shared)
    if not catalog.taps and _listing(paths.repos_dir()):
        msg = (
            "config.json is gone or names no registry, but repos/ holds clones; restore it, or "
            "delete them"
        )
        raise BoostRetrievalError(msg)
    if os.path.lexists(catalog.home) and not os.path.isdir(catalog.home):
        msg = "the boost home is no directory; set BOOST_HOME to one"
        raise BoostRetrievalError(msg)
    return catalog


def home_in_force() -> str:
    """The boost home that a call would use, or "" where it cannot be told."""
    try:
        return str(paths.boost_home())
    except BoostError:  # open_catalog reports it
        return ""


def _sharing(catalog: Catalog) -> str:
    """Two registries that the engine keeps in one cache file, or ""."""
    seen: dict[str, str] = {}
    for name, tap in catalog.taps.items():
        other = seen.setdefault(tap.safe_name, name)
        if other != name:
            return f"{other} and {name} share one catalog cache; run `boost untap {name}`"
    return ""


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _listing(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
