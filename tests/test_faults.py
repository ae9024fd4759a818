"""What escapes from the engine does not escape from a seam: broken homes, really broken."""

import os
import subprocess
import sys

import pytest
from boost_cli.core import rag

from boost_langchain import BoostRetriever, _notices
from boost_langchain.errors import BoostRetrievalError

from faults import DEEP, become, directory, edit_config, edit_index, edit_tap, stray_posting, write
from support import skill

QUERY = "deploy guide"
SECRET = "placeholder-secret-value"


INDEX = "the search index is damaged"
CACHE = "the catalog cache of one"
CONFIG = "config.json"
ALL = ["one-a", "one-b", "two-a", "two-b"]


@pytest.mark.parametrize(
    ("break_it", "named", "remedy", "names"),
    [
        pytest.param(write("cache/rag_index.json", DEEP), INDEX, "reindex", ALL, id="deep index"),
        pytest.param(
            edit_index(lambda d: d.update(docs=[1, 2])), INDEX, "reindex", ALL, id="docs of numbers"
        ),
        pytest.param(
            edit_index(lambda d: d.update(docs={"a": 1})), INDEX, "reindex", ALL, id="docs a dict"
        ),
        pytest.param(
            edit_index(lambda d: d.update(docs=[{}] * 4)),
            INDEX,
            "reindex",
            ALL,
            id="docs without keys",
        ),
        pytest.param(
            edit_index(lambda d: d.update(docs=d["docs"][:1])),
            INDEX,
            "reindex",
            ALL,
            id="docs missing",
        ),
        pytest.param(
            edit_index(lambda d: d.update(stats="x")), INDEX, "reindex", ALL, id="stats a string"
        ),
        pytest.param(
            edit_tap(lambda d: d.update(skills=None)),
            CACHE,
            "delete cache/one.json",
            ALL[2:],
            id="skills null",
        ),
        pytest.param(
            edit_tap(lambda d: d.update(skills=[1])),
            CACHE,
            "delete cache/one.json",
            ALL[2:],
            id="skills of numbers",
        ),
        pytest.param(
            edit_tap(lambda d: d["skills"][0].pop("skill_md")),
            CACHE,
            "delete cache/one.json",
            ALL[1:],
            id="one entry without skill_md",
        ),
        pytest.param(write("config.json", DEEP), CONFIG, "repair or delete", [], id="deep config"),
        pytest.param(write("config.json", "{"), CONFIG, "boost doctor", [], id="garbage config"),
        pytest.param(
            edit_config(lambda d: d.update(taps="x")),
            CONFIG,
            "boost doctor",
            [],
            id="taps a string",
        ),
        pytest.param(
            become("config.json", directory), CONFIG, "boost doctor", [], id="config a directory"
        ),
    ],
)
def test_fault_is_answered_by_the_next_rung(two_taps, caplog, break_it, named, remedy, names):
    """The engine's heuristic answers from what is left, with one warning and its remedy."""
    break_it(two_taps)
    for _ in range(2):
        found = BoostRetriever().invoke(QUERY)
        assert sorted(document.metadata["name"] for document in found) == names
        assert {d.metadata["engine"] for d in found} <= {"heuristic relevance"}
    faults = [r.getMessage() for r in caplog.records if named in r.getMessage()]
    assert len([line for line in faults if "boost home" in line]) == 1
    assert remedy in faults[-1]
    with pytest.raises(BoostRetrievalError, match=named) as raised:
        BoostRetriever(on_error="raise").invoke(QUERY)
    assert str(two_taps.home) not in str(raised.value)


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda h: (h.boost_home / "cache/rag_index.json").unlink(), id="no index"),
        pytest.param(write("cache/rag_index.json", "garbage"), id="garbage index"),
        pytest.param(
            write("cache/rag_index.json", '{"version": 11, "docs": ['), id="truncated index"
        ),
        pytest.param(
            lambda h: rag.postings_path().write_bytes(b"garbage" * 99), id="garbage postings"
        ),
        pytest.param(lambda h: rag.postings_path().unlink(), id="no postings"),
        pytest.param(stray_posting, id="posting out of range"),
        pytest.param(write("cache/one.json", "garbage"), id="garbage cache"),
        pytest.param(lambda h: (h.boost_home / "cache/one.json").unlink(), id="no cache"),
        pytest.param(
            edit_config(lambda d: d["taps"].append({"name": 5, "url": "x"})),
            id="a number as a name",
        ),
    ],
)
def test_what_the_engine_repairs_is_answered_as_before(two_taps, break_it):
    """A fault that the engine mends by itself costs nothing."""
    break_it(two_taps)
    found = BoostRetriever(on_error="raise").invoke(QUERY)
    assert [document.metadata["engine"] for document in found] == ["BM25 full-content"] * 4


def test_remedy_of_a_damaged_index_works(two_taps, caplog):
    """Doing what the warning says brings the engine back, and a new fault is said anew."""
    index = two_taps.boost_home / "cache" / "rag_index.json"
    for _ in range(2):
        index.write_text(DEEP)
        BoostRetriever().invoke(QUERY)
        index.unlink()
        assert BoostRetriever().invoke(QUERY)[0].metadata["engine"] == "BM25 full-content"
    assert len([r for r in caplog.records if INDEX in r.getMessage()]) == 2


def test_number_as_a_registry_name_without_an_index(two_taps, caplog):
    """The engine fails while building; the registries that are well named still answer."""
    edit_config(lambda d: d["taps"].append({"name": 5, "url": "x"}))(two_taps)
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    assert len(BoostRetriever(on_error="raise").invoke(QUERY)) == 4
    assert "config.json names a registry that is not a string" in caplog.text


def test_index_that_cannot_be_written_degrades_to_the_heuristic(two_taps, caplog):
    """A cache directory that takes no index: simpler ranking, one warning, no second try."""
    cache = two_taps.boost_home / "cache"
    for path in (cache / "rag_index.json", rag.postings_path()):
        path.unlink()
        path.mkdir()
        (path / "occupied").touch()
    for _ in range(2):
        found = BoostRetriever(on_error="raise").invoke(QUERY)
        assert [d.metadata["engine"] for d in found] == ["heuristic relevance"] * 4
    assert [r.getMessage() for r in caplog.records if "cannot be built" in r.getMessage()] == [
        f"the search index in {two_taps.boost_home} cannot be built, so an older one or "
        "simpler ranking answers; run `boost reindex` to see why"
    ]


# --------------------------------------------------------------------- files that must not be read


def swap(home, relative, replace):
    """Replace a file of the clone of registry `one`."""
    path = home.clone("one") / relative
    path.unlink()
    replace(path)
    return path


@pytest.mark.parametrize("index", ["kept", "rebuilt"])
@pytest.mark.parametrize("what", ["fifo", "device", "link out", "link into git", "directory"])
def test_swapped_file_is_never_read(two_taps, tmp_path, index, what):
    """A FIFO, an endless device or a link that leads out gives the description, and no more."""
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    replace = {
        "fifo": os.mkfifo,
        "device": lambda path: path.symlink_to("/dev/zero"),
        "link out": lambda path: path.symlink_to(secret),
        "link into git": lambda path: path.symlink_to(two_taps.clone("one") / ".git" / "config"),
        "directory": lambda path: path.mkdir(),
    }[what]
    swap(two_taps, "skills/one-a/SKILL.md", replace)
    if index == "rebuilt":
        (two_taps.boost_home / "cache" / "rag_index.json").unlink()
        assert SECRET not in repr(BoostRetriever(k=20).invoke("placeholder secret value"))
    found = {d.metadata["name"]: d for d in BoostRetriever().invoke("deploy guide")}
    assert set(found) == (set(ALL) - {"one-a"} if index == "rebuilt" else set(ALL))
    if index == "kept":
        document = found["one-a"]
        assert document.page_content == "deploy guide a"
        assert document.metadata["has_body"] is False
        assert document.metadata["snippet"] == ""
    assert found["one-b"].metadata["has_body"] is True


def boost(*arguments):
    """Run the engine's own command."""
    command = [sys.executable, "-m", "boost_cli", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")


def test_item_left_out_of_the_index_comes_back(two_taps, caplog):
    """The log says which item was left out; mended and reindexed, it is found again."""
    path = swap(two_taps, "skills/one-a/SKILL.md", os.mkfifo)
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    assert len(BoostRetriever().invoke(QUERY)) == 3
    assert "one::skills/one-a/SKILL.md; mend them and run `boost reindex`" in caplog.text
    path.unlink()
    path.write_text(skill("one-a", "deploy guide a", "Mended."))
    boost("reindex")
    found = {d.metadata["name"]: d for d in BoostRetriever().invoke(QUERY)}
    assert "Mended." in found["one-a"].page_content


def test_cache_nested_too_deep(two_taps, caplog):
    """The index cannot be renewed; the one that is there answers for what can be read."""
    write("cache/one.json", DEEP)(two_taps)
    found = BoostRetriever(on_error="raise").invoke(QUERY)
    assert sorted(d.metadata["name"] for d in found) == ALL[2:]
    assert {d.metadata["engine"] for d in found} == {"BM25 full-content"}
    assert "cannot be read (RecursionError); delete cache/one.json" in caplog.text


def test_registry_with_a_damaged_cache_comes_back(two_taps, caplog):
    """Doing what the warning says brings the whole registry back, index or no index."""
    cache = two_taps.boost_home / "cache"
    edit_tap(lambda d: d.update(skills=None))(two_taps)
    (cache / "rag_index.json").unlink()
    assert len(BoostRetriever().invoke(QUERY)) == 2
    assert "delete cache/one.json" in caplog.text
    (cache / "one.json").unlink()
    boost("reindex")
    assert len(BoostRetriever().invoke(QUERY)) == 4


@pytest.mark.parametrize(
    ("file", "names", "named"),
    [
        ("cache/rag_index.json", ALL, "cache/rag_index.json is no regular file; delete it"),
        ("cache/rag_postings.sqlite", ALL, "cache/rag_postings.sqlite is no regular file"),
        ("cache/one.json", ALL[2:], "the catalog cache of one is no regular file"),
        ("config.json", [], "boost's config.json is no regular file"),
    ],
)
@pytest.mark.parametrize("refresh", ["auto", "never"])
def test_fifo_among_the_engines_own_files(two_taps, caplog, file, names, named, refresh):
    """No file of the home is waited for; what is left answers."""
    path = two_taps.boost_home / file
    path.unlink()
    os.mkfifo(path)
    found = BoostRetriever(refresh=refresh).invoke(QUERY)
    assert sorted(d.metadata["name"] for d in found) == names
    assert named in caplog.text


@pytest.mark.parametrize("cache", ["missing", "of an older format"])
@pytest.mark.parametrize("fifo", ["skills/one-a/SKILL.md", "skills/notes.md", ".git/HEAD"])
def test_fifo_in_a_clone_that_must_be_scanned(two_taps, caplog, cache, fifo):
    """With an index in place, a registry whose cache must be made again is not waited for."""
    path = two_taps.clone("one") / fifo
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    if cache == "missing":
        (two_taps.boost_home / "cache" / "one.json").unlink()
    else:
        edit_tap(lambda d: d.update(format=1))(two_taps)
    found = BoostRetriever().invoke(QUERY)
    assert sorted(d.metadata["name"] for d in found) == ALL[2:]
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"one cannot be scanned: {fifo} is not a regular file; delete it")


def test_fifo_beside_a_skill_is_no_obstacle(two_taps, caplog):
    """A file that the engine's scan never opens does not keep a registry out."""
    os.mkfifo(two_taps.clone("one") / "skills" / "one-a" / "notes.md")
    (two_taps.boost_home / "cache" / "one.json").unlink()
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    assert len(BoostRetriever(on_error="raise").invoke(QUERY)) == 4
    assert caplog.records == []


def test_nul_in_a_path_keeps_one_item_out(two_taps, caplog):
    """One impossible path does not make the index impossible."""
    edit_tap(lambda d: d["skills"][0].update(skill_md="a\0b"))(two_taps)
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    found = BoostRetriever(on_error="raise").invoke(QUERY)
    assert sorted(d.metadata["name"] for d in found) == ALL[1:]
    assert {d.metadata["engine"] for d in found} == {"BM25 full-content"}


def test_clock_set_back(two_taps):
    """An index from the future is compared with nothing: a change is still seen."""
    two_taps.untap("two")
    BoostRetriever().invoke(QUERY)
    index = two_taps.boost_home / "cache" / "rag_index.json"
    future = index.stat().st_mtime + 1_000_000
    os.utime(index, (future, future))
    path = two_taps.repository("one") / "skills/one-a/SKILL.md"
    path.write_text(skill("one-a", "deploy guide a", "Zebra crossing."))
    two_taps.update("one")
    (found,) = BoostRetriever().invoke("zebra crossing")
    assert found.metadata["name"] == "one-a"


def test_header_larger_than_what_is_read(tap_files):
    """A frontmatter beyond the limit does not become the body."""
    text = "---\nname: wide\ndescription: deploy wide\nnotes: " + "x" * 1_100_000 + "\n---\nBody.\n"
    tap_files({"skills/wide/SKILL.md": text})
    (document,) = BoostRetriever().invoke("deploy wide")
    assert document.page_content == "deploy wide"
    assert document.metadata["has_body"] is False


def test_registry_that_cannot_be_scanned_leaves_the_others(two_taps, caplog):
    """A FIFO in a clone that must be scanned again: named, skipped, nothing hangs."""
    swap(two_taps, "skills/one-a/SKILL.md", os.mkfifo)
    (two_taps.boost_home / "cache" / "one.json").unlink()
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    found = BoostRetriever().invoke(QUERY)
    assert sorted(d.metadata["name"] for d in found) == ["two-a", "two-b"]
    assert "one cannot be scanned: skills/one-a/SKILL.md is not a regular file" in caplog.text


@pytest.mark.parametrize(
    "path", ["/etc/hostname", "../two/skills/two-a/SKILL.md", ".git/config", ""]
)
def test_cache_that_points_elsewhere_reads_nothing(two_taps, path):
    """A catalog cache edited to name another file: no bytes from elsewhere."""
    edit_tap(lambda d: d["skills"][0].update(skill_md=path))(two_taps)
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    found = BoostRetriever().invoke(QUERY)
    bodies = [
        d.page_content for d in found if d.metadata["tap"] == "one" and d.metadata["has_body"]
    ]
    assert bodies == ["one-b\ndeploy guide b\nDeploy one as b."]


def test_links_out_of_a_registry(empty_catalog, tmp_path):
    """Case 27: a link to a file and one to a directory outside bring nothing in."""
    registry, out = tmp_path / "leaky", tmp_path / "out"
    (registry / "skills" / "ok").mkdir(parents=True)
    (registry / "skills" / "leak").mkdir()
    (out / "dir").mkdir(parents=True)
    (registry / "skills/ok/SKILL.md").write_text(
        skill("ok-skill", "secret handling guide", "Body.")
    )
    (out / "secret.txt").write_text(SECRET)
    (out / "dir" / "SKILL.md").write_text(skill("outdir", "secret dir", SECRET))
    (registry / "skills/leak/SKILL.md").symlink_to(out / "secret.txt")
    (registry / "skills/leakdir").symlink_to(out / "dir")
    empty_catalog.tap(registry)
    found = BoostRetriever(k=50).invoke("secret placeholder value dir handling guide")
    assert [d.metadata["name"] for d in found] == ["ok-skill"]
    assert SECRET not in repr(found)


def test_huge_file_is_cut_with_a_note(tap_files):
    """Case 30: a body of millions of characters is read up to a limit, visibly."""
    body = "whale line of text\n" * 300_000
    tap_files({"skills/whale/SKILL.md": skill("whale", "whale watching guide", body)})
    (document,) = BoostRetriever().invoke("whale watching")
    assert len(document.page_content) < 1_001_000
    assert document.page_content.endswith("more bytes of this file were not read]")
    assert document.metadata["has_body"] is True


def test_a_clone_that_is_gone_leaves_the_descriptions(two_taps):
    """An imported catalog without clones still answers, and says what is missing."""
    two_taps.clone("one").rename(two_taps.home / "gone")
    found = {d.metadata["name"]: d for d in BoostRetriever(local_paths=True).invoke(QUERY)}
    assert set(found) == set(ALL)
    assert found["one-a"].page_content == "deploy guide a"
    assert found["one-a"].metadata["file"] == ""
    assert found["two-a"].metadata["has_body"] is True


def test_a_bad_boost_home_is_a_fault_not_a_crash(monkeypatch, caplog):
    """A BOOST_HOME that the engine refuses is reported like a broken configuration."""
    monkeypatch.setenv("BOOST_HOME", "${NOT_SET}/boost")
    assert BoostRetriever().invoke(QUERY) == []
    assert "NOT_SET is not set" in caplog.text


def test_fault_that_returns_is_said_again(two_taps, caplog):
    """A line is said once for as long as its state lasts, and once more when it comes back."""
    cache = two_taps.boost_home / "cache" / "one.json"
    whole = cache.read_bytes()
    for _ in range(2):
        cache.write_text(DEEP)
        for _ in range(2):
            BoostRetriever(refresh="never").invoke(QUERY)
        cache.write_bytes(whole)
        assert len(BoostRetriever(refresh="never").invoke(QUERY)) == 4
    lines = [r.getMessage() for r in caplog.records if "cannot be read" in r.getMessage()]
    assert len(lines) == 2


@pytest.mark.parametrize("refresh", ["auto", "never"])
def test_entry_that_is_left_out_is_said(two_taps, caplog, refresh):
    """An entry with a wrong type is named with its registry, whoever reads the cache."""
    edit_tap(lambda d: d["skills"][0].update(description=5))(two_taps)
    (two_taps.boost_home / "cache" / "rag_index.json").unlink()
    BoostRetriever(refresh=refresh).invoke(QUERY)
    assert CACHE in caplog.text


def test_lines_that_are_remembered_are_bounded():
    """A registry's name may come from a user: what was said does not grow without end."""
    for number in range(3_000):
        _notices.say_once("tap", "home", f"{number} is not tapped")
    assert len(_notices._said) <= 1_000
