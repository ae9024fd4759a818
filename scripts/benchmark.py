"""Time per query that is spent outside the engine: this package beside the engine's bundled one.

    python scripts/benchmark.py [--queries FILE] [--number 40]

Asks both retrievers, in one process and in turn, over the catalog in $BOOST_HOME (by default
this repository's own, in a throwaway home), and subtracts the time that runs inside the
engine's retrieval functions. Reads no clock to decide anything: a measurement, not a test.
"""

import argparse
import gc
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from boost_cli.core import rag
from langchain_core.retrievers import BaseRetriever

from boost_langchain import BoostRetriever

from _catalog import GOLDEN, number_of, queries_of, searched_catalog

ROUNDS = 5
RETRIEVAL = ("ensure", "retrieve", "retrieve_any", "retrieve_or_fallback")


class Stopwatch:
    """Seconds spent inside the engine's retrieval functions, nested calls counted once."""

    def __init__(self) -> None:
        """Start at zero."""
        self.seconds = 0.0
        self._depth = 0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            self._depth += 1
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - start

        return timed


@contextmanager
def watched() -> Iterator[Stopwatch]:
    """Time the engine's retrieval functions for the length of a `with` block."""
    stopwatch = Stopwatch()
    originals = {name: getattr(rag, name) for name in RETRIEVAL}
    for name, function in originals.items():
        setattr(rag, name, stopwatch.around(function))
    try:
        yield stopwatch
    finally:
        for name, function in originals.items():
            setattr(rag, name, function)


def bundled_retriever(k: int) -> BaseRetriever:
    """The engine's own retriever, from its file: by name our package would be imported."""
    path = distribution("boost-skill-cli").locate_file("boost_langchain/retriever.py")
    specification = importlib.util.spec_from_file_location("bundled_retriever", str(path))
    if specification is None or specification.loader is None:
        sys.exit(f"{path} cannot be loaded: reinstall boost-skill-cli")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module  # pydantic looks its annotations up there
    specification.loader.exec_module(module)
    retriever: BaseRetriever = module.BoostRetriever(k=k)
    return retriever


def measure(retriever: BaseRetriever, query: str, stopwatch: Stopwatch) -> tuple[float, float]:
    """Seconds of one query: the whole, and what lies outside the engine's retrieval."""
    stopwatch.seconds = 0.0
    start = time.perf_counter()
    retriever.invoke(query)
    whole = time.perf_counter() - start
    return whole, whole - stopwatch.seconds


def main() -> None:
    """Print medians in milliseconds, and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", type=Path, default=GOLDEN)
    parser.add_argument(
        "--number", type=number_of("queries"), default=40, help="how many queries (default: 40)"
    )
    options = parser.parse_args()
    queries = queries_of(options.queries)[: options.number]
    with searched_catalog(), watched() as stopwatch:
        retrievers = {"boost-langchain": BoostRetriever(k=8), "bundled": bundled_retriever(8)}
        for retriever in retrievers.values():
            retriever.invoke("build the index and warm the caches")
        gc.freeze()  # a collection over the resident index falls on whoever is running
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in retrievers}
        for number, query in enumerate(queries * ROUNDS):
            # Each goes first half of the time: the second finds the caches warm.
            order = list(retrievers.items())[:: 1 if number % 2 else -1]
            for name, retriever in order:
                times[name].append(measure(retriever, query, stopwatch))
    outside = {}
    print(f"{len(queries)} queries, {ROUNDS} rounds, k=8, full content; medians in ms")
    for name, measured in times.items():
        whole = statistics.median(whole for whole, _ in measured) * 1000
        outside[name] = statistics.median(rest for _, rest in measured) * 1000
        print(f"{name:>16}: {whole:7.2f} in all, {outside[name]:6.2f} outside the engine")
    print(f"ratio of the time outside: {outside['boost-langchain'] / outside['bundled']:.2f}")


if __name__ == "__main__":
    main()
