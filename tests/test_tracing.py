"""What a trace of a chain holds about the retriever: the real client against a double."""

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith.run_trees import get_cached_client
from langsmith.utils import get_env_var

from boost_langchain import BoostRetriever
from boost_langchain.retriever import format_procedures


@pytest.fixture
def traced(langsmith, monkeypatch):
    """Tracing to the double, set up by the environment alone."""
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    # What the client remembers of an environment before this one, and of this one after it.
    monkeypatch.setattr("langsmith.run_trees._CLIENT", None)
    monkeypatch.setattr("langchain_core.tracers.langchain._CLIENT", None, raising=False)
    get_env_var.cache_clear()
    yield langsmith
    get_cached_client().close()
    get_env_var.cache_clear()


def chain():
    """The plain chain of the README."""
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    model = GenericFakeChatModel(messages=iter([AIMessage("Back off, with jitter.")]))
    context = BoostRetriever(k=2) | format_procedures
    return (
        {"context": context, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    )


def test_invoke_inside_a_chain_arrives_as_a_retriever_run(own_catalog, traced):
    """Named "boost", of type retriever, with query, documents, engine; a child of the chain."""
    assert chain().invoke("retry with backoff") == "Back off, with jitter."
    wait_for_all_tracers()
    (run,) = [run for run in traced.runs.values() if run["run_type"] == "retriever"]
    assert run["name"] == "boost"
    assert run["inputs"] == {"query": "retry with backoff"}
    found = run["outputs"]["documents"]
    assert [each["metadata"]["rank"] for each in found] == [1, 2]
    assert found[0]["metadata"]["id"].endswith("::skills/retry-with-backoff/SKILL.md")
    assert found[0]["metadata"]["engine"] == "BM25 full-content"
    assert found[0]["page_content"].startswith("retry-with-backoff")
    assert run["extra"]["metadata"]["ls_retriever_name"] == "boost"
    assert traced.runs[run["parent_run_id"]]["run_type"] == "chain"
    assert run.get("error") is None


def test_trace_holds_nothing_local(own_catalog, traced):
    """No path of this machine is in anything that was sent."""
    chain().invoke("retry with backoff")
    wait_for_all_tracers()
    assert traced.runs
    assert str(own_catalog.home) not in str(traced.runs)
