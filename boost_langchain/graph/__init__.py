"""Procedures into a LangGraph run (a package, so that it wins over the engine's module)."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

import boost_langchain._requirements  # noqa: F401 - refuses an unsupported langchain-core
from boost_langchain._rendering import INTRODUCTION, format_procedures
from boost_langchain.retriever import BoostRetriever

__all__ = ["skill_context_node"]


def skill_context_node(retriever: BoostRetriever | None = None, k: int = 3) -> Callable[[Any], Any]:
    """A graph node that adds the procedures for the last human message."""
    source = retriever or BoostRetriever(k=k)

    def boost_skills(state: dict[str, Any]) -> dict[str, Any]:
        for message in reversed(state.get("messages") or []):
            if isinstance(message, HumanMessage):
                documents = source.invoke(message.text)
                if not documents:
                    break
                text = f"{INTRODUCTION}\n\n{format_procedures(documents)}"
                return {"messages": [SystemMessage(text, id="boost-procedures")]}
        return {}

    return boost_skills
