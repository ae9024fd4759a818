"""`python -m boost_langchain search`, as a shell sees it."""

import json
import subprocess
import sys

import pytest

from support import python


def run(*arguments):
    """Run the command; return its exit code and its two outputs."""
    return python("-m", "boost_langchain", *arguments)


def test_search_prints_what_a_chain_gets(own_catalog):
    """Rank, name, kind, tap:path, engine and snippet; exit code 0."""
    code, out, err = run("search", "retry with backoff", "-k", "2")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 6
    assert lines[0] == " 1. retry-with-backoff (skill)"
    assert (
        lines[1]
        == "    langchain-procedures:skills/retry-with-backoff/SKILL.md  [BM25 full-content]"
    )
    assert lines[2].startswith("    retry-with-backoff")


def test_search_as_json(own_catalog):
    """The same as data, with the text."""
    code, out, _ = run("search", "retry", "-k", "1", "--kind", "rule", "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert row["kind"] == "rule"
    assert row["page_content"]


def test_search_that_finds_nothing(own_catalog):
    """An empty answer says so, with an exit code of its own."""
    assert run("search", "zzqxj") == (1, "nothing found\n", "")
    assert run("search", "zzqxj", "--json") == (1, "[]\n", "")


def test_empty_home_is_said_on_stderr(empty_catalog):
    """Nothing tapped: the log line reaches the user."""
    code, out, err = run("search", "retry")
    assert (code, out) == (1, "nothing found\n")
    assert "nothing is tapped" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "0"], "k=0: Input should be greater than or equal to 1"),
        (["--kind", "plugin"], "kind='plugin': Input should be 'skill', 'rule' or 'workflow'"),
        (["-k", "many"], "invalid int value: 'many'"),
    ],
)
def test_wrong_argument_is_named(own_catalog, arguments, message):
    """Exit code 2 and one clear line, no traceback."""
    code, _, err = run("search", "retry", *arguments)
    assert code == 2
    assert message in err


def test_engine_fault_is_an_exit_code(empty_catalog):
    """A broken home is not an empty answer."""
    empty_catalog.boost_home.mkdir(exist_ok=True)
    (empty_catalog.boost_home / "config.json").write_text("{")
    code, out, err = run("search", "retry")
    assert (code, out) == (3, "")
    assert "config.json cannot be read" in err


@pytest.mark.parametrize(
    ("arguments", "code", "first"),
    [
        ("search retry -k 20 --json", 0, "[\n"),
        ("search zzqxj", 1, "nothing found\n"),
        ("doctor", 1, "boost home"),
    ],
)
def test_reader_that_stops_early(own_catalog, arguments, code, first, monkeypatch):
    """A closed pipe is no error, and the exit code is what it is without one."""
    if arguments == "doctor":
        monkeypatch.setenv("BOOST_HOME", "relative/path")
    command = f"({sys.executable} -m boost_langchain {arguments}; echo $? >&2) | {{ head -1; }}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.startswith(first)
    assert done.stderr.splitlines()[-1] == str(code)
    assert "Error" not in done.stderr


@pytest.mark.parametrize("arguments", ["search zzqxj", "doctor"])
def test_reader_that_reads_nothing(empty_catalog, arguments):
    """The pipe is closed before the first line."""
    command = f"({sys.executable} -m boost_langchain {arguments}; echo $? >&2) | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd="/")
    assert done.stderr.splitlines()[-1] == "1"
    assert "Error" not in done.stderr
