"""How well the catalog answers judged queries: recall@k, hit@1, MRR and nDCG@k.

    python scripts/evaluate_retrieval.py
    python scripts/evaluate_retrieval.py --floors tests/eval/floors.json --json now.json
    python scripts/evaluate_retrieval.py --compare before.json now.json --plot change.svg
    python scripts/evaluate_retrieval.py --golden mine.jsonl --home ~/.boost
    python scripts/evaluate_retrieval.py --second-stage cosine

Searches the catalog in --home, else in $BOOST_HOME, else this repository's own in a throwaway
home. A document answers when it is an item that the judgment pins, or a byte-identical copy.
Needs no network and no key; the same files give the same figures.
Exit code: 0, 1 a figure below its floor or something that cannot be used, 2 a wrong argument.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from langchain_core.retrievers import BaseRetriever

from boost_langchain import BoostRetriever
from boost_langchain.__main__ import put
from boost_langchain.errors import BoostLangChainError
from boost_langchain.evaluation import (
    Evaluation,
    Floors,
    Graded,
    below_floors,
    evaluate,
    open_grader,
    parse_floor,
    read_evaluation,
    read_floors,
    read_golden,
)
from boost_langchain.rerank import EmbeddingsReranker, RerankedRetriever

from _catalog import GOLDEN, number_of, searched_catalog
from _plot import draw, require_drawable


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, or compare two evaluations; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.compare and (options.floor or options.floors or options.json):
        parser.error("--compare reads two saved evaluations; floors and --json go with a run")
    try:
        if options.plot:
            require_drawable(options.plot)
        return compare(options) if options.compare else run(options)
    except (BoostLangChainError, OSError, ValueError) as e:
        print(e, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    """Evaluate, print the table, write what is asked for, and hold it to the floors."""
    judgments = read_golden(options.golden)
    floors = [read_floors(options.floors)] if options.floors else []
    with searched_catalog(options.home):
        home = os.environ["BOOST_HOME"]
        retriever = _retriever(options)
        try:
            found = evaluate(retriever, judgments, open_grader(options.by), k=options.k)
        except ValueError as e:
            msg = f"{e} in {home}, or say which home to search with --home"
            raise ValueError(msg) from e
    if options.json:
        text = json.dumps(found.as_json(), indent=1, ensure_ascii=False, allow_nan=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    if options.plot:
        draw({"": found}, options.plot)
    put(f"{summary(found)}\n{table(found)}")
    failures = [line for each in (*floors, *options.floor) for line in below_floors(found, each)]
    for line in failures:
        print(line, file=sys.stderr)
    return 1 if failures else 0


def compare(options: argparse.Namespace) -> int:
    """Print what changed between two evaluations, over the judgments that both graded."""
    before, after = map(read_evaluation, options.compare)
    if (before.k, before.graded_by) != (after.k, after.graded_by):
        msg = (
            f"not comparable: k={before.k}, graded by {before.graded_by}, and k={after.k}, "
            f"graded by {after.graded_by}; evaluate both in the same way"
        )
        raise ValueError(msg)
    shared = {_identity(row) for row in before.rows} & {_identity(row) for row in after.rows}
    if not shared:
        msg = "not comparable: the two graded no judgment in common"
        raise ValueError(msg)
    before, after = (_only(each, shared) for each in (before, after))
    old, new = map(str, options.compare)
    if options.plot:
        draw({old: before, new: after}, options.plot)
    title = f"{len(shared)} judgments that both graded; {old} -> {new}"
    put("\n".join([title, table(before, after), *moved(before.rows, after.rows)]))
    return 0


def summary(found: Evaluation) -> str:
    """What was measured, in a line."""
    ungraded = f", {found.ungraded} pin nothing that is tapped" if found.ungraded else ""
    return (
        f"{len(found.rows)} judgments graded by {found.graded_by}{ungraded}; "
        f"{', '.join(filter(None, found.engines)) or 'nothing answered'}"
    )


def table(found: Evaluation, after: Evaluation | None = None) -> str:
    """The figures per slice, as text; with `after`, followed by what they changed to."""
    labels, slices = found.labels(), found.slices()
    changed = after.slices() if after else None
    lines = [["", "judgments", *labels.values()]]
    # Kinds first: the figure that counts stands last.
    for name in [*(name for name in slices if name != "all"), "all"]:
        figures = [f"{slices[name].figure(metric):.3f}" for metric in labels]
        if changed:
            new = [f"{changed[name].figure(metric):.3f}" for metric in labels]
            figures = [" -> ".join(pair) for pair in zip(figures, new, strict=True)]
        lines.append([name, str(slices[name].judgments), *figures])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    )


def moved(before: Iterable[Graded], after: Iterable[Graded]) -> Iterable[str]:
    """The judgments whose right answer changed its place, the losses first."""
    new = {row.golden_id: row.rank for row in after}
    changes = [(row, row.rank, new[row.golden_id]) for row in before]
    changes = [change for change in changes if change[1] != change[2]]
    if not changes:
        yield "no answer moved"
    for row, old, now in sorted(changes, key=lambda change: _gain(change[1], change[2])):
        places = f"{old or '-'} -> {now or '-'}"
        yield f"{places:>8}  {row.query}"


def _gain(old: int | None, new: int | None) -> float:
    """How much of a reciprocal rank was gained."""
    return (1 / new if new else 0.0) - (1 / old if old else 0.0)


def _identity(row: Graded) -> tuple[str, str | None]:
    """Its kind too, which an edited file may give to one of the two alone."""
    return row.golden_id, row.kind


def _only(found: Evaluation, shared: set[tuple[str, str | None]]) -> Evaluation:
    rows = tuple(row for row in found.rows if _identity(row) in shared)
    return Evaluation(found.k, found.graded_by, found.engines, found.ungraded, rows)


def _retriever(options: argparse.Namespace) -> BaseRetriever:
    """The engine's order, or the second stage over its first sixty."""
    if options.second_stage is None:
        return BoostRetriever(k=options.k, on_error="raise")
    from _minilm import MiniLM  # noqa: PLC0415 - brings PyTorch

    fuse = "engine" if options.second_stage == "fused" else None
    return RerankedRetriever(
        base=BoostRetriever(on_error="raise"),
        compressor=EmbeddingsReranker(embeddings=MiniLM(), fuse=fuse),
        k=options.k,
    )


def _floor(text: str) -> Floors:
    """Argparse shows the message of this error, and of no other."""
    try:
        return parse_floor(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from e


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--golden",
        type=Path,
        default=GOLDEN,
        help="the judgments (default: tests/eval/golden.jsonl)",
    )
    parser.add_argument("--home", type=Path, help="the boost home to search (default: see above)")
    parser.add_argument(
        "-k", type=number_of("places"), default=10, help="how many places count (default: 10)"
    )
    parser.add_argument(
        "--by",
        choices=("exemplar", "name"),
        default="exemplar",
        help="grade by pinned item (default) or by relevant name, over the same judgments",
    )
    parser.add_argument(
        "--second-stage",
        choices=("cosine", "fused"),
        help="order the engine's first 60 by all-MiniLM-L6-v2, alone or fused with its order",
    )
    parser.add_argument("--floors", type=Path, metavar="FILE", help="floors as JSON")
    parser.add_argument(
        "--floor",
        type=_floor,
        action="append",
        default=[],
        metavar="[KIND.]METRIC=VALUE",
        help="one floor; METRIC is recall, hit, mrr, ndcg or judgments",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the evaluation")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="compare two saved evaluations instead",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw it (.svg or .png); needs matplotlib"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
