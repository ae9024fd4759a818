"""The recipes under integrations/ run as a reader would run them, offline."""

import ast
import json
import re
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from support import HEADINGS, ROOT, python

pytestmark = pytest.mark.slow


def run(recipe, *arguments):
    """Run a recipe from anywhere; return what it printed."""
    code, out, err = python(ROOT / "integrations" / recipe, *arguments)
    assert code == 0, err
    return out


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


EXPLAIN = (
    "why was the pattern chosen that keeps the node's message from piling up, which function "
    "does it call, what data does it store, which bug did it fix, and what is the convention?"
)
NO_SERVER = ("--ollama-port", "9")


def cited(out):
    """The path:line citations in the labels of a printed context."""
    return re.findall(r"^### .* \(\w+ — (\S+):(\d+)\)$", out, re.MULTILINE)


def test_explain_codebase():
    """One question asks all six families; what is cited exists; the prompt has six headings."""
    out = run("explain_codebase.py", EXPLAIN, *NO_SERVER)
    asked = "files, schema, functions, decisions, observations, conventions"
    assert out.startswith(f"The question asks: base, {asked}\n")
    for label in ("base", *asked.split(", ")):
        assert f" ({label} — " in out, label
    assert [line for line in out.splitlines() if line in HEADINGS] == HEADINGS
    assert {path for path, _ in cited(out)} >= {"CHANGELOG.md", "boost_langchain/graph/_node.py"}
    for path, line in cited(out):
        assert 1 <= int(line) <= len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert str(ROOT) not in out
    assert out.rstrip().endswith("to get a real one.)")


APP = {
    "app/store.py": '"""Keeps users."""\n\n\ndef save_user(user):\n    return open_store(user)\n',
    "app/broken.py": "def (:\n",
    "notes.md": "# Notes\n\nSaving a user is slow.\n",
    "bytes.txt": b"\xff\xfe",
    "CHANGELOG.md": "## 1\n\n### Fixed\n\n- Store: users were lost. They are saved\n  twice.\n",
}
ABOUT_APP = "Why is there a bug when save_user has to save a user, and which function is it?"


@pytest.mark.parametrize("history", ["none", "whole", "shallow"])
def test_explain_another_codebase(write_files, tmp_path, history):
    """Any repository and database; without git, or with its history cut, the rest answers."""
    import sqlite3
    from contextlib import closing

    app = write_files("app", APP)
    if history != "none":
        who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
        for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Save it twice"]):
            subprocess.run(["git", *arguments], cwd=app, check=True)
    if history == "shallow":
        clone = ["git", "clone", "-q", "--depth=1", app.as_uri(), tmp_path / "clone"]
        subprocess.run(clone, check=True)
        app = tmp_path / "clone"
    with closing(sqlite3.connect(tmp_path / "app.sqlite")) as database:
        database.execute("CREATE TABLE users (id INTEGER, name TEXT)")
    options = ("--repository", app, "--database", tmp_path / "app.sqlite")
    out = run("explain_codebase.py", ABOUT_APP, *options, *NO_SERVER)
    assert "### store.py (files — app/store.py:1)\n\nKeeps users.\n" in out
    assert "### save_user (functions — app/store.py:4)\n\nsave_user(user)\ncalls: open_store" in out
    assert "### Store (observations — CHANGELOG.md:5)\n\nStore: users were lost. They are" in out
    assert "(schema — app.sqlite, table users)\n\nThe table users of app.sqlite stores: id" in out
    assert ("### Save it twice (decisions — commit " in out) is (history != "none")
    assert str(tmp_path) not in out


@pytest.mark.parametrize("recipe", ["explain_codebase.py", "memory_tools.py"])
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--repository", "/nowhere", "--repository /nowhere is no directory\n"),
        ("--database", "/nowhere.sqlite", "--database /nowhere.sqlite is no SQLite file\n"),
        ("--database", __file__, f"--database {__file__} is no SQLite file\n"),
    ],
    ids=["repository", "no file", "another file"],
)
def test_codebase_that_is_none(recipe, option, value, message):
    """Named in one line: an explanation of nothing would look like one."""
    assert python(ROOT / "integrations" / recipe, option, value, *NO_SERVER) == (1, "", message)


def test_context_in_the_readme():
    """What the README shows is what the recipe finds, but for line numbers that moved."""

    def labels(text):
        """The labels of a context without their lines."""
        return set(re.findall(r"^### .*— [^:\n]+(?=:\d+\)$)", text, re.MULTILINE))

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Questions about a system")[2].partition("\n## ")[0]
    assert len(labels(section)) == 3
    assert labels(section) <= labels(run("explain_codebase.py", *NO_SERVER))


def test_explain_codebase_says_when_nothing_is_to_be_explained():
    """A task is answered all the same."""
    out = run("explain_codebase.py", "Install the loader", *NO_SERVER)
    assert "asks for no explanation" in out
    assert "The question asks: base, files\n" in out


class Ollama(BaseHTTPRequestHandler):
    """As much of an Ollama server as a chat needs."""

    def do_GET(self):
        """Its models."""
        self._answer({"models": [{"name": "small:1b"}]})

    def do_POST(self):
        """The chat, in one piece."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        message = {"role": "assistant", "content": "# How Piling Up Works"}
        done = {"created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
        self._answer({"model": asked["model"], "message": message, **done})

    def _answer(self, data):
        body = json.dumps(data).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Nothing."""


def test_explain_codebase_with_a_local_model():
    """Where an Ollama server answers on its port, its model explains."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    server.asked = []
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        out = run("explain_codebase.py", "--ollama-port", str(server.server_port))
    finally:
        server.shutdown()
        server.server_close()
    assert "Asking small:1b of the Ollama server at http://127.0.0.1:" in out
    assert out.rstrip().endswith("# How Piling Up Works")
    (asked,) = server.asked
    assert asked["messages"][0]["content"].endswith("## Gotchas")


def test_memory_tools():
    """Each of the six tools answers the agent."""
    out = run("memory_tools.py", *NO_SERVER)
    names = ["memory_query", "memory_search", "memory_functions", "memory_similar"]
    for name in [*names, "memory_sessions", "local_ask"]:
        assert f"ai: {name}(" in out
    assert out.count("\ntool: ") == 6
    assert "failed" not in out
    assert "### skill_context_node (functions — boost_langchain/graph/_node.py:" in out
    for path, line in cited(out):
        assert int(line) <= len((ROOT / path).read_text(encoding="utf-8").splitlines())


def test_langgraph_json_names_the_graph(monkeypatch):
    """What `langgraph dev` would serve is there, and answers over an empty home."""
    served = json.loads((ROOT / "integrations" / "langgraph.json").read_text())
    path, name = served["graphs"]["boost_agent"].split(":")
    code = (
        "import runpy;"
        f"graph = runpy.run_path({path!r})[{name!r}]();"
        "print(graph.invoke({'messages': [('user', 'hi')]})['messages'][-1].content)"
    )
    code = f"import sys; sys.path[0] = '.'; {code}"
    _, out, err = python("-c", code, cwd=ROOT / "integrations")
    assert out.startswith("Acme is shedding load"), err


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


RECIPES = [path.name for path in (ROOT / "integrations").glob("[!_]*.py")]
ASK_NO_MODEL = {"langsmith_online_evals.py", "mcp_client.py", "vector_store_mirror.py"}


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_recipe_explains_itself(recipe):
    """--help says what it does, and offers a model where one is asked."""
    text = (ROOT / "integrations" / recipe).read_text(encoding="utf-8")
    title = ast.get_docstring(ast.parse(text)).splitlines()[0]
    out = run(recipe, "--help")
    assert title in out
    assert "--own-home" in out
    assert ("--model" in out) is (recipe not in ASK_NO_MODEL)
