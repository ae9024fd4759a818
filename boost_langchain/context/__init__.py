"""Context for questions about a system: its own words say which sources to ask.

The nearest passages do not explain a system. A question that says "why" wants its decisions
too, one that says "bug" what was learned from it. Retrievers go in, one per kind of knowledge;
one retriever comes out, and a prompt that answers from what it finds.
"""

from boost_langchain.context._builder import ContextBuilder, ContextSource
from boost_langchain.context._explain import (
    explanation_chain,
    explanation_prompt,
    format_context,
)
from boost_langchain.context._families import FAMILIES, ContextFamily, context_source
from boost_langchain.context._recency import RecencyBoost
from boost_langchain.context._routing import is_explanation_request

__all__ = [
    "FAMILIES",
    "ContextBuilder",
    "ContextFamily",
    "ContextSource",
    "RecencyBoost",
    "context_source",
    "explanation_chain",
    "explanation_prompt",
    "format_context",
    "is_explanation_request",
]
