"""Homes that are broken, one way each: what a fault does to a home of two registries."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

from boost_cli.core import rag

DEEP = "[" * 200_000
INDEX = "cache/rag_index.json"
POSTINGS = "cache/rag_postings.sqlite"
CACHE = "cache/one.json"
CONFIG = "config.json"
SKILL = "skills/one-a/SKILL.md"


def edit(path, change):
    """Change a JSON file in place, behind the back of time stamps."""
    before = path.stat()
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_index(change):
    """A fault that changes the index."""
    return lambda home: edit(home.boost_home / INDEX, change)


def edit_tap(change):
    """A fault that changes one registry's catalog cache."""
    return lambda home: edit(home.boost_home / CACHE, change)


def edit_config(change):
    """A fault that changes the configuration."""
    return lambda home: edit(home.boost_home / CONFIG, change)


def write(relative, text):
    """A fault that overwrites a file of the home."""
    data = text if isinstance(text, bytes) else text.encode()
    return lambda home: (home.boost_home / relative).write_bytes(data)


def remove(relative):
    """A fault that removes a file or a directory of the home."""

    def away(home):
        path = home.boost_home / relative
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return away


def become(relative, make):
    """A fault that puts something else in the place of a file of the home."""

    def swap(home):
        remove(relative)(home)
        make(home.boost_home / relative)

    return swap


def swap_skill(make):
    """A fault that puts something else in the place of a skill's file in its clone."""

    def swap(home):
        path = home.clone("one") / SKILL
        path.unlink()
        make(path)

    return swap


def both(*faults):
    """Several faults, one after the other."""

    def all_of_them(home):
        for fault in faults:
            fault(home)

    return all_of_them


def truncate(relative):
    """A fault that cuts a file in half, as a copy that was interrupted."""

    def cut(home):
        path = home.boost_home / relative
        os.truncate(path, path.stat().st_size // 2)

    return cut


def directory(path):
    """A directory that is not empty."""
    path.mkdir()
    (path / "occupied").touch()


def link_to(target):
    """A link to a path that need not exist."""
    return lambda path: path.symlink_to(target)


def stray_posting(_home):
    """Postings that name a document which is not there."""
    with sqlite3.connect(rag.postings_path()) as connection:
        connection.execute("update postings set plist = ?", (rag._encode_plist([[999, 1]]),))
    connection.close()


KILLED = """
import os, signal, sys
from boost_cli.core import rag
count = int(sys.argv[1])
def killing(event, arguments):
    global count
    if event == "os.rename" and "rag_" in str(arguments[1]):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(killing)
rag.build(force=True)
"""


def killed_build(rename):
    """A build in another process, killed before it puts its first or second file in place."""

    def kill(_home):
        command = [sys.executable, "-c", KILLED, str(rename)]
        assert subprocess.run(command, check=False, cwd="/").returncode == -signal.SIGKILL

    return kill


def edit_upstream(change):
    """A fault of the registry itself: its author changes it, and it is updated."""

    def update(home):
        change(home.repository("one"))
        home.update("one")

    return update


def emptied(repository):
    """Every file of a registry is gone."""
    for path in repository.iterdir():
        if path.name != ".git":
            shutil.rmtree(path)


def from_the_future(*relatives):
    """A clock that was set back: files that are younger than now."""

    def touch(home):
        for relative in relatives:
            path = home.boost_home / relative
            future = path.stat().st_mtime + 1_000_000
            os.utime(path, (future, future))

    return touch
