"""What every measuring script needs first: a catalog to search, and queries to ask it."""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from boost_langchain.errors import EvaluationFileError
from boost_langchain.evaluation import read_golden
from boost_langchain.testing import tapped_catalog

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "eval" / "golden.jsonl"


def searched_catalog(home: Path | None = None) -> AbstractContextManager[object]:
    """The home to search: named here, named by the environment, or our own and throwaway."""
    if home is not None:
        os.environ["BOOST_HOME"] = str(home.expanduser().resolve())
    if os.environ.get("BOOST_HOME"):
        return nullcontext()
    return tapped_catalog(ROOT / "tests" / "catalog", name="langchain-procedures")


def queries_of(golden: Path) -> list[str]:
    """The queries of a golden file, in its order; exit with one line where it cannot be used."""
    try:
        return [judgment.query for judgment in read_golden(golden)]
    except EvaluationFileError as e:
        raise SystemExit(str(e)) from e


def number_of(things: str) -> Callable[[str], int]:
    """The argparse type of a number of things: 1 or more."""

    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = 0
        if found < 1:
            msg = f"{text!r} is no number of {things}; give 1 or more"
            raise ArgumentTypeError(msg)
        return found

    return number
