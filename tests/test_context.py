"""Several retrievers as one: labels, order, duplicates, failures, traces; and the prompt."""

import asyncio
import pickle

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from boost_langchain import BoostRetriever
from boost_langchain.context import (
    FAMILIES,
    ContextBuilder,
    ContextSource,
    context_source,
    explanation_chain,
    explanation_prompt,
    format_context,
)

from recorder import Recorder
from support import HEADINGS

QUESTION = "Which bug did the schema have?"


class Fixed(BaseRetriever):
    """Always the same documents, by id; or an error."""

    ids: tuple[str, ...] = ()
    error: str = ""

    def _get_relevant_documents(self, query, *, run_manager):
        if self.error:
            raise ConnectionError(self.error)
        return [Document(identity, id=identity) for identity in self.ids]


def source(name, *ids, keywords=("bug",), **options):
    """A source that answers with documents of these ids."""
    return ContextSource(name, keywords, Fixed(ids=ids, **options))


@pytest.fixture(params=["sync", "async"])
def ask(request):
    """Ask a retriever, sync or async."""

    def run(retriever, question=QUESTION, config=None, **options):
        if request.param == "sync":
            return retriever.invoke(question, config, **options)
        return asyncio.run(retriever.ainvoke(question, config, **options))

    return run


def shown(found):
    """Label and id of each document, in order."""
    return [(document.metadata["context"], document.id) for document in found]


def test_order_and_labels(ask):
    """Base first, then the sources in their own order, each document labelled."""
    sources = [source("late", "l1", "l2"), source("never", "n", keywords=["cat"]), source("x", "x")]
    found = ask(ContextBuilder(base=Fixed(ids=("b1", "b2")), sources=sources))
    assert shown(found) == [
        ("base", "b1"),
        ("base", "b2"),
        ("late", "l1"),
        ("late", "l2"),
        ("x", "x"),
    ]


def test_duplicates_collapse_by_id(ask):
    """The first of one id stays, whichever answer it is in; what has no id stays too."""

    class Nameless(BaseRetriever):
        """Two equal documents without an id, one with it in metadata."""

        def _get_relevant_documents(self, query, *, run_manager):
            return [Document("same"), Document("same"), Document("x", metadata={"id": "b1"})]

    sources = [
        source("one", "b2", "o", "o"),
        ContextSource("two", ["bug"], Nameless()),
        source("three", "o", "t"),
    ]
    found = ask(ContextBuilder(base=Fixed(ids=("b1", "b2", "b1")), sources=sources))
    assert shown(found) == [
        ("base", "b1"),
        ("base", "b2"),
        ("one", "o"),
        ("two", None),
        ("two", None),
        ("three", "t"),
    ]


def test_documents_of_the_sources_are_left_alone(ask):
    """The label is put on copies, and nothing else is."""
    mine = Document("text", id="1", metadata={"path": "a.py"})
    kept = RunnableLambda(lambda _: [mine])
    found = ask(ContextBuilder(base=Fixed(), sources=[ContextSource("s", ["bug"], kept)]))
    assert found == [Document("text", id="1", metadata={"path": "a.py", "context": "s"})]
    assert mine.metadata == {"path": "a.py"}


def test_failing_source_is_one_warning(ask, caplog):
    """It is named, and the others still answer."""
    sources = [source("one", "o"), source("down", error="no route"), source("two", "t")]
    found = ask(ContextBuilder(base=Fixed(ids=("b",)), sources=sources))
    assert shown(found) == [("base", "b"), ("one", "o"), ("two", "t")]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert (
        record.getMessage() == "the context source down did not answer: ConnectionError('no route')"
    )


def test_long_failure_is_not_logged_whole(ask, caplog):
    """A source's error may quote a whole answer."""
    sources = [source("down", error="word\n" * 5000)]
    ask(ContextBuilder(base=Fixed(), sources=sources))
    (record,) = caplog.records
    assert len(record.getMessage()) < 400


@pytest.mark.parametrize("answer", ["a string", None, ["strings"], (Document("x"),)])
def test_answer_that_is_no_list_of_documents(ask, caplog, answer):
    """Any Runnable may be a source; one that answers something else has failed."""
    odd = ContextSource("odd", ["bug"], RunnableLambda(lambda _: answer))
    assert shown(ask(ContextBuilder(base=Fixed(ids=("b",)), sources=[odd]))) == [("base", "b")]
    assert "a list of Documents was expected" in caplog.text


def test_error_of_the_base_is_the_callers(ask):
    """As when the base is asked alone."""
    builder = ContextBuilder(base=Fixed(error="down"), sources=[source("one", "o")])
    with pytest.raises(ConnectionError, match="down"):
        ask(builder)


def test_cause_of_the_bases_error_is_kept(ask):
    """Sync and async: what lies behind an error says what to mend."""

    class Fails(Fixed):
        """Fails for a reason."""

        def _get_relevant_documents(self, query, *, run_manager):
            down, cause = ConnectionError("down"), OSError("no route")
            raise down from cause

    with pytest.raises(ConnectionError, match="down") as caught:
        ask(ContextBuilder(base=Fails(), sources=[source("one", "o")]))
    assert repr(caught.value.__cause__) == "OSError('no route')"


@pytest.mark.parametrize(
    "base",
    [
        BoostRetriever().bind(kind="rule", k=2),
        BoostRetriever(kind="rule", k=2).with_retry(),
        RunnableLambda(lambda _: [Document("d", metadata={"kind": "rule"})] * 2),
    ],
    ids=["bound", "retried", "lambda"],
)
def test_base_that_is_no_retriever(ask, own_catalog, base):
    """Any Runnable from a question to documents may be the base."""
    found = ask(ContextBuilder(base=base), "retry with backoff")
    assert [document.metadata["kind"] for document in found] == ["rule", "rule"]


def test_base_that_gives_no_documents(ask):
    """The caller's mistake, named."""
    with pytest.raises(TypeError, match="'base' returned str where a list of Documents was exp"):
        ask(ContextBuilder(base=RunnableLambda(lambda _: "documents")))


async def test_sources_are_asked_at_once():
    """Under ainvoke: each waits for all the others before it answers."""
    everybody = asyncio.Barrier(3)

    class Waits(Fixed):
        """Answers when all are there."""

        async def _aget_relevant_documents(self, query, *, run_manager):
            await asyncio.wait_for(everybody.wait(), 30)
            return [Document(identity, id=identity) for identity in self.ids]

    sources = [ContextSource(name, ["bug"], Waits(ids=(name,))) for name in ("one", "two")]
    found = await ContextBuilder(base=Waits(ids=("b",)), sources=sources).ainvoke(QUESTION)
    assert shown(found) == [("base", "b"), ("one", "one"), ("two", "two")]


async def test_no_source_runs_on_after_the_base_has_failed():
    """The sources are cancelled before the caller gets the error."""
    ended = []

    class Slow(Fixed):
        """Never answers; says when it is stopped."""

        async def _aget_relevant_documents(self, query, *, run_manager):
            try:
                await asyncio.sleep(600)
            finally:
                ended.append("stopped")

    builder = ContextBuilder(
        base=Fixed(error="down"), sources=[ContextSource("slow", ["bug"], Slow())]
    )
    with pytest.raises(ConnectionError):
        await builder.ainvoke(QUESTION)
    assert ended == ["stopped"]


def test_runs_are_named_after_the_sources(ask):
    """A trace shows one retriever run with a child for each one that was asked."""
    recorder = Recorder()
    sources = [source("one", "o"), source("down", error="no route")]
    builder = ContextBuilder(base=Fixed(ids=("b",)), sources=sources)
    ask(builder, config={"callbacks": [recorder]})
    (run,) = recorder.finished
    assert (run.name, run.run_type) == ("boost-context", "retriever")
    assert run.extra["metadata"]["ls_retriever_name"] == "boost-context"
    assert {child.name: bool(child.error) for child in run.child_runs} == {
        "base": False,
        "one": False,
        "down": True,
    }


@pytest.mark.parametrize(
    ("k", "kept"),
    [
        (1, ["b1"]),
        (2, ["b1", "o1"]),
        (3, ["b1", "o1", "t1"]),
        (4, ["b1", "b2", "o1", "t1"]),
        (6, ["b1", "b2", "b3", "o1", "t1", "t2"]),
        (99, ["b1", "b2", "b3", "o1", "t1", "t2"]),
        (None, ["b1", "b2", "b3", "o1", "t1", "t2"]),
    ],
)
def test_k_is_given_out_in_turns(ask, k, kept):
    """Every one that was asked gives its best before any gives its second."""
    sources = [source("one", "o1"), source("two", "t1", "t2")]
    builder = ContextBuilder(base=Fixed(ids=("b1", "b2", "b3")), sources=sources)
    assert [document.id for document in ask(builder, k=k)] == kept
    assert [document.id for document in ask(builder.model_copy(update={"k": k}))] == kept


@pytest.mark.parametrize("text", ["", "  \n"])
def test_blank_question_asks_nobody(ask, text):
    """Not even a source without keywords."""
    assert ask(ContextBuilder(base=Fixed(error="asked"), sources=[]), text) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "greater than or equal to 1"),
        ({"k": True}, "valid integer"),
        ({"k": "3"}, "valid integer"),
        ({"top": 3}, r"unknown call argument top=3; use k"),
    ],
)
def test_wrong_call_arguments(ask, options, message):
    """Fail where they are written."""
    with pytest.raises((ValidationError, TypeError), match=message):
        ask(ContextBuilder(base=Fixed()), **options)


def test_question_that_is_no_text(ask):
    """The caller's mistake, named."""
    with pytest.raises(TypeError, match="needs a string to ask about, not 3"):
        ask(ContextBuilder(base=Fixed()), 3)


def test_verbose_is_tolerated(ask):
    """LangChain's own call argument."""
    assert ask(ContextBuilder(base=Fixed()), verbose=False) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base": "BoostRetriever"}, "instance of Runnable"),
        ({"base": BoostRetriever}, "instance of Runnable"),
        ({"sources": [{"name": "x"}]}, "instance of ContextSource"),
        ({"sources": [source("one"), source("one")]}, "two sources would be labelled 'one'"),
        ({"sources": [source("base")]}, "two sources would be labelled 'base'"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"k": 3.0}, "valid integer"),
        ({"top": 3}, "Extra inputs|no attribute"),
    ],
)
def test_wrong_fields(fields, message):
    """Fail on construction and on assignment, and an assignment that fails changes nothing."""
    with pytest.raises(ValidationError, match=message):
        ContextBuilder(**{"base": Fixed()} | fields)
    builder = ContextBuilder(base=Fixed(), sources=[source("kept")])
    ((field, value),) = fields.items()
    with pytest.raises((ValidationError, ValueError), match=message):
        setattr(builder, field, value)
    assert [kept.name for kept in builder.sources] == ["kept"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, ["bug"], Fixed()), "valid string"),
        ((" ", ["bug"], Fixed()), "match pattern"),
        (("s", "bug", Fixed()), "Sequence"),
        (("s", [1], Fixed()), "valid string"),
        (("s", [" ?"], Fixed()), None),
        (("s", [""], Fixed()), "has no word"),
        (("s", ["bug"], len), "instance of Runnable"),
    ],
)
def test_wrong_sources(arguments, message):
    """A source is checked where it is made; a keyword of punctuation is one."""
    if message is None:
        assert ContextSource(*arguments).is_asked("why ?")
        return
    with pytest.raises(ValidationError, match=message):
        ContextSource(*arguments)


def test_source_does_not_change():
    """Make another one instead."""
    with pytest.raises(AttributeError):
        source("one").name = "two"


def test_pickle():
    """A builder survives where its parts do."""
    builder = ContextBuilder(sources=[context_source("conventions")], k=3)
    again = pickle.loads(pickle.dumps(builder))  # noqa: S301 - our own bytes
    assert again == builder
    assert [one.name for one in again.asked("which rule?")] == ["conventions"]


@pytest.mark.usefixtures("own_catalog")
class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests, as they are."""

    @property
    def retriever_constructor(self):
        """The class under test."""
        return ContextBuilder

    @property
    def retriever_constructor_params(self):
        """Its arguments."""
        return {"sources": [context_source("conventions")]}

    @property
    def retriever_query_example(self):
        """A question that two answer."""
        return "Which rule is there for retries?"


def test_no_path_of_this_machine(own_catalog, ask):
    """What the catalog answers names files of its registry alone."""
    builder = ContextBuilder(base=BoostRetriever(k=2), sources=[context_source("conventions")])
    found = ask(builder, "Which rule is there for retries?")
    assert {document.metadata["context"] for document in found} == {"base", "conventions"}
    assert str(own_catalog.home) not in "".join(repr(document) for document in found)


# ---------------------------------------------------------------------------------- families


def test_six_families():
    """The shipped ones, in order; each can be made a source of."""
    assert list(FAMILIES) == [
        "files",
        "schema",
        "functions",
        "decisions",
        "observations",
        "conventions",
    ]
    for name, family in FAMILIES.items():
        made = context_source(name, Fixed())
        assert (made.name, made.keywords) == (name, family.keywords)
        assert "context" not in family.fields


def test_conventions_are_the_catalogs_rules(own_catalog):
    """The one family with a source of its own."""
    found = context_source("conventions").retriever.invoke("retries and time-outs")
    assert {document.metadata["kind"] for document in found} == {"rule"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rules",), "no family 'rules'; there are: files, schema"),
        (("schema",), "'schema' has no retriever of its own; pass one"),
    ],
)
def test_wrong_family(arguments, message):
    """Named, with what there is."""
    with pytest.raises(ValueError, match=message):
        context_source(*arguments)


# ---------------------------------------------------------------------------- the explanation


def test_prompt_has_the_six_headings():
    """In order, after the demand to answer from the context alone."""
    system, human = explanation_prompt.invoke({"context": "{c}", "question": "Q?"}).messages
    assert [line for line in system.content.splitlines() if line.startswith("#")] == HEADINGS
    assert "Answer from the context alone" in system.content
    assert human.content == "Context:\n\n{c}\n\nQuestion: Q?"


@pytest.mark.parametrize(
    ("metadata", "label"),
    [
        (
            {"context": "functions", "name": "main", "file": "a/b.py", "line": 7},
            "### main (functions — a/b.py:7)",
        ),
        ({"context": "files", "path": "a.md"}, "### a.md (files — a.md)"),
        (
            {"context": "base", "name": "retry", "tap": "o/r", "path": "s/SKILL.md"},
            "### retry (base — o/r:s/SKILL.md)",
        ),
        ({"name": "two\nlines\u200b"}, "### two lines (context — git:1)"),
    ],
)
def test_labels(metadata, label):
    """Name, source and where; path:line can be copied into a citation as it is."""
    assert format_context([Document("Text.", id="git:1", metadata=metadata)]) == f"{label}\n\nText."


@pytest.mark.parametrize(
    ("context", "metadata", "text", "added"),
    [
        (
            "decisions",
            {"decision": "Two  stages", "background": "Slow\nbefore."},
            "Two\nstages.",
            ["background: Slow before."],
        ),
        (
            "observations",
            {"category": "bug", "resolution": ["a", "b"], "description": None},
            "x",
            ["category: bug", "resolution: a, b"],
        ),
        ("schema", {"collection": "users", "fields": ("id", "name")}, "users: id, name", []),
        ("functions", {"file": "a.py", "line": 3}, "Text.", []),
        ("decisions of mine", {"decision": "d"}, "x", []),
        (["decisions"], {"decision": "d"}, "x", []),
    ],
)
def test_fields_of_the_family(context, metadata, text, added):
    """What a document's text leaves out of its family's fields stands before it, a line each."""
    found = Document(text, id="1", metadata={"name": "n", "context": context, **metadata})
    shown_text = "\n\n".join(filter(None, ["\n".join(added), text]))
    assert format_context([found]).partition("\n\n")[2] == shown_text


def test_as_many_labels_as_documents():
    """A text that writes labels of its own is seen through; hidden characters are gone."""
    text = "### a (files — b)\n  ## x (base — t:p)\n> # y (z \u2212 1)\n# Real (heading)\n### fine\u202e"
    shown_text = format_context([Document(text, metadata={"path": "p"})])
    assert shown_text.splitlines()[2:] == [
        "\\### a (files — b)",
        "\\  ## x (base — t:p)",
        "\\> # y (z \u2212 1)",
        "# Real (heading)",
        "### fine",
    ]


def test_label_with_a_run_of_marks():
    """A third party's line is looked at in linear time: its square would take minutes."""
    line = "# x (y \u2212 z)" + "\u0300\u0316" * 200_000
    assert format_context([Document(line, metadata={"path": "p"})]).splitlines()[2][0] == "\\"


def test_budget_and_nothing():
    """What does not fit is cut, visibly; no documents are said to be none."""
    long = Document("word " * 1000, metadata={"path": "p"})
    assert "left out: over the budget" in format_context([long], budget=800)
    assert len(format_context([long], budget=800)) <= 800
    assert format_context([]) == "(nothing was found)"
    with pytest.raises(ValueError, match="budget=0"):
        format_context([], budget=0)


def test_chain(ask):
    """One call from a question to an explanation, sync and async; the model sees the context."""
    asked = []

    class Spy(GenericFakeChatModel):
        """Keeps its prompt."""

        def _generate(self, messages, *args, **kwargs):
            asked.append(messages)
            return super()._generate(messages, *args, **kwargs)

    builder = ContextBuilder(base=Fixed(ids=("b",)), sources=[source("bugs", "o")])
    chain = explanation_chain(Spy(messages=iter([AIMessage("# How It Works")])), builder)
    assert ask(chain) == "# How It Works"
    assert asked[0][1].content == (
        f"Context:\n\n### b (base — b)\n\nb\n\n### o (bugs — o)\n\no\n\nQuestion: {QUESTION}"
    )


def test_chain_with_a_wrong_budget():
    """Fails where the chain is made."""
    model = GenericFakeChatModel(messages=iter([]))
    with pytest.raises(TypeError, match="budget"):
        explanation_chain(model, Fixed(), budget="much")
