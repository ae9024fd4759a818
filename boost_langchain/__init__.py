"""The boost catalog of procedures behind LangChain's contracts.

This file holds the three re-exports and nothing else: the engine's wheel has a file of
this name, and it must not matter which of the two is on disk. Every other public name is
imported from its own module.
"""

from boost_langchain.graph import skill_context_node
from boost_langchain.loader import SkillMarkdownLoader
from boost_langchain.retriever import BoostRetriever

__all__ = ["BoostRetriever", "SkillMarkdownLoader", "skill_context_node"]
