"""Mirror a golden file to a LangSmith dataset, so that both judge by the same rows.

    python scripts/publish_golden_dataset.py --dry-run
    python scripts/publish_golden_dataset.py --golden mine.jsonl --name mine

Needs LANGSMITH_API_KEY and boost-langchain[langsmith]. Afterwards the dataset holds exactly
the file's rows; rows that stay keep their ids. Running it again changes nothing, and finishes
what an interruption left. Exit code: 0, 1 with one line that says why not.
"""

import argparse
import importlib.util
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# boost_langchain imports langchain-core, which does not import without langsmith either.
if importlib.util.find_spec("langsmith") is None:
    sys.exit("langsmith is not installed: pip install --upgrade 'boost-langchain[langsmith]'")

from boost_langchain.__main__ import put
from boost_langchain.errors import BoostLangChainError
from boost_langchain.evaluation import Difference, mirror, open_client, read_golden

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "eval" / "golden.jsonl"
NAME = "boost-golden-retrieval"


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish, or show what publishing would change; return the exit code."""
    options = _parser().parse_args(arguments)
    # What goes wrong is said in one line, at the end.
    logging.getLogger("langsmith").setLevel(logging.CRITICAL)
    try:
        judgments = read_golden(options.golden)
        client = open_client(tracing=False)
        try:
            changes = mirror(client, options.name, judgments, dry_run=options.dry_run)
        finally:
            client.close(timeout=0)
    except BoostLangChainError as e:
        print(e, file=sys.stderr)
        return 1
    count = f"{len(judgments)} example{'s' * (len(judgments) != 1)}"
    if options.dry_run:
        put("\n".join([*lines(changes), f"would publish {count}: {changes}"]))
    else:
        sent = changes.create or changes.update or changes.remove
        what = f"published {count} to" if sent else f"nothing to send: {count} in"
        put(f"{what} LangSmith dataset {options.name!r}\n{changes}")
    return 0


def lines(changes: Difference) -> Iterator[str]:
    """What would be written, a row a line."""
    for judgment in changes.create:
        yield f"+ {judgment.query}"
    for _row, judgment in changes.update:
        yield f"~ {judgment.query}"
    for row in changes.remove:
        yield f"- {(row.get('inputs') or {}).get('query', row['id'])}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--golden", type=Path, default=GOLDEN, help="the judgments (default: tests/eval)"
    )
    parser.add_argument("--name", default=NAME, help=f"the dataset (default: {NAME})")
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
