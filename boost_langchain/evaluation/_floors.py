"""Floors: the least that an evaluation must reach, per slice and metric."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from boost_langchain._entry import KINDS
from boost_langchain.errors import EvaluationFileError
from boost_langchain.evaluation._evaluation import ALL, MIXED, Evaluation
from boost_langchain.evaluation._metrics import METRICS, label

JUDGMENTS = "judgments"
"""A floor may count the graded judgments too: a stale pin then fails instead of passing by."""

type Floors = Mapping[str, Mapping[str, float]]
"""Least values by slice ("all", a kind or "mixed"), then by metric or "judgments"."""


def parse_floor(text: str) -> Floors:
    """One floor as it is written on a command line: "recall=0.75" or "rule.recall=0.7".

    Raises:
        ValueError: It is not written so; the message names it and what there is.
    """
    name, _, value = text.partition("=")
    part, _, metric = name.rpartition(".")
    try:
        return _checked({part or ALL: {metric: float(value)}})
    except ValueError as e:
        msg = f"{text!r} is no floor ({e}); write recall=0.75 or rule.recall=0.7"
        raise ValueError(msg) from e


def read_floors(path: str | Path) -> Floors:
    """Read floors from a JSON file: `{"all": {"recall": 0.75}, "rule": {"hit": 0.4}}`.

    Raises:
        EvaluationFileError: The file is missing or holds something else.
    """
    try:
        return _checked(json.loads(Path(path).read_text(encoding="utf-8")))
    # Overflow: an integer beyond every float.
    except (OSError, ValueError, OverflowError, RecursionError) as e:
        reason = "nested too deep" if isinstance(e, RecursionError) else e
        msg = f'{path}: no floors ({reason}); write JSON such as {{"all": {{"recall": 0.75}}}}'
        raise EvaluationFileError(msg) from e


def below_floors(evaluation: Evaluation, floors: Floors) -> list[str]:
    """Say which figures lie below their floor: a line each, with metric, value and floor."""
    slices = evaluation.slices()
    lines: list[str] = []
    for name, least in floors.items():
        for metric, floor in least.items():
            found = slices[name].figure(metric) if name in slices else 0.0
            if found < floor:
                shown = metric if metric == JUDGMENTS else label(metric, evaluation.k)
                lines.append(f"{shown} ({name}) is {found:.6g}, below its floor of {floor:.6g}")
    return lines


def _checked(floors: object) -> Floors:
    if not isinstance(floors, dict) or not all(isinstance(each, dict) for each in floors.values()):
        msg = "an object of objects is needed"
        raise ValueError(msg)
    for part, least in floors.items():
        if part not in {ALL, *KINDS, MIXED}:
            msg = f"unknown slice {part!r}, there are {', '.join((ALL, *KINDS, MIXED))}"
            raise ValueError(msg)
        for metric, floor in least.items():
            if metric not in {*METRICS, JUDGMENTS}:
                msg = f"unknown metric {metric!r}, there are {', '.join((*METRICS, JUDGMENTS))}"
                raise ValueError(msg)
            # Nothing would fall below a NaN.
            is_number = isinstance(floor, int | float) and not isinstance(floor, bool)
            if not is_number or not math.isfinite(floor):
                msg = f"{metric} is {floor!r}, not a number"
                raise ValueError(msg)
    return floors
