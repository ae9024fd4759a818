"""The catalog as tools: progressive disclosure, and the engine's MCP registry."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from boost_cli.core import gitutil
from boost_cli.core.mcp import Registry
from boost_cli.errors import BoostError
from langchain.agents import create_agent
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from boost_langchain import BoostRetriever, _files
from boost_langchain.loader import CatalogLoader
from boost_langchain.rerank import RerankedRetriever
from boost_langchain.tools import boost_tools, skill_tools

from recorder import scripted
from support import OWN_TAP, shows_no_home, skill, snapshot

ID = f"{OWN_TAP}::skills/retry-with-backoff/SKILL.md"
EVALUATE = f"{OWN_TAP}::skills/evaluate-retrieval/SKILL.md"
EXAMPLES = {
    "search_skills": {"query": "retry with backoff"},
    "read_skill": {"id": ID},
    "read_skill_file": {"id": EVALUATE},
    "boost_search": {"query": "retry with backoff"},
    "boost_list": {},
    "boost_info": {"name": "retry-with-backoff"},
    "boost_read": {"name": "retry-with-backoff"},
    "boost_doctor": {},
    "boost_discover_github": {"query": "langchain", "limit": 3},
}


def every_tool():
    """All tools of the package."""
    return {tool.name: tool for tool in [*skill_tools(), *boost_tools()]}


class Described:
    """How the standard tests get one tool."""

    name = ""

    @property
    def tool_constructor(self):
        """The tool under test."""
        return every_tool()[self.name]

    @property
    def tool_invoke_params_example(self):
        """A call that works."""
        return EXAMPLES[self.name]

    @pytest.fixture(autouse=True)
    def home(self, own_catalog, gh):
        """The own catalog, and a GitHub that has nothing."""
        gh("echo '{}'")


def standard(base, name):
    """LangChain's own tests of one tool, as they are."""
    return type(f"Test_{base.__name__}_{name}", (Described, base), {"name": name})


for _name in EXAMPLES:
    for _base in (ToolsUnitTests, ToolsIntegrationTests):
        _tests = standard(_base, _name)
        globals()[_tests.__name__] = _tests


@pytest.fixture
def gh(tmp_path, monkeypatch):
    """Put a `gh` with the given script on PATH, or none at all."""

    def put(script=None):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        if script is not None:
            (folder / "gh").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "gh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return put


def test_standard_tests_cover_every_tool():
    """A tool that is new needs its own standard tests."""
    assert set(every_tool()) == set(EXAMPLES)


def call(tool, **arguments):
    """Call a tool as an agent does; whatever comes of it names no directory of this machine."""
    message = tool.invoke({"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"})
    assert shows_no_home(repr(message))
    return message


def agent_answers(tools, *calls):
    """Run an agent whose model makes these calls, then answers; return the tool messages."""
    messages = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": str(number)}])
        for number, (name, args) in enumerate(calls)
    ]
    model = scripted(*messages, AIMessage("The end."))
    state = create_agent(model, tools).invoke({"messages": [HumanMessage("go")]})
    assert state["messages"][-1].content == "The end."
    answers = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert shows_no_home(repr(answers))
    return answers


# ----------------------------------------------------------------------- progressive disclosure


def test_search_lists_and_read_reads(own_catalog):
    """A short list with ids; a body by such an id; the Documents as artifacts."""
    search, read, _ = skill_tools()
    found = call(search, query="retry with backoff")
    first = found.content.split("\n\n")[0].splitlines()
    assert first[0] == f"id: {ID}"
    assert first[1] == f"name: retry-with-backoff (skill, from {OWN_TAP})"
    assert first[2].startswith("description: Retry failing model and network calls")
    assert len(found.artifact) == len(found.content.split("\n\n")) == 8
    whole = call(read, id=found.artifact[0].id)
    assert whole.content.startswith(f"### retry-with-backoff (skill — {OWN_TAP}:skills/")
    assert "Respect `Retry-After`" in whole.content
    assert [d.id for d in whole.artifact] == [ID]
    # As a model copies it from the label.
    assert call(read, id=ID.replace("::", ":")).artifact == whole.artifact


def test_empty_catalog_is_an_answer(empty_catalog):
    """Nothing tapped: a usable text, no error."""
    search, _, _ = skill_tools()
    message = call(search, query="anything")
    assert (message.status, message.artifact) == ("success", [])
    assert "Nothing matches" in message.content


@pytest.mark.parametrize(
    "identity",
    ["", "nope", "a::b", f"{OWN_TAP}::README.md", f"{OWN_TAP}::../x", "retry-with-backoff"],
)
def test_unknown_id_is_an_error_message(own_catalog, identity):
    """The agent is told how ids look."""
    _, read, read_file = skill_tools()
    for tool in (read, read_file):
        message = call(tool, id=identity)
        assert message.status == "error"
        assert "Pass an id exactly as search_skills returned it" in message.content


def test_retriever_bounds_what_can_be_read(own_catalog):
    """A search narrowed to rules does not open skills."""
    search, read, _ = skill_tools(BoostRetriever(kind="rule", k=2))
    found = call(search, query="retry")
    assert {d.metadata["kind"] for d in found.artifact} == {"rule"}
    assert call(read, id=found.artifact[0].id).status == "success"
    assert call(read, id=ID).status == "error"


def reversing(base):
    """Two stages: the second turns the order of the first around."""

    class Reversing(BaseDocumentCompressor):
        """Needs whole procedures for it."""

        def compress_documents(self, documents, query, callbacks=None):
            """Last first."""
            assert all(document.metadata["has_body"] for document in documents)
            return list(reversed(documents))

    return RerankedRetriever(base=base, compressor=Reversing(), fetch_k=8, k=8)


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda r: r.bind(k=8), id="bind"),
        pytest.param(lambda r: r.with_retry(), id="retry"),
        pytest.param(
            lambda r: r.with_fallbacks([RunnableLambda(lambda query: [])]), id="fallbacks"
        ),
        pytest.param(lambda r: r | RunnableLambda(lambda found: found), id="sequence"),
        pytest.param(reversing, id="reranked"),
    ],
)
def test_wrapped_retrievers_list_descriptions(own_catalog, wrap):
    """Whatever stands around a retriever: the same list, the same bounds, a body by its id."""
    plain, _, _ = skill_tools(BoostRetriever(kind="skill"))
    search, read, read_file = skill_tools(wrap(BoostRetriever(kind="skill")))
    expected = call(plain, query="retry with backoff").content.split("\n\n")
    found = call(search, query="retry with backoff")
    assert sorted(found.content.split("\n\n")) == sorted(expected)
    assert {d.metadata["has_body"] for d in found.artifact} == {False}
    assert [d.id for d in call(read, id=ID).artifact] == [ID]
    assert "SKILL.md" in call(read_file, id=EVALUATE).content
    rules, _, _ = skill_tools(BoostRetriever(kind="rule", k=1))
    (rule,) = call(rules, query="retry").artifact
    assert call(read, id=rule.id).status == "error"


def test_a_mirror_of_the_catalog(own_catalog):
    """A vector store that CatalogLoader filled: ids of its own, and everything can be read."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    documents = [
        document.model_copy(update={"id": None}) for document in CatalogLoader().lazy_load()
    ]
    store.add_documents(documents)
    search, read, _ = skill_tools(store.as_retriever(search_kwargs={"k": len(documents)}))
    listed = call(search, query="anything").content.split("\n\n")
    assert len(listed) == len(documents)
    first = next(item for item in listed if item.startswith(f"id: {ID}\n")).splitlines()
    assert first[2].startswith("description: Retry failing model and network calls")
    assert call(read, id=ID).status == "success"


def test_documents_of_no_catalog():
    """Any retriever's documents are listed by what they have."""
    found = [Document(""), Document("One.\nTwo.", id="7"), Document("x" * 9_000)]
    search, _, _ = skill_tools(RunnableLambda(lambda query: found))
    first, second, third = call(search, query="x").content.split("\n\n")
    assert first.splitlines() == ["id: ?", "name: unnamed (skill, from ?)", "description: "]
    assert second.splitlines()[::2] == ["id: 7", "description: One."]
    assert len(third) < 1_200


@pytest.mark.parametrize("retriever", [5, "skills", BoostRetriever, [BoostRetriever()]])
def test_what_is_no_retriever_fails_when_the_tools_are_made(retriever):
    """The mistake is named where it was made."""
    with pytest.raises(TypeError, match=re.escape(f"retriever={retriever!r} is no retriever")):
        skill_tools(retriever)


@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: r.with_retry(stop_after_attempt=1)])
def test_fault_of_a_retriever_that_raises(tap_files, wrap):
    """A damaged index is an error message, for a retriever with on_error="raise" too."""
    home = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")})
    BoostRetriever().invoke("deploy")
    (home.boost_home / "cache" / "rag_index.json").write_text("[" * 200_000)
    search, _, _ = skill_tools(wrap(BoostRetriever(on_error="raise")))
    (message,) = agent_answers([search], ("search_skills", {"query": "deploy"}))
    assert message.status == "error"
    assert message.content.startswith("The catalog cannot be read: the search index is damaged")
    assert "boost reindex --force" in message.content


@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: r.with_retry()])
@pytest.mark.parametrize("refresh", ["never", "auto"])
def test_reading_writes_as_searching_does(tap_files, refresh, wrap):
    """With refresh="never" a missing cache stays missing; otherwise it is made again."""
    home = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")})
    cache = home.boost_home / "cache" / "procedures.json"
    cache.unlink()
    before = snapshot(home.boost_home)
    _, read, read_file = skill_tools(wrap(BoostRetriever(refresh=refresh)))
    status = {"never": "error", "auto": "success"}[refresh]
    for tool in (read, read_file):
        assert call(tool, id="procedures::skills/a/SKILL.md").status == status
    assert cache.exists() is (refresh == "auto")
    if refresh == "never":
        assert snapshot(home.boost_home) == before


def test_budget_and_wrong_arguments(own_catalog):
    """A long text is cut, visibly; a wrong argument is an error message, not an exception."""
    _, read, read_file = skill_tools(budget=700)
    assert len(call(read, id=ID).content) <= 700
    cut = call(read_file, id=EVALUATE, path="SKILL.md").content
    assert cut.endswith("more characters left out]")
    wrong = agent_answers(
        skill_tools(),
        ("read_skill", {}),
        ("search_skills", {"query": ["a"]}),
        ("read_skill", {"id": None}),
    )
    assert [m.status for m in wrong] == ["error"] * 3
    with pytest.raises(ValueError, match="budget=0"):
        skill_tools(budget=0)


def test_broken_home_is_an_error_message(empty_catalog):
    """A configuration that cannot be read."""
    (empty_catalog.boost_home).mkdir(exist_ok=True)
    (empty_catalog.boost_home / "config.json").write_text("{")
    _, read, _ = skill_tools()
    assert "config.json cannot be read" in call(read, id=ID).content
    search = skill_tools()[0]
    assert call(search, query="x").status == "error"


# --------------------------------------------------------------------------- a skill's own files


@pytest.fixture
def shelf(empty_catalog, tmp_path):
    """A skill with files of every sort, and a neighbour it must not reach; a reader of it."""
    root = tmp_path / "shelf"
    mine, other = root / "skills" / "mine", root / "skills" / "other"
    for path, data in {
        mine / "SKILL.md": skill("mine", "deploy it", "Read references/guide.md.").encode(),
        mine / "references" / "guide.md": b"# Guide\n",
        mine / "scripts" / "check.py": b"print('checked')\n",
        mine / "data.bin": b"\x00\x01\x02binary\xff" * 10,
        mine / "big.txt": b"x" * 1_000_001,
        mine / "empty.txt": b"",
        other / "SKILL.md": skill("other", "deploy that", "SECRET").encode(),
        root / "rules" / "r.mdc": b"---\ndescription: a rule to deploy\n---\nRule.\n",
        root / "outside.md": b"SECRET",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (mine / "inner.md").symlink_to("references/guide.md")
    (mine / "link.md").symlink_to("../../outside.md")
    (mine / "passwd").symlink_to("/etc/passwd")
    (mine / "folder").symlink_to("../other")
    empty_catalog.tap(root)
    clone = empty_catalog.clone("shelf") / "skills" / "mine"
    os.mkfifo(clone / "pipe.md")
    (clone / "zero.md").symlink_to("/dev/zero")
    _, _, read_file = skill_tools()
    return lambda path="", item="skills/mine/SKILL.md": call(
        read_file, id=f"shelf::{item}", path=path
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("references/guide.md", "# Guide\n"),
        ("./references/guide.md", "# Guide\n"),
        ("references//guide.md", "# Guide\n"),
        ("scripts/check.py", "print('checked')\n"),
        ("./scripts/check.py", "print('checked')\n"),
        ("inner.md", "# Guide\n"),
        ("empty.txt", ""),
    ],
)
def test_relative_paths_that_skills_use(shelf, path, text):
    """Files of the skill's own folder, checked out or not."""
    message = shelf(path)
    assert (message.status, message.content) == ("success", text)


def test_listing(shelf):
    """Without a path: the regular files of the folder."""
    assert shelf().content.splitlines() == [
        "SKILL.md",
        "big.txt",
        "data.bin",
        "empty.txt",
        "references/guide.md",
        "scripts/check.py",
    ]
    message = shelf(item="rules/r.mdc")
    assert message.status == "error"
    assert "only a skill has files of its own" in message.content


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../other/SKILL.md",
        "references/../../other/SKILL.md",
        "./../other/SKILL.md",
        "/etc/passwd",
        "//etc/passwd",
        "~/.ssh/id_rsa",
        "%2e%2e/other/SKILL.md",
        "..%2fother%2fSKILL.md",
        "references/guide.md\x00.txt",
        "\x00",
        "..\\other\\SKILL.md",
        "references\\guide.md",
        "C:\\Windows\\win.ini",
        "link.md",
        "passwd",
        "folder/SKILL.md",
        "folder",
        "pipe.md",
        "zero.md",
        "big.txt",
        "data.bin",
        "SKILL.MD",
        "References/guide.md",
        "\u2024\u2024/other/SKILL.md",
        "\uff0e\uff0e\uff0fother\uff0fSKILL.md",
        "..\u2215other\u2215SKILL.md",
        ".git/config",
        "references",
        "no/such/file.md",
        "   ",
        "a" * 5_000,
        "file:///etc/passwd",
    ],
)
def test_hostile_paths(shelf, path):
    """One clear line each, nothing from elsewhere, nothing hangs."""
    message = shelf(path)
    assert message.status == "error"
    assert len(message.content.splitlines()) == 1
    assert "SECRET" not in message.content
    assert "root:" not in message.content
    assert "boost-langchain-" not in message.content


@pytest.mark.parametrize("item", ["references/wide.md", "scripts/wide.py"])
def test_size_is_said_in_bytes(empty_catalog, write_files, item):
    """Two bytes to a character, checked out or not."""
    text = "é" * 600_000
    empty_catalog.tap(
        write_files("wide", {"a/SKILL.md": skill("a", "deploy it"), f"a/{item}": text})
    )
    message = call(skill_tools()[2], id="wide::a/SKILL.md", path=item)
    assert message.content.endswith("is larger than 1,000,000 bytes (1,200,000).")


@pytest.mark.parametrize("name", ["references/big.md", "scripts/big.py"])
def test_large_file_is_not_read(empty_catalog, write_files, monkeypatch, name):
    """Its size is enough to refuse it, checked out or not."""
    files = {"a/SKILL.md": skill("a", "deploy it"), f"a/{name}": "x" * 1_000_001}
    empty_catalog.tap(write_files("large", files))
    execute = gitutil._exec

    def spied(argv, **options):
        done = execute(argv, **options)
        assert len(done.stdout) < 10_000
        return done

    monkeypatch.setattr(gitutil, "_exec", spied)
    monkeypatch.setattr(_files, "_decode", None)
    message = call(skill_tools()[2], id="large::a/SKILL.md", path=name)
    assert message.content.endswith("is larger than 1,000,000 bytes (1,000,001).")


def test_damaged_git_index(shelf, empty_catalog):
    """What git says of it names a directory of this machine; the agent is told the remedy."""
    (empty_catalog.clone("shelf") / ".git" / "index").write_bytes(b"damaged")
    for path in ("", "scripts/check.py"):
        message = shelf(path)
        assert message.status == "error"
        assert message.content.endswith(
            "cannot be looked up, because git failed; run `boost heal`."
        )
    assert shelf("references/guide.md").content == "# Guide\n"


def test_reason_of_a_git_failure_is_kept(shelf, empty_catalog):
    """For a program that looks: what git said is the cause of the cause."""
    (empty_catalog.clone("shelf") / ".git" / "index").write_bytes(b"damaged")
    read_file = skill_tools()[2]
    with pytest.raises(ToolException) as caught:
        read_file.func(id="shelf::skills/mine/SKILL.md")
    reason = caught.value.__cause__.__cause__
    assert isinstance(reason, BoostError)
    assert "index" in str(reason)


def test_folder_that_reads_like_a_pattern(empty_catalog, write_files):
    """A skill's folder is meant literally."""
    files = {
        f"{folder}/{name}": text
        for folder in ("[ab]", "a", ":(top)")
        for name, text in (("SKILL.md", skill("s", f"deploy {folder}")), ("run.py", folder))
    }
    empty_catalog.tap(write_files("odd", files))
    read_file = skill_tools()[2]
    for folder in ("[ab]", ":(top)"):
        identity = f"odd::{folder}/SKILL.md"
        assert call(read_file, id=identity).content.splitlines() == ["SKILL.md", "run.py"]
        assert call(read_file, id=identity, path="run.py").content == folder


@pytest.mark.parametrize("path", ["\0/SKILL.md", "\ud800/SKILL.md"])
def test_folder_that_is_no_path(tap_files, path):
    """A cache that was tampered with: one line, no exception."""
    home = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")})
    cache = home.boost_home / "cache" / "procedures.json"
    cache.write_text(cache.read_text().replace('"skills/a/SKILL.md"', json.dumps(path)))
    message = call(skill_tools()[2], id=f"procedures::{path}")
    assert message.status == "error"
    assert message.content.endswith("leads out of its registry.")


@pytest.fixture
def blobless(empty_catalog, write_files):
    """A skill whose script the clone does not hold, as the engine clones from afar."""
    files = {"a/SKILL.md": skill("a", "deploy it"), "a/run.py": "print(1)"}
    empty_catalog.tap(write_files("far", files))
    source, clone = empty_catalog.repository("far"), empty_catalog.clone("far")
    for option in ("allowFilter", "allowAnySHA1InWant"):
        command = ["git", "-C", str(source), "config", f"uploadpack.{option}", "true"]
        subprocess.run(command, check=True)
    shutil.rmtree(clone)
    options = ["--quiet", "--depth=1", "--filter=blob:none", "--sparse"]
    subprocess.run(["git", "clone", *options, f"file://{source}", str(clone)], check=True)
    return empty_catalog


def test_file_that_git_fetches(blobless, monkeypatch):
    """From the registry, unless nothing may be fetched; GIT_DIR does not stand in for the clone."""
    monkeypatch.setenv("GIT_DIR", str(blobless.repository("far") / "nothing"))
    never, auto = skill_tools(BoostRetriever(refresh="never"))[2], skill_tools()[2]
    identity = "far::a/SKILL.md"
    before = snapshot(blobless.boost_home)
    message = call(never, id=identity, path="run.py")
    assert message.status == "error"
    assert 'refresh="never" fetches nothing' in message.content
    assert snapshot(blobless.boost_home) == before
    assert call(auto, id=identity, path="run.py").content == "print(1)"
    assert call(never, id=identity, path="run.py").content == "print(1)"


def test_registry_that_is_gone(blobless):
    """What cannot be fetched is said."""
    blobless.repository("far").rename(blobless.home / "elsewhere")
    message = call(skill_tools()[2], id="far::a/SKILL.md", path="run.py")
    assert message.status == "error"
    assert message.content.endswith("cannot be fetched from its registry.")


def test_fifty_megabytes(empty_catalog, tmp_path):
    """A file of fifty megabytes is refused by its size, checked out or not."""
    folder = tmp_path / "huge" / "skills" / "a"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill("a", "deploy it"))
    for name in ("big.md", "big.txt"):
        (folder / name).write_bytes(b"x" * 50_000_000)
    empty_catalog.tap(tmp_path / "huge")
    _, _, read_file = skill_tools()
    for name in ("big.md", "big.txt"):
        message = call(read_file, id="huge::skills/a/SKILL.md", path=name)
        assert message.status == "error"
        assert "is larger than 1,000,000 bytes (50,000,000)" in message.content


def test_file_changed_after_the_scan_into_a_link(shelf, empty_catalog):
    """The check is made at the read, not at the scan."""
    guide = empty_catalog.clone("shelf") / "skills/mine/references/guide.md"
    guide.unlink()
    guide.symlink_to(empty_catalog.clone("shelf") / "outside.md")
    assert "leads out" in shelf("references/guide.md").content


# ------------------------------------------------------------------------------- the MCP registry


def test_tools_are_the_registrys(own_catalog):
    """Names, order, descriptions and schemas come from the registry, less what changes the machine."""
    from boost_cli.commands.configuration import REGISTRY

    specs = [spec for spec in REGISTRY.specs() if spec["name"] != "boost_install"]
    tools = boost_tools()
    assert [tool.name for tool in tools] == [spec["name"] for spec in specs]
    for tool, spec in zip(tools, specs, strict=True):
        assert tool.description == spec["description"]
        shown = convert_to_openai_tool(tool)["function"]["parameters"]
        assert shown["properties"] == spec["inputSchema"]["properties"]
        assert shown.get("required", []) == spec["inputSchema"].get("required", [])
    assert [t.name for t in boost_tools(include=["boost_list", "boost_install"])] == [
        "boost_list",
        "boost_install",
    ]
    assert [t.name for t in boost_tools(include="boost_list")] == ["boost_list"]
    with pytest.raises(ValueError, match=r"no tool is called nope; there are: boost_search"):
        boost_tools(include=["nope"])


def fresh_registry():
    """A registry of our own, with handlers that do every wrong thing."""
    registry = Registry()
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    strict = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}},
        "additionalProperties": False,
    }

    def raise_(error):
        raise error

    registry.register("echo", "Say it back.", text, lambda args: (args["text"], False))
    registry.register("now", lambda: "Rendered at call time.", {}, lambda args: ("12:00", False))
    registry.register("count", "Count.", strict, lambda args: (str(args), False))
    registry.register("refuse", "Refuse.", {}, lambda args: ("not today", True))
    registry.register(
        "hint", "Hint.", {}, lambda args: raise_(BoostError("no such thing", hint="tap one"))
    )
    registry.register("bare", "No hint.", {}, lambda args: raise_(BoostError("no such thing")))
    registry.register("crash", "Crash.", {}, lambda args: raise_(ZeroDivisionError("by zero")))
    registry.register("nothing", "Nothing.", {}, lambda args: (None, False))
    return registry


@pytest.mark.parametrize(
    ("name", "arguments", "status", "text"),
    [
        ("echo", {"text": "hi"}, "success", "hi"),
        ("echo", {"text": "a\u200bb\x00"}, "success", "ab"),
        ("echo", {"text": "hi", "extra": 1}, "success", "hi"),
        ("echo", {}, "error", "echo: the argument text is missing; it takes text"),
        ("echo", {"text": None}, "error", "echo: text must be of type string, not None"),
        ("echo", {"text": ["a"]}, "error", "echo: text must be of type string, not ['a']"),
        ("now", {}, "success", "12:00"),
        ("count", {"n": 3}, "success", "{'n': 3}"),
        ("count", {"n": None}, "success", "{'n': None}"),
        ("count", {"n": True}, "error", "count: n must be of type integer or null, not True"),
        ("count", {"m": 3}, "error", "count: there is no argument m; it takes n"),
        ("refuse", {}, "error", "not today"),
        ("hint", {}, "error", "no such thing (tap one)"),
        ("bare", {}, "error", "no such thing"),
        ("crash", {}, "error", "crash failed: ZeroDivisionError: by zero"),
        ("nothing", {}, "error", "nothing is unknown to its registry"),
    ],
)
def test_every_outcome_is_a_tool_message(name, arguments, status, text):
    """A tool registered in the test works with no edit, and no failure stops the agent."""
    tools = boost_tools(fresh_registry())
    assert next(t for t in tools if t.name == "now").description == "Rendered at call time."
    (message,) = agent_answers(tools, (name, arguments))
    assert (message.status, message.content) == (status, text)


def test_descriptions_are_cleaned():
    """A registry is somebody's text too: what a reader cannot see does not reach the model."""
    hidden = "De\u200bsc\U000e0041ribed."
    schema = {
        "properties": {
            "description": {"type": "string", "description": hidden, "enum": [hidden]},
            "list": {"type": "array", "items": {"anyOf": [{"title": hidden}, {"type": "null"}]}},
        }
    }
    registry = Registry()
    registry.register("odd", hidden, schema, lambda args: ("ok", False))
    (tool,) = boost_tools(registry)
    function = convert_to_openai_tool(tool)["function"]
    assert function["description"] == "Described."
    properties = function["parameters"]["properties"]
    assert properties["description"] == {
        "type": "string",
        "description": "Described.",
        "enum": [hidden],
    }
    assert properties["list"]["items"]["anyOf"] == [{"title": "Described."}, {"type": "null"}]
    assert schema["properties"]["description"]["description"] == hidden
    assert call(tool, description=hidden).content == "ok"
    wrong = call(tool, description=5).content
    assert wrong == "odd: description must be of type string, not 5"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_no_home_in_what_a_registry_says(monkeypatch, tmp_path, elsewhere):
    """Whatever a handler returns or raises, and whatever its description says."""
    if elsewhere:
        monkeypatch.setenv("BOOST_HOME", str(tmp_path / "elsewhere"))
    boost, home = os.environ["BOOST_HOME"], os.environ["HOME"]

    def raise_(args):
        error = {"boost": BoostError, "other": FileNotFoundError}[args["kind"]]
        path = f"{boost}/x"
        raise error(path)

    registry = Registry()
    registry.register("say", f"See {boost}/x.", {}, lambda args: (f"{boost}/x\n{home}/y", False))
    registry.register("refuse", "Refuse.", {}, lambda args: (f"{boost}/x", True))
    registry.register("fail", "Fail.", {}, raise_)
    say, refuse, fail = boost_tools(registry)
    assert say.description == "See ~/.boost/x."
    assert call(say).content == "~/.boost/x\n~/y"
    assert call(refuse).content == "~/.boost/x"
    assert call(fail, kind="boost").content == "~/.boost/x"
    assert call(fail, kind="other").content == "fail failed: FileNotFoundError: ~/.boost/x"


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"boost_discover_github"}))
@pytest.mark.parametrize("fault", ["config", "cache", "index", "gone"])
def test_no_home_in_what_a_broken_engine_says(tap_files, name, fault):
    """Every tool of ours on a home that is damaged; `call` looks for its path."""
    home = tap_files({"skills/a/SKILL.md": skill("a", "deploy it")})
    BoostRetriever().invoke("deploy")
    broken = {
        "config": home.boost_home / "config.json",
        "cache": home.boost_home / "cache" / "procedures.json",
        "index": home.boost_home / "cache" / "rag_index.json",
    }
    if fault == "gone":
        shutil.rmtree(home.clone("procedures"))
    else:
        broken[fault].write_text("{" if fault == "config" else "[" * 200_000)
    message = call(every_tool()[name], **EXAMPLES[name])
    assert message.content
    if fault == "config" and name in {"boost_search", "boost_list", "boost_doctor"}:
        assert "~/.boost/config.json" in message.content


class UnprintableError(Exception):
    """An exception that cannot be shown."""

    def __str__(self):
        """Fail."""
        raise ValueError


def leave(args):
    """What argparse does in a handler."""
    raise SystemExit(2)


def unprintable(args):
    """Fail in a way that cannot be shown."""
    raise UnprintableError


@pytest.mark.parametrize(
    ("schema", "handler", "arguments", "status", "text"),
    [
        ({}, lambda args: (["x"], False), {}, "success", "['x']"),
        ({}, lambda args: ("", True), {}, "error", "odd failed and said nothing"),
        ({}, leave, {}, "error", "odd failed: SystemExit: 2"),
        ({}, unprintable, {}, "error", "odd failed: UnprintableError"),
        ({"properties": None, "required": None}, lambda args: ("ok", False), {}, "success", "ok"),
        (
            {"properties": {"any": True}},
            lambda args: (str(args), False),
            {"any": 1},
            "success",
            "{'any': 1}",
        ),
        (
            {"properties": {"self": {}, "__base__": {}}},
            lambda args: (str(args), False),
            {"self": 1},
            "success",
            "{'self': 1}",
        ),
        (
            {"properties": {"n": {"type": "integer"}}},
            lambda args: ("ok", False),
            {"n": 3.0},
            "success",
            "ok",
        ),
    ],
)
def test_odd_registries(schema, handler, arguments, status, text):
    """Whatever a schema or a handler does, the agent gets a usable text and goes on."""
    registry = Registry()
    registry.register("odd", "Odd.", schema, handler)
    (message,) = agent_answers(boost_tools(registry), ("odd", arguments))
    assert (message.status, message.content) == (status, text)


def test_huge_argument_is_not_repeated_in_full():
    """The error names the value in short."""
    tool = next(t for t in boost_tools(fresh_registry()) if t.name == "echo")
    assert len(call(tool, text=["x" * 1_000_000]).content) < 200


def test_interrupt_inside_a_handler():
    """A handler may ask a human: LangGraph's interrupt is no failure."""
    registry = Registry()
    registry.register("ask", "Ask.", {}, lambda args: (f"they said {interrupt('approve?')}", False))

    script = [AIMessage("", tool_calls=[{"name": "ask", "args": {}, "id": "1"}]), AIMessage("End.")]
    agent = create_agent(scripted(*script), boost_tools(registry), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [HumanMessage("go")]}, config)
    assert state["__interrupt__"][0].value == "approve?"
    state = agent.invoke(Command(resume="yes"), config)
    assert state["messages"][-2].content == "they said yes"


def test_skill_files_without_git(shelf, monkeypatch, empty_catalog):
    """No git on PATH is said; a repository around the home does not stand in for the clone."""
    subprocess.run(["git", "init", "--quiet", str(empty_catalog.boost_home)], check=True)
    monkeypatch.setenv("GIT_DIR", str(empty_catalog.boost_home / ".git"))
    assert "scripts/check.py" in shelf().content
    monkeypatch.setenv("PATH", "")
    message = shelf()
    assert message.status == "error"
    assert "git is not on PATH" in message.content


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"registry": 5}, "registry=5 is no MCP registry: it has no specs()"),
        ({"include": 5}, "include=5 is no collection of names"),
        ({"include": [5, []]}, "include=[5, []] is no collection of names"),
    ],
)
def test_wrong_options_fail_when_the_tools_are_made(arguments, shown):
    """The mistake is named where it was made."""
    with pytest.raises(TypeError, match=re.escape(shown)):
        boost_tools(**arguments)


def test_two_tools_of_one_name_fail_when_made():
    """A collision is the registry's mistake, found before an agent runs."""

    class Doubled:
        """A registry that lists a tool twice."""

        def specs(self):
            """Twice."""
            return [{"name": "a", "description": "", "inputSchema": {}}] * 2

        def call(self, name, args):
            """Never asked."""

    with pytest.raises(ValueError, match="two tools of one name: a"):
        boost_tools(Doubled())


def test_engines_own_errors_reach_the_agent(empty_catalog, write_files):
    """Case 18: an ambiguous name, missing and mistyped arguments, an unknown item."""
    for tap in ("one", "two"):
        empty_catalog.tap(write_files(tap, {"skills/a/SKILL.md": skill("a", f"deploy {tap}", tap)}))
    read, search, listing = "boost_read", "boost_search", "boost_list"
    messages = agent_answers(
        boost_tools(),
        (read, {"name": None}),
        (read, {}),
        (read, {"name": "no-such-skill"}),
        (read, {"name": ["a"]}),
        (search, {"query": "deploy", "extra": 1}),
        (search, {"query": ""}),
        (listing, {}),
        ("boost_discover_github", {"limit": "many"}),
        (read, {"name": "a"}),
        ("nope", {}),
    )
    statuses = [m.status for m in messages]
    assert statuses == ["error"] * 4 + ["success", "error", "success", "error", "error", "error"]
    assert all(m.content.strip() for m in messages)
    assert "name must be of type string, not None" in messages[0].content
    assert "the argument name is missing" in messages[1].content
    assert "multiple taps: one, two (qualify it" in messages[8].content


@pytest.mark.parametrize(
    ("script", "status", "part"),
    [
        (None, "error", "needs the `gh` CLI"),
        ("exit 1", "error", "GitHub code search failed"),
        ("echo 'not json'", "error", "GitHub code search failed"),
        ("echo '[]'", "error", "boost_discover_github failed: AttributeError"),
        ("echo '{}'", "success", "no SKILL.md repositories found"),
    ],
)
def test_discover_github(own_catalog, gh, script, status, part):
    """No gh, a failing one, one that answers garbage, one that finds nothing."""
    gh(script)
    (message,) = agent_answers(
        boost_tools(), ("boost_discover_github", {"query": "x", "limit": 500})
    )
    assert message.status == status
    assert part in message.content


@pytest.mark.parametrize(("limit", "asked"), [(500, "100"), (7, "7"), (None, "20")])
def test_discover_github_bounds_its_limit(own_catalog, gh, tmp_path, limit, asked):
    """A limit above 100 is asked for as 100."""
    gh(f"printf '%s\\n' \"$@\" > {tmp_path}/asked; echo '{{}}'")
    call(every_tool()["boost_discover_github"], query="x", **({"limit": limit} if limit else {}))
    (path,) = [a for a in (tmp_path / "asked").read_text().splitlines() if "search/code" in a]
    assert parse_qs(urlsplit(path).query)["per_page"] == [asked]


def test_discover_github_that_hangs(own_catalog, gh, monkeypatch):
    """A gh that never answers is an error message once the engine's time is up."""
    real, late = subprocess.run, []

    def impatient(command, **options):
        if Path(command[0]).name != "gh":
            return real(command, **options)
        try:
            return real(command, **options | {"timeout": 0.2})
        except subprocess.TimeoutExpired:
            late.append(options["timeout"])  # the engine's own
            raise

    monkeypatch.setattr(subprocess, "run", impatient)
    gh("exec sleep 5")
    message = call(every_tool()["boost_discover_github"], query="x")
    assert message.status == "error"
    assert "GitHub code search failed" in message.content
    assert len(late) == 1


def test_id_as_it_is_shown_can_be_read(tap_files):
    """A path with blanks, a line end or hidden characters is read by the id that the list shows."""
    names = ["sp  ace", "nl\nline", "hid\u200bden"]
    tap_files(
        {
            f"skills/{n}/SKILL.md": skill(f"s{i}", "ocelot guide", f"Ocelot {i}.")
            for i, n in enumerate(names)
        }
    )
    search, read, _ = skill_tools()
    listed = [block.splitlines()[0] for block in call(search, query="ocelot").content.split("\n\n")]
    assert len(listed) == 3
    for line in listed:
        assert call(read, id=line.removeprefix("id: ")).status == "success"


def test_bound_of_a_retriever_behind_a_function(own_catalog):
    """What rewrites the question in front of a retriever does not lift its bound."""
    rewritten = RunnableLambda(lambda query: f"{query} backoff") | BoostRetriever(kind="rule")
    search, read, _ = skill_tools(rewritten)
    assert {d.metadata["kind"] for d in call(search, query="retry").artifact} == {"rule"}
    assert call(read, id=ID).status == "error"
