"""Procedures into a LangGraph run (a package, so that it wins over the engine's module).

Imports langchain_core alone: a node is a Runnable from state to update.
"""

import boost_langchain._requirements  # noqa: F401 - refuses an unsupported langchain-core
from boost_langchain._procedures import Procedure, procedures
from boost_langchain.graph._leading import leading_system
from boost_langchain.graph._node import skill_context_node

__all__ = ["Procedure", "leading_system", "procedures", "skill_context_node"]
