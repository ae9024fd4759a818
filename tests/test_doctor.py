"""`python -m boost_langchain doctor` on an empty machine, broken ones and full ones."""

import json
import os

import pytest

from boost_langchain import BoostRetriever
from boost_langchain._doctor import as_text, examine

from support import python, skill, snapshot


def doctor(*arguments, **environment):
    """Run the command; return its exit code and its output."""
    return python("-m", "boost_langchain", "doctor", *arguments, **environment)[:2]


@pytest.fixture
def home(tap_files):
    """One registry, indexed."""
    tapped = tap_files(
        {
            "skills/a/SKILL.md": skill("a", "deploy it", "Steps."),
            "rules/r.mdc": "---\ndescription: deploy rule\n---\nRule.\n",
        },
        name="mine",
    )
    BoostRetriever().invoke("deploy")
    return tapped


def test_healthy_home(home):
    """What is there, which rung answers, and the one step to the better one."""
    code, out = doctor()
    assert code == 0
    assert f"boost home      {home.boost_home}" in out
    assert "items           1 skills, 1 rules, 0 workflows" in out
    assert "2 documents" in out
    assert "current" in out
    assert "k1=1.2, b=0.75" in out
    assert "  mine @ " in out
    assert "answers now     BM25 full-content" in out
    assert "hybrid RRF (BM25 + dense): the [rag] extra is not installed" in out
    assert out.rstrip().endswith("healthy")


def test_json(home):
    """The same as data."""
    code, out = doctor("--json")
    report = json.loads(out)
    assert code == 0
    assert report["healthy"] is True
    assert report["answers"] == "BM25 full-content"
    assert report["items"] == {"skill": 1, "rule": 1, "workflow": 0}
    assert report["index"]["documents"] == 2
    assert list(report["index"]["commits"]) == ["mine"]
    assert len(report["index"]["commits"]["mine"]) == 40
    assert [(r["name"], r["answers"]) for r in report["rungs"]] == [
        ("hybrid RRF (BM25 + dense)", False),
        ("BM25 full-content", True),
    ]
    assert {"boost-langchain", "boost-skill-cli", "langchain-core", "python"} <= set(
        report["versions"]
    )


def test_empty_machine(empty_catalog):
    """Nothing tapped: the first step."""
    code, out = doctor()
    assert code == 1
    assert "answers now     nothing" in out
    assert "nothing is tapped\n                -> boost tap --defaults" in out


def test_no_index_yet(home):
    """Tapped, not indexed: the heuristic answers until the first query builds it."""
    (home.boost_home / "cache" / "rag_index.json").unlink()
    code, out = doctor()
    assert code == 1
    assert "answers now     heuristic relevance" in out
    assert "no index is built; the first query builds it\n                -> boost reindex" in out


def test_stale_index(home, write_files):
    """Registries that changed since are counted."""
    home.tap(write_files("more", {"skills/b/SKILL.md": skill("b", "deploy that")}))
    code, out = doctor()
    assert code == 0
    assert "1 registry changed since" in out
    home.tap(write_files("again", {"skills/c/SKILL.md": skill("c", "deploy those")}))
    code, out = doctor()
    assert code == 1
    assert (
        "problem         2 registries changed since the index was built; run `boost reindex`" in out
    )


def test_index_that_is_garbage(home):
    """A file that is no index is told apart from none."""
    (home.boost_home / "cache" / "rag_index.json").write_text("garbage")
    code, out = doctor()
    assert code == 1
    assert "the index on disk cannot be read; the next query builds it anew" in out


def test_home_that_cannot_be_written(home, monkeypatch):
    """The first query cannot build an index where nothing can be saved."""
    (home.boost_home / "cache" / "rag_index.json").unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "no index is built, and the boost home cannot be written" in as_text(examine())


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("config.json", "{", "boost's config.json cannot be read"),
        ("cache/rag_index.json", "[" * 200_000, "the search index is damaged"),
        (
            "cache/mine.json",
            '{"format": 9, "skills": null}',
            "the catalog cache of mine is damaged",
        ),
        ("cache/mine.json", "[" * 200_000, "the catalog cache of mine cannot be read"),
    ],
)
def test_broken_homes(home, name, text, problem):
    """What is broken is named, with its remedy, and nothing is written."""
    (home.boost_home / name).write_text(text)
    before = snapshot(home.home)
    code, out = doctor()
    assert code == 1
    assert f"problem         {problem}" in out
    assert out.rstrip().endswith("needs attention")
    assert snapshot(home.home) == before


def test_lost_clone(home):
    """A registry without its clone answers with descriptions: that is a problem."""
    home.clone("mine").rename(home.home / "gone")
    code, out = doctor()
    assert code == 1
    assert "problem         no clone of mine" in out


def test_bad_boost_home():
    """A BOOST_HOME that the engine refuses."""
    code, out = doctor(BOOST_HOME="relative/path")
    assert code == 1
    assert "is a relative path" in out


def test_unreadable_dense_store(home):
    """A dense store that is no database is a reason, not a crash."""
    (home.boost_home / "cache" / "rag_vectors.db").write_bytes(b"garbage" * 500)
    code, out = doctor(BOOST_NO_EMBED="1")
    assert code == 0
    assert "BOOST_NO_EMBED switches it off\n                -> unset the kill switch" in out
