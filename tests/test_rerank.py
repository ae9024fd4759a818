"""The second stage: a better order where one is had, the engine's where not."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.stores import BaseStore, InMemoryByteStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from boost_langchain import BoostRetriever
from boost_langchain.rerank import ChatReranker, EmbeddingsReranker, RerankedRetriever
from boost_langchain.rerank._chat import _handles

from recorder import Recorder
from support import skill

QUERY = "retry a flaky model call with backoff"


def documents():
    """Three candidates, two of them of one name."""
    return [
        Document(
            f"{name}\nAbout {name} {tap}.\nBody.",
            id=f"{tap}::{name}",
            metadata={
                "id": f"{tap}::{name}",
                "name": name,
                "kind": "skill",
                "has_body": True,
                "snippet": f"snippet of {name}",
                "rank": rank,
                "engine": "BM25 full-content",
            },
        )
        for rank, (tap, name) in enumerate(
            [("t", "alpha"), ("t", "beta"), ("u", "beta"), ("t", "gamma")], 1
        )
    ]


def ids(found):
    """The ids, in order."""
    return [document.id for document in found]


ENGINE = ids(documents())


class Words(Embeddings):
    """Counts words into a vector by hash; counts what it is asked for too."""

    model = "words-64"

    def __init__(self, size=64):
        self.size = size
        self.embedded = []

    def embed_documents(self, texts):
        """One vector per text."""
        self.embedded.extend(texts)
        return [self._vector(text) for text in texts]

    def embed_query(self, text):
        """The same for a query."""
        self.embedded.append(text)
        return self._vector(text)

    def _vector(self, text):
        vector = [0.0] * self.size
        for word in text.lower().replace(":", " ").replace(".", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.size] += 1.0
        return vector


class Folder(BaseStore[str, bytes]):
    """Keeps values as files: a store that survives a restart."""

    def __init__(self, path):
        self.path = path
        path.mkdir(exist_ok=True)

    def mget(self, keys: Sequence[str]):
        """Bytes or None."""
        return [(self.path / k).read_bytes() if (self.path / k).exists() else None for k in keys]

    def mset(self, key_value_pairs):
        """Write."""
        for key, value in key_value_pairs:
            (self.path / key).write_bytes(value)

    def mdelete(self, keys):
        """Unused."""

    def yield_keys(self, *, prefix=None) -> Iterator[str]:
        """Unused."""
        yield from ()


# ----------------------------------------------------------------------------- a chat model


class Structured(GenericFakeChatModel):
    """A chat model with structured output through a tool call."""

    def bind_tools(self, tools, **kwargs):
        """Its calls are in the script."""
        return self


def shortlist(*picks):
    """A structured answer."""
    args = {"picks": [{"name": name, "why": why} for name, why in picks]}
    return AIMessage("", tool_calls=[{"name": "Shortlist", "args": args, "id": "1"}])


def judged(*answers, model=Structured):
    """A reranker whose model answers so."""
    return ChatReranker(model=model(messages=iter(answers)))


@pytest.fixture(params=["sync", "async"])
def compress(request):
    """Run a compressor, sync or async."""
    import asyncio

    def run(reranker, found, query=QUERY):
        if request.param == "sync":
            return list(reranker.compress_documents(found, query))
        return list(asyncio.run(reranker.acompress_documents(found, query)))

    return run


def test_perfect_answer_with_reasons(compress):
    """Picks lead with their reasons; the others follow in their order with their snippet."""
    given = documents()
    found = compress(judged(shortlist(("gamma", "It is\nthe one."), ("u::beta", "Also."))), given)
    assert ids(found) == ["t::gamma", "u::beta", "t::alpha", "t::beta"]
    assert [d.metadata["why"] for d in found] == [
        "It is the one.",
        "Also.",
        "snippet of alpha",
        "snippet of beta",
    ]
    assert {d.metadata["reranker"] for d in found} == {"ChatReranker(Structured)"}
    assert {d.metadata["engine"] for d in found} == {"BM25 full-content"}
    assert [d.metadata["rank"] for d in found] == [1, 2, 3, 4]
    assert given == documents()


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        (
            shortlist(("invented", "x"), ("gamma", "y")),
            ["t::gamma", "t::alpha", "t::beta", "u::beta"],
        ),
        (shortlist(("gamma", "a"), ("alpha", "b")), ["t::gamma", "t::alpha", "t::beta", "u::beta"]),
        (
            shortlist(("gamma", "a"), ("gamma", "b"), ("alpha", "c")),
            ["t::gamma", "t::alpha", "t::beta", "u::beta"],
        ),
    ],
)
def test_imperfect_answers(compress, answer, order):
    """An invented name, half the names, duplicates."""
    found = compress(judged(answer), documents())
    assert ids(found) == order
    assert found[0].metadata["why"] in {"y", "a"}


def chunk(text, name="alpha", identity="t::alpha"):
    """A part of an item, which has the item's name and id."""
    return Document(text, id=identity, metadata={"name": name, "kind": "skill"})


@pytest.mark.parametrize(
    ("given", "handles"),
    [
        ([chunk("one"), chunk("two")], ["t::alpha", "t::alpha 2"]),
        ([chunk("one", name=""), chunk("two", name="")], ["t::alpha", "t::alpha 2"]),
        ([chunk("one", identity=None), chunk("two", identity=None)], ["alpha", "alpha 2"]),
        ([chunk("one", "", None), chunk("two", "\u200b", None)], ["2", "3"]),
        ([chunk("one"), chunk("two"), chunk("", "t::alpha 2")], [..., ..., "t::alpha 2 2"]),
    ],
    ids=["items", "ids", "names", "neither", "taken"],
)
def test_every_candidate_can_be_picked(compress, given, handles):
    """Each has a handle of its own, chunks of one item too."""
    found = compress(judged(shortlist((handles[-1], "This."))), given)
    assert found[0].page_content == given[-1].page_content
    assert found[0].metadata["why"] == "This."
    assert handles[0] is ... or _handles(given) == handles


def test_long_answer_is_not_logged_whole(compress, caplog):
    """Neither an answer that cannot be used, nor an exception that quotes it."""
    for answer in (AIMessage("word " * 5000), AIMessage("{" * 5000)):
        compress(judged(answer), documents())
        compress(judged(answer, model=GenericFakeChatModel), documents())
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 4
    assert all(len(message) < 400 and "\n" not in message for message in messages)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(AIMessage("I would take gamma."), id="prose"),
        pytest.param(AIMessage(""), id="a refusal"),
        pytest.param(shortlist(), id="no picks"),
        pytest.param(shortlist(("invented", "x")), id="only inventions"),
        pytest.param(
            AIMessage("", tool_calls=[{"name": "Shortlist", "args": {"no": 1}, "id": "1"}]),
            id="another shape",
        ),
        pytest.param(RuntimeError("down"), id="an exception"),
        pytest.param(TimeoutError("too slow"), id="a time-out"),
    ],
)
def test_no_usable_answer_leaves_the_engines_order(compress, caplog, answer):
    """The order is untouched, why is the snippet, reranker is empty, one warning is logged."""

    class Failing(Structured):
        """Raises what it should answer, if that is an exception."""

        def _generate(self, *args, **kwargs):
            if isinstance(answer, Exception):
                raise answer
            return super()._generate(*args, **kwargs)

    found = compress(judged(answer, model=Failing), documents())
    assert ids(found) == ENGINE
    assert [d.metadata["why"] for d in found] == [d.metadata["snippet"] for d in documents()]
    assert {d.metadata["reranker"] for d in found} == {""}
    assert [r.levelno for r in caplog.records] == [logging.WARNING]
    assert "ChatReranker(Failing) left the order as it was" in caplog.text


def test_no_candidates_asks_nobody(compress):
    """Nothing to order: no call, no documents."""
    assert compress(judged(), []) == []


def test_model_without_structured_output(compress):
    """A model that takes no tools is asked for JSON."""
    answer = AIMessage('```json\n{"picks": [{"name": "gamma", "why": "fits"}]}\n```')
    found = compress(judged(answer, model=GenericFakeChatModel), documents())
    assert found[0].metadata["why"] == "fits"


def test_what_the_model_is_asked():
    """Name, kind, description and passage on one line each, without hidden characters."""
    asked = []
    model = Structured(messages=iter([shortlist(("alpha", "x"))]))
    given = [
        Document(
            "alpha\nAbout\u200b it.\nBody secret.",
            metadata={"name": "al\npha", "kind": "rule", "has_body": True, "snippet": "a | b\nc"},
        )
    ]

    class Spy(Structured):
        """Keeps its prompt."""

        def _generate(self, messages, *args, **kwargs):
            asked.append(messages)
            return super()._generate(messages, *args, **kwargs)

    ChatReranker(model=Spy(messages=model.messages)).compress_documents(given, "query")
    assert "al pha | rule | About it. | a | b c" in asked[0][1].content
    assert "Body secret" not in asked[0][1].content


# -------------------------------------------------------------------------------- embeddings


def test_cosine_alone_and_fused(compress):
    """The nearest description leads; fused, the engine's order weighs in by reciprocal rank."""
    alone = compress(EmbeddingsReranker(embeddings=Words()), documents(), "about gamma t")
    assert ids(alone)[0] == "t::gamma"
    assert {d.metadata["reranker"] for d in alone} == {"EmbeddingsReranker(cosine)"}
    fused = compress(
        EmbeddingsReranker(embeddings=Words(), fuse="engine"), documents(), "about gamma t"
    )
    ranks = {identity: rank for rank, identity in enumerate(ids(alone), 1)}
    scores = {
        identity: 1 / (60 + rank) + 1 / (60 + ranks[identity])
        for rank, identity in enumerate(ENGINE, 1)
    }
    assert ids(fused) == sorted(ENGINE, key=lambda identity: -scores[identity])
    assert {d.metadata["reranker"] for d in fused} == {"EmbeddingsReranker(cosine + engine order)"}


def test_warm_query_embeds_one_text(own_catalog, compress, tmp_path):
    """Item vectors are kept, across a restart too; the query is what is left to embed."""
    found = BoostRetriever(k=60).invoke(QUERY)
    cold = Words()
    first = compress(EmbeddingsReranker(embeddings=cold, store=Folder(tmp_path / "v")), found)
    assert len(cold.embedded) == len(found) + 1
    warm = Words()
    again = compress(EmbeddingsReranker(embeddings=warm, store=Folder(tmp_path / "v")), found)
    assert warm.embedded == [QUERY]
    assert ids(again) == ids(first)


def test_edited_item_is_embedded_anew(tap_files, compress):
    """Another description is another digest."""
    tapped = tap_files({f"skills/{n}/SKILL.md": skill(n, f"deploy {n}") for n in "ab"}, name="mine")
    embeddings = Words()
    reranker = EmbeddingsReranker(embeddings=embeddings)
    compress(reranker, BoostRetriever().invoke("deploy"), "deploy")
    path = tapped.repository("mine") / "skills/a/SKILL.md"
    path.write_text(skill("a", "deploy it well"))
    tapped.update("mine")
    embeddings.embedded.clear()
    compress(reranker, BoostRetriever().invoke("deploy"), "deploy")
    assert embeddings.embedded == ["deploy", "a: deploy it well"]


def test_models_do_not_share_vectors(compress):
    """Another model, or another namespace, in one store: embedded anew."""
    store = InMemoryByteStore()
    compress(EmbeddingsReranker(embeddings=Words(), store=store), documents())
    other = Words(32)
    other.model = "words-32"
    found = compress(EmbeddingsReranker(embeddings=other, store=store), documents())
    assert len(other.embedded) == len(documents()) + 1
    assert found[0].metadata["reranker"]
    same = Words()
    compress(EmbeddingsReranker(embeddings=same, store=store, namespace="mine"), documents())
    assert len(same.embedded) == len(documents()) + 1


class Nameless(Words):
    """Its model is an object, whose repr holds an address."""

    def __init__(self):
        super().__init__()
        self.model = object()


def azure(deployment):
    """An embedder of Azure's: every one has the same `model`."""
    from langchain_openai import AzureOpenAIEmbeddings

    return AzureOpenAIEmbeddings(
        azure_deployment=deployment,
        azure_endpoint="https://example.invalid",
        api_key="none",
        api_version="1",
    )


def cached(embeddings):
    """The same embedder behind langchain's cache."""
    from langchain_classic.embeddings import CacheBackedEmbeddings

    return CacheBackedEmbeddings(embeddings, InMemoryByteStore())


def named(name):
    """An embedder of a model of this name."""
    embeddings = Words()
    embeddings.model = name
    return embeddings


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (named("a"), named("a"), True),
        (named("a"), named("b"), False),
        (cached(named("a")), cached(named("a")), True),
        (cached(named("a")), named("a"), True),
        (cached(named("a")), cached(named("b")), False),
        (azure("a"), azure("a"), True),
        (azure("a"), azure("b"), False),
        (cached(azure("a")), cached(azure("b")), False),
    ],
)
def test_vectors_are_kept_by_model(one, other, same):
    """The same key in every process for one model, another one for another."""
    keys = [
        EmbeddingsReranker(embeddings=each, store=InMemoryByteStore())._keys(["text"])
        for each in (one, other)
    ]
    assert (keys[0] == keys[1]) is same


def test_another_model_in_a_store_of_our_own(compress):
    """A copy of a reranker shares its store, and not its vectors where it has another model."""
    reranker = EmbeddingsReranker(embeddings=named("a"))
    compress(reranker, documents())
    other = named("b")
    compress(reranker.model_copy(update={"embeddings": other}), documents())
    assert len(other.embedded) == len(documents()) + 1


def test_store_of_a_nameless_embedder_needs_a_namespace(compress, tmp_path, caplog):
    """Its vectors would never be found again: refused where the store is handed over."""
    message = "Nameless does not say which model it asks; pass namespace='...' to name it"
    store = Folder(tmp_path / "v")
    for nameless in (Nameless(), cached(Nameless())):
        with pytest.raises(ValidationError, match=message):
            EmbeddingsReranker(embeddings=nameless, store=store)
    reranker = EmbeddingsReranker(embeddings=Nameless())
    assert compress(reranker, documents())[0].metadata["reranker"]
    with pytest.raises(ValidationError, match=message):
        reranker.store = store
    assert reranker.store is not store
    for _ in range(2):
        warm = EmbeddingsReranker(embeddings=Nameless(), store=store, namespace="mine")
        compress(warm, documents())
    assert len(list((tmp_path / "v").iterdir())) == len(documents())
    warm.namespace = None
    assert ids(compress(warm, documents())) == ENGINE
    assert message in caplog.text


@pytest.mark.parametrize(
    "reranker",
    [EmbeddingsReranker(embeddings=Words()), ChatReranker(model=Structured(messages=iter(())))],
    ids=["embeddings", "chat"],
)
def test_wrong_assignment(reranker):
    """Fails where it is written, and changes nothing."""
    for field, value in (("top_n", 0), ("top_n", "3"), ("no_such_field", 1)):
        with pytest.raises((ValidationError, ValueError)):
            setattr(reranker, field, value)
    assert reranker.top_n is None


class Broken(Words):
    """Fails in one way of several."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def embed_documents(self, texts):
        """One vector too few, of another size, not finite, or none at all."""
        vectors = super().embed_documents(texts)
        if self.how == "raises":
            raise ConnectionError(self.how)
        if self.how == "too few":
            return vectors[1:]
        if self.how == "another size":
            return [vector[1:] for vector in vectors]
        return [[float("nan")] * self.size for _ in vectors]


@pytest.mark.parametrize("how", ["raises", "too few", "another size", "not finite"])
def test_broken_embedder_leaves_the_engines_order(compress, caplog, how):
    """The engine's order, one warning, reranker empty, and no broken vector is kept for good."""
    store = InMemoryByteStore()
    options = {"store": store, "namespace": "same"}
    found = compress(EmbeddingsReranker(embeddings=Broken(how), **options), documents())
    assert ids(found) == ENGINE
    assert {d.metadata["reranker"] for d in found} == {""}
    assert len(caplog.records) == 1
    healthy = compress(EmbeddingsReranker(embeddings=Words(), **options), documents())
    assert healthy[0].metadata["reranker"] == "EmbeddingsReranker(cosine)"


@pytest.mark.parametrize(
    "spoil", [lambda data: data[4:], lambda data: b"abc", lambda data: b"\xff" * len(data)]
)
def test_broken_vectors_in_the_store_are_made_anew(compress, caplog, spoil):
    """A kept vector of another size, of no size or not finite counts as none."""
    store = InMemoryByteStore()
    compress(EmbeddingsReranker(embeddings=Words(), store=store), documents())
    store.mset([(key, spoil(store.mget([key])[0])) for key in list(store.yield_keys())])
    embeddings = Words()
    found = compress(EmbeddingsReranker(embeddings=embeddings, store=store), documents())
    assert found[0].metadata["reranker"] == "EmbeddingsReranker(cosine)"
    assert len(embeddings.embedded) == len(documents()) + 1
    assert caplog.records == []


@pytest.mark.parametrize("answer", [[], [0.0] * 64, ["a"], [None], [[1.0]], [float("inf")]])
def test_query_vector_that_is_none(compress, caplog, answer):
    """Garbage for the query leaves the engine's order, on a warm store too."""

    class Garbage(Words):
        """Embeds items, and no query."""

        def embed_query(self, text):
            """Whatever it is."""
            return answer

    store = InMemoryByteStore()
    compress(EmbeddingsReranker(embeddings=Words(), store=store, namespace="n"), documents())
    found = compress(
        EmbeddingsReranker(embeddings=Garbage(), store=store, namespace="n"), documents()
    )
    assert ids(found) == ENGINE
    assert {d.metadata["reranker"] for d in found} == {""}
    assert len(caplog.records) == 1


# -------------------------------------------------------------------------------- two stages


@pytest.mark.usefixtures("own_catalog")
class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests, as they are."""

    @property
    def retriever_constructor(self):
        """The class under test."""
        return RerankedRetriever

    @property
    def retriever_constructor_params(self):
        """Its arguments."""
        return {"compressor": EmbeddingsReranker(embeddings=Words())}

    @property
    def retriever_query_example(self):
        """A query that finds something."""
        return QUERY


async def test_both_stages_are_runs(own_catalog):
    """A trace shows the retrieval and the reranking as children of one retriever run."""
    retriever = RerankedRetriever(compressor=EmbeddingsReranker(embeddings=Words()), k=3)
    recorder = Recorder()
    config = {"callbacks": [recorder]}
    assert ids(retriever.invoke(QUERY, config)) == ids(await retriever.ainvoke(QUERY, config))
    for run in recorder.finished:
        assert run.name == "boost-reranked"
        assert [(child.name, child.run_type) for child in run.child_runs] == [
            ("boost", "retriever"),
            ("EmbeddingsReranker", "chain"),
        ]
    assert len(recorder.finished) == 2


async def test_arguments_per_call(own_catalog):
    """K is the second stage's; the rest is the base's."""
    retriever = RerankedRetriever(compressor=EmbeddingsReranker(embeddings=Words()), fetch_k=5)
    assert len(retriever.invoke(QUERY)) == 8
    assert len(retriever.invoke(QUERY, k=2)) == 2
    assert len(retriever.invoke(QUERY, k=7)) == 7
    found = await retriever.ainvoke(QUERY, kind="rule", k=2)
    assert {d.metadata["kind"] for d in found} == {"rule"}
    assert len(retriever.invoke(QUERY, k=1, fetch_k=1)) == 1
    with pytest.raises(ValidationError, match="RerankedRetriever call"):
        retriever.invoke(QUERY, k=0)
    with pytest.raises(ValidationError, match="RerankedRetriever call"):
        await retriever.ainvoke(QUERY, fetch_k="5")
    with pytest.raises(TypeError, match="unknown call argument foo=1"):
        retriever.invoke(QUERY, foo=1)
    with pytest.raises(ValidationError):
        RerankedRetriever(compressor=EmbeddingsReranker(embeddings=Words()), k="3")


class Backwards(BaseDocumentCompressor):
    """Somebody else's compressor."""

    broken: bool = False

    def compress_documents(self, documents, query, callbacks=None):
        """Turn the order round, or fail."""
        if self.broken:
            raise ConnectionError
        return list(reversed(documents))


async def test_any_compressor(own_catalog, caplog):
    """A foreign one works and is named; one that fails leaves the engine's order."""
    engine = ids(BoostRetriever(k=4).invoke(QUERY))
    found = RerankedRetriever(compressor=Backwards(), fetch_k=4, k=4).invoke(QUERY)
    assert ids(found) == engine[::-1]
    assert {d.metadata["reranker"] for d in found} == {"Backwards"}
    broken = RerankedRetriever(compressor=Backwards(broken=True), fetch_k=4, k=4)
    for found in (broken.invoke(QUERY), await broken.ainvoke(QUERY)):
        assert ids(found) == engine
        assert {d.metadata["reranker"] for d in found} == {""}
    assert caplog.text.count("Backwards left the order as it was") == 2


def test_in_anybodys_compression_retriever(own_catalog):
    """The rerankers fit LangChain's own two-stage retriever."""
    from langchain_classic.retrievers import ContextualCompressionRetriever

    reranker = EmbeddingsReranker(embeddings=Words(), top_n=2)
    retriever = ContextualCompressionRetriever(
        base_compressor=reranker, base_retriever=BoostRetriever(k=20)
    )
    assert len(retriever.invoke(QUERY)) == 2


@pytest.mark.parametrize(
    "base",
    [
        BoostRetriever().bind(kind="skill"),
        BoostRetriever(kind="skill").with_retry(),
        BoostRetriever(kind="skill").with_config(tags=["mine"]).with_retry(),
        BoostRetriever(kind="skill").configurable_fields(tap=ConfigurableField(id="tap")),
    ],
    ids=["bound", "retried", "configured", "configurable"],
)
async def test_base_behind_another_runnable(own_catalog, base):
    """Asked for as many candidates as the retriever itself would be, also per call."""
    counts = []

    class Counts(BaseDocumentCompressor):
        """Keeps how many it got."""

        def compress_documents(self, documents, query, callbacks=None):
            counts.append(len(documents))
            return documents

    retriever = RerankedRetriever(base=base, compressor=Counts(), fetch_k=20, k=2)
    found = [*retriever.invoke(QUERY), *await retriever.ainvoke(QUERY, fetch_k=12)]
    assert counts == [20, 12]
    assert [document.metadata["kind"] for document in found] == ["skill"] * 4


@pytest.mark.parametrize("base", ["BoostRetriever", BoostRetriever, len])
def test_base_that_is_none(base):
    """Refused where it is written."""
    with pytest.raises(ValidationError, match="instance of Runnable"):
        RerankedRetriever(base=base, compressor=Backwards())


async def test_base_that_gives_no_documents():
    """Any Runnable may be the base; one that answers something else is named."""
    retriever = RerankedRetriever(base=RunnableLambda(lambda _: "text"), compressor=Backwards())
    message = "the base returned str where a list of Documents was expected"
    with pytest.raises(TypeError, match=message):
        retriever.invoke(QUERY)
    with pytest.raises(TypeError, match=message):
        await retriever.ainvoke(QUERY)


def test_base_of_another_kind():
    """Any retriever may be the base; it is asked as it is."""
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        """Always the same."""

        def _get_relevant_documents(self, query, *, run_manager):
            return documents()

    retriever = RerankedRetriever(
        base=Fixed(), compressor=EmbeddingsReranker(embeddings=Words()), k=1
    )
    assert ids(retriever.invoke("about gamma t")) == ["t::gamma"]
    assert json.dumps(retriever.invoke("x")[0].metadata)
    assert RunnableLambda(len).invoke(retriever.invoke("x")) == 1


def test_copy_with_another_nameless_embedder():
    """Vectors of an embedder without a name do not answer for another one's in a copy."""
    documents = [Document("a", metadata={"name": name}) for name in "ab"]
    first = EmbeddingsReranker(embeddings=Toward("a"))
    second = first.model_copy(update={"embeddings": Toward("b")})
    assert [d.metadata["name"] for d in first.compress_documents(documents, "q")] == ["a", "b"]
    assert [d.metadata["name"] for d in second.compress_documents(documents, "q")] == ["b", "a"]


class Toward(Embeddings):
    """Nearest to the query is the text that begins with one word."""

    def __init__(self, word):
        self.word = word

    def embed_query(self, text):
        """Straight up."""
        return [0.0, 1.0]

    def embed_documents(self, texts):
        """Straight up for the word's, aside for others."""
        return [[0.0, 1.0] if text.startswith(self.word) else [1.0, 0.0] for text in texts]
