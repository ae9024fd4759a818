"""One SKILL.md as a Document (a package, so that it wins over the engine's module)."""

from collections.abc import Iterator
from pathlib import Path
from typing import override

from boost_cli.core import frontmatter
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

import boost_langchain._requirements  # noqa: F401 - refuses an unsupported langchain-core

__all__ = ["SkillMarkdownLoader"]


class SkillMarkdownLoader(BaseLoader):
    """Load a SKILL.md as one Document: the body, with its frontmatter as metadata."""

    def __init__(self, path: str | Path) -> None:
        """Args: path: a SKILL.md, or a directory that holds one."""
        self.path = Path(path)

    @override
    def lazy_load(self) -> Iterator[Document]:
        path = self.path / "SKILL.md" if self.path.is_dir() else self.path
        meta, body = frontmatter.parse(path.read_text(encoding="utf-8", errors="replace"))
        yield Document(page_content=body, metadata={**meta, "source": str(path)})
