"""Metrics, grading, floors, and scripts/evaluate_retrieval.py as a shell sees it."""

import importlib
import json
import random
import subprocess
import sys

import pytest
import pytrec_eval
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from boost_langchain import BoostRetriever
from boost_langchain.errors import BoostRetrievalError, EvaluationFileError
from boost_langchain.evaluation import (
    Evaluation,
    Graded,
    Grader,
    Judgment,
    Scores,
    below_floors,
    evaluate,
    mean,
    open_grader,
    parse_floor,
    read_evaluation,
    read_floors,
    read_golden,
    retrieval_evaluator,
    score,
)

from support import ROOT, python, skill, snapshot

SCRIPT = ROOT / "scripts" / "evaluate_retrieval.py"
GOLDEN = ROOT / "tests" / "eval" / "golden.jsonl"
FLOORS = ROOT / "tests" / "eval" / "floors.json"


@pytest.fixture
def script(monkeypatch, capsys):
    """Call the script's main in this process, which is quicker; the same three results."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    main = importlib.import_module(SCRIPT.stem).main

    def call(*arguments, home=None):
        with monkeypatch.context() as patch:
            patch.setenv("BOOST_HOME", str(home))
            if home is None:
                patch.delenv("BOOST_HOME")
            try:
                code = main([*map(str, arguments)])
            except SystemExit as e:
                code = e.code
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("seed", range(20))
def test_arithmetic_is_that_of_trec_eval(seed):
    """Over random rankings, the reference implementation computes the same four figures.

    One item per query is right there. Ours are rounded to four decimals per query.
    """
    chance = random.Random(seed)
    k = chance.randint(1, 15)
    ranks = {f"q{n}": chance.choice([None, *range(1, 21)]) for n in range(50)}
    rankings = {
        # trec_eval orders by falling score, and knows a query only when something was found.
        query: {("right" if place == rank else f"d{place}"): 1 / place for place in range(1, 21)}
        for query, rank in ranks.items()
    }
    measures = {f"recall.{k}", f"ndcg_cut.{k}", "success.1", "recip_rank"}
    judged = {query: {"right": 1} for query in rankings}
    theirs = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(rankings)
    for query, rank in ranks.items():
        found, ours = theirs[query], score(rank, k)
        reciprocal = found["recip_rank"] if rank is not None and rank <= k else 0.0  # no cut there
        assert ours.recall == found[f"recall_{k}"]
        assert ours.hit == found["success_1"]
        assert ours.mrr == pytest.approx(reciprocal, abs=5e-5)
        assert ours.ndcg == pytest.approx(found[f"ndcg_cut_{k}"], abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
def test_first_right_answer_of_several_decides(own_catalog, seed):
    """Where several items are right, recall is trec_eval's success: any of them is enough."""
    chance = random.Random(seed)
    grader = open_grader()
    for _ in range(20):
        ranking = chance.sample(sorted(grader.items), 20)
        right = chance.sample(sorted(grader.items), 3)
        run_ = {"q": {id_: 1 / place for place, id_ in enumerate(ranking, start=1)}}
        judged = {"q": dict.fromkeys(right, 1)}
        measures = {"success.10", "success.1", "recip_rank"}
        theirs = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run_)["q"]
        rank = grader.rank(Judgment("q", exemplars=tuple(right)), ranking)
        assert score(rank, 10).recall == theirs["success_10"]
        assert score(rank, 10).hit == theirs["success_1"]
        assert (1 / rank if rank else 0) == pytest.approx(theirs["recip_rank"])


def test_scores_at_the_edges():
    """First, last that counts, one too far, and not there."""
    assert score(1, 10) == Scores(1, 1, 1, 1)
    assert score(10, 10) == Scores(1, 0, 0.1, 0.2891)
    assert score(11, 10) == score(None, 10) == Scores(0, 0, 0, 0)


def test_mean_is_the_same_in_any_order():
    """A shuffled golden file gives the same figures to the last digit."""
    scores = [score(rank, 10) for rank in range(1, 12)] * 7
    shuffled = random.Random(1).sample(scores, len(scores))
    assert mean(scores) == mean(shuffled)
    with pytest.raises(ValueError, match="no scores to average"):
        mean([])


def test_labels():
    """Metrics are written as people write them."""
    assert Evaluation(5, "exemplar", (), 0, ()).labels() == {
        "recall": "recall@5",
        "hit": "hit@1",
        "mrr": "MRR",
        "ndcg": "nDCG@5",
    }


@pytest.fixture
def three_copies(tap_files):
    """Two byte-identical items, a third of their name and other words, and one more."""
    home = tap_files({"pdf/SKILL.md": skill("pdf", "Fill forms", "Same")}, name="one")
    for name, body in (("two", "Same"), ("three", "Other")):
        source = home.home / name
        (source / "pdf").mkdir(parents=True)
        (source / "pdf" / "SKILL.md").write_text(skill("pdf", "Fill forms", body))
        home.tap(source)
    return home


def test_byte_identical_copy_counts(three_copies):
    """By exemplar a copy is as good as the pinned item, a namesake is not."""
    grader = open_grader()
    pinned = Judgment("q", ("pdf",), ("one::pdf/SKILL.md",))
    assert grader.rank(pinned, ["x::y", "two::pdf/SKILL.md"]) == 2
    assert grader.rank(pinned, ["three::pdf/SKILL.md"]) is None
    assert grader.rank(pinned, []) is None


def test_namesake_counts_by_name(three_copies):
    """By name, and where nothing is pinned, the name decides."""
    pinned = Judgment("q", ("pdf",), ("one::pdf/SKILL.md",))
    ids = ["x::y", "three::pdf/SKILL.md"]
    assert open_grader("name").rank(pinned, ids) == 2
    assert open_grader().rank(Judgment("q", ("pdf",)), ids) == 2


@pytest.mark.parametrize("by", ["exemplars", "", None])
def test_way_of_grading_that_is_none(own_catalog, by):
    """It would have graded by name."""
    with pytest.raises(ValueError, match=f"by={by!r} is no way of grading; use 'exemplar' or"):
        open_grader(by)


def test_what_the_catalog_cannot_grade(three_copies):
    """A judgment counts when an item that it pins is tapped; in both ways of grading."""
    for grader in (open_grader(), open_grader("name")):
        assert grader.can_grade(Judgment("q", ("pdf",), ("no::pdf", "two::pdf/SKILL.md")))
        assert not grader.can_grade(Judgment("q", ("pdf",), ("no::pdf",)))
        assert grader.can_grade(Judgment("q", ("pdf",)))
        assert not grader.can_grade(Judgment("q", ("docx",)))


class Scripted(BaseRetriever):
    """Answers every query with the same ids."""

    ids: list[str]

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content="", id=id_) for id_ in self.ids]


def test_evaluation_of_any_retriever(three_copies):
    """Any retriever whose documents bear the catalog's ids can be measured, cut at k."""
    judgments = [
        Judgment("a", ("pdf",), ("three::pdf/SKILL.md",), "skill"),
        Judgment("b", ("pdf",), ("one::pdf/SKILL.md",)),
        Judgment("c", ("docx",), ("four::docx/SKILL.md",)),
    ]
    retriever = Scripted(ids=["two::pdf/SKILL.md", "x::y", "three::pdf/SKILL.md"])
    found = evaluate(retriever, judgments, open_grader(), k=2)
    assert [(row.query, row.kind, row.rank) for row in found.rows] == [
        ("a", "skill", None),
        ("b", None, 1),
    ]
    assert found.ungraded == 1
    slices = found.slices()
    assert list(slices) == ["all", "skill", "mixed"]
    assert slices["all"].scores == Scores(0.5, 0.5, 0.5, 0.5)
    assert slices["mixed"].judgments == 1


def test_grading_writes_nothing(three_copies):
    """Not even a catalog cache that is missing: its registry would pass for one not tapped."""
    before = snapshot(three_copies.home)
    open_grader()
    assert snapshot(three_copies.home) == before
    cache = three_copies.boost_home / "cache" / "two.json"
    cache.unlink()
    with pytest.raises(
        BoostRetrievalError, match=r"two has no catalog cache .* `boost update two`"
    ):
        open_grader()
    assert not cache.exists()


def test_nothing_to_grade(empty_catalog):
    """An evaluation over no judgment is an error, not a perfect score."""
    with pytest.raises(ValueError, match="none of the 1 judgments pins an item of this catalog"):
        evaluate(Scripted(ids=[]), [Judgment("a", ("x",))], open_grader())


def test_saved_evaluation_is_read_back(tmp_path):
    """What --json writes is strict JSON and the same evaluation again."""
    rows = (Graded("i1", "a", "rule", 3), Graded("i2", "b", None, None))
    found = Evaluation(10, "exemplar", ("BM25 full-content",), 2, rows)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(found.as_json(), allow_nan=False))
    assert read_evaluation(path) == found
    assert found.as_json()["slices"]["rule"] == {
        "judgments": 1,
        "recall": 1.0,
        "hit": 0.0,
        "mrr": 0.3333,
        "ndcg": 0.5,
    }


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"k": 10}', "[1", "[" * 200_000])
def test_what_is_no_saved_evaluation(tmp_path, text):
    """A missing or foreign file is one line that names it."""
    path = tmp_path / "run.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EvaluationFileError, match=r"run\.json: not a saved evaluation .* --json"):
        read_evaluation(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k is 0: Input should be greater than or equal to 1"),
        ({"k": "10"}, "k is '10': Input should be a valid integer"),
        ({"graded_by": "luck"}, "graded_by is 'luck': Input should be 'exemplar' or 'name'"),
        ({"rows": [None]}, "row 1 is None: Input should be an object"),
        ({"rank": "3"}, "row 2, rank is '3': Input should be a valid integer"),
        ({"rank": 0}, "row 2, rank is 0: Input should be greater than or equal to 1"),
        ({"rank": True}, "row 2, rank is True: Input should be a valid integer"),
        ({"rank": 2.0}, "row 2, rank is 2.0: Input should be a valid integer"),
        ({"kind": 5}, "row 2, kind is 5: Input should be a valid string"),
        ({"golden_id": "i1"}, "row 2 is the judgment of row 1 again"),
        ({"rank": "3" * 9000}, "row 2, rank is '333333333333...3333333333333': Input"),
    ],
)
def test_saved_evaluation_with_another_value(script, tmp_path, change, message):
    """The row and the value are named; it would have ended in a traceback, or in wrong figures."""
    rows = (Graded("i1", "a", "rule", 3), Graded("i2", "b", None, None))
    saved = Evaluation(10, "exemplar", (), 0, rows).as_json()
    (saved if change.keys() & saved.keys() else saved["rows"][1]).update(change)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(saved))
    with pytest.raises(EvaluationFileError) as caught:
        read_evaluation(path)
    assert str(caught.value).startswith(f"{path}: not a saved evaluation ({message}")
    assert script("--compare", path, path) == (1, "", f"{caught.value}\n")


def test_row_without_its_rank(tmp_path):
    """A key that is missing is named too."""
    saved = Evaluation(10, "exemplar", (), 0, (Graded("i1", "a", None, 1),)).as_json()
    del saved["rows"][0]["rank"]
    (tmp_path / "run.json").write_text(json.dumps(saved))
    with pytest.raises(EvaluationFileError, match=r"\(row 1, rank: Field required\)"):
        read_evaluation(tmp_path / "run.json")


@pytest.mark.parametrize("k", [0, -1, True, "10", 2.0])
def test_places_that_are_none(k):
    """Offline and online: refused where it is written, before anything is asked."""
    grader = Grader({})
    for call in (
        lambda: evaluate(Scripted(ids=[]), [Judgment("a", ("x",))], grader, k=k),
        lambda: retrieval_evaluator(grader, k=k),
    ):
        with pytest.raises((TypeError, ValueError), match=f"k={k!r} "):
            call()


def test_floors_name_metric_value_and_floor():
    """A figure on its floor passes, one below it is a line."""
    rows = (Graded("i1", "a", "rule", 1), Graded("i2", "b", "rule", None))
    found = Evaluation(10, "exemplar", (), 0, rows)
    assert below_floors(found, {"all": {"recall": 0.5, "judgments": 2}}) == []
    assert below_floors(found, {"rule": {"recall": 0.51}, "all": {"judgments": 3}}) == [
        "recall@10 (rule) is 0.5, below its floor of 0.51",
        "judgments (all) is 2, below its floor of 3",
    ]
    assert below_floors(found, {"skill": {"hit": 0.1}}) == [
        "hit@1 (skill) is 0, below its floor of 0.1"
    ]


def test_floor_on_a_command_line():
    """A metric alone is overall; a kind may stand before it."""
    assert parse_floor("recall=0.75") == {"all": {"recall": 0.75}}
    assert parse_floor("rule.hit=1") == {"rule": {"hit": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recal=0.7", "unknown metric 'recal', there are recall, hit, mrr, ndcg, judgments"),
        ("rules.recall=0.7", "unknown slice 'rules', there are all, skill, rule, workflow, mixed"),
        ("recall", "could not convert string to float"),
        ("recall=high", "could not convert string to float: 'high'"),
        ("recall=nan", "recall is nan, not a number"),
    ],
)
def test_floor_that_is_none(text, message):
    """A floor that nothing could fall below is refused where it was written."""
    with pytest.raises(ValueError, match=f"'{text}' is no floor .*{message}.*write recall=0.75"):
        parse_floor(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("[" * 200_000, "nested too deep"),
        ('{"all": {"recall": -Infinity}}', "recall is -inf, not a number"),
        ('{"all": {"judgments": 1' + "0" * 400 + "}}", "int too large"),
        ("{", "Expecting property name"),
        ("[]", "an object of objects is needed"),
        ('{"recall": 0.7}', "an object of objects is needed"),
        ('{"all": {"recall": "0.7"}}', "recall is '0.7', not a number"),
        ('{"all": {"recall": true}}', "recall is True, not a number"),
        ('{"all": {"recal": 0.7}}', "unknown metric 'recal'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_file_of_floors_that_is_none(tmp_path, text, message):
    """The same for a file."""
    path = tmp_path / "floors.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EvaluationFileError, match=f"floors.json: no floors .*{message}"):
        read_floors(path)


def test_own_catalog_stays_above_its_floors(own_catalog):
    """The gate: the retriever over our golden file, and the floors are not slack."""
    retriever = BoostRetriever(k=10, on_error="raise")
    found = evaluate(retriever, read_golden(GOLDEN), open_grader())
    floors = read_floors(FLOORS)
    assert below_floors(found, floors) == []
    assert found.ungraded == 0
    for metric, floor in floors["all"].items():
        assert found.slices()["all"].figure(metric) - floor < 0.03


def test_script_prints_the_table():
    """Without arguments: the repository's own catalog, kinds first, exit code 0."""
    code, out, err = python(SCRIPT, BOOST_HOME=None)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "138 judgments graded by exemplar; BM25 full-content"
    assert lines[1].split() == ["judgments", "recall@10", "hit@1", "MRR", "nDCG@10"]
    assert [line.split()[0] for line in lines[2:]] == ["skill", "rule", "workflow", "mixed", "all"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_script_twice_gives_the_same(script, own_home, tmp_path):
    """Deterministic to the byte, by the file that --json writes."""
    for name in ("one.json", "two.json"):
        assert script("--json", tmp_path / name, home=own_home.boost_home)[0] == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_script_below_a_floor(script, own_home):
    """Exit code 1, and a line per figure with its value and its floor, after the table."""
    code, out, err = script(
        "--floor", "recall=0.99", "--floor", "rule.hit=1", home=own_home.boost_home
    )
    assert code == 1
    assert out.startswith("138 judgments")
    assert [line.split(" is ")[0] for line in err.splitlines()] == [
        "recall@10 (all)",
        "hit@1 (rule)",
    ]
    assert err.splitlines()[0].endswith("below its floor of 0.99")


def test_script_on_floors_from_a_file(script, own_home):
    """The repository's floors hold."""
    assert script("--floors", FLOORS, home=own_home.boost_home)[0] == 0


def test_script_on_a_home_of_ones_own(script, three_copies, tmp_path):
    """Any golden file over any home: --home and $BOOST_HOME are the same."""
    golden = tmp_path / "mine.jsonl"
    rows = [
        {"query": "fill forms", "relevant": ["pdf"], "exemplar": "one::pdf/SKILL.md"},
        {"query": "send a letter", "relevant": ["docx"], "exemplar": "four::docx/SKILL.md"},
    ]
    golden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    home = three_copies.boost_home
    code, out, _ = script("--golden", golden, "--home", home)
    assert code == 0
    assert out.startswith("1 judgments graded by exemplar, 1 pin nothing that is tapped; BM25")
    assert script("--golden", golden, home=home) == (0, out, "")
    assert "graded by name" in script("--golden", golden, "--by", "name", home=home)[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--golden", "nowhere.jsonl"], 1, "nowhere.jsonl: cannot be read (No such file"),
        (["--floors", "nowhere.json"], 1, "nowhere.json: no floors ([Errno 2]"),
        (["--json", "/nowhere/run.json"], 1, "No such file or directory: '/nowhere/run.json'"),
        (["--plot", "picture.pdf"], 1, "--plot picture.pdf: name a file that ends in .svg or .png"),
        (["--compare", "a.json", "b.json"], 1, "a.json: not a saved evaluation"),
        (["--floor", "recal=1"], 2, "unknown metric 'recal'"),
        (["-k", "0"], 2, "'0' is no number of places; give 1 or more"),
        (["-k", "ten"], 2, "'ten' is no number of places; give 1 or more"),
        (["--by", "kind"], 2, "invalid choice: 'kind'"),
    ],
    ids=str,
)
def test_script_on_bad_input(script, own_home, arguments, code, message):
    """One line that names the value, no traceback."""
    found, out, err = script(*arguments, home=own_home.boost_home)
    assert (found, out) == (code, "")
    assert message in err.splitlines()[-1]
    assert code == 2 or len(err.splitlines()) == 1


def test_command_on_bad_input(own_home):
    """As a shell sees it: one line, exit code 1, no traceback."""
    code, out, err = python(SCRIPT, "--golden", "nowhere.jsonl", "--home", own_home.boost_home)
    assert (code, out) == (1, "")
    assert err == (
        "nowhere.jsonl: cannot be read (No such file or directory); give the path of a golden file\n"
    )


@pytest.mark.parametrize("script_", ["benchmark.py", "context_cost.py"])
def test_measuring_script_on_bad_input(script_):
    """As of the evaluation: one line."""
    code, out, err = python(ROOT / "scripts" / script_, "--queries", "nowhere.jsonl")
    assert (code, out) == (1, "")
    assert err.startswith("nowhere.jsonl: cannot be read (No such file or directory)")


def test_benchmark_of_no_queries():
    """A median of nothing is refused before anything is measured."""
    code, out, err = python(ROOT / "scripts" / "benchmark.py", "--number", "0")
    assert (code, out) == (2, "")
    assert "'0' is no number of queries; give 1 or more" in err


def test_script_on_a_home_without_the_pinned_items(script, empty_catalog):
    """Nothing that is pinned is tapped: which home it was, and how to choose another."""
    code, out, err = script(home=empty_catalog.boost_home)
    assert (code, out) == (1, "")
    assert err == (
        "none of the 138 judgments pins an item of this catalog; tap what they pin in "
        f"{empty_catalog.boost_home}, or say which home to search with --home\n"
    )


def test_script_compares_two_runs(script, own_home, tmp_path):
    """Figures beside each other over what both graded, and the answers that moved."""
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    script("--json", before, home=own_home.boost_home)
    saved = json.loads(before.read_text())
    lost, won = saved["rows"][0], next(row for row in saved["rows"] if row["rank"] is None)
    lost["rank"], won["rank"] = None, 2
    del saved["rows"][-1]
    after.write_text(json.dumps(saved))
    code, out, err = script("--compare", before, after, "--plot", tmp_path / "change.svg")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"137 judgments that both graded; {before} -> {after}"
    assert lines[-2:] == [f"  1 -> -  {lost['query']}", f"  - -> 2  {won['query']}"]
    assert "0.752 -> 0.752" in lines[-3]
    assert str(after) in (tmp_path / "change.svg").read_text()


def test_script_compares_a_run_with_itself(script, own_home, tmp_path):
    """Nothing moved."""
    script("--json", tmp_path / "run.json", home=own_home.boost_home)
    out = script("--compare", tmp_path / "run.json", tmp_path / "run.json")[1]
    assert out.endswith("no answer moved\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [Graded("i1", "a", "rule", 1).__dict__]}, "graded no judgment in common"),
        ({"k": 5}, "not comparable: k=10, graded by exemplar, and k=5, graded by exemplar"),
        ({"graded_by": "name"}, "and k=10, graded by name; evaluate both in the same way"),
        ({"rows": [Graded("other", "b", None, 1).__dict__]}, "graded no judgment in common"),
    ],
)
def test_script_refuses_to_compare(script, tmp_path, change, message):
    """Runs that measure different things have no difference."""
    rows = (Graded("i1", "a", None, 1),)
    saved = Evaluation(10, "exemplar", (), 0, rows).as_json()
    (tmp_path / "one.json").write_text(json.dumps(saved))
    (tmp_path / "two.json").write_text(json.dumps(saved | change))
    code, out, err = script("--compare", tmp_path / "one.json", tmp_path / "two.json")
    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml")])
def test_script_draws(script, own_home, tmp_path, name, magic):
    """A picture in either format; the same one for the same figures."""
    script("--plot", tmp_path / name, home=own_home.boost_home)
    first = (tmp_path / name).read_bytes()
    assert first.startswith(magic)
    script("--plot", tmp_path / name, home=own_home.boost_home)
    assert (tmp_path / name).read_bytes() == first


def test_script_draws_nothing_without_matplotlib(script, own_home, tmp_path, monkeypatch):
    """One line names the package to install, before anything is measured."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = script("--plot", tmp_path / "p.svg", home=own_home.boost_home)
    assert found == (1, "", "--plot needs matplotlib: pip install matplotlib\n")


@pytest.mark.parametrize(("floor", "code"), [("recall=0.1", 0), ("recall=0.99", 1)])
def test_reader_that_stops_early(own_home, floor, code):
    """A closed pipe is no error, and a figure below its floor is still one."""
    command = f"{sys.executable} {SCRIPT} --home {own_home.boost_home} --floor {floor}"
    done = subprocess.run(
        f"({command}; echo $? >&2) | true", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == str(code)
    assert "Error" not in done.stderr
