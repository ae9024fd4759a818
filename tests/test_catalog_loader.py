"""CatalogLoader and document_key: a stream of the catalog, and mirrors kept by it."""

import json
import os
import subprocess
import sys
import tracemalloc
import uuid

import pytest
from boost_cli.core import catalog as boost_catalog
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore

from boost_langchain import BoostRetriever
from boost_langchain._json_stream import JsonStream
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.loader import CatalogLoader, document_key

from faults import edit
from support import ROOT, skill, snapshot

ANSWERED = {"engine", "score", "rank", "snippet"}


@pytest.fixture
def two_taps(empty_catalog, write_files):
    """Two registries with an item of each kind between them."""
    one = {
        "skills/deploy/SKILL.md": skill("deploy", "deploy guide", "Deploy it.", version="1.10"),
        "rules/style.mdc": skill("style", "style guide", "Four spaces."),
    }
    two = {"commands/review.md": skill("review", "review guide", "Review it.")}
    empty_catalog.tap(write_files("one", one))
    empty_catalog.tap(write_files("two", two))
    return empty_catalog


ALL = ["one::rules/style.mdc", "one::skills/deploy/SKILL.md", "two::commands/review.md"]


def ids(loader):
    """The ids of what a loader yields, sorted."""
    return sorted(document.id for document in loader.lazy_load())


# ------------------------------------------------------------------------------- what is loaded


def test_item_as_a_document(two_taps):
    """An item is its whole text, with provenance and nothing of an answer or of this machine."""
    (document,) = CatalogLoader(kind="skill").load()
    assert document == Document(
        id="one::skills/deploy/SKILL.md",
        page_content="deploy\ndeploy guide\nDeploy it.",
        metadata={
            "id": "one::skills/deploy/SKILL.md",
            "name": "deploy",
            "kind": "skill",
            "tap": "one",
            "source": "skills/deploy/SKILL.md",
            "path": "skills/deploy/SKILL.md",
            "version": "1.10",
            "commit": document.metadata["commit"],
            "has_body": True,
        },
    )
    assert len(document.metadata["commit"]) == 40
    assert str(two_taps.home) not in repr(document)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ALL),
        ({"kind": "rule"}, ALL[:1]),
        ({"kind": "workflow"}, ALL[2:]),
        ({"tap": "one"}, ALL[:2]),
        ({"kind": "workflow", "tap": "one"}, []),
    ],
)
def test_kind_and_tap(two_taps, options, expected):
    """Each narrows the stream, and both together."""
    assert ids(CatalogLoader(**options)) == expected


async def test_loading_from_a_coroutine(two_taps):
    """The async methods yield the same documents."""
    loader = CatalogLoader()
    assert [d async for d in loader.alazy_load()] == loader.load()
    assert await loader.aload() == loader.load()


def test_agrees_with_the_retriever_on_the_own_catalog(own_catalog):
    """Every item of the repository's catalog is the same document from both."""
    loaded = {document.id: document for document in CatalogLoader().lazy_load()}
    assert set(loaded) == {f"{e['tap']}::{e['skill_md']}" for e in own_catalog.entries()}
    for identity, document in loaded.items():
        retriever = BoostRetriever(k=len(loaded), on_error="raise")
        found = {d.id: d for d in retriever.invoke(document.page_content[:300])}[identity]
        assert found.page_content == document.page_content
        shared = {k: v for k, v in found.metadata.items() if k not in ANSWERED}
        assert shared == document.metadata
        assert document_key(found) == document_key(document)


def test_nothing_is_written_and_no_index_is_needed(two_taps):
    """A mirror reads the catalog; it builds no search index."""
    before = snapshot(two_taps.home)
    assert ids(CatalogLoader()) == ALL
    assert snapshot(two_taps.home) == before
    assert not (two_taps.boost_home / "cache" / "rag_index.json").exists()


def test_body_that_must_not_be_read(two_taps, tmp_path):
    """A file swapped for a link out, a FIFO or nothing gives its description, as ever."""
    secret = tmp_path / "secret.txt"
    secret.write_text("placeholder-secret-value")
    path = two_taps.clone("one") / "skills/deploy/SKILL.md"
    for replace in (lambda p: p.symlink_to(secret), os.mkfifo, lambda p: None):
        path.unlink()
        replace(path)
        (document,) = CatalogLoader(kind="skill").load()
        assert document.page_content == "deploy guide"
        assert document.metadata["has_body"] is False
        if not path.exists():
            break
    assert ids(CatalogLoader()) == ALL


@pytest.mark.parametrize("kind", ["skills", "Skill", "", True, 3, ["skill"]])
def test_bad_kind_is_named_where_it_is_given(kind):
    """A kind that does not exist would be an empty stream: it raises at once."""
    with pytest.raises(ValueError, match="CatalogLoader has no kind") as raised:
        CatalogLoader(kind=kind)
    assert repr(kind) in str(raised.value)


@pytest.mark.parametrize("tap", [3, True, ["one"], b"one"])
def test_bad_tap_is_named_where_it_is_given(tap):
    """So does a tap that is no name."""
    with pytest.raises(TypeError, match="not "):
        CatalogLoader(tap=tap)


# ----------------------------------------------------------------- faults, before any document


def test_tap_that_is_not_tapped_raises(two_taps):
    """A mirror of it would be emptied, for a typing error perhaps."""
    with pytest.raises(BoostRetrievalError, match=r"'tow' is not tapped, so .* tapped: one, two"):
        next(CatalogLoader(tap="tow").lazy_load())


@pytest.mark.parametrize("home", ["missing", "untapped"])
def test_nothing_tapped_is_an_empty_stream_with_one_line(two_taps, caplog, home, monkeypatch):
    """A configuration that names no registry says that the mirror is to be emptied."""
    if home == "missing":
        monkeypatch.setenv("BOOST_HOME", str(two_taps.home / "elsewhere"))
    else:
        two_taps.untap("one")
        two_taps.untap("two")
    for _ in range(2):
        assert CatalogLoader().load() == []
    assert len([r for r in caplog.records if "nothing is tapped in" in r.getMessage()]) == 1


def cache(home):
    """The catalog cache of registry `two`, the last one."""
    return home.boost_home / "cache" / "two.json"


def config(home):
    """The configuration."""
    return home.boost_home / "config.json"


def lose_the_clone(home):
    """Neither a clone nor a cache is left."""
    cache(home).unlink()
    home.clone("two").rename(home.home / "gone")


def fifo_in_the_clone(home):
    """A clone that must be scanned again and cannot be."""
    cache(home).unlink()
    os.mkfifo(home.clone("two") / "commands" / "fifo.md")


def fifo_as_the_cache(home):
    """A cache that never answers."""
    cache(home).unlink()
    os.mkfifo(cache(home))


@pytest.mark.parametrize(
    ("break_it", "named"),
    [
        pytest.param(lambda h: cache(h).write_text("[" * 200_000), "cache of two", id="deep cache"),
        pytest.param(
            lambda h: edit(cache(h), lambda d: d.update(skills=None)),
            "cache of two",
            id="skills null",
        ),
        pytest.param(
            lambda h: edit(cache(h), lambda d: d.update(skills=[1])),
            "cache of two",
            id="skills of numbers",
        ),
        pytest.param(
            lambda h: edit(cache(h), lambda d: d["skills"][0].pop("skill_md")),
            "cache of two",
            id="an entry without a path",
        ),
        pytest.param(fifo_as_the_cache, "cache of two", id="a FIFO as the cache"),
        pytest.param(fifo_in_the_clone, "two cannot be scanned", id="a FIFO in the clone"),
        pytest.param(lose_the_clone, "two has neither a clone nor", id="no clone, no cache"),
        pytest.param(lambda h: config(h).write_text("{"), "config.json", id="garbage config"),
        pytest.param(
            lambda h: config(h).write_text("[" * 200_000), "config.json", id="deep config"
        ),
        pytest.param(
            lambda h: edit(config(h), lambda d: d.update(taps=None)), "config.json", id="taps null"
        ),
        pytest.param(
            lambda h: edit(config(h), lambda d: d["taps"].append({"name": 5})),
            "not a string",
            id="a number as a name",
        ),
        pytest.param(
            lambda h: edit(config(h), lambda d: d["taps"].pop(0).clear() or d["taps"].append({})),
            "not a string",
            id="no name",
        ),
        pytest.param(
            lambda h: config(h).unlink(),
            "config.json is gone or names no registry",
            id="no config, but clones",
        ),
    ],
)
def test_fault_raises_before_anything_is_deleted(two_taps, mirror, break_it, named):
    """Whatever is broken, the first document is not yielded, and the mirror stays whole."""
    mirror()
    break_it(two_taps)
    with pytest.raises(BoostRetrievalError, match=named) as raised:
        next(CatalogLoader().lazy_load())
    assert str(two_taps.home) not in str(raised.value)
    with pytest.raises(BoostRetrievalError):
        mirror()
    assert mirror.ids() == ALL


@pytest.mark.parametrize("content", ['{"format": 9, "skills": [1]}', '{"format": 9, "skills": ['])
def test_cache_that_breaks_during_the_stream(two_taps, mirror, monkeypatch, content):
    """Entries are read as they are asked for: a fault then raises, and nothing is deleted."""
    mirror()
    whole = CatalogLoader.lazy_load

    def breaking(loader):
        for document in whole(loader):
            cache(two_taps).write_text(content)
            yield document

    monkeypatch.setattr(CatalogLoader, "lazy_load", breaking)
    with pytest.raises(BoostRetrievalError, match="cache of two is damaged"):
        mirror()
    assert mirror.ids() == ALL


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda h: cache(h).unlink(), id="no cache"),
        pytest.param(lambda h: cache(h).write_text("garbage"), id="garbage cache"),
        pytest.param(
            lambda h: cache(h).write_bytes(cache(h).read_bytes()[:-100]), id="truncated cache"
        ),
        pytest.param(lambda h: edit(cache(h), lambda d: d.update(format=1)), id="an older format"),
    ],
)
def test_what_the_engine_repairs_is_loaded(two_taps, break_it):
    """A cache that the engine makes anew costs nothing."""
    before = CatalogLoader().load()
    break_it(two_taps)
    assert CatalogLoader().load() == before


def test_cache_that_cannot_be_saved(two_taps, monkeypatch):
    """A directory where the cache should be written takes none: the scan is the answer."""
    before = CatalogLoader().load()
    edit(cache(two_taps), lambda d: d.update(format=1))
    monkeypatch.setattr(boost_catalog.util, "atomic_write_text", refuse)
    monkeypatch.setattr(type(cache(two_taps)), "write_text", refuse)
    assert [d.id for d in CatalogLoader().lazy_load()] == [d.id for d in before]


def refuse(*_args, **_kwargs):
    """A write that fails."""
    raise PermissionError(13, "Permission denied")


def test_older_cache_without_its_clone(two_taps):
    """An imported catalog without clones is listed by its descriptions."""
    edit(cache(two_taps), lambda d: d.update(format=1))
    two_taps.clone("two").rename(two_taps.home / "gone")
    (document,) = CatalogLoader(tap="two").load()
    assert document.page_content == "review guide"


@pytest.mark.slow
def test_memory_is_flat():
    """Ten times the items of one registry take no more memory: in processes of their own."""
    code = (
        "import sys, tracemalloc; from pathlib import Path;"
        "from boost_langchain.testing import tapped_catalog;"
        "from boost_langchain.loader import CatalogLoader;"
        "from boost_cli.core import catalog\n"
        "import json\n"
        "with tapped_catalog() as home:\n"
        "    source = home.home / 'many'; source.mkdir(); (source / 'a.mdc').write_text('x')\n"
        "    home.tap(source)\n"
        "    cache = home.boost_home / 'cache' / 'many.json'\n"
        "    data = json.loads(cache.read_text())\n"
        "    [entry] = data['skills']\n"
        "    data['skills'] = [{**entry, 'skill_md': f'{i}.mdc', 'search_blob': 'x' * 500}"
        " for i in range(int(sys.argv[1]))]\n"
        "    cache.write_text(json.dumps(data)); del data\n"
        "    catalog._ENTRY_CACHE.clear()\n"
        "    sum(1 for _ in zip(range(1), CatalogLoader().lazy_load()))\n"
        "    tracemalloc.start()\n"
        "    count = sum(1 for _ in CatalogLoader().lazy_load())\n"
        "    print(count, tracemalloc.get_traced_memory()[1])\n"
    )
    peaks = []
    for items in (300, 3_000):
        done = subprocess.run(
            [sys.executable, "-c", code, str(items)],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
        count, peak = map(int, done.stdout.split())
        assert count == items
        peaks.append(peak)
    assert peaks[1] < peaks[0] * 1.5 + 100_000
    assert not tracemalloc.is_tracing()


# ----------------------------------------------------------------------------------- the mirror


@pytest.fixture
def mirror(monkeypatch):
    """The recipe's mirror, in memory: returns a copy of its records; `ids` are those it has."""
    monkeypatch.syspath_prepend(ROOT / "integrations")
    import vector_store_mirror

    store = InMemoryVectorStore(vector_store_mirror.DigestEmbeddings())
    records = InMemoryRecordManager(namespace="test")
    records.create_schema()

    def run(expected=None):
        counts = vector_store_mirror.mirror(store, records)
        if expected is not None:
            assert {k: v for k, v in counts.items() if v} == expected
        return {key: {**value} for key, value in store.store.items()}

    run.ids = lambda: sorted(record["metadata"]["id"] for record in store.store.values())
    return run


def test_mirror_follows_the_catalog(two_taps, mirror):
    """Added at first, then left alone; an edit replaces, an untapped registry disappears."""
    first = mirror({"num_added": 3})
    assert mirror({"num_skipped": 3}) == first
    # An edited item: its new text is there and its old one gone.
    path = two_taps.repository("one") / "skills/deploy/SKILL.md"
    path.write_text(skill("deploy", "deploy guide", "Roll it out.", version="1.10"))
    two_taps.update("one")
    edited = mirror({"num_added": 1, "num_skipped": 2, "num_deleted": 1})
    texts = [record["text"] for record in edited.values()]
    assert "deploy\ndeploy guide\nRoll it out." in texts
    assert "Deploy it." not in repr(texts)
    # A new version with the same text is a change too: provenance would be wrong otherwise.
    path.write_text(skill("deploy", "deploy guide", "Roll it out.", version="1.11"))
    two_taps.update("one")
    edited = mirror({"num_added": 1, "num_skipped": 2, "num_deleted": 1})
    assert "1.11" in {record["metadata"]["version"] for record in edited.values()}
    # A commit that touches no item changes nothing.
    (two_taps.repository("one") / "LICENSE").write_text("Text.\n")
    two_taps.update("one")
    assert mirror({"num_skipped": 3}) == edited
    two_taps.untap("one")
    left = mirror({"num_skipped": 1, "num_deleted": 2})
    assert [record["metadata"]["id"] for record in left.values()] == ["two::commands/review.md"]


def test_mirror_of_one_registry(two_taps):
    """A mirror of one registry raises when it is untapped, and keeps what it has."""
    store = InMemoryVectorStore(None)
    store.add_documents = lambda documents, ids, **_: store.store.update(
        zip(ids, documents, strict=True)
    )
    records = InMemoryRecordManager(namespace="one")
    options = {"cleanup": "full", "key_encoder": document_key}
    index(CatalogLoader(tap="one"), records, store, **options)
    assert len(store.store) == 2
    two_taps.untap("one")
    with pytest.raises(BoostRetrievalError, match="'one' is not tapped"):
        index(CatalogLoader(tap="one"), records, store, **options)
    assert len(store.store) == 2


# --------------------------------------------------------------------------------- document_key


def document(content="Text.", identity="tap::a/SKILL.md", **metadata):
    """A document as the loaders make one."""
    return Document(page_content=content, id=identity, metadata={"id": identity, **metadata})


def test_key_is_a_uuid_of_id_and_content():
    """The same item is the same key on every machine; what the item says changes it."""
    key = document_key(document())
    assert uuid.UUID(key).version == 5
    assert key == document_key(document())
    others = [
        document("Other text."),
        document(identity="tap::b/SKILL.md"),
        document(version="2"),
        document(name="other"),
        document(kind="rule"),
    ]
    assert len({key, *map(document_key, others)}) == 6


def test_commit_and_local_facts_stay_out_of_the_key():
    """A new commit, another rank or a path on this machine is no change of the item."""
    assert document_key(document()) == document_key(
        document(commit="abc", file="/home/me/x", score=1.5, rank=3, engine="e", snippet="s")
    )


def test_key_of_a_chunk():
    """A splitter's chunks have no id of their own, only metadata, and get different keys."""
    chunks = [Document(page_content=text, metadata={"id": "tap::a"}) for text in ("one", "two")]
    assert len(set(map(document_key, chunks))) == 2


def test_document_without_an_id_is_named():
    """Two documents without ids would share a key; that raises instead."""
    with pytest.raises(ValueError, match="a document without an id has no key: 'Text'"):
        document_key(Document(page_content="Text"))


# ------------------------------------------------------------------------------------ the stream

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Trickle:
    """A file that gives a few bytes at a time, wherever that cuts."""

    def __init__(self, data, size):
        self.data, self.size = data, size

    def read(self, _size):
        """The next few bytes."""
        given, self.data = self.data[: self.size], self.data[self.size :]
        return given


@given(
    before=st.dictionaries(st.text().filter(lambda key: key != "skills"), JSON, max_size=3),
    elements=st.lists(JSON, max_size=5),
    after=st.dictionaries(st.text().filter(lambda key: key != "skills"), JSON, max_size=3),
    size=st.integers(1, 9),
    indent=st.none() | st.just(1),
)
def test_stream_reads_what_json_reads(before, elements, after, size, indent):
    """However a file is cut into chunks, the elements are those that json.loads gives."""
    text = json.dumps(
        {**before, "skills": elements, **{f"z{k}": v for k, v in after.items()}},
        indent=indent,
        ensure_ascii=False,
    )
    stream = JsonStream(Trickle(text.encode("utf-8", "replace"), size), "skills")
    whole = json.loads(text.encode("utf-8", "replace"))
    assert list(stream.elements()) == whole["skills"]
    assert stream.members == {k: v for k, v in whole.items() if k in stream.members}


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", '{"skills": 1}', '{"skills": [1,]}', '{"skills": [1 2]}', '{"skills": []', '{"skills": []} x',
     '{"skills": [], 5}', '{"skills": [], "a": }', "{skills: []}", "{[1]: 2}", '{"a": 1 "skills": []}', '{"a": 1'],
)  # fmt: skip
def test_stream_refuses_what_is_no_json(text):
    """A cut or garbled file is an error, not a shorter list."""
    with pytest.raises(ValueError, match=r".+"):
        list(JsonStream(Trickle(text.encode(), 3), "skills").elements())


def test_what_would_empty_a_mirror_raises(tap_files):
    """A cut cache without a clone, a cache of another shape, a configuration that lost its taps."""
    home = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")}, name="mine")
    cache = home.boost_home / "cache" / "mine.json"
    whole = cache.read_text()
    for broken in (whole[:-20], '{"format": 9}', whole.replace('"tap": "mine"', '"tap": "other"')):
        cache.write_text(broken)
        gone = home.clone("mine").rename(home.home / "gone")
        with pytest.raises(BoostRetrievalError, match="mine"):
            list(CatalogLoader().lazy_load())
        gone.rename(home.clone("mine"))
    cache.write_text('{"format": 9}')
    with pytest.raises(BoostRetrievalError, match="damaged"):
        list(CatalogLoader().lazy_load())
    cache.write_text(whole)
    assert len(CatalogLoader().load()) == 1
    (home.boost_home / "config.json").write_text("{}")
    with pytest.raises(BoostRetrievalError, match="repos/ holds clones"):
        list(CatalogLoader().lazy_load())
