"""Fixtures, and the guard that the tests meet the installed wheel."""

import json
import os
import sys

import pytest

from guard import wrong_package
from langsmith_double import KEY, LangSmithDouble
from support import OWN, OWN_TAP, ROOT, skill

if "BOOST_LANGCHAIN_LADDER" in os.environ:
    # pyenv's and others' sqlite3 cannot load extensions, and the engine's vectors need one.
    import pysqlite3
    import pysqlite3.dbapi2

    sys.modules |= {"sqlite3": pysqlite3, "sqlite3.dbapi2": pysqlite3.dbapi2}

# Before the first import of the package: the wrong one may not even have these names.
if reason := wrong_package():
    pytest.exit(f"refusing to test: {reason}; run `make test`")

from boost_langchain import BoostRetriever, _notices
from boost_langchain.testing import TappedCatalog, tapped_catalog


@pytest.fixture(scope="session")
def own_home(tmp_path_factory):
    """The repository's own catalog, tapped and indexed once; its home."""
    with tapped_catalog(OWN, name=OWN_TAP) as tapped:
        BoostRetriever().invoke("build the index")
        yield tapped


@pytest.fixture(autouse=True)
def throwaway_home(monkeypatch, tmp_path):
    """No test sees the user's home; each log line may be said again in each test."""
    foreign = ("LANGSMITH_", "LANGCHAIN_", "BOOST_", "OPENAI_", "VOYAGE_")
    for name in [name for name in os.environ if name.startswith(foreign)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("BOOST_HOME", str(tmp_path / "nobody" / ".boost"))
    monkeypatch.setenv("BOOST_NO_AI", "1")
    _notices._said.clear()


@pytest.fixture
def own_catalog(own_home, throwaway_home, monkeypatch) -> TappedCatalog:
    """The repository's own catalog; to be read, not changed."""
    monkeypatch.setenv("HOME", str(own_home.home))
    monkeypatch.setenv("BOOST_HOME", str(own_home.boost_home))
    return own_home


@pytest.fixture(scope="session")
def own_golden():
    """The judgments over the repository's own catalog, as plain rows."""
    lines = (ROOT / "tests" / "eval" / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line and not line.startswith("#")]


@pytest.fixture
def empty_catalog(throwaway_home):
    """A home with nothing tapped, to be filled."""
    with tapped_catalog() as tapped:
        yield tapped


@pytest.fixture
def langsmith(monkeypatch):
    """A LangSmith double, named by the environment as a user would name the service."""
    with LangSmithDouble() as double:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", double.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
        yield double


@pytest.fixture
def write_files(tmp_path):
    """Write a directory of files from a dict; return the directory."""

    def write(name, files):
        directory = tmp_path / "sources" / name
        for relative, text in files.items():
            path = directory / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            data = text if isinstance(text, bytes) else text.encode()
            path.write_bytes(data)
        return directory

    return write


@pytest.fixture
def tap_files(empty_catalog, write_files):
    """Tap a dict of files as a registry; return the home."""

    def tap(files, name="procedures"):
        empty_catalog.tap(write_files(name, files))
        return empty_catalog

    return tap


@pytest.fixture
def two_taps(empty_catalog, write_files):
    """Two registries of two skills each, indexed."""
    for tap in ("one", "two"):
        files = {
            f"skills/{tap}-{letter}/SKILL.md": skill(
                f"{tap}-{letter}", f"deploy guide {letter}", f"Deploy {tap} as {letter}."
            )
            for letter in "ab"
        }
        empty_catalog.tap(write_files(tap, files))
    assert len(BoostRetriever().invoke("deploy guide")) == 4
    return empty_catalog


def pytest_terminal_summary(terminalreporter):
    """Print what each fault came to."""
    rows = [
        dict(report.user_properties)["fault"]
        for report in terminalreporter.stats.get("passed", [])
        if "fault" in dict(report.user_properties)
    ]
    if not rows:
        return
    seams = ["retriever", "never", "node", "middleware", "search", "read", "mirror", "loader"]
    table = [["fault", *seams, "doctor", "s", ""], *sorted(rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    terminalreporter.section("faults")
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
