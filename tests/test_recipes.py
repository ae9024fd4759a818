"""The recipes under integrations/ run as a reader would run them, offline."""

import json
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


def test_langgraph_agent():
    """The transcript names the files of each turn, replaced once and then left alone."""
    out = run("langgraph_agent.py")
    assert "skills --> agent" in out
    first, second, third = out.split("--- state after ")[1:]
    assert "langchain-procedures:skills/retry-with-backoff/SKILL.md @ 1.3.0" in first
    assert "retry-with-backoff" not in second
    assert "langchain-procedures:skills/chunk-documents/SKILL.md @" in second
    assert (
        second.split("procedures:")[1].split("ai:")[0]
        == third.split("procedures:")[1].split("ai:")[0]
    )


def test_agent_middleware():
    """The model call is handed three procedures; the conversation holds none of them."""
    out = run("agent_middleware.py")
    assert out.count("handed over: langchain-procedures:") == 3
    assert out.splitlines()[-2:] == [
        "human: How do I retry a model call with backoff?",
        "ai: (A scripted answer: name a model with --model to get a real one.)",
    ]


def test_agent_tools():
    """Search, read, list: each answers the model."""
    out = run("agent_tools.py")
    assert "id: langchain-procedures::skills/evaluate-retrieval/SKILL.md" in out
    assert "tool: ### evaluate-retrieval (skill — langchain-procedures:skills/" in out
    assert "scripts/ranking_metrics.py" in out


def test_mcp_client():
    """The engine's real server: list, search, read, an unknown tool, shutdown."""
    out = run("mcp_client.py")
    assert "tools: boost_search, boost_list, boost_info, boost_read, boost_install" in out
    assert "retry-with-backoff — Retry failing model and network calls" in out
    assert "# Retry with backoff" in out
    assert "nope: error -32602: unknown tool 'nope'" in out
    assert out.rstrip().endswith("the server has shut down")


def test_rerank():
    """The scripted judgment reorders what the engine found, with its reasons."""
    out = run("rerank.py")
    engine, second = out.split("The second stage's:")
    assert "trim-message-history" not in engine
    assert second.lstrip().startswith("1. trim-message-history: Cuts the history that is sent")


def test_langgraph_json_names_the_graph(monkeypatch):
    """What `langgraph dev` would serve is there, and answers over an empty home."""
    served = json.loads((ROOT / "integrations" / "langgraph.json").read_text())
    path, name = served["graphs"]["boost_agent"].split(":")
    code = (
        "import runpy;"
        f"graph = runpy.run_path({path!r})[{name!r}]();"
        "print(graph.invoke({'messages': [('user', 'hi')]})['messages'][-1].content)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[0] = '.'; {code}"],
        cwd=ROOT / "integrations",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Acme is shedding load")


def test_vector_store_mirror(own_catalog):
    """The first run adds every item of the catalog, the second finds nothing to do."""
    first, second = run("vector_store_mirror.py").splitlines()
    added = len(own_catalog.entries())
    assert f"'num_added': {added}, 'num_updated': 0, 'num_skipped': 0" in first
    assert f"'num_added': 0, 'num_updated': 0, 'num_skipped': {added}" in second


def test_recipe_on_an_own_home_that_is_empty():
    """--own-home searches what the user has tapped: here nothing, and the chain still runs."""
    out = run("lcel_chain.py", "--own-home", "What now?")
    assert "Question: What now?" in out


@pytest.mark.parametrize(
    "recipe",
    [
        "agent_middleware.py",
        "agent_tools.py",
        "langgraph_agent.py",
        "lcel_chain.py",
        "mcp_client.py",
        "rerank.py",
    ],
)
def test_recipe_explains_itself(recipe):
    """--help says what it does."""
    assert "--model" in run(recipe, "--help")


def test_recipe_without_a_model_does_not_offer_one():
    """The mirror asks no model, and its --help offers none."""
    out = run("vector_store_mirror.py", "--help")
    assert "--own-home" in out
    assert "--model" not in out
