"""Ground truth: judged queries, four metrics, and the same figures offline and in LangSmith.

A golden file is read by `read_golden`, graded over the tapped catalog by `open_grader` and
`evaluate`, held to floors by `below_floors`, and mirrored to a LangSmith dataset by `mirror`,
where `retrieval_target` and `retrieval_evaluator` grade it online. What talks to LangSmith
needs the extra `boost-langchain[langsmith]`; nothing is imported from it before.
"""

from boost_langchain.evaluation._evaluation import (
    Evaluation,
    Graded,
    Slice,
    evaluate,
    read_evaluation,
)
from boost_langchain.evaluation._floors import Floors, below_floors, parse_floor, read_floors
from boost_langchain.evaluation._golden import Judgment, read_golden
from boost_langchain.evaluation._grading import Grader, open_grader
from boost_langchain.evaluation._langsmith import langsmith_errors, open_client
from boost_langchain.evaluation._metrics import Scores, mean, score
from boost_langchain.evaluation._mirror import Difference, difference, mirror
from boost_langchain.evaluation._online import retrieval_evaluator, retrieval_target

__all__ = [
    "Difference",
    "Evaluation",
    "Floors",
    "Graded",
    "Grader",
    "Judgment",
    "Scores",
    "Slice",
    "below_floors",
    "difference",
    "evaluate",
    "langsmith_errors",
    "mean",
    "mirror",
    "open_client",
    "open_grader",
    "parse_floor",
    "read_evaluation",
    "read_floors",
    "read_golden",
    "retrieval_evaluator",
    "retrieval_target",
    "score",
]
