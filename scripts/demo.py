"""`make demo`: the main job of the package, offline, on the catalog of this repository."""

import logging
import subprocess
import sys
from pathlib import Path

from boost_langchain import BoostRetriever
from boost_langchain.__main__ import line
from boost_langchain.testing import tapped_catalog

ROOT = Path(__file__).resolve().parent.parent
QUERY = "retry a flaky model call with backoff"


def heading(text: str) -> None:
    """Say what comes next."""
    print(f"\n== {text}", flush=True)


def show(retriever: BoostRetriever) -> None:
    """Print what the retriever answers."""
    print("\n".join(map(line, retriever.invoke(QUERY))), flush=True)


def main() -> None:
    """Retrieve, narrow, meet an empty catalog, run a chain."""
    logging.basicConfig(format="log: %(message)s", level=logging.WARNING, stream=sys.stdout)
    with tapped_catalog(ROOT / "tests" / "catalog", name="langchain-procedures"):
        heading(f"BoostRetriever(k=3).invoke({QUERY!r})")
        show(BoostRetriever(k=3))
        heading("The same, narrowed to rules")
        show(BoostRetriever(k=3, kind="rule"))
    with tapped_catalog():
        heading("Nothing tapped: an empty answer, and one line in the log")
        print(BoostRetriever().invoke(QUERY), flush=True)
    heading("The prompt that a chain hands to its model (integrations/lcel_chain.py)")
    recipe = ROOT / "integrations" / "lcel_chain.py"
    subprocess.run([sys.executable, str(recipe)], check=True)  # noqa: S603 - our own recipe


if __name__ == "__main__":
    main()
