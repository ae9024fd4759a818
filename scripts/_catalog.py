"""What every measuring script needs first: a catalog to search, and queries to ask it."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

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
    """The queries of a golden file, in its order."""
    return [judgment.query for judgment in read_golden(golden)]
