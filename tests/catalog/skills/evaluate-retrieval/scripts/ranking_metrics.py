"""Recall, hit rate, MRR and nDCG over a JSON list of rankings.

Usage: python ranking_metrics.py rankings.json [k]
Each row: {"relevant": ["id", ...], "ranking": ["id", ...]}
"""

import json
import math
import sys


def metrics(rows, k=10):
    recall = hit = mrr = ndcg = 0.0
    for row in rows:
        wanted = set(row["relevant"])
        ranking = list(dict.fromkeys(row["ranking"]))[:k]
        places = [i for i, item in enumerate(ranking) if item in wanted]
        recall += len(places) / len(wanted)
        hit += bool(places) and places[0] == 0
        mrr += 1 / (places[0] + 1) if places else 0
        ideal = sum(1 / math.log2(i + 2) for i in range(min(len(wanted), k)))
        ndcg += sum(1 / math.log2(i + 2) for i in places) / ideal
    n = len(rows)
    return {
        f"recall@{k}": recall / n,
        "hit@1": hit / n,
        "mrr": mrr / n,
        f"ndcg@{k}": ndcg / n,
    }


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as handle:
        data = json.load(handle)
    if not data:
        sys.exit("no rows")
    for name, value in metrics(data, int(sys.argv[2]) if len(sys.argv) > 2 else 10).items():
        print(f"{name:12} {value:.3f}")
