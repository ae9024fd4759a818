"""Loaders of LangChain (a package, so that it wins over the engine's module).

Translates one SKILL.md, or the whole tapped catalog, into Documents.
"""

import boost_langchain._requirements  # noqa: F401 - refuses an unsupported langchain-core
from boost_langchain.loader._catalog import CatalogLoader, document_key
from boost_langchain.loader._skill_markdown import SkillMarkdownLoader

__all__ = ["CatalogLoader", "SkillMarkdownLoader", "document_key"]
