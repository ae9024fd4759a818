"""One question through every way into the catalog, and what came of each.

Also a program: prints the outcomes as JSON, for a case that needs a process of its own.
"""

import asyncio
import io
import json
import sys
from contextlib import redirect_stdout

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from boost_langchain import BoostRetriever, SkillMarkdownLoader, skill_context_node
from boost_langchain.__main__ import main
from boost_langchain.errors import BoostRetrievalError, SkillLoadError
from boost_langchain.graph import procedures
from boost_langchain.loader import CatalogLoader
from boost_langchain.middleware import SkillContextMiddleware
from boost_langchain.tools import skill_tools

from recorder import scripted
from support import shows_no_home

K = 8


def _ids(found):
    return sorted(f"{procedure.tap}::{procedure.path}" for procedure in found)


def _documents(found):
    return sorted(document.id for document in found)


def retriever(query):
    """Its documents, and the rung that answered."""
    found = BoostRetriever(k=K).invoke(query)
    return _documents(found), "/".join(sorted({d.metadata["engine"] for d in found}))


def async_retriever(query):
    """The same from a coroutine."""
    return _documents(asyncio.run(BoostRetriever(k=K).ainvoke(query)))


def never(query):
    """The same where nothing may be built or written."""
    return _documents(BoostRetriever(k=K, refresh="never").invoke(query))


def node(query):
    """The procedures in the state of a graph run."""
    graph = StateGraph(MessagesState)
    graph.add_node("skills", skill_context_node(k=K))
    graph.add_edge(START, "skills")
    messages = graph.compile().invoke({"messages": [HumanMessage(query)]})["messages"]
    assert messages[0].content == query
    return _ids(p for message in messages for p in procedures(message))


def middleware(query):
    """The procedures in the model call of an agent."""
    model = scripted(AIMessage("Done."))
    state = create_agent(model, middleware=[SkillContextMiddleware(k=K)]).invoke(
        {"messages": [HumanMessage(query)]}
    )
    assert [message.text for message in state["messages"]] == [query, "Done."]
    return _ids(p for message in model.seen[0] for p in procedures(message))


def _call(tool, **arguments):
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments}
    message = tool.invoke(call)
    assert message.content
    assert shows_no_home(repr(message))
    return message


def search_skills(query):
    """The items that the agent's search tool lists; None: an error message."""
    message = _call(skill_tools(BoostRetriever(k=K))[0], query=query)
    return None if message.status == "error" else _documents(message.artifact)


def read_skill(identity):
    """What the agent's reading tool gives of one item: its body, its description, an error."""
    message = _call(skill_tools()[1], id=identity)
    if message.status == "error":
        return "error"
    return "body" if message.artifact[0].metadata["has_body"] else "description"


def catalog_loader(_query):
    """How many items a mirror would get, or the documented exception's text."""
    try:
        return sum(1 for _ in CatalogLoader().lazy_load())
    except BoostRetrievalError as e:
        return str(e)


def skill_loader(path):
    """Whether one file loads, or the documented exception's text."""
    try:
        [document] = SkillMarkdownLoader(path).load()
    except SkillLoadError as e:
        return str(e)
    return "loads" if document.page_content else "empty"


def doctor(_query):
    """The exit code of the doctor: 0 healthy, 1 needs attention."""
    with redirect_stdout(io.StringIO()) as text:
        code = main(["doctor"])
    assert text.getvalue().strip().endswith("healthy" if code == 0 else "needs attention")
    return code


SEARCHING = (retriever, async_retriever, never, node, middleware, search_skills)


def through_every_seam(query, identity, path):
    """The outcome of each seam, by its name."""
    found = {seam.__name__: seam(query) for seam in SEARCHING}
    found["read_skill"] = read_skill(identity)
    found["catalog_loader"] = catalog_loader(query)
    found["skill_loader"] = skill_loader(path)
    found["doctor"] = doctor(query)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(through_every_seam(*sys.argv[1:])))
