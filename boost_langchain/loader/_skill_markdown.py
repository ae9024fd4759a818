"""One procedure file as a Document: its body, with its frontmatter as metadata."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self, override

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from boost_langchain._files import MAX_BYTES, RefusedFileError, contained_path, read_text
from boost_langchain._frontmatter import read_procedure
from boost_langchain.errors import SkillLoadError


class SkillMarkdownLoader(BaseLoader):
    """Load one SKILL.md, or any item's file, as one Document.

    page_content is the body without the frontmatter. metadata has the frontmatter's fields
    as the engine's own parser reads them, so that a file reads as the catalog reads it:
    `version: 1.10` is "1.10", and dates, `007` and `yes` stay text. All of it is strict
    JSON; a number that JSON does not have (`nan`, `inf`) stays text too. Besides, and in
    place of a field of that name:

    - `source`: the file's real path on this machine, links followed.
    - `description`: always one string, "" when none is declared.
    - `warnings`: a list of sentences, empty for most files, on what may not read as its
      author meant. A header ends at the first `---` or `...` at column 0; where the engine
      takes an indented one, in a block scalar say, a warning tells. A header that is never
      closed, or does not begin the file, is read as text, as in the catalog, with a
      warning. Header lines that did not reach the metadata, and values that keep their YAML
      syntax, are named by their line.

    A file larger than 1,000,000 bytes is cut there, with a note at its end.

    Args:
        path: The file, or a directory that holds a SKILL.md (in any letter case). `~` is
            the user's home. A link may lead elsewhere in the file's own directory, not out
            of it: what lies there has a path of its own to give.

    Raises:
        SkillLoadError: While loading: there is no such file, or it is unreadable, binary,
            UTF-16, not a regular file, or a link that leads out of its directory.
        TypeError: `path` is neither a string nor a path.

    Example:
        ```python
        from boost_langchain import SkillMarkdownLoader

        [document] = SkillMarkdownLoader("tests/catalog/skills/retry-with-backoff").load()
        print(document.metadata["name"], document.metadata["version"])
        #> retry-with-backoff 1.3.0
        ```
    """

    def __init__(self, path: str | Path) -> None:
        msg = f"SkillMarkdownLoader needs the path of a file or a directory, not {path!r}"
        if not isinstance(path, str | os.PathLike):
            raise TypeError(msg)
        if not str(path):
            raise SkillLoadError(msg)
        try:
            self.path = Path(path).expanduser()
        except RuntimeError as e:
            msg = f"{path} cannot be loaded: {e} give the path in full"
            raise SkillLoadError(msg) from e

    @classmethod
    def from_installed(cls, name: str) -> Self:
        """Load a skill that `boost install` put into the canonical store.

        Args:
            name: Its name, as `boost list` shows it.

        Raises:
            SkillLoadError: The name is unsafe, not installed in user scope, or installed
                as a rule or a workflow (the lock file decides); or its copy is set aside.
            TypeError: `name` is not a string.
        """
        # The engine's store costs a third of this package's import, and few load from it.
        from boost_langchain._installed import installed_skill  # noqa: PLC0415

        return cls(installed_skill(name))

    @override
    def lazy_load(self) -> Iterator[Document]:
        try:
            real = _procedure_file(self.path)
            file = read_text(real)
        except RefusedFileError as e:
            msg = (
                f"{self.path} cannot be loaded: it {e}; give a regular text file in UTF-8, "
                "or a directory that holds one as SKILL.md"
            )
            raise SkillLoadError(msg) from e
        reading = read_procedure(file.text)
        warnings = reading.warnings
        if file.omitted:
            warnings = [*warnings, f"only the first {MAX_BYTES:,} bytes of the file are read"]
        source = real.encode("utf-8", "replace").decode("utf-8")
        yield Document(
            page_content=replace(file, text=reading.body).marked,
            metadata={**reading.fields, "warnings": warnings, "source": source},
        )


def _procedure_file(path: Path) -> str:
    """The real path of the file to read: `path` itself, or the SKILL.md in it.

    Raises:
        RefusedFileError: There is none, or it is a link that leads out of its directory.
    """
    try:
        if not path.is_dir():
            return contained_path(os.path.realpath(path.parent), path.name)
        names = [file.name for file in path.iterdir() if file.name.casefold() == "skill.md"]
        if not names:
            msg = "is a directory without a SKILL.md"
            raise RefusedFileError(msg)
        return contained_path(os.path.realpath(path), min(names, key=_by_exact_name))
    except (OSError, ValueError) as e:
        msg = f"cannot be read ({getattr(e, 'strerror', None) or e})"
        raise RefusedFileError(msg) from e


def _by_exact_name(name: str) -> tuple[bool, str]:
    return name != "SKILL.md", name
