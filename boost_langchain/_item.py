"""The text of one catalog entry, read from its registry's clone as the engine indexes it."""

import os
from dataclasses import dataclass, replace

from boost_cli.core import frontmatter

from boost_langchain._entry import Entry, file_of
from boost_langchain._files import RefusedFileError, contained_path, read_contained


@dataclass(frozen=True)
class Item:
    """The text of one entry, as the engine indexes it."""

    text: str
    has_body: bool
    file: str = ""
    """The path on this machine, or "" where no file may be read."""
    contained: bool = True
    """False when the file leads somewhere that must not be read: nothing indexed from it
    may be shown either."""


def read_item(entry: Entry, root: str | None) -> Item:
    """Read one entry's text: name, description and body, as the index holds them.

    The body is read only from a regular file that lies inside `root`, its registry's clone,
    links followed; otherwise the description stands in for it.
    """
    described = str(entry.get("description") or "") or str(entry.get("name") or "")
    relative = file_of(entry)
    if root is None or relative is None:
        return Item(described, has_body=False)
    path = os.path.join(root, relative)
    try:
        file = read_contained(root, relative)
    except RefusedFileError:
        return Item(described, has_body=False, contained=not os.path.lexists(path))
    if file.omitted and frontmatter.unclosed(file.text):
        return Item(described, has_body=False, file=path)  # the header alone is too long
    _header, body = frontmatter.split(file.text)
    body = replace(file, text=body).marked
    text = f"{entry.get('name') or ''}\n{entry.get('description') or ''}\n{body}".strip()
    return Item(text, has_body=True, file=path)


def may_be_read(entry: Entry, root: str | None) -> bool:
    """Whether the engine may read the entry's file: absent, or regular and contained."""
    relative = file_of(entry)
    if root is None or not entry.get("skill_md"):
        return True  # the engine has nothing to open
    if relative is None:
        return False
    try:
        real = contained_path(root, relative)
    except RefusedFileError:
        return False
    return not os.path.lexists(real) or os.path.isfile(real)
