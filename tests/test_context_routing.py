"""Which sources a question asks, and whether it asks for an explanation at all."""

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from boost_langchain.context import (
    FAMILIES,
    ContextBuilder,
    ContextSource,
    context_source,
    is_explanation_request,
)


class Says(BaseRetriever):
    """Answers every question with one document."""

    text: str

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(self.text, id=self.text)]


def families():
    """A builder with every family that has keywords."""
    sources = [context_source(name, Says(text=name)) for name in FAMILIES if name != "files"]
    return ContextBuilder(base=Says(text="base"), sources=sources)


QUESTIONS = {
    # One family each, by every kind of word.
    "Which database is behind it?": "schema",
    "list every collection of the app": "schema",
    "WHERE DO WE STORE SESSIONS": "schema",
    "Can I save a draft?": "schema",
    "Who is the user here?": "schema",
    "What data is kept": "schema",
    "show me the schema.": "schema",
    "Which function renders labels?": "functions",
    "name the METHOD": "functions",
    "How does ranking end?": "functions",
    "where do we implement retries": "functions",
    "who makes this call": "functions",
    "Was that a decision?": "decisions",
    "Why two stages?": "decisions",
    "Who chose BM25": "decisions",
    "Draw the architecture": "decisions",
    "Is there a bug?": "observations",
    "what did we fix last": "observations",
    "Any known issue?": "observations",
    "What have we learned?": "observations",
    "Name one gotcha": "observations",
    "Is there a convention?": "conventions",
    "quote the rule": "conventions",
    "state your preference": "conventions",
    "house style?": "conventions",
    "by which standard": "conventions",
    # Plurals: s, es, ies.
    "list all databases and their users": "schema",
    "which methods are there": "functions",
    "list the fixes": "observations",
    "Which rules and standards hold?": "conventions",
    # Several families, in the order of the sources.
    "Which pattern is this?": "decisions observations",
    "Why does this function call the database?": "schema functions decisions",
    "how\n does it save user-data: by convention?": "schema functions conventions",
    "Which bugs did the pattern cause, and why?": "decisions observations",
    # None: hits inside other words, words apart, other words.
    "Restored userland metadata, recalled": "",
    "a functional, methodical prefix debugger": "",
    "rulers, restyled and patterned": "",
    "Show me how. Does it scale? how_does": "",
    "user_id, database2, whyever": "",
    "Tell me about the loader": "",
}


@pytest.mark.parametrize(("question", "asked"), QUESTIONS.items(), ids=repr)
def test_routing_table(question, asked):
    """The question's own words say which families are asked; without one, the base alone."""
    builder = families()
    labels = [document.metadata["context"] for document in builder.invoke(question)]
    assert labels == ["base", *asked.split()]
    assert [source.name for source in builder.asked(question)] == asked.split()


def test_routing_table_has_forty_questions():
    """As many as were agreed."""
    assert len(QUESTIONS) == 40


@pytest.mark.parametrize(
    ("keyword", "question", "asked"),
    [
        ("box", "two boxes", True),
        ("box", "two boxs", True),
        ("query", "our queries", True),
        ("key", "our keies", False),
        ("key", "our keys", True),
        ("not", "some notes", False),
        ("y", "ies", True),
        ("user", "the user's name", True),
        ("user", "the users' names", True),
        ("don't", "I don\u2019t know", True),
        ("how does", "How  DOES it", True),
        ("how does", "how, does", False),
        ("how does", "how", False),
        ("c++", "written in C++?", True),
        ("e-mail", "an E-Mail!", True),
        ("straße", "STRASSE", True),
        ("cafe", "caf\u00e9", False),
        ("cafe", "cafe\u0301", False),
        ("caf\u00e9", "cafe\u0301s", True),
        ("база", "Какая база?", True),
        ("база", "базальт", False),
        ("数据", "数据 在 哪里", True),
        ("मान", "मानक", False),
        ("fix", "ﬁx", True),
    ],
)
def test_whole_words_of_any_script(keyword, question, asked):
    """Words end where letters of any script end; plurals only as English makes them."""
    assert ContextSource("s", [keyword], Says(text="s")).is_asked(question) is asked


def test_files_are_always_asked():
    """The files family has no keywords, and a source without any is asked by every question."""
    builder = ContextBuilder(
        base=Says(text="base"), sources=[context_source("files", Says(text="files"))]
    )
    found = builder.invoke("Tell me about the loader")
    assert [document.metadata["context"] for document in found] == ["base", "files"]


REQUESTS = [
    "How does the retriever work?",
    "how do retries work",
    "HOW DOES THE CACHE DECIDE WHAT TO KEEP",
    "How is the index built?",
    "Explain the rendering system",
    "Please explain how procedures are ranked.",
    "I'm new here. Can you explain the ladder to me?",
    "Give me background on the loader",
    "give me a short overview of the graph",
    "What\u2019s the context for this?",
    "What is the rationale behind the two stages?",
    "Walk me through the indexing",
    "Could you please help me understand the node?",
    "Tell me how the reranker works",
    "Why was the pattern chosen that keeps messages from piling up?",
]
OTHERS = [
    "How do I install the retriever?",
    "How can we make this work?",
    "Tell me how to chunk Markdown",
    "Fix the bug in the loader",
    "Write a function that works",
    "It works now, thanks",
    "How many taps are there?",
    "How does this look?",
    "The explanation in the docs is wrong",
    "Don't explain it, just run it",
    "The README explains the ladder",
    "Run the tests in the background",
    "Add context to the error message",
    "Why is my test red?",
    "",
]


@pytest.mark.parametrize("text", REQUESTS)
def test_explanation_requests(text):
    """Questions about how a system works, its background or its reasons."""
    assert is_explanation_request(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts(text):
    """Tasks, statements and small talk, with the same words in them."""
    assert not is_explanation_request(text)


def test_thirty_phrasings_half_of_them_requests():
    """As many as were agreed."""
    assert (len(REQUESTS), len(OTHERS)) == (15, 15)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("so, " * 100_000, id="leads"),
        pytest.param("a" + "\u0300\u0316" * 200_000, id="combining marks"),
    ],
)
def test_long_text_is_read_in_linear_time(text):
    """Whatever was pasted: in the square of its length each would take many minutes."""
    assert not is_explanation_request(text)
    assert not ContextSource("s", ["bug"], Says(text="s")).is_asked(text)


def test_request_above_what_was_pasted():
    """A request is found where it stands first, and behind a few words of greeting."""
    assert is_explanation_request("Explain this log:\n" + "error, so, then, " * 10_000)
    assert is_explanation_request("Hi, so, ok, please explain the loader")


def test_what_is_no_text_is_the_callers_mistake():
    """A message is not its text."""
    with pytest.raises(TypeError, match="pass the message's text"):
        is_explanation_request(None)
