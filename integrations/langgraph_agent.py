"""A LangGraph agent that gets the procedures of each turn, and says which ones it got.

    python integrations/langgraph_agent.py
    python integrations/langgraph_agent.py --model anthropic:claude-sonnet-4-5 --own-home

Two questions on different subjects and a "thanks!", in one thread: the procedures of the
first turn are replaced in the second and left alone in the third. Without --model a scripted
model answers. `langgraph dev`, run in this folder, serves the same graph over your own home.
"""

import argparse
import os
import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from boost_langchain import skill_context_node
from boost_langchain.graph import leading_system, procedures

from _setup import arguments, catalog, chat_model

QUESTION = "Model calls fail with 429. How do I retry them with backoff?"
FOLLOW_UPS = ["And how do I chunk Markdown documents?", "thanks!"]
SMALL_TALK = re.compile(r"(thanks|thank you|ok|go on)\W*", re.IGNORECASE)
SCRIPT = [
    AIMessage("", tool_calls=[ToolCall(name="provider_status", args={"name": "acme"}, id="1")]),
    AIMessage("Acme is shedding load: back off exponentially, with jitter."),
    AIMessage("Split at headings first, then by size."),
    AIMessage("You are welcome."),
]


@tool
def provider_status(name: str) -> str:
    """Say how a model provider is doing right now."""
    return f"{name}: 12% of calls are answered with 429"


def asks_something(state: MessagesState) -> bool:
    """Whether this turn is worth a search: small talk is not."""
    return not SMALL_TALK.fullmatch(state["messages"][-1].text)


def build_graph(
    model: BaseChatModel, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Procedures, then an agent with a tool."""
    tools = [provider_status]
    agent = leading_system | model.bind_tools(tools)

    def call_model(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [agent.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("skills", skill_context_node(k=2, when=asks_something))
    graph.add_node("agent", call_model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "skills")
    graph.add_edge("skills", "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=checkpointer)


def serve() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph for `langgraph dev`, which brings its own checkpointer; MODEL names a model."""
    return build_graph(chat_model(argparse.Namespace(model=os.environ.get("MODEL")), SCRIPT * 100))


def line(message: BaseMessage) -> str:
    """One message of a transcript; ours by its provenance."""
    if handed := procedures(message):
        where = "".join(f"\n    {p.tap}:{p.path} @ {p.version or p.commit[:12]}" for p in handed)
        return f"procedures:{where}"
    calls = ", ".join(f"{c['name']}({c['args']})" for c in getattr(message, "tool_calls", []))
    return f"{message.type}: {message.text or calls}"


def main() -> None:
    """Hold one conversation and print it."""
    options = arguments(__doc__, QUESTION)
    with catalog(options):
        graph = build_graph(chat_model(options, SCRIPT), InMemorySaver())
        print(graph.get_graph().draw_mermaid())
        config = RunnableConfig(configurable={"thread_id": "1"})
        for question in [options.question, *FOLLOW_UPS]:
            messages = graph.invoke({"messages": [("user", question)]}, config)["messages"]
            print(f"--- state after {question!r}")
            print("\n".join(map(line, messages)), end="\n\n")


if __name__ == "__main__":
    main()
