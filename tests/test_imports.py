"""What importing the package brings along, and what it refuses."""

import functools
import subprocess
import sys

import pytest

import boost_langchain
from boost_langchain import _requirements

from support import ROOT
from test_api import API

NEEDS_AN_EXTRA = {"boost_langchain.middleware"}


@functools.cache
def modules_after(statement):
    """The modules that a fresh interpreter has after one import."""
    code = f"{statement}; import sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", sorted({*API, "boost_langchain.__main__"} - NEEDS_AN_EXTRA))
def test_base_package_imports_no_extra(module):
    """No langgraph, langchain or numpy; of langsmith no more than langchain_core itself."""
    baseline = modules_after(
        "import langchain_core.retrievers, langchain_core.document_loaders, langchain_core.runnables"
    )
    added = modules_after(f"import {module}") - baseline
    roots = {name.partition(".")[0] for name in added}
    assert roots.isdisjoint({"langgraph", "langchain", "numpy", "langsmith", "httpx"})


def test_three_names_and_nothing_else():
    """The package exports the three seams."""
    assert set(boost_langchain.__all__) == {
        "BoostRetriever",
        "SkillMarkdownLoader",
        "skill_context_node",
    }


def test_nothing_of_ours_bears_a_name_of_the_engines_copy():
    """retriever, loader and graph are packages; no module is called like the engine's."""
    package = ROOT / "boost_langchain"
    for name in ("retriever", "loader", "graph"):
        assert (package / name / "__init__.py").is_file()
    for name in ("_compat.py", "graph.py", "loader.py", "retriever.py"):
        assert not (package / name).exists()


@pytest.mark.parametrize("version", ["0.3.79", "2.0.0", "nonsense", ""])
def test_other_langchain_core_is_refused(version):
    """A langchain-core outside 1.x is one line that says why."""
    with pytest.raises(ImportError, match=r"needs langchain-core>=1,<2 .* a method in 0\.3"):
        _requirements.require_langchain_core(version)
    _requirements.require_langchain_core("1.8.3")
