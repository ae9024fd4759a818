"""What was changed lately, from what documents say and from real histories."""

import subprocess
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
from boost_cli.core import gitutil
from langchain_core.documents import Document
from pydantic import ValidationError

from boost_langchain import BoostRetriever
from boost_langchain.context import RecencyBoost
from boost_langchain.rerank import RerankedRetriever

from support import skill

NOW = datetime(2026, 6, 30, 18, tzinfo=UTC)
EAST = timezone(timedelta(hours=9))


def document(name, **metadata):
    """A document of one name."""
    return Document(name, id=name, metadata=metadata)


def boost(*documents, now=NOW):
    """Names and factors in the new order."""
    found = RecencyBoost(now=now).compress_documents(documents, "query")
    return [(one.id, round(one.metadata["recency"], 4)) for one in found]


@pytest.mark.parametrize(
    ("modified", "factor"),
    [
        (NOW, 1.2),
        ("2026-06-30", 1.2),
        (date(2026, 6, 30), 1.2),
        (NOW + timedelta(seconds=1), 1.2),
        (NOW + timedelta(days=400), 1.2),
        (NOW - timedelta(hours=23), 1.2),
        (NOW - timedelta(days=1), 1.1933),
        ("2026-06-15", 1.1),
        (NOW - timedelta(days=15), 1.1),
        (NOW - timedelta(days=29), 1.0067),
        (NOW - timedelta(days=30), 1.0),
        ("2026-05-31", 1.0),
        ("2001-01-01", 1.0),
        (None, 1.0),
        ("", 1.0),
    ],
)
def test_factor(modified, factor):
    """1.20 today and in the future, 1.10 at 15 days, 1.00 from 30 days on and without a date."""
    assert boost(document("a", modified=modified)) == [("a", factor)]


@pytest.mark.parametrize(
    "modified",
    [
        "2026-06-15",
        "20260615",
        " 2026-06-15T18:00 ",
        "2026-06-15T18:00:00Z",
        "2026-06-16T03:00:00+09:00",
        date(2026, 6, 15),
        datetime(2026, 6, 15, 18),  # noqa: DTZ001 - naive is UTC
        datetime(2026, 6, 16, 3, tzinfo=EAST),
        datetime(2026, 6, 15, 18, tzinfo=UTC).timestamp(),
        int(datetime(2026, 6, 15, 18, tzinfo=UTC).timestamp()),
        np.int64(datetime(2026, 6, 15, 18, tzinfo=UTC).timestamp()),
    ],
)
def test_forms_of_a_date(modified, caplog):
    """ISO text, date, datetime, seconds since the epoch; without a zone it is UTC."""
    assert boost(document("a", modified=modified)) == [("a", 1.1)]
    assert not caplog.records


@pytest.mark.parametrize(
    "modified",
    ["yesterday", "30.06.2026", True, float("nan"), 1e18, ["2026-06-30"], {"on": 1}, "1782900000"],
)
def test_garbage_is_no_date_and_one_warning(modified, caplog):
    """It is named; nothing else stands in for it."""
    assert boost(document("a", modified=modified)) == [("a", 1.0)]
    (record,) = caplog.records
    assert f"a has no date that can be read: modified is {modified!r}" in record.getMessage()


TODAY, OLD = "2026-06-30", "2026-01-01"


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ([("a", 1.0, OLD), ("b", 0.9, TODAY)], "ba"),
        ([("a", 1.0, OLD), ("b", 0.83, TODAY)], "ab"),
        ([("a", 1.0, TODAY), ("b", 1.0, TODAY), ("c", 1.0, TODAY)], "abc"),
        ([("a", 1.0, OLD), ("b", 1.0, None), ("c", 1.0, "x")], "abc"),
        ([("a", 1.0, OLD), ("b", 1.0, TODAY), ("c", 1.0, OLD), ("d", 1.0, TODAY)], "bdac"),
        # Without a score, the rank: 1.2/72 beats 1/61 no more.
        ([("a", None, OLD), ("b", None, OLD), ("c", None, TODAY)], "cab"),
        ([("a", None, OLD)] * 11 + [("b", None, OLD), ("c", None, TODAY)], "c" + "a" * 11 + "b"),
        ([("a", None, OLD)] * 13 + [("c", None, TODAY)], "a" + "c" + "a" * 12),
        # Engines may score below zero; to be recent never costs.
        ([("a", -1.0, OLD), ("b", -1.1, TODAY)], "ba"),
        ([("a", 0.0, OLD), ("b", 0.0, TODAY)], "ab"),
        # What is no number is no score.
        ([("a", float("nan"), OLD), ("b", True, TODAY), ("c", "9", OLD)], "bac"),
        ([("a", 10**400, OLD), ("b", np.True_, TODAY), ("c", np.nan, OLD)], "bac"),
        # Any number is a score: numpy's are no float.
        ([("a", np.float32(1), OLD), ("b", np.float32(0.9), TODAY)], "ba"),
        ([("a", np.int64(10), OLD), ("b", np.int64(9), OLD), ("c", np.int64(8), OLD)], "abc"),
        ([("a", np.int64(8), OLD), ("b", np.int64(9), OLD), ("c", np.int64(10), OLD)], "cba"),
        ([("a", Fraction(1, 2), OLD), ("b", Fraction(9, 20), TODAY)], "ba"),
    ],
)
def test_order(given, order):
    """Changes where a newer one's weight passes an older one's, and nowhere else."""
    documents = [document(n, score=score, modified=day) for n, score, day in given]
    assert "".join(name for name, _ in boost(*documents)) == order


def test_second_stage_is_not_undone():
    """What a reranker put in its place counts by its rank: the score is the first stage's."""
    picked = document("picked", score=1.0, reranker="ChatReranker", modified=OLD)
    scored = document("scored", score=9.0, reranker="ChatReranker", modified=OLD)
    assert [name for name, _ in boost(picked, scored)] == ["picked", "scored"]


def test_sources_of_a_context_keep_their_places():
    """Scores of two sources do not compare: each answer is ordered in itself."""
    documents = [
        document("b1", context="base", score=1.0, modified=OLD),
        document("b2", context="base", score=0.9, modified=TODAY),
        document("s1", context="schema", score=50.0, modified=TODAY),
    ]
    assert [name for name, _ in boost(*documents)] == ["b2", "b1", "s1"]


async def test_copies_sync_and_async():
    """The same documents as copies, with rank and factor, in any two-stage retriever."""
    given = [document("a", score=1.0, modified=OLD, rank=1), document("b", modified=TODAY, rank=2)]
    before = [one.model_copy(deep=True) for one in given]
    compressor = RecencyBoost(now=NOW)
    found = compressor.compress_documents(given, "query")
    assert found == await compressor.acompress_documents(given, "query")
    assert given == before
    assert [one.metadata["rank"] for one in found] == [1, 2]
    assert compressor.compress_documents([], "query") == []


@pytest.mark.parametrize(
    "now",
    [NOW, NOW.replace(tzinfo=None), lambda: NOW, lambda: datetime(2026, 7, 1, 3, tzinfo=EAST)],
)
def test_clock(now):
    """A time or who says it; without a zone it is UTC."""
    assert boost(document("a", modified="2026-06-15T18:00"), now=now) == [("a", 1.1)]


def test_clock_of_the_machine():
    """What was changed now is new."""
    found = RecencyBoost().compress_documents([document("a", modified=datetime.now(UTC))], "q")
    assert found[0].metadata["recency"] == pytest.approx(1.2)


def test_wrong_fields():
    """Fail on construction and on assignment."""
    with pytest.raises(ValidationError):
        RecencyBoost(now="2026-06-30")
    with pytest.raises(ValidationError):
        RecencyBoost(days=3)
    compressor = RecencyBoost()
    with pytest.raises(ValidationError):
        compressor.now = 3


# ---------------------------------------------------------------------------------- histories


def git(repository, *arguments):
    """Run git."""
    subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)


def commit(repository, day, files, monkeypatch):
    """Commit files as of a day."""
    for path, text in files.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)
    monkeypatch.setenv("GIT_AUTHOR_DATE", f"{day}T18:00:00Z")
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T18:00:00Z")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", day)


BRACKETS = "skills/[new]/SKILL.md"


@pytest.fixture
def history(empty_catalog, tmp_path, monkeypatch):
    """A repository of three procedures: one old, one of 15 days ago, one of today."""
    repository = tmp_path / "procedures"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    old, middle = "skills/old/SKILL.md", "skills/middle/SKILL.md"
    first = {old: "deploy, deploy, deploy", middle: "x", BRACKETS: "x", "skills/n/SKILL.md": "x"}
    files = {path: skill(path.split("/")[1], "deploy", body) for path, body in first.items()}
    commit(repository, "2026-01-01", files, monkeypatch)
    commit(repository, "2026-06-15", {middle: skill("middle", "deploy it")}, monkeypatch)
    commit(repository, "2026-06-30", {BRACKETS: skill("new", "deploy it")}, monkeypatch)
    return repository


def factors(found):
    """The factor by name."""
    return {one.metadata["name"]: round(one.metadata["recency"], 4) for one in found}


def tapped(empty_catalog, repository):
    """Tap a git repository as it is."""
    from boost_cli.core import catalog, registry

    tap = registry.add(str(repository))
    catalog.rebuild_tap(tap)
    return tap


def test_full_clone_has_dates(empty_catalog, history):
    """The commit that last touched each file, also of one whose path is a pattern for git."""
    tap = tapped(empty_catalog, history)
    assert not gitutil.is_shallow(tap.path)
    found = RecencyBoost(now=NOW).compress_documents(BoostRetriever().invoke("deploy"), "deploy")
    assert factors(found) == {"new": 1.2, "middle": 1.1, "old": 1.0, "n": 1.0}
    for one in found:
        one.metadata["commit"] = "--output=x"
    again = RecencyBoost(now=NOW).compress_documents(found, "deploy")
    assert factors(again) == factors(found)


def test_stated_date_comes_first(empty_catalog, history):
    """The document's own date decides, garbage included."""
    tapped(empty_catalog, history)
    found = BoostRetriever().invoke("deploy")
    for one in found:
        one.metadata["modified"] = "garbage" if one.metadata["name"] == "new" else "2026-06-15"
    found = RecencyBoost(now=NOW).compress_documents(found, "deploy")
    assert factors(found) == {"new": 1.0, "middle": 1.1, "old": 1.1, "n": 1.1}


def test_shallow_clone_has_no_dates(empty_catalog, history, tmp_path):
    """Of a file:// clone with its history cut, no file has a date, and the order stays."""
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", history.as_uri(), str(shallow))
    tap = tapped(empty_catalog, shallow)
    assert gitutil.is_shallow(tap.path)
    given = BoostRetriever().invoke("deploy")
    found = RecencyBoost(now=NOW).compress_documents(given, "deploy")
    assert factors(found) == {"new": 1.0, "middle": 1.0, "old": 1.0, "n": 1.0}
    assert [one.id for one in found] == [one.id for one in given]


def test_second_stage_of_a_retriever(empty_catalog, history):
    """Behind the engine's own order: the newest passes the best."""
    tapped(empty_catalog, history)
    plain = BoostRetriever().invoke("deploy")
    retriever = RerankedRetriever(compressor=RecencyBoost(now=NOW))
    found = retriever.invoke("deploy")
    weights = {d.id: d.metadata["score"] for d in plain}
    expected = sorted(
        weights,
        key=lambda i: (
            -weights[i]
            * {BRACKETS: 1.2, "skills/middle/SKILL.md": 1.1}.get(i.partition("::")[2], 1.0)
        ),
    )
    assert [one.id for one in found] == expected
    assert {one.metadata["reranker"] for one in found} == {"RecencyBoost"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"tap": "elsewhere", "path": "skills/old/SKILL.md"},
        {"tap": "procedures", "path": "no/such/file"},
        {"tap": "procedures", "path": ""},
        {"tap": "procedures", "path": "nul\0"},
        {"tap": "procedures", "path": "../../config.json"},
        {"tap": "procedures", "path": 3},
        {"tap": 3, "path": "skills/old/SKILL.md"},
        {"tap": "procedures", "path": "skills/old/SKILL.md", "commit": "0" * 40},
        {"path": "skills/old/SKILL.md"},
    ],
)
def test_files_without_a_history(empty_catalog, history, metadata):
    """Not of a registry here, or of no commit: no date, and no exception."""
    tapped(empty_catalog, history)
    assert boost(document("a", **metadata)) == [("a", 1.0)]


def test_without_git_there_are_no_dates(empty_catalog, history, monkeypatch, tmp_path):
    """The clone is there, git is not."""
    tapped(empty_catalog, history)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    metadata = {"tap": "procedures", "path": "skills/middle/SKILL.md"}
    assert boost(document("a", **metadata)) == [("a", 1.0)]


def test_home_that_cannot_be_read(empty_catalog, history, caplog):
    """One warning, no dates, the order as it was."""
    tapped(empty_catalog, history)
    (empty_catalog.boost_home / "config.json").write_text("{" * 50)
    found = [document(n, tap="procedures", path="skills/middle/SKILL.md") for n in "ab"]
    assert boost(*found) == [("a", 1.0), ("b", 1.0)]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no dates from the registries' histories: " in caplog.text
