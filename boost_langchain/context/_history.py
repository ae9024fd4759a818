"""When the files of the catalog were last changed, from the histories of their clones.

The only module of this package that calls the engine.
"""

import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from boost_cli.core import gitutil
from boost_cli.errors import BoostError
from langchain_core.documents import Document

from boost_langchain._catalog import Catalog
from boost_langchain._home import open_catalog
from boost_langchain.errors import BoostRetrievalError

logger = logging.getLogger("boost_langchain")

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def last_changes(documents: Sequence[Document]) -> list[datetime | None]:
    """When a commit last touched each document's file: up to the document's own commit, or HEAD.

    None where that is not known: the document is from no registry of this machine, its clone
    is shallow and has no history, or git fails. A home that cannot be read is one warning.
    """
    if not any(document.metadata.get("tap") for document in documents):
        return [None] * len(documents)
    try:
        catalog = open_catalog()
    except BoostRetrievalError as e:
        logger.warning("no dates from the registries' histories: %s", e)
        return [None] * len(documents)
    return [_last_change(catalog, document) for document in documents]


def _last_change(catalog: Catalog, document: Document) -> datetime | None:
    tap, path, commit = (document.metadata.get(key) for key in ("tap", "path", "commit"))
    root = catalog.root(tap) if isinstance(tap, str) else None
    if root is None or not isinstance(path, str) or not path or "\0" in path:
        return None
    # Git reads the cut end of a shallow history as a commit that touched every file.
    if gitutil.is_shallow(Path(root)):
        return None
    try:
        # What is no commit git may read as an option.
        if isinstance(commit, str) and _COMMIT.fullmatch(commit):
            return _changed(root, path, commit)
        return _changed.__wrapped__(root, path, "HEAD")  # a HEAD moves: not kept
    except (BoostError, LookupError):
        return None


@lru_cache(maxsize=8192)
def _changed(root: str, path: str, revision: str) -> datetime:
    """Kept, because git takes milliseconds and what was at a commit never changes.

    Raises:
        LookupError: Not known. A cache keeps no exception, so that git is asked again.
    """
    # Literal: a path may hold what git takes for a pattern.
    seconds = gitutil.path_updated_at(Path(root), f":(literal){path}", revision)
    if seconds is None:
        raise LookupError(path)
    return datetime.fromtimestamp(seconds, UTC)
