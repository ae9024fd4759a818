"""Agreement of a judge with human labels.

Usage: python kappa.py labels.csv
The file has a header with the columns human and judge, values 0 or 1.
"""

import csv
import sys


def agreement(pairs):
    n = len(pairs)
    observed = sum(h == j for h, j in pairs) / n
    human = sum(h for h, _ in pairs) / n
    judge = sum(j for _, j in pairs) / n
    chance = human * judge + (1 - human) * (1 - judge)
    bad = [j for h, j in pairs if not h]
    good = [j for h, j in pairs if h]
    return {
        "agreement": observed,
        "kappa": (observed - chance) / (1 - chance) if chance < 1 else 1.0,
        "failures missed": sum(bad) / len(bad) if bad else 0.0,
        "passes rejected": sum(not j for j in good) / len(good) if good else 0.0,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="", encoding="utf-8") as handle:
        rows = [(int(r["human"]), int(r["judge"])) for r in csv.DictReader(handle)]
    if not rows:
        sys.exit("no rows")
    for name, value in agreement(rows).items():
        print(f"{name:16} {value:.3f}")
