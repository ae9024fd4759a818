"""`python -m boost_langchain`: what a chain would get, on a command line."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence

from langchain_core.documents import Document
from pydantic import ValidationError

from boost_langchain._doctor import as_json, as_text, examine
from boost_langchain._invisible import visible
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.retriever import BoostRetriever

FOUND, NOTHING, USAGE, FAULT = 0, 1, 2, 3
"""Exit codes of search: an answer, an empty answer, a wrong argument, an engine fault."""

HEALTHY, NEEDS_ATTENTION = 0, 1
"""Exit codes of doctor."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def put(text: str) -> None:
    """Print to a reader that may have had enough, as `head` has; no exit code depends on it."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes once more on its way out: give it somewhere to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def search(options: argparse.Namespace) -> int:
    """Print the documents that answer a query."""
    try:
        retriever = BoostRetriever(
            k=options.k, kind=options.kind, tap=options.tap, on_error="raise"
        )
    except ValidationError as e:
        for error in e.errors():
            print(f"{error['loc'][0]}={error['input']!r}: {error['msg']}", file=sys.stderr)
        return USAGE
    try:
        documents = retriever.invoke(options.query)
    except BoostRetrievalError as e:
        print(e, file=sys.stderr)
        return FAULT
    if options.json:
        rows = [{**d.metadata, "page_content": d.page_content} for d in documents]
        put(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        put("\n".join(map(line, documents)) or "nothing found")
    return FOUND if documents else NOTHING


def doctor(options: argparse.Namespace) -> int:
    """Print what would answer here, and what keeps a better rung from it."""
    report = examine()
    if options.json:
        put(json.dumps(as_json(report), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        put(as_text(report))
    return HEALTHY if report.healthy else NEEDS_ATTENTION


def line(document: Document) -> str:
    """One document as three short lines: what it is, where it is from, why it matched."""
    found = document.metadata
    snippet = " ".join(visible(found["snippet"]).split())
    return (
        f"{found['rank']:>2}. {visible(found['name'])} ({found['kind']})\n"
        f"    {visible(found['tap'])}:{visible(found['path'])}  [{found['engine']}]\n"
        f"    {snippet}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m boost_langchain", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "search",
        help="show what a chain would get for a query",
        epilog="exit code: 0 something found, 1 nothing, 2 a wrong argument, 3 an engine fault",
    )
    command.add_argument("query")
    command.add_argument("-k", type=int, default=8, help="the most documents (default: 8)")
    command.add_argument("--kind", help="skill, rule or workflow (default: all)")
    command.add_argument("--tap", help="one registry (default: all)")
    command.add_argument("--json", action="store_true", help="print metadata and text as JSON")
    command.set_defaults(run=search)
    command = commands.add_parser(
        "doctor",
        help="say what would answer here, and what keeps a better rung from it",
        epilog="exit code: 0 healthy, 1 needs attention",
    )
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=doctor)
    return parser


if __name__ == "__main__":
    sys.exit(main())
