"""`client.evaluate` over the published dataset: the offline figures, to the last digit."""

import importlib
from contextlib import closing
from statistics import fmean

import pytest

from boost_langchain import BoostRetriever
from boost_langchain.errors import LangSmithServiceError
from boost_langchain.evaluation import (
    Judgment,
    evaluate,
    mirror,
    open_client,
    open_grader,
    read_golden,
    retrieval_evaluator,
    retrieval_target,
)

from support import ROOT, python

RECIPE = ROOT / "integrations" / "langsmith_online_evals.py"
NAME = "boost-golden-retrieval"
# langsmith.evaluation asks the ast module for a name that Python 3.14 has not.
WARNINGS = "error,ignore:ast.Str is deprecated:DeprecationWarning"


def online(*arguments, **environment):
    """Run the recipe as a command."""
    return python(RECIPE, *arguments, timeout=300, PYTHONWARNINGS=WARNINGS, **environment)


@pytest.fixture
def published(langsmith):
    """Our own golden file, and two rows that nothing tapped can answer, as a dataset."""
    judgments = [
        *read_golden(ROOT / "tests" / "eval" / "golden.jsonl"),
        Judgment("elsewhere", ("x",), ("no/tap::x",)),
        Judgment("nowhere", ("no-such-name",)),
    ]
    client = open_client()
    mirror(client, NAME, judgments)
    client.close()
    return langsmith, judgments


def test_online_averages_are_the_offline_ones(own_catalog, published):
    """To 1e-9, over the same rows: in the client's results and in what the service stores.

    The client rounds what it stores to four decimals; so do we, or the two would differ.
    """
    langsmith, judgments = published
    retriever = BoostRetriever(k=10, on_error="raise")
    offline = evaluate(retriever, judgments, open_grader())
    assert offline.ungraded == 2
    scores = offline.slices()["all"].scores
    expected = {
        "recall@10": scores.recall,
        "hit@1": scores.hit,
        "MRR": scores.mrr,
        "nDCG@10": scores.ndcg,
    }
    client = open_client()
    results = client.evaluate(
        retrieval_target(retriever),
        data=NAME,
        evaluators=[retrieval_evaluator(open_grader())],
        experiment_prefix="boost",
    )
    shown: dict = {}
    for row in results:
        for each in row["evaluation_results"]["results"]:
            shown.setdefault(each.key, []).append(each.score)
    client.close()
    stored: dict = {}
    for each in langsmith.feedback:
        stored.setdefault(each["key"], []).append(each["score"])
    for found in (shown, stored):
        assert {key: len(values) for key, values in found.items()} == dict.fromkeys(expected, 138)
        means = {key: fmean(values) for key, values in found.items()}
        assert means == pytest.approx(expected, abs=1e-9, rel=0)


def test_experiment_as_the_service_sees_it(own_catalog, published):
    """One session over the dataset; a run per row, with the documents' provenance alone."""
    langsmith, judgments = published
    code, out, err = online()
    assert code == 0, err
    assert "MRR 0.570 over 138 rows" in out
    (session,) = langsmith.sessions.values()
    assert session["reference_dataset_id"] in langsmith.datasets
    roots = [run for run in langsmith.runs.values() if run.get("reference_example_id")]
    assert {run["reference_example_id"] for run in roots} == {row["id"] for row in langsmith.rows()}
    (asked,) = [run for run in roots if run["inputs"]["query"] == judgments[0].query]
    first = asked["outputs"]["documents"][0]
    assert (first["rank"], first["tap"]) == (1, "langchain-procedures")
    assert "page_content" not in first


def test_recipe_prints_what_the_script_prints(own_catalog, published):
    """The figures of scripts/evaluate_retrieval.py, a line each, from a user's own home."""
    code, out, err = online("--own-home")
    assert code == 0, err
    assert [line.split() for line in out.splitlines()[-4:]] == [
        ["recall@10", "0.754", "over", "138", "rows"],
        ["hit@1", "0.500", "over", "138", "rows"],
        ["MRR", "0.570", "over", "138", "rows"],
        ["nDCG@10", "0.613", "over", "138", "rows"],
    ]


def test_recipe_without_a_key(langsmith):
    """One line, exit code 1, nothing sent."""
    code, out, err = online(LANGSMITH_API_KEY="")
    assert (code, out) == (1, "")
    assert err.startswith("no LangSmith key: set LANGSMITH_API_KEY")
    assert len(err.splitlines()) == 1
    assert langsmith.requests == []


def test_recipe_without_the_dataset(langsmith):
    """What to run first."""
    code, out, err = online("--name", "mine")
    assert (code, out) == (1, "")
    assert err == "no dataset 'mine': run scripts/publish_golden_dataset.py --name mine first\n"


def test_recipe_with_a_wrong_key(langsmith):
    """One line that names the endpoint and the next step."""
    code, out, err = online(LANGSMITH_API_KEY="lsv2_pt_other")
    assert (code, out) == (1, "")
    assert err.startswith(f"LangSmith at {langsmith.url}: 401, it does not know the key")
    assert len(err.splitlines()) == 1


def test_recipe_over_an_empty_home(empty_catalog, published):
    """No row can be graded: an error, not an empty table."""
    code, _, err = online("--own-home")
    assert code == 1
    assert err.splitlines()[-1].startswith("no row of 'boost-golden-retrieval' pins an item of")


def test_recipe_where_the_catalog_is_broken(empty_catalog, published):
    """The broken file is named."""
    empty_catalog.boost_home.mkdir(exist_ok=True)
    (empty_catalog.boost_home / "config.json").write_text("{")
    code, _, err = online("--own-home")
    assert code == 1
    assert "config.json cannot be read" in err.splitlines()[-1]


def test_recipe_without_git(langsmith, tmp_path):
    """What is missing is named, not LangSmith."""
    code, out, err = online(PATH=str(tmp_path))
    assert (code, out) == (1, "")
    assert err == "git is not installed, and the engine taps git repositories; install git\n"


def test_row_that_fails(own_catalog, published, monkeypatch):
    """A target that fails on a row fails the averages: without the row they would flatter."""
    monkeypatch.syspath_prepend(RECIPE.parent)
    averages = importlib.import_module(RECIPE.stem).averages
    target = retrieval_target(BoostRetriever(k=10))

    def fails_once(inputs: dict) -> dict:
        if inputs["query"] == "elsewhere":
            msg = "no luck"
            raise RuntimeError(msg)
        return target(inputs)

    with closing(open_client()) as client:
        results = client.evaluate(
            fails_once, data=NAME, evaluators=[retrieval_evaluator(open_grader())]
        )
        with pytest.raises(LangSmithServiceError, match=r"a row failed, and .*: .*no luck"):
            averages(results)


def test_row_that_the_catalog_cannot_grade(own_catalog):
    """No score at all, instead of a zero that offline does not count."""
    grade = retrieval_evaluator(open_grader(), k=3)
    outputs = {"documents": [{"id": "langchain-procedures::skills/hybrid-search/SKILL.md"}]}
    assert grade(outputs, Judgment("q", ("x",), ("no::x",)).outputs) == {"results": []}
    judged = Judgment("q", exemplars=("langchain-procedures::skills/hybrid-search/SKILL.md",))
    assert grade(outputs, judged.outputs)["results"] == [
        {"key": "recall@3", "score": 1.0},
        {"key": "hit@1", "score": 1.0},
        {"key": "MRR", "score": 1.0},
        {"key": "nDCG@3", "score": 1.0},
    ]
