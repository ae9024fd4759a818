"""The README is true: every command runs, every output is what comes, every name is there.

Its Python examples run in test_examples.py.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from uv import find_uv_bin

from boost_langchain import BoostRetriever
from boost_langchain.evaluation import read_golden
from boost_langchain.retriever import format_procedures
from boost_langchain.testing import tapped_catalog

from langsmith_double import KEY, LangSmithDouble
from support import OWN, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(language):
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block_with(language, words):
    """The one code block that holds these words."""
    (found,) = [block for block in blocks(language) if words in block]
    return found


@pytest.fixture
def checkout(tmp_path):
    """A copy of the checkout, for commands that write into their directory."""
    copy = tmp_path / "checkout"

    def unneeded(directory, names):
        """Caches and environments; the catalog has dotfiles of its own."""
        return {name for name in names if name[0] == "." and directory == str(ROOT)}

    shutil.copytree(ROOT, copy, ignore=unneeded)
    return copy


@pytest.fixture
def github(tmp_path):
    """The environment in which a repository on GitHub is one on this disk."""
    home = tmp_path / "github"
    with tapped_catalog() as hub:  # makes a git repository of the catalog
        hub.tap(OWN, "skills")
        shutil.copytree(hub.repository("skills"), home / "anthropics" / "skills")
    (home / "gitconfig").write_text(
        f'[url "file://{home}/"]\n\tinsteadOf = https://github.com/\n'
        "[user]\n\tname = nobody\n\temail = nobody@example.invalid\n"
    )
    user = tmp_path / "user"
    user.mkdir()
    return {"GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "HOME": str(user)}


def shell(text, directory, **environment):
    """Run a block of shell commands; return what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    inherited = {k: v for k, v in os.environ.items() if k != "BOOST_HOME"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=directory,
        env=inherited | {"PATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_block_is_of_a_kind_that_is_tested():
    """A block in another language would be one that nothing runs."""
    languages = re.findall(r"^```(\w*)$", README, re.MULTILINE)
    assert set(languages) == {"python", "sh", "text", "json", ""}
    assert [len(blocks("sh")), len(blocks("text")), len(blocks("json"))] == [4, 4, 1]


@pytest.mark.slow
def test_install(checkout, github, tmp_path):
    """In a fresh environment the commands install the package and tap a registry."""
    python = tmp_path / "env" / "bin" / "python"
    command = [find_uv_bin(), "venv", "--quiet", "--seed", "--python", sys.executable]
    subprocess.run([*command, python.parent.parent], check=True)
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    shell(block_with("sh", "pip install ."), checkout, **github, PATH=path)
    out = shell(
        "python -m boost_langchain search 'retry with backoff' -k 1", "/", **github, PATH=path
    )
    assert "anthropics/skills:skills/retry-with-backoff/SKILL.md" in out


def test_container(github, tmp_path, monkeypatch):
    """Built once, the home answers without a byte of it being written."""
    home = tmp_path / "srv" / "boost"
    out = shell(block_with("sh", "BOOST_HOME=").replace("/srv/boost", str(home)), "/", **github)
    assert out.strip().endswith("healthy")
    monkeypatch.setenv("BOOST_HOME", str(home))
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    (found,) = BoostRetriever(k=1, refresh="never").invoke("retry with backoff")
    assert found.metadata["engine"] == "BM25 full-content"
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


@pytest.mark.slow
def test_evaluation_commands(checkout, own_home):
    """The three commands run, one after the other, over the user's own golden file and home."""
    shutil.copy(checkout / "tests/eval/golden.jsonl", checkout / "mine.jsonl")
    text = block_with("sh", "--compare").replace(
        "before.json\n", "before.json\ncp before.json after.json\n", 1
    )
    out = shell(text, checkout, HOME=str(own_home.home))
    assert (checkout / "change.svg").stat().st_size > 1_000
    assert "judgments graded by name" in out


def test_evaluation_table(checkout):
    """The figures shown are those of the repository's catalog."""
    (shown,) = [text for text in blocks("text") if "judgments graded by" in text]
    assert shown in shell("python scripts/evaluate_retrieval.py", checkout)


@pytest.mark.slow
def test_langsmith_commands(checkout):
    """Published, published again, evaluated: against a service on loopback."""
    with LangSmithDouble() as double:
        environment = {"LANGSMITH_ENDPOINT": double.url, "LANGSMITH_API_KEY": KEY}
        out = shell(block_with("sh", "publish_golden_dataset"), checkout, **environment)
    assert "138" in out


def test_label(own_catalog):
    """A procedure is labelled as shown."""
    label = block_with("text", "### retry-with-backoff (skill")
    text = format_procedures(BoostRetriever(k=1).invoke("retry with backoff"))
    assert text.startswith(label)


def test_golden_line(tmp_path):
    """The line shown is a judgment."""
    golden = tmp_path / "golden.jsonl"
    golden.write_text(block_with("json", "exemplar"))
    (judgment,) = read_golden(golden)
    assert judgment.query == "check a deploy"


def test_reference_and_tree_are_current(tmp_path):
    """They are what `python scripts/write_reference.py` writes."""
    readme = tmp_path / "README.md"
    readme.write_text(README, encoding="utf-8")
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "write_reference.py", readme], check=True, cwd="/"
    )
    assert readme.read_text(encoding="utf-8") == README


def test_links_lead_to_files():
    """What the README points to is in the repository."""
    targets = re.findall(r"\]\((?!https:)([^)#]+)\)", README)
    anchors = re.findall(r"\]\(#([^)]+)\)", README)
    headings = re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    assert set(anchors) <= {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
    named = re.findall(r"`((?:integrations|scripts|tests)/[\w./]+\.\w+)", README)
    assert targets
    for target in {*targets, *named}:
        assert (ROOT / target).is_file(), target


def test_version_has_its_place_in_the_changelog():
    """The version that would be released is described, and the listing names its project."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", changelog, re.MULTILINE)
    listing = (ROOT / "integrations/langchain/listing.yml").read_text(encoding="utf-8")
    assert f"pypi: {PROJECT['name']}\n" in listing
    assert f"docs_url: https://pypi.org/project/{PROJECT['name']}/\n" in listing
