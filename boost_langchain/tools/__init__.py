"""The catalog as tools for an agent: progressive disclosure, or the engine's MCP registry."""

from boost_langchain.tools._registry import boost_tools
from boost_langchain.tools._skills import skill_tools

__all__ = ["boost_tools", "skill_tools"]
