"""Every fault through every seam: what is answered, what is refused, and what heals.

Each case records a row; the rows are printed as a table at the end of the run.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from boost_langchain import BoostRetriever
from boost_langchain.retriever import format_procedures

from faults import (
    CACHE,
    CONFIG,
    DEEP,
    INDEX,
    POSTINGS,
    SKILL,
    become,
    both,
    directory,
    edit_config,
    edit_index,
    edit_tap,
    edit_upstream,
    emptied,
    from_the_future,
    killed_build,
    link_to,
    remove,
    stray_posting,
    swap_skill,
    truncate,
    write,
)
from seams import SEARCHING, through_every_seam
from support import skill, snapshot

QUERY = "deploy guide"
BM25 = "BM25 full-content"
HEURISTIC = "heuristic relevance"
ALL = ("one-a", "one-b", "two-a", "two-b")
TWO = ("two-a", "two-b")
REST = ("one-b", *TWO)

DAMAGED = "catalog cache of one is damaged"
UNREADABLE = "config.json cannot be read"


@dataclass(frozen=True)
class Fault:
    """A fault, and what each seam does about it."""

    name: str
    arrange: Callable = lambda _home: None
    found: Sequence[str] = ALL
    """What every searching seam finds."""
    rung: str = BM25
    never: Sequence[str] | None = None
    """What is found where nothing may be built, if that is less."""
    searched: bool = True
    """Whether the agent's search tool answers, or says that the catalog cannot be read."""
    read: str = "body"
    """What the agent gets of the first skill: its body, its description, an error message."""
    mirrored: int | str = 4
    """How many items a mirror gets, or what the documented exception says."""
    loaded: str = "loads"
    """Whether the first skill's file loads, or what the documented exception says."""
    healthy: bool = True
    """What the doctor says afterwards."""
    after: Sequence[str] = ALL
    """What is found once the log's remedies were followed."""
    query: str = QUERY


def index_fault(name, arrange, **expected):
    """An index that makes the engine fail: the heuristic answers."""
    return Fault(name, arrange, rung=HEURISTIC, healthy=False, **expected)


def cache_fault(name, arrange, **expected):
    """A catalog cache that cannot be used: the other registry answers."""
    expected = {"found": TWO, "read": "error", "mirrored": DAMAGED, **expected}
    return Fault(name, arrange, healthy=False, **expected)


def path_fault(name, path):
    """A catalog cache that was edited to name another file: the item is left out."""
    edited = edit_tap(lambda d: d["skills"][0].update(skill_md=path))
    return Fault(name, edited, found=REST, read="error", after=REST)


def config_fault(name, arrange, **expected):
    """A configuration that cannot be read: nothing is known to be tapped."""
    expected = {"searched": False, "mirrored": UNREADABLE, "after": (), **expected}
    return Fault(name, arrange, found=(), rung="", read="error", healthy=False, **expected)


def file_fault(name, make, loaded, **expected):
    """A skill's file that was swapped after the scan: its description answers."""
    return Fault(name, swap_skill(make), read="description", loaded=loaded, **expected)


FAULTS = [
    index_fault("index: nested too deep", write(INDEX, DEEP)),
    index_fault("index: documents are numbers", edit_index(lambda d: d.update(docs=[1, 2]))),
    index_fault("index: documents are a dict", edit_index(lambda d: d.update(docs={"a": 1}))),
    index_fault("index: documents without keys", edit_index(lambda d: d.update(docs=[{}] * 4))),
    index_fault("index: documents missing", edit_index(lambda d: d.update(docs=d["docs"][:1]))),
    index_fault(
        "index: lengths are text", edit_index(lambda d: [doc.update(l="x") for doc in d["docs"]])
    ),
    index_fault("index: statistics are text", edit_index(lambda d: d.update(stats="x"))),
    Fault("index: no parameters", edit_index(lambda d: d.pop("params")), healthy=False),
    Fault("index: of a newer engine", edit_index(lambda d: d.update(version=99))),
    Fault("index: missing", remove(INDEX)),
    Fault("index: truncated", truncate(INDEX)),
    Fault("index: garbage", write(INDEX, "garbage")),
    Fault("index: empty", write(INDEX, "")),
    Fault("index: a link to itself", become(INDEX, link_to("rag_index.json"))),
    index_fault("index: a FIFO", become(INDEX, os.mkfifo)),
    index_fault("index: an endless device", become(INDEX, link_to("/dev/zero"))),
    index_fault("index: a directory", become(INDEX, directory)),
    Fault("postings: missing", remove(POSTINGS)),
    Fault("postings: truncated", truncate(POSTINGS)),
    Fault("postings: garbage", write(POSTINGS, "garbage" * 99)),
    Fault("postings: out of range", stray_posting),
    index_fault("postings: a FIFO", become(POSTINGS, os.mkfifo)),
    index_fault("postings: a directory", become(POSTINGS, directory)),
    cache_fault("cache: skills null", edit_tap(lambda d: d.update(skills=None)), rung=HEURISTIC),
    cache_fault(
        "cache: skills are numbers", edit_tap(lambda d: d.update(skills=[1])), rung=HEURISTIC
    ),
    cache_fault(
        "cache: an entry without a path",
        edit_tap(lambda d: d["skills"][0].pop("skill_md")),
        found=REST,
        rung=HEURISTIC,
    ),
    cache_fault(
        "cache: a name that is a list",
        edit_tap(lambda d: d["skills"][0].update(name=["x"])),
        found=ALL,
        never=REST,
    ),
    cache_fault(
        "cache: nested too deep",
        write(CACHE, DEEP),
        mirrored="catalog cache of one cannot be read (RecursionError)",
    ),
    cache_fault("cache: a FIFO", become(CACHE, os.mkfifo)),
    cache_fault("cache: a directory", become(CACHE, directory), found=ALL, never=TWO, read="body"),
    Fault("cache: missing", remove(CACHE)),
    Fault("cache: truncated", truncate(CACHE)),
    Fault("cache: garbage", write(CACHE, "garbage")),
    path_fault("cache: points into another registry", "../two/skills/two-a/SKILL.md"),
    path_fault("cache: points out of the home", "/etc/hostname"),
    path_fault("cache: a path with a NUL", "a\0b"),
    config_fault(
        "configuration: nested too deep", write(CONFIG, DEEP), mirrored="(RecursionError)"
    ),
    config_fault("configuration: garbage", write(CONFIG, "{")),
    config_fault("configuration: empty", write(CONFIG, "")),
    config_fault("configuration: taps are text", edit_config(lambda d: d.update(taps="x"))),
    config_fault("configuration: a directory", become(CONFIG, directory)),
    config_fault(
        "configuration: a FIFO", become(CONFIG, os.mkfifo), mirrored="config.json is no regular"
    ),
    config_fault(
        "configuration: gone", remove(CONFIG), searched=True, mirrored="config.json is gone"
    ),
    Fault(
        "configuration: a number as a name",
        edit_config(lambda d: d["taps"].append({"name": 5, "url": "x"})),
        mirrored="names a registry that is not a string",
        healthy=False,
    ),
    Fault("configuration: no address", edit_config(lambda d: d["taps"][0].pop("url"))),
    file_fault("skill: a FIFO", os.mkfifo, "not a regular file"),
    file_fault("skill: an endless device", link_to("/dev/zero"), "leads out of its directory"),
    file_fault("skill: a link out", link_to("/etc/passwd"), "leads out of its directory"),
    file_fault("skill: a directory", directory, "directory without a SKILL.md"),
    file_fault("skill: gone", lambda _path: None, "No such file"),
    Fault(
        "skill: UTF-16",
        swap_skill(lambda path: path.write_text("Deploy.", encoding="utf-16")),
        loaded="is UTF-16",
    ),
    Fault(
        "skill: a FIFO, no index",
        both(swap_skill(os.mkfifo), remove(INDEX)),
        found=REST,
        read="description",
        loaded="not a regular file",
        after=REST,
    ),
    Fault(
        "skill: a FIFO, no index, no cache",
        both(swap_skill(os.mkfifo), remove(INDEX), remove(CACHE)),
        found=TWO,
        read="error",
        mirrored="one cannot be scanned",
        loaded="not a regular file",
        after=REST,
    ),
    Fault(
        "skill: a link out, no index, no cache",
        both(swap_skill(link_to("/etc/passwd")), remove(INDEX), remove(CACHE)),
        found=REST,
        read="error",
        mirrored=3,
        loaded="leads out of its directory",
        after=REST,
    ),
    Fault(
        "registry: emptied",
        edit_upstream(emptied),
        found=TWO,
        read="error",
        mirrored=2,
        loaded="No such file",
        after=TWO,
    ),
    Fault(
        "registry: clones gone",
        remove("repos"),
        read="description",
        loaded="No such file",
        healthy=False,
    ),
    Fault(
        "home: removed while in use",
        lambda home: shutil.rmtree(home.boost_home),
        found=(),
        rung="",
        read="error",
        mirrored=0,
        loaded="No such file",
        healthy=False,
        after=(),
    ),
    Fault(
        "home: a file",
        lambda home: (shutil.rmtree(home.boost_home), home.boost_home.touch()),
        found=(),
        rung="",
        read="error",
        mirrored="the boost home is no directory",
        loaded="Not a directory",
        healthy=False,
        after=(),
    ),
    Fault("home: no cache directory", remove("cache")),
    index_fault(
        "home: a file as the cache directory",
        become("cache", lambda path: path.touch()),
        never=(),
    ),
    Fault("clock set back: index", from_the_future(INDEX)),
    Fault("clock set back: caches", from_the_future(CACHE, "cache/two.json")),
    Fault("clock set back: both", from_the_future(INDEX, CACHE, "cache/two.json")),
    Fault("build killed before its first file", killed_build(1)),
    Fault("build killed between its files", killed_build(2)),
    Fault(
        "build killed between its files, after a change",
        both(edit_upstream(lambda files: shutil.rmtree(files / "skills/one-a")), killed_build(2)),
        found=REST,
        read="error",
        mirrored=3,
        loaded="No such file",
        after=REST,
    ),
    Fault("query: Han", query="部署指南", found=(), rung=""),
    Fault("query: emoji", query="🚀🚀", found=(), rung=""),
    Fault("query: stop words", query="the of and", found=(), rung=""),
    Fault("query: blank", query=" \t\n", found=(), rung=""),
    Fault("query: a NUL", query="deploy\0guide"),
    Fault("query: half a surrogate pair", query="deploy guide \ud800"),
    Fault("query: 1 MB of words", query="deploy guide " * 80_000),
    Fault("query: 1 MB in one word", query="d" * 1_000_000, found=(), rung=""),
    Fault("query: 50,000 words", query="deploy guide " + " ".join(f"w{n}" for n in range(50_000))),
]


@pytest.fixture
def row(record_property):
    """Record a row of the table."""

    def record(name, found, seconds, remark=""):
        documents, rung = found["retriever"]
        mirrored, loaded = found["catalog_loader"], found["skill_loader"]
        cells = [
            name,
            f"{len(documents)} {rung.split(' ')[0]}".strip(),
            str(len(found["never"])),
            str(len(found["node"])),
            str(len(found["middleware"])),
            "error" if found["search_skills"] is None else str(len(found["search_skills"])),
            found["read_skill"],
            str(mirrored) if isinstance(mirrored, int) else "refuses",
            loaded if loaded in {"loads", "empty"} else "refuses",
            "attention" if found["doctor"] else "healthy",
            f"{seconds:.1f}",
            remark,
        ]
        record_property("fault", cells)

    return record


def through(home, query=QUERY):
    """The outcome of each seam, and how many seconds all of them took."""
    path = home.boost_home / "repos" / "one" / SKILL
    begun = time.monotonic()
    return through_every_seam(query, f"one::{SKILL}", path), time.monotonic() - begun


def ids(names):
    """The ids of items, from their names."""
    return [f"{name[:3]}::skills/{name}/SKILL.md" for name in names]


def check(found, fault):
    """Every seam did what the fault's row says."""
    documents, rung = found["retriever"]
    assert (documents, rung) == (ids(fault.found), fault.rung)
    searched = {seam.__name__: found[seam.__name__] for seam in SEARCHING[1:]}
    assert searched == dict.fromkeys(searched, documents) | {
        "never": documents if fault.never is None else ids(fault.never),
        "search_skills": documents if fault.searched else None,
    }
    assert found["read_skill"] == fault.read
    for outcome, expected in (
        (found["catalog_loader"], fault.mirrored),
        (found["skill_loader"], fault.loaded),
    ):
        assert outcome == expected or (isinstance(outcome, str) and str(expected) in outcome)
    assert found["doctor"] == (0 if fault.healthy else 1)


def follow(home, messages):
    """Do what log lines say: delete the file that they name, run the command."""
    for message in messages:
        for name in re.findall(r"delete (cache/[\w.]+)", message):
            path = home.boost_home / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for name in re.findall(r"(cache/[\w.]+) is no regular file; delete it", message):
            (home.boost_home / name).unlink(missing_ok=True)
        for tap, name in re.findall(r"(\w+) cannot be scanned: (\S+) is not .* delete it", message):
            (home.clone(tap) / name).unlink(missing_ok=True)
    text = "\n".join(message for message in messages if "; mend them" not in message)
    for command in dict.fromkeys(re.findall(r"`boost (reindex[^`]*)`", text)):
        run = [sys.executable, "-m", "boost_cli", *shlex.split(command)]
        subprocess.run(run, check=False, capture_output=True, cwd="/")


def contents(home):
    """What the user would miss: the configuration and the clones, byte for byte."""
    config = home.boost_home / "config.json"
    kept = snapshot(home.boost_home / "repos")
    return kept | ({"config": config.read_bytes()} if config.is_file() else {})


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in FAULTS])
def test_fault(two_taps, row, caplog, fault):
    """Each seam answers or refuses as documented, takes nothing away, and heals as it says."""
    fault.arrange(two_taps)
    before = contents(two_taps)
    found, seconds = through(two_taps, fault.query)
    check(found, fault)
    assert contents(two_taps) == before
    follow(two_taps, [record.getMessage() for record in caplog.records])
    healed = BoostRetriever().invoke(QUERY)
    assert sorted(document.id for document in healed) == ids(fault.after)
    row(fault.name, found, seconds)


# ------------------------------------------------------------------- cases with a home of their own

FULL_DISK = """
mount -t tmpfs -o size=4m none "$1"
cp -r "$2"/. "$1"
rm -rf "$1"/.boost/cache/$4
dd if=/dev/zero of="$1"/filler bs=4k 2>/dev/null
touch "$1"/more 2>/dev/null && printf x > "$1"/more 2>/dev/null && exit 97
HOME="$1" BOOST_HOME="$1"/.boost "$3" "$5" "deploy guide" one::skills/one-a/SKILL.md \
  "$1"/.boost/repos/one/skills/one-a/SKILL.md
"""


@pytest.mark.skipif(not Path("/proc/self/ns/mnt").exists(), reason="needs Linux's mount namespaces")
@pytest.mark.parametrize(
    ("gone", "rung"), [("nothing", BM25), ("rag_*", HEURISTIC), ("*", HEURISTIC)]
)
def test_full_disk(two_taps, tmp_path, row, gone, rung):
    """A home on a disk with no byte left answers from what is there, and saves nothing."""
    seams = Path(__file__).with_name("seams.py")
    mount = tmp_path / "full"
    mount.mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, mount, two_taps.home, sys.executable, gone, seams],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    if "unshare:" in done.stderr:
        pytest.skip("this machine lets nobody make a mount namespace")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    fault = Fault("full disk", rung=rung, healthy=rung == BM25, never=() if gone == "*" else None)
    found["retriever"] = tuple(found["retriever"])
    check(found, fault)
    name = {"nothing": "index kept", "rag_*": "no index", "*": "no index, no cache"}[gone]
    row(f"full disk: {name}", found, time.monotonic() - begun, "a process of its own")


def test_home_removed_under_running_queries(two_taps, row):
    """Queries that race with the removal of the home end in an answer, whole or empty."""
    names, stop = set(), threading.Event()
    errors = []

    def ask():
        while not stop.is_set():
            try:
                found = BoostRetriever().invoke(QUERY)
            except Exception as e:  # noqa: BLE001 - whatever it is
                errors.append(e)
                return
            names.update(document.metadata["name"] for document in found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    shutil.rmtree(two_taps.boost_home, ignore_errors=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert names <= set(ALL)
    shutil.rmtree(two_taps.boost_home, ignore_errors=True)  # a late query may have written into it
    found, seconds = through(two_taps)
    assert found["retriever"] == ([], "")
    row("home: removed under four running threads", found, seconds)


def test_processes_that_build_at_once(two_taps, row):
    """Four processes meet a home without an index: each answers in full."""
    remove(INDEX)(two_taps)
    code = (
        "from boost_langchain import BoostRetriever;"
        "print(len(BoostRetriever(on_error='raise').invoke('deploy guide')))"
    )
    begun = time.monotonic()
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd="/")
        for _ in range(4)
    ]
    assert [run.communicate(timeout=120)[0].strip() for run in runs] == ["4"] * 4
    found, _seconds = through(two_taps)
    check(found, Fault("built"))
    row("four processes build at once", found, time.monotonic() - begun, "with four starts")


SCRIPTS = {
    "Han": "部署指南",
    "Kana": "デプロイの手引き",
    "Hangul": "배포-안내",
    "Arabic": "دليل-النشر",
    "Hebrew": "מדריך-פריסה",
    "Cyrillic": "руководство",
    "Greek": "οδηγός",
    "Devanagari": "तैनाती-मार्गदर्शिका",
    "Thai": "คู่มือการปรับใช้",
    "Vietnamese, decomposed": "hướng-dẫn-triển-khai",
    "emoji": "🚀-👩‍💻",
    "spaces and signs": "a b & c's #1 [x] {y} 100%",
}


def test_names_in_every_script(tap_files, row):
    """Names and paths in any script are found, handed over, read and loaded as they are."""
    files = {
        f"skills/{name}/SKILL.md": skill(json.dumps(name, ensure_ascii=False), "deploy guide", name)
        for name in SCRIPTS.values()
    }
    home = tap_files(files, name="手順-и-правила")
    tap = "手順-и-правила"
    begun = time.monotonic()
    expected = sorted(f"{tap}::{path}" for path in files)
    found = BoostRetriever(k=50, on_error="raise").invoke(QUERY)
    assert sorted(document.id for document in found) == expected
    for document in found:  # the engine makes a slug of a name; the text keeps it
        assert document.page_content.split("\n")[-1] in document.metadata["path"]
    text = format_procedures(found)
    assert text.count("\n### ") + text.startswith("### ") == len(files)
    for path in files:
        outcome = through_every_seam(QUERY, f"{tap}::{path}", home.clone(tap) / path)
        assert outcome["read_skill"] == "body"
        assert outcome["skill_loader"] == "loads"
        assert outcome["catalog_loader"] == len(files)
        assert len(outcome["node"]) == len(outcome["middleware"]) == 8
        assert set(outcome["node"]) <= set(expected)
        assert outcome["node"] == outcome["middleware"] == outcome["retriever"][0]
        assert outcome["doctor"] == 0
    row("names in twelve scripts", outcome, time.monotonic() - begun, "twelve times")


@pytest.mark.slow
def test_ten_thousand_items(tap_files, row):
    """A registry of 10,000 items answers through every seam."""
    files = {
        f"skills/one-{n}/SKILL.md": skill(f"one-{n}", f"deploy guide {n}", f"Step {n}: deploy.")
        for n in range(10_000)
    }
    home = tap_files(files, name="one")
    begun = time.monotonic()
    BoostRetriever().invoke(QUERY)
    built = time.monotonic() - begun
    begun = time.monotonic()
    found = through_every_seam(
        QUERY, "one::skills/one-7/SKILL.md", home.clone("one") / "skills/one-7/SKILL.md"
    )
    assert found["retriever"][1] == BM25
    assert [len(found[seam.__name__]) for seam in SEARCHING[1:]] == [8] * 5
    assert found["catalog_loader"] == 10_000
    assert (found["read_skill"], found["skill_loader"], found["doctor"]) == ("body", "loads", 0)
    row(
        "10,000 items", found, time.monotonic() - begun, f"first query, with the build: {built:.1f}"
    )


@pytest.mark.slow
def test_fifty_megabytes(tap_files, row):
    """A body of 50 MB is read up to a limit, everywhere, and says so."""
    body = "deploy line of text\n" * 2_500_000
    home = tap_files({SKILL: skill("one-a", "deploy guide", body)}, name="one")
    (document,) = BoostRetriever().invoke(QUERY)
    assert document.page_content.endswith("more bytes of this file were not read]")
    found, seconds = through(home)
    check(found, Fault("huge", found=("one-a",), mirrored=1))
    row("a body of 50 MB", found, seconds)
