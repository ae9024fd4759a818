"""The recipes under integrations/ run as a reader would run them, offline."""

import os
import subprocess
import sys

import pytest

from support import ROOT


def run(recipe, *arguments, cwd="/"):
    """Run a recipe from anywhere; return what it printed."""
    done = subprocess.run(
        [sys.executable, ROOT / "integrations" / recipe, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lcel_chain():
    """The chain prints a prompt with provenance, and the scripted answer."""
    out = run("lcel_chain.py")
    assert "### retry-with-backoff (skill — langchain-procedures:skills/" in out
    assert out.rstrip().endswith("to get a real one.)")


def test_recipe_on_an_own_home_that_is_empty():
    """--own-home searches what the user has tapped: here nothing, and the chain still runs."""
    out = run("lcel_chain.py", "--own-home", "What now?")
    assert "Question: What now?" in out


@pytest.mark.parametrize("recipe", ["lcel_chain.py"])
def test_recipe_explains_itself(recipe):
    """--help says what it does."""
    assert "--model" in run(recipe, "--help")
