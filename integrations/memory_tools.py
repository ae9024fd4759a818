"""A code base as an agent's memory: its sources as tools of an MCP registry.

    python integrations/memory_tools.py
    python integrations/memory_tools.py --model openai:gpt-5-mini "What was fixed, and how?"

The tools are registered on a registry of the engine's kind, as an extension of boost would
register them, and handed to the agent by `boost_tools`: memory_query (all sources that the
question's words call for), memory_search (files), memory_functions, memory_similar (files like
a file), memory_sessions (what was done, day by day) and local_ask (a local model explains).

Needs bm25s, PyStemmer and langchain (pip install 'bm25s[stem]' 'boost-langchain[agents]').
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any

from boost_cli.core.mcp import Registry
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolCall

from boost_langchain.context import ContextBuilder, explanation_chain, format_context
from boost_langchain.tools import boost_tools

from _codebase import CodeBase, opened, with_code_base
from _families import context_builder, shelves
from _local_model import local_model
from _setup import catalog, chat_model, parser, print_conversation

QUESTION = "How does the node keep its message from piling up?"
NODE = "boost_langchain/graph/_node.py"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_query", {"query": "Which bug did the node's message have, and how was it fixed?"}),
    ("memory_search", {"query": "replace the message of the turn before"}),
    ("memory_functions", {"query": "skill_context_node"}),
    ("memory_similar", {"path": NODE}),
    ("memory_sessions", {"days": 1}),
    ("local_ask", {"query": QUESTION}),
]
SCRIPT = [
    AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=str(number))])
    for number, (name, args) in enumerate(CALLS)
]
ANSWER = AIMessage("(A scripted answer: name a model with --model to get a real one.)")
BUDGET = 6_000

type Ask = Callable[[str], list[Document]]
type Handler = Callable[[dict[str, Any]], tuple[str, bool]]


def memory_registry(code: CodeBase, builder: ContextBuilder, model: BaseChatModel) -> Registry:
    """A registry with the six tools."""
    shelf = shelves(code, None)
    chain = explanation_chain(model, builder, budget=BUDGET)
    query = schema("query", "string", "the question, in your own words")
    registry = Registry()

    def found_in(family: str) -> Ask:
        """One family alone, labelled like the answers of all."""
        retriever = shelf[family]
        return lambda query: [labelled(one, family) for one in retriever.invoke(query)]

    registry.register(
        "memory_query",
        "Ask everything that is known about the code base: files, functions, tables, decisions, "
        "observations, conventions. The question's own words decide which of them.",
        query,
        answering(builder.invoke),
    )
    registry.register(
        "memory_search",
        "Find files, with the lines that have most words of the query.",
        query,
        answering(found_in("files")),
    )
    registry.register(
        "memory_functions",
        "Find functions, methods and classes by name, with file and line.",
        query,
        answering(found_in("functions")),
    )
    registry.register(
        "memory_similar",
        "Find files that are like a file.",
        schema("path", "string", "the file, as memory_search names it"),
        lambda given: similar(code, found_in("files"), given["path"]),
    )
    registry.register(
        "memory_sessions",
        "Say what was done lately, day by day.",
        schema("days", "integer", "how many days of work, the latest first"),
        lambda given: (sessions(code, given["days"]), False),
    )
    registry.register(
        "local_ask",
        "Let a local model explain something about the code base.",
        query,
        lambda given: (chain.invoke(given["query"]), False),
    )
    return registry


def labelled(document: Document, family: str) -> Document:
    """The document as a `ContextBuilder` would label it."""
    return document.model_copy(update={"metadata": {**document.metadata, "context": family}})


def schema(name: str, kind: str, description: str) -> dict[str, Any]:
    """The JSON schema of a tool with one argument."""
    argument = {"type": kind, "description": description}
    return {"type": "object", "properties": {name: argument}, "required": [name]}


def answering(ask: Ask) -> Handler:
    """A handler that answers a query with labelled text."""
    return lambda given: (format_context(ask(given["query"]), budget=BUDGET), False)


def similar(code: CodeBase, ask: Ask, path: str) -> tuple[str, bool]:
    """The files that share most words with a file."""
    if path not in code.texts:
        return f"there is no file {path!r}; memory_search finds files", True
    found = [one for one in ask(code.texts[path]) if one.metadata["path"] != path]
    return format_context(found, budget=BUDGET), False


def sessions(code: CodeBase, days: int) -> str:
    """The commits of the latest days on which there were any."""
    by_day = groupby(code.commits, lambda commit: commit.day[:10])
    shown = [f"{day}: {'; '.join(c.subject for c in made)}" for day, made in by_day][: max(days, 1)]
    return "\n".join(shown) or "this copy has no history"


def main() -> None:
    """Let an agent use each tool, and print the whole conversation."""
    options = with_code_base(parser(__doc__, QUESTION)).parse_args()
    with catalog(options) as tapped:
        code, database = opened(options, tapped)
        builder = context_builder(code, database)
        registry = memory_registry(code, builder, local_model(options, [ANSWER]))
        agent = create_agent(
            chat_model(options, [*SCRIPT, ANSWER]),
            boost_tools(registry),
            system_prompt="Look into the memory before you answer; cite path:line.",
        )
        state = agent.invoke({"messages": [{"role": "user", "content": options.question}]})
        print_conversation(state["messages"])


if __name__ == "__main__":
    main()
