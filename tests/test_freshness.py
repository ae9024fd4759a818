"""When an index is brought up to date, and when nothing may be written."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from boost_cli.core import rag

from boost_langchain import BoostRetriever, _freshness
from boost_langchain.__main__ import main
from boost_langchain._locks import ForkSafeLock
from boost_langchain._tap_cache import cache_head
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.loader import CatalogLoader

from faults import edit_config, edit_upstream, from_the_future, killed_build, remove
from support import skill, snapshot

ELSEWHERE = """
import sys
import time
from boost_cli.core import catalog, gitutil, registry
verb, spec = sys.argv[1:]
if verb == "tap":
    catalog.rebuild_tap(registry.add(spec))
elif verb == "untap":
    registry.remove(spec)
else:
    gitutil.pull(registry.get(spec).path)
    catalog.rebuild_tap(registry.get(spec))
"""


def elsewhere(verb, spec):
    """Tap, untap or update in another process, as a user's shell would."""
    subprocess.run([sys.executable, "-c", ELSEWHERE, verb, str(spec)], check=True, cwd="/")


def names(retriever, query="deploy"):
    """What the retriever finds, by name."""
    return sorted(document.metadata["name"] for document in retriever.invoke(query))


def repository(home, write_files, name):
    """A git repository that can be tapped, but is not."""
    home.tap(write_files(name, {f"skills/{name}/SKILL.md": skill(name, "deploy it", name)}))
    home.untap(name)
    return home.repository(name)


@pytest.fixture
def home(empty_catalog, write_files):
    """One registry, indexed."""
    empty_catalog.tap(write_files("base", {"skills/base/SKILL.md": skill("base", "deploy it")}))
    assert names(BoostRetriever()) == ["base"]
    return empty_catalog


def test_changes_by_another_process_are_seen(home, write_files):
    """A tap, an update and an untap elsewhere: the next call of this process knows."""
    retriever = BoostRetriever(on_error="raise")
    extra = repository(home, write_files, "extra")
    elsewhere("tap", extra)
    assert names(retriever) == ["base", "extra"]
    (extra / "skills/extra/SKILL.md").write_text(skill("extra", "roll out", "Zebra crossing."))
    home._commit(extra)
    elsewhere("update", "extra")
    assert names(retriever) == ["base"]
    (found,) = retriever.invoke("zebra")
    assert "Zebra crossing." in found.page_content
    assert (
        found.metadata["commit"]
        == (home.clone("extra") / ".git/refs/heads/main").read_text().strip()
    )
    elsewhere("untap", "extra")
    assert retriever.invoke("zebra") == []


def test_two_changes_leave_the_old_index_with_one_hint(home, write_files, caplog):
    """More than one changed registry is a reindex: said once, not done inside a query."""
    retriever = BoostRetriever()
    for name in ("first", "second"):
        elsewhere("tap", repository(home, write_files, name))
    for _ in range(3):
        assert names(retriever) == ["base"]
    assert [r.getMessage() for r in caplog.records] == [
        f"2 registries changed since the search index in {home.boost_home} was built, so answers "
        "may be out of date; run `boost reindex`"
    ]
    # A registry that the index does not know yet still answers when asked for by name.
    (found,) = BoostRetriever(tap="first").invoke("deploy")
    assert (found.metadata["name"], found.metadata["engine"]) == ("first", "heuristic relevance")
    assert len(found.metadata["commit"]) == 40


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("cached", [True, False])
def test_never_writes_nothing(home, write_files, built, cached):
    """refresh="never" leaves every file of the home as it was, whatever is missing."""
    elsewhere("tap", repository(home, write_files, "extra"))
    if not built:
        (home.boost_home / "cache" / "rag_index.json").unlink()
    if not cached:
        (home.boost_home / "cache" / "extra.json").unlink()
    before = snapshot(home.home)
    retriever = BoostRetriever(refresh="never")
    found = names(retriever)
    assert found == (["base"] if built or not cached else ["base", "extra"])
    retriever.invoke("deploy", tap="base", kind="skill")
    assert snapshot(home.home) == before


def test_auto_builds_only_what_is_missing(home):
    """A current index is not written again."""
    index = Path(home.boost_home / "cache" / "rag_index.json")
    before = index.stat().st_mtime_ns
    names(BoostRetriever())
    assert index.stat().st_mtime_ns == before


def test_registry_without_items_is_no_fault(empty_catalog, write_files, caplog):
    """A registry that holds nothing answers [] and raises nothing."""
    empty_catalog.tap(write_files("bare", {"notes.txt": "nothing to index"}))
    assert BoostRetriever(on_error="raise").invoke("deploy") == []
    assert caplog.records == []


def test_never_says_what_is_missing(home, write_files, caplog):
    """What refresh="never" leaves unmade is said once."""
    elsewhere("tap", repository(home, write_files, "extra"))
    (home.boost_home / "cache" / "rag_index.json").unlink()
    (home.boost_home / "cache" / "extra.json").unlink()
    for _ in range(2):
        assert names(BoostRetriever(refresh="never", on_error="raise")) == ["base"]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "there is no search index" in said[0]
    assert "extra has no catalog cache" in said[1]


def test_many_registries_are_named_in_part(empty_catalog, write_files, caplog):
    """The warning about a registry that is not tapped stays one readable line."""
    for number in range(22):
        name = f"r{number:02}"
        empty_catalog.tap(write_files(name, {f"skills/{name}/SKILL.md": skill(name, "x")}))
    BoostRetriever(tap="nope").invoke("x")
    assert "r18, r19 and 2 more" in caplog.text


def test_index_of_two_builds_is_not_asked(two_taps, caplog):
    """A build was killed between its two files: refresh="never" does without, and says so."""
    edit_upstream(lambda files: shutil.rmtree(files / "skills/one-a"))(two_taps)
    killed_build(2)(two_taps)
    before = snapshot(two_taps.home)
    retriever = BoostRetriever(refresh="never")
    found = retriever.invoke("deploy guide")
    assert sorted(d.metadata["name"] for d in found) == ["one-b", "two-a", "two-b"]
    assert {d.metadata["engine"] for d in found} == {"heuristic relevance"}
    assert snapshot(two_taps.home) == before
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the search index is of two builds, one of them interrupted; run `boost")
    assert main(["doctor"]) == 1
    # One call that may build mends it for everybody.
    assert len(BoostRetriever(on_error="raise").invoke("deploy guide")) == 3
    assert {d.metadata["engine"] for d in retriever.invoke("deploy guide")} == {"BM25 full-content"}
    assert main(["doctor"]) == 0


def test_copied_home_is_whole(two_taps, caplog):
    """Postings that a copy made younger than the documents still fit them."""
    os.utime(rag.postings_path())
    before = snapshot(two_taps.home)
    found = BoostRetriever(on_error="raise").invoke("deploy guide")
    assert [d.metadata["engine"] for d in found] == ["BM25 full-content"] * 4
    assert snapshot(two_taps.home) == before
    assert caplog.records == []


def test_stamp_from_the_future_is_not_a_change(two_taps):
    """A cache that is younger than now, after the clock was set back, is compared by commit."""
    from_the_future("cache/one.json")(two_taps)
    before = snapshot(two_taps.home)
    assert len(BoostRetriever(on_error="raise").invoke("deploy guide")) == 4
    assert snapshot(two_taps.home) == before
    edit_upstream(lambda files: shutil.rmtree(files / "skills/one-a"))(two_taps)
    from_the_future("cache/one.json")(two_taps)
    assert len(BoostRetriever(on_error="raise").invoke("deploy guide")) == 3


def test_registry_whose_cache_is_made_anew_answers_at_once(two_taps):
    """A cache made in the call is known to the index that answers the call."""
    edit_upstream(lambda files: shutil.rmtree(files / "skills/one-a"))(two_taps)
    assert len(BoostRetriever().invoke("deploy guide")) == 3
    edit_upstream(lambda files: write_skill(files, "one-c"))(two_taps)
    remove("cache/one.json")(two_taps)
    assert "one-c" in names(BoostRetriever(), "deploy guide")


def write_skill(files, name):
    """One more skill in a registry."""
    (files / "skills" / name).mkdir()
    text = skill(name, "deploy guide", f"Deploy {name}.")
    (files / "skills" / name / "SKILL.md").write_text(text)


def test_registry_updated_while_the_index_is_built(two_taps):
    """Its cache is older than the finished index, but of another commit: it is read again."""
    edit_upstream(lambda files: write_skill(files, "one-c"))(two_taps)
    index = two_taps.boost_home / "cache" / "rag_index.json"
    later = time.time()
    os.utime(rag.postings_path(), (later, later))
    os.utime(index, (later, later))
    assert len(BoostRetriever().invoke("deploy guide")) == 5


def test_clock_set_back_leaves_no_change_unseen(two_taps):
    """Of two registries whose index is from the future, the changed one is found and renewed."""
    edit_upstream(lambda files: write_skill(files, "one-c"))(two_taps)
    from_the_future("cache/rag_index.json", "cache/rag_postings.sqlite")(two_taps)
    assert len(BoostRetriever(on_error="raise").invoke("deploy guide")) == 5


def test_registry_tapped_after_an_empty_one(empty_catalog, write_files, caplog):
    """A registry that holds nothing does not put off the index of the next one."""
    empty_catalog.tap(write_files("bare", {"notes.txt": "nothing to index"}))
    assert BoostRetriever().invoke("deploy") == []
    empty_catalog.tap(write_files("base", {"skills/base/SKILL.md": skill("base", "deploy it")}))
    (found,) = BoostRetriever().invoke("deploy")
    assert found.metadata["engine"] == "BM25 full-content"
    assert caplog.records == []


def test_index_that_changes_under_a_query(two_taps, monkeypatch):
    """Another process writes between the reading of documents and of postings: asked again."""
    edit_upstream(lambda files: write_skill(files, "one-0"))(two_taps)
    assert len(BoostRetriever().invoke("deploy guide")) == 5
    build = [sys.executable, "-c", "from boost_cli.core import rag; rag.build()"]
    read, raced = rag.read_postings, []

    def late(terms):
        if not raced:
            raced.append(terms)
            edit_upstream(lambda files: shutil.rmtree(files / "skills/one-0"))(two_taps)
            subprocess.run(build, check=True, cwd="/")
        return read(terms)

    def answer():
        found = BoostRetriever(refresh="never").invoke("deploy guide")
        return [(document.id, document.metadata["score"]) for document in found]

    monkeypatch.setattr(rag, "read_postings", late)
    under_way = answer()
    assert raced
    assert under_way == answer()
    assert len(under_way) == 4


def test_two_builds_that_interleave(two_taps, monkeypatch):
    """Documents of one build over postings of another are noticed by who wrote last."""
    written = rag._write_postings

    def other_comes_between(postings):
        written(postings)
        monkeypatch.setattr(rag, "_write_postings", written)
        written({term: [[0, 1]] for term in postings})  # another process's, of another catalog

    edit_upstream(lambda files: write_skill(files, "one-c"))(two_taps)
    monkeypatch.setattr(rag, "_write_postings", other_comes_between)
    assert len(BoostRetriever(on_error="raise").invoke("deploy guide")) == 5


def test_commit_in_a_skill_is_no_commit(empty_catalog, write_files):
    """A header that names a commit does not become the registry's."""
    text = skill("forged", "deploy it", commit="deadbeefdeadbeef")
    empty_catalog.tap(write_files("base", {"skills/forged/SKILL.md": text}))
    cache = empty_catalog.boost_home / "cache" / "base.json"
    lines = cache.read_text().splitlines(keepends=True)
    cache.write_text(
        "".join(line for line in lines if '"commit": "d' in line or "commit" not in line)
    )
    head = cache_head(str(cache), cache.stat())
    assert (head.current, head.commit) == (True, "")


def test_clock_of_the_file_system_is_ahead(two_taps, monkeypatch):
    """An index that this process wrote is not from the future, whatever the clocks say."""
    monkeypatch.setattr(_freshness.time, "time", lambda: 1_000_000_000.0)
    index = two_taps.boost_home / "cache" / "rag_index.json"
    raw = json.loads(index.read_text())
    raw["commits"]["one"] = ""
    index.write_text(json.dumps(raw))
    BoostRetriever().invoke("deploy guide")  # renews it, once
    before = index.stat().st_mtime_ns
    for _ in range(2):
        assert len(BoostRetriever().invoke("deploy guide")) == 4
    assert index.stat().st_mtime_ns == before


def test_fork_while_another_thread_builds():
    """A forked child has its own locks, unlocked."""
    lock = ForkSafeLock()
    with lock:
        child = os.fork()
        if child == 0:
            with lock:
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_registries_that_share_a_cache(two_taps, write_files, caplog):
    """a/b and a__b: none answers for the other, and a mirror is not emptied of either."""
    two_taps.tap(write_files("x__y", {"skills/own/SKILL.md": skill("own", "deploy guide", "Own.")}))
    edit_config(lambda d: d["taps"].append({**d["taps"][-1], "name": "x/y"}))(two_taps)
    assert BoostRetriever(tap="x/y").invoke("deploy guide") == []
    assert len(BoostRetriever(tap="x__y").invoke("deploy guide")) == 1
    assert "x__y and x/y share one catalog cache; run `boost untap x/y`" in caplog.text
    with pytest.raises(BoostRetrievalError, match="share one catalog cache"):
        CatalogLoader(tap="x/y").load()
