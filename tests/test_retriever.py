"""BoostRetriever: its fields, its calls, and what it answers."""

import asyncio
import json
import logging
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from boost_cli.core import rag
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from boost_langchain import BoostRetriever
from boost_langchain.retriever import format_procedures

from recorder import Recorder
from support import OWN_TAP, skill

QUERY = "retry a flaky model call"
KEYS = {
    "id",
    "name",
    "kind",
    "tap",
    "source",
    "path",
    "version",
    "commit",
    "engine",
    "score",
    "rank",
    "snippet",
    "has_body",
}


@pytest.mark.usefixtures("own_catalog")
class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests, as they are."""

    @property
    def retriever_constructor(self):
        """The class under test."""
        return BoostRetriever

    @property
    def retriever_constructor_params(self):
        """Its arguments."""
        return {"k": 5}

    @property
    def retriever_query_example(self):
        """A query that finds something."""
        return QUERY


# ------------------------------------------------------------------ fields and call arguments


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k", True),
        ("k", "3"),
        ("k", 3.0),
        ("k", 0),
        ("k", -1),
        ("k", None),
        ("kind", "plugin"),
        ("kind", ["rule"]),
        ("tap", 3),
        ("full_content", 1),
        ("full_content", "no"),
        ("refresh", "always"),
        ("on_error", "ignore"),
        ("local_paths", "yes"),
        ("collapse_near_duplicates", 0),
        ("foo", 1),
    ],
)
def test_bad_field_is_rejected_where_it_was_written(own_catalog, field, value):
    """A bad value fails on construction, on assignment and per call, and is named."""
    shown = repr(value)
    with pytest.raises(ValidationError) as at_construction:
        BoostRetriever(**{field: value})
    assert shown in str(at_construction.value)
    retriever = BoostRetriever()
    with pytest.raises((ValidationError, ValueError)) as at_assignment:
        setattr(retriever, field, value)
    assert field in str(at_assignment.value)
    with pytest.raises((ValidationError, TypeError)) as at_call:
        retriever.invoke(QUERY, **{field: value})
    assert shown in str(at_call.value)
    assert BoostRetriever() == retriever


def test_unknown_call_argument_names_what_a_call_takes(own_catalog):
    """The error says which arguments exist."""
    with pytest.raises(TypeError, match=r"foo=1; a call takes k, kind, tap, full_content"):
        BoostRetriever().invoke(QUERY, foo=1)


def test_model_copy_is_checked_at_the_call(own_catalog):
    """Pydantic never validates model_copy(update=...): the call does."""
    copied = BoostRetriever().model_copy(update={"k": 0})
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        copied.invoke(QUERY)
    assert len(BoostRetriever().model_copy(update={"k": 2}).invoke(QUERY)) == 2
    for field in ("refresh", "on_error", "local_paths", "collapse_near_duplicates"):
        copied = BoostRetriever().model_copy(update={field: "always"})
        with pytest.raises(ValidationError, match=field):
            copied.invoke(QUERY)


@pytest.mark.parametrize("query", [None, 3, b"text", ["text"], {"query": "text"}])
def test_query_that_is_no_string_is_named(own_catalog, query):
    """The caller's mistake always raises, whatever on_error says."""
    with pytest.raises(TypeError, match="needs a string"):
        BoostRetriever().invoke(query)


async def test_k_per_call_is_honoured_everywhere(own_catalog):
    """Case 13: invoke, ainvoke, batch, abatch and bind take k by the same rules."""
    retriever = BoostRetriever()
    assert len(retriever.invoke(QUERY)) == 8
    assert len(retriever.invoke(QUERY, k=1)) == 1
    assert len(await retriever.ainvoke(QUERY, k=2)) == 2
    assert [len(found) for found in retriever.batch([QUERY, QUERY], k=3)] == [3, 3]
    assert [len(found) for found in await retriever.abatch([QUERY, QUERY], k=3)] == [3, 3]
    assert len(retriever.bind(k=1).invoke(QUERY)) == 1
    assert len(await retriever.bind(k=1).ainvoke(QUERY)) == 1
    assert len(retriever.invoke(QUERY, verbose=True, k=1)) == 1
    with pytest.raises(ValidationError):
        retriever.bind(k=True).invoke(QUERY)


def test_kind_tap_and_full_content_per_call(own_catalog):
    """The other three call arguments override their fields."""
    retriever = BoostRetriever(kind="skill")
    assert {d.metadata["kind"] for d in retriever.invoke(QUERY)} == {"skill"}
    assert {d.metadata["kind"] for d in retriever.invoke(QUERY, kind="rule")} == {"rule"}
    assert {d.metadata["kind"] for d in retriever.invoke(QUERY, kind=None, k=30)} == {
        "skill",
        "rule",
        "workflow",
    }
    short = retriever.invoke(QUERY, full_content=False, tap=OWN_TAP)
    assert [d.id for d in short] == [d.id for d in retriever.invoke(QUERY)]
    assert not any(d.metadata["has_body"] for d in short)


def test_configurable_fields_are_validated(own_catalog):
    """A field made configurable keeps its rules."""
    retriever = BoostRetriever().configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.with_config(configurable={"k": 2}).invoke(QUERY)) == 2
    with pytest.raises(ValidationError):
        retriever.with_config(configurable={"k": 0}).invoke(QUERY)


# ----------------------------------------------------------------------------- what it answers


def test_every_documented_key_is_always_there(own_catalog):
    """Metadata has exactly the documented keys, in full and in description mode."""
    for full_content in (True, False):
        found = BoostRetriever(full_content=full_content, k=60).invoke(QUERY)
        assert found
        for rank, document in enumerate(found, start=1):
            metadata = document.metadata
            assert set(metadata) == KEYS
            assert document.id == metadata["id"] == f"{metadata['tap']}::{metadata['path']}"
            assert metadata["source"] == metadata["path"]
            assert metadata["rank"] == rank
            assert metadata["engine"] == "BM25 full-content"
            assert metadata["has_body"] is full_content
            assert len(metadata["commit"]) == 40
            assert json.loads(json.dumps(metadata, allow_nan=False)) == metadata
    scores = [document.metadata["score"] for document in found[1:]]
    assert scores == sorted(scores, reverse=True)


def test_page_content_is_the_indexed_text(own_catalog):
    """Full content is what the engine scored; otherwise it is one line of description."""
    entries = {(e["tap"], e["skill_md"]): e for e in own_catalog.entries()}
    for document in BoostRetriever(k=100).invoke(QUERY):
        entry = entries[document.metadata["tap"], document.metadata["path"]]
        assert document.page_content == rag.read_body_full(entry)[0]
    for document in BoostRetriever(k=100, full_content=False).invoke(QUERY):
        entry = entries[document.metadata["tap"], document.metadata["path"]]
        assert document.page_content == " ".join(entry["description"].split())


def test_version_is_what_the_file_declares(tap_files):
    """1.10 stays 1.10; no version is "", never the engine's placeholder."""
    tap_files(
        {
            "skills/a/SKILL.md": skill("a", "deploy it", version="1.10"),
            "skills/b/SKILL.md": skill("b", "deploy it now"),
        }
    )
    found = {d.metadata["name"]: d.metadata["version"] for d in BoostRetriever().invoke("deploy")}
    assert found == {"a": "1.10", "b": ""}


@pytest.mark.parametrize(
    "query", ["", "   \n", "zzqxj", "the and of", "日本語", "🚀", "\x00", "\ud800"]
)
def test_nothing_to_find_is_an_empty_answer(own_catalog, caplog, query):
    """A blank, unmatched, stopword or non-Latin query is [] on the default rung, without a word."""
    assert BoostRetriever().invoke(query) == []
    assert caplog.records == []


def test_very_long_query_is_answered(own_catalog):
    """A megabyte of text is a query like another."""
    assert BoostRetriever(k=1).invoke("retry backoff " * 75_000)


def test_empty_home_is_said_once(empty_catalog, caplog):
    """Nothing tapped answers [] and says once which home is empty and what to run."""
    assert BoostRetriever().invoke(QUERY) == []
    assert BoostRetriever(k=2).invoke("another") == []
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert str(empty_catalog.boost_home) in caplog.text
    assert "boost tap" in caplog.text


def test_untapped_registry_is_a_state_with_one_warning(own_catalog, caplog):
    """A registry that is not tapped answers [] and lists those that are, once."""
    retriever = BoostRetriever(tap="not/tapped")
    assert retriever.invoke(QUERY) == []
    assert retriever.invoke(QUERY) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"'not/tapped' is not tapped, so its answers are empty; tapped: {OWN_TAP}"
    ]


def test_tap_filter_finds_an_item_that_another_registry_also_has(empty_catalog, write_files):
    """The engine shows one of two identical copies; a filter finds the other."""
    same = {"skills/a/SKILL.md": skill("a", "deploy the service", "Steps.")}
    for name in ("first", "second"):
        empty_catalog.tap(write_files(name, same))
    assert len(BoostRetriever().invoke("deploy service")) == 1
    for name in ("first", "second"):
        found = BoostRetriever(tap=name).invoke("deploy service")
        assert [d.id for d in found] == [f"{name}::skills/a/SKILL.md"]


def test_ids_tell_apart_what_shares_name_and_text(empty_catalog, write_files):
    """Case 15: one name and one text in several registries, and an id for each."""
    header = {"description": "Format code the north way"}
    north = "Use two spaces when you format code."
    texts = {
        "tap-a": skill("formatter", body=north, version="1.0.0", **header),
        "tap-b": skill("formatter", body=north, version="3.0.0", **header),
        "tap-c": skill("formatter", "Format code the south way", "Use tabs when you format code."),
    }
    for name, text in texts.items():
        empty_catalog.tap(write_files(name, {"skills/fmt/SKILL.md": text}))
    for full_content in (True, False):
        ids = [
            document.metadata["id"]
            for name in texts
            for document in BoostRetriever(tap=name, full_content=full_content).invoke("format")
        ]
        assert ids == [f"{name}::skills/fmt/SKILL.md" for name in texts]
    # Identical bodies are one answer, so rank fusion cannot pool their scores.
    assert len(BoostRetriever().invoke("format code")) == 2


def test_same_answer_as_the_engines_own_choice(own_catalog, own_golden):
    """The seam adds nothing to the engine's ranking: same items, same order, same label."""
    for row in own_golden:
        hits, engine = rag.retrieve_or_fallback(row["query"], k=10, kind=row["kind"])
        found = BoostRetriever(k=10, kind=row["kind"]).invoke(row["query"])
        expected = [f"{hit['entry']['tap']}::{hit['entry']['skill_md']}" for hit in hits]
        assert [document.id for document in found] == expected
        assert {document.metadata["engine"] for document in found} == {engine}


# ----------------------------------------------------------------------- as part of a chain


def test_verbatim_chain_leaks_no_path(own_catalog, own_home):
    """The plain chain works as documented, and no path of this machine is in its prompt."""
    seen = []
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    model = GenericFakeChatModel(messages=iter([AIMessage("Done.")]))
    chain = (
        {"context": BoostRetriever(), "question": RunnablePassthrough()}
        | prompt
        | RunnableLambda(lambda value: seen.append(value.to_string()) or value)
        | model
        | StrOutputParser()
    )
    assert chain.invoke(QUERY) == "Done."
    assert "retry-with-backoff" in seen[0]
    assert str(own_home.home) not in seen[0]
    assert "/home" not in seen[0]


def test_trace_is_named_and_local_free(own_catalog, own_home):
    """A traced run is named boost, carries the documents, and no path of this machine."""
    recorder = Recorder()
    BoostRetriever(k=2).invoke(QUERY, {"callbacks": [recorder]})
    BoostRetriever(k=2).invoke(QUERY, {"callbacks": [recorder], "run_name": "mine"})
    run = recorder.finished[0]
    assert [r.name for r in recorder.finished] == ["boost", "mine"]
    assert run.run_type == "retriever"
    assert run.extra["metadata"]["ls_retriever_name"] == "boost"
    assert len(run.outputs["documents"]) == 2
    assert str(own_home.home) not in repr((run.inputs, run.outputs, run.extra, run.serialized))


def test_local_path_only_when_asked_for(own_catalog):
    """Case 16: `file` is opt-in; no other sink of a document has a path of this machine."""
    plain, located = (BoostRetriever(k=3, local_paths=flag).invoke(QUERY) for flag in (False, True))
    home = str(own_catalog.home)
    template = PromptTemplate.from_template("{page_content} " + " ".join(f"{{{k}}}" for k in KEYS))
    for retriever_tool in (
        create_retriever_tool(BoostRetriever(), "search", "Search."),
        create_retriever_tool(BoostRetriever(), "search", "Search.", document_prompt=template),
        create_retriever_tool(
            BoostRetriever(), "search", "Search.", response_format="content_and_artifact"
        ),
    ):
        call = {"name": "search", "args": {"query": QUERY}, "id": "1", "type": "tool_call"}
        message = retriever_tool.invoke(call)
        assert home not in repr((message.content, message.artifact))
        assert message.content
    assert home not in str(plain)
    assert all(
        d.metadata["file"] == f"{own_catalog.clone(OWN_TAP)}/{d.metadata['path']}" for d in located
    )


def test_format_procedures_after_a_pipe(own_catalog):
    """The function is a step of a chain as it is."""
    text = (BoostRetriever(k=2) | format_procedures).invoke(QUERY)
    assert text.count(f" — {OWN_TAP}:skills/") == 2
    assert format_procedures([]) == ""


# ------------------------------------------------------------------------------- as a Runnable


def test_pickle_retry_and_fallbacks(own_catalog):
    """It survives a pickle, and the wrappers of any Runnable."""
    expected = BoostRetriever(k=2).invoke(QUERY)
    assert pickle.loads(pickle.dumps(BoostRetriever(k=2))).invoke(QUERY) == expected  # noqa: S301
    assert BoostRetriever(k=2).with_retry().invoke(QUERY) == expected
    broken = RunnableLambda(lambda _: 1 / 0)
    assert broken.with_fallbacks([BoostRetriever(k=2)]).invoke(QUERY) == expected


def test_many_threads_and_tasks_get_the_same_answer(own_catalog):
    """Eight threads and fifty tasks at once: one answer."""
    retriever = BoostRetriever(k=3)
    expected = retriever.invoke(QUERY)
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(retriever.invoke, [QUERY] * 64))

    async def crowd():
        return await asyncio.gather(*(retriever.ainvoke(QUERY) for _ in range(50)))

    assert all(found == expected for found in asyncio.run(crowd()))


def test_documents_are_documents(own_catalog):
    """The type that every consumer expects."""
    assert all(type(document) is Document for document in BoostRetriever().invoke(QUERY))
