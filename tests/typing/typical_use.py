"""What an application writes, for type checkers: it is checked, never run."""

from typing import assert_type

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, RemoveMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph

from boost_langchain import BoostRetriever, SkillMarkdownLoader, skill_context_node
from boost_langchain.context import (
    ContextBuilder,
    RecencyBoost,
    context_source,
    explanation_chain,
    is_explanation_request,
)
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.graph import Procedure, leading_system, procedures
from boost_langchain.middleware import SkillContextMiddleware
from boost_langchain.rerank import ChatReranker, EmbeddingsReranker, RerankedRetriever
from boost_langchain.retriever import format_procedures
from boost_langchain.testing import TappedCatalog, tapped_catalog
from boost_langchain.tools import boost_tools, skill_tools


def chain(model: BaseChatModel) -> str:
    """An LCEL chain."""
    retriever = BoostRetriever(k=3, kind="skill", refresh="never")
    assert_type(retriever.invoke("query", k=2), list[Document])
    assert_type(format_procedures(retriever.invoke("query"), budget=10_000), str)
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    steps = {"context": retriever | format_procedures, "question": RunnablePassthrough()}
    return (steps | prompt | model | StrOutputParser()).invoke("query")


def graph(model: BaseChatModel) -> list[Procedure]:
    """A LangGraph graph."""
    node = skill_context_node(k=2, when=lambda state: bool(state["messages"]))
    update = node({"messages": [("user", "query")]})
    assert_type(update, dict[str, list[SystemMessage | RemoveMessage]])
    agent = leading_system | model

    def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [agent.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", node)
    builder.add_node("rules", skill_context_node(BoostRetriever(kind="rule"), name="rules"))
    builder.add_node("agent", answer)
    builder.add_edge(START, "skills")
    assert_type(leading_system([("user", "hi")]), list[BaseMessage])
    return procedures(update["messages"][0])


def agent(model: BaseChatModel, embeddings: Embeddings) -> None:
    """An agent, with middleware, tools and a second stage."""
    reranked = RerankedRetriever(compressor=EmbeddingsReranker(embeddings=embeddings), k=3)
    assert_type(reranked.invoke("query"), list[Document])
    RerankedRetriever(base=BoostRetriever(), compressor=ChatReranker(model=model))
    rules = BoostRetriever().bind(kind="rule").with_retry()
    RerankedRetriever(base=rules, compressor=ChatReranker(model=model))
    ContextBuilder(base=rules)
    assert_type(skill_tools(BoostRetriever(kind="rule")), list[BaseTool])
    assert_type(skill_tools(reranked.with_retry(), budget=None), list[BaseTool])
    create_agent(
        model,
        [*skill_tools(), *boost_tools(include=["boost_list"])],
        middleware=[
            SkillContextMiddleware(reranked, screen="label"),
            SkillContextMiddleware(reranked, query=lambda state: "topic", name="topic"),
        ],
    )


def explain(model: BaseChatModel, question: str) -> str:
    """An explanation from several sources, the newest first."""
    files = RerankedRetriever(base=BoostRetriever(), compressor=RecencyBoost(), k=3)
    sources = [context_source("files", files), context_source("conventions")]
    builder = ContextBuilder(base=BoostRetriever(k=3), sources=sources, k=12)
    assert_type(is_explanation_request(question), bool)
    assert_type(builder.invoke(question, k=3), list[Document])
    return explanation_chain(model, builder, budget=20_000).invoke(question)


def load(path: str) -> list[Document]:
    """A loader, and a test's home."""
    try:
        with tapped_catalog("procedures", name="mine") as tapped:
            assert_type(tapped, TappedCatalog)
            return SkillMarkdownLoader(path).load()
    except BoostRetrievalError:
        return []
