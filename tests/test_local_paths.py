"""without_home: the directories of this machine in text that a model reads."""

import os

import pytest

from boost_langchain._local_paths import without_home


@pytest.fixture
def homes(monkeypatch):
    """A user's home, and a boost home elsewhere."""

    def put(home="/home/ada", boost=None):
        monkeypatch.setenv("HOME", home)
        if boost is None:
            monkeypatch.delenv("BOOST_HOME", raising=False)
        else:
            monkeypatch.setenv("BOOST_HOME", boost)

    put()
    return put


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("nothing of the kind", "nothing of the kind"),
        ("/home/ada", "~"),
        ("/home/ada/", "~/"),
        ("/home/ada/.boost", "~/.boost"),
        ("/home/ada/.boost/config.json: invalid", "~/.boost/config.json: invalid"),
        ("at '/home/ada/x' and \"/home/ada/y\"", "at '~/x' and \"~/y\""),
        ("in /home/ada.", "in ~."),
        ("file:///home/ada/x", "file://~/x"),
        ("HOME=/home/ada", "HOME=~"),
        ('{"a": "one\\n/home/ada/x"}', '{"a": "one\\n~/x"}'),
        ("/home/adam", "/home/adam"),
        ("/home/ada-2/x", "/home/ada-2/x"),
        ("/home/ada.old/x", "/home/ada.old/x"),
        ("/mnt/home/ada/x", "/mnt/home/ada/x"),
        ("./home/ada", "./home/ada"),
    ],
)
def test_home_of_the_user(homes, text, shown):
    """Whole names only, wherever they stand in a text."""
    assert without_home(text) == shown


def test_boost_home_elsewhere(homes):
    """The longest name that fits says what it is."""
    homes(boost="/home/ada/work/boost")
    assert without_home("/home/ada/work/boost/a /home/ada/work") == "~/.boost/a ~/work"
    homes(boost="/srv/boost")
    assert without_home("/srv/boost/a, /home/ada/.boost/b") == "~/.boost/a, ~/.boost/b"


def test_store_elsewhere(homes, monkeypatch):
    """Where the engine keeps installed skills."""
    monkeypatch.setenv("BOOST_AGENTS_STORE", "/srv/store")
    assert without_home("/srv/store/a") == "~/.agents/skills/a"


def test_links_are_followed(homes, tmp_path):
    """A home may be named by a link or by where that leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    homes(home=str(tmp_path / "link"))
    assert without_home(f"{tmp_path}/link/a {tmp_path.resolve()}/real/b") == "~/a ~/b"


@pytest.mark.parametrize("home", ["/", "", "relative"])
def test_homes_that_name_nobody(homes, home):
    """A container's root is no home, and a home that cannot be told shortens nothing."""
    homes(home=home, boost="not/absolute")
    assert without_home("/etc/passwd relative/x") == "/etc/passwd relative/x"
    assert os.sep in without_home("/")
