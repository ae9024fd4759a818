"""The Python examples of the README and of the docstrings run as they are."""

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from support import ROOT

EXAMPLES = list(find_examples(ROOT / "README.md", ROOT / "boost_langchain"))


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_runs(example: CodeExample, eval_example: EvalExample, own_catalog, monkeypatch):
    """Each example runs to its end and prints what it says it prints."""
    monkeypatch.chdir(ROOT)
    if example.prefix_settings().get("test") == "skip":
        pytest.skip("needs what no test has")
    eval_example.set_config(line_length=100)
    eval_example.run_print_check(example)
