"""tapped_catalog: a throwaway home, and nothing left behind."""

import os

import pytest
from boost_cli.core import catalog
from boost_cli.errors import BoostError

from boost_langchain import BoostRetriever
from boost_langchain.testing import tapped_catalog

from support import OWN, OWN_TAP, skill, snapshot


def test_home_is_replaced_and_restored(write_files, monkeypatch):
    """HOME and BOOST_HOME name the throwaway home inside the block, and what they did after."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.delenv("BOOST_HOME")
    before = dict(os.environ)
    directory = write_files("mine", {"skills/a/SKILL.md": skill("a", "deploy it")})
    with tapped_catalog(directory) as tapped:
        assert tapped.taps == ("mine",)
        assert os.environ["HOME"] == str(tapped.home)
        assert os.environ["BOOST_HOME"] == str(tapped.boost_home)
        assert BoostRetriever().invoke("deploy")[0].id == "mine::skills/a/SKILL.md"
    assert dict(os.environ) == before
    assert not tapped.home.exists()


def test_home_is_restored_after_an_error(write_files):
    """A failing test does not leak its home."""
    before = dict(os.environ)
    with pytest.raises(RuntimeError), tapped_catalog():
        raise RuntimeError
    assert dict(os.environ) == before


def test_several_directories_and_a_name(write_files):
    """One registry per directory; one directory may be given another name."""
    files = {"skills/a/SKILL.md": skill("a", "deploy it")}
    with tapped_catalog(write_files("one", files), write_files("two", files)) as tapped:
        assert tapped.taps == ("one", "two")
    with tapped_catalog(write_files("one", files), name="three") as tapped:
        assert tapped.taps == ("three",)


def test_source_is_not_touched_and_commits_are_fixed(write_files):
    """The directory stays as it was; the commit id is the same each time."""
    directory = write_files("mine", {"skills/a/SKILL.md": skill("a", "deploy it")})
    before = snapshot(directory)
    commits = set()
    for _ in range(2):
        with tapped_catalog(directory):
            commits.add(BoostRetriever().invoke("deploy")[0].metadata["commit"])
    assert len(commits) == 1
    assert snapshot(directory) == before


def test_update_and_untap(tap_files):
    """A test may change a registry, bring it up to date, and remove it."""
    tapped = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")}, name="mine")
    (tapped.repository("mine") / "skills/a/SKILL.md").write_text(skill("b", "deploy it"))
    tapped.update("mine")
    assert [entry["name"] for entry in catalog.all_entries()] == ["b"]
    tapped.untap("mine")
    assert catalog.all_entries() == []


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("me/procs", "procs"),
        ("/nowhere/procs", "procs"),
        ("../procs", "procs"),
        ("my procs", "my-procs"),
        ("procs ", "procs"),
        ("procs.git", "procs"),
        ("..", "procedures"),
        ("", "procedures"),
    ],
)
def test_name_that_the_engine_would_change(write_files, name, instead):
    """Refused with what to pass: the registry would be called something else."""
    directory = write_files("one", {"skills/a/SKILL.md": skill("a")})
    message = f"name='{name}' is no name of a local registry; .* such as '{instead}'$"
    with pytest.raises(ValueError, match=message):
        tapped_catalog(directory, name=name).__enter__()
    with tapped_catalog() as tapped:
        with pytest.raises(ValueError, match=message):
            tapped.tap(directory, name)
        assert tapped.entries() == []


@pytest.mark.parametrize(
    ("directory", "name"), [("my  procs", "my-procs"), ("procs.git", "procs"), (" procs ", "procs")]
)
def test_directory_whose_name_the_engine_changes(write_files, directory, name):
    """It is tapped under the engine's name, by which its repository is found and changed."""
    source = write_files(directory, {"skills/a/SKILL.md": skill("a", "deploy it")})
    with tapped_catalog(source) as tapped:
        assert tapped.taps == (name,)
        (tapped.repository(name) / "skills/a/SKILL.md").write_text(skill("b", "deploy it"))
        tapped.update(name)
        assert [entry["name"] for entry in tapped.entries()] == ["b"]


def test_registry_that_is_not_there(tap_files):
    """Named, with those that are."""
    tapped = tap_files({"skills/a/SKILL.md": skill("a")}, name="mine")
    for call in (tapped.repository, tapped.update):
        with pytest.raises(ValueError, match=r"no registry 'me/mine' was .*; there are: mine"):
            call("me/mine")


def test_name_that_is_taken(tap_files, write_files):
    """The engine refuses it; after untap it is free again."""
    tapped = tap_files({"skills/a/SKILL.md": skill("a")}, name="mine")
    directory = write_files("other", {"skills/b/SKILL.md": skill("b")})
    with pytest.raises(BoostError, match="mine"):
        tapped.tap(directory, "mine")
    tapped.untap("mine")
    assert tapped.tap(directory, "mine") == "mine"
    assert [entry["name"] for entry in tapped.entries()] == ["b"]


def test_bad_arguments_are_named(write_files, tmp_path):
    """A missing directory, a name for two, a name that is taken."""
    with pytest.raises(FileNotFoundError, match="missing is not a directory"):
        tapped_catalog(tmp_path / "missing").__enter__()
    with pytest.raises(ValueError, match="name='x' names one registry, but 2"):
        tapped_catalog("a", "b", name="x").__enter__()
    directory = write_files("rag_index", {"skills/a/SKILL.md": skill("a")})
    with pytest.raises(BoostError, match="reserved"), tapped_catalog(directory):
        pass


def test_own_catalog_is_whole(own_catalog):
    """The repository's own catalog has every kind, and each item says what it is for."""
    entries = own_catalog.entries()
    assert own_catalog.taps == (OWN_TAP,)
    assert {entry["kind"] for entry in entries} == {"skill", "rule", "workflow"}
    assert len(entries) >= 60
    assert all(entry["description"] for entry in entries)
    assert len({entry["name"] for entry in entries}) == len(entries)
    assert "README" not in {entry["skill_md"] for entry in entries}
    assert len(list(OWN.rglob("SKILL.md"))) == sum(e["kind"] == "skill" for e in entries)
