"""The golden file mirrored to LangSmith: the real client against a double on loopback."""

import copy
import importlib
import json
import logging
import subprocess
import sys
import threading
from collections import Counter

import pytest
import requests
from langsmith import Client
from langsmith.utils import LangSmithConnectionError, LangSmithRetry

from boost_langchain.errors import LangSmithServiceError
from boost_langchain.evaluation import (
    Difference,
    Judgment,
    difference,
    langsmith_errors,
    mirror,
    open_client,
    read_golden,
)

from langsmith_double import KEY
from support import ROOT, python

SCRIPT = ROOT / "scripts" / "publish_golden_dataset.py"
FORWARDER = ROOT / "integrations" / "langchain" / "scripts" / "publish_golden_dataset.py"
NAME = "boost-golden-retrieval"


def judgments(numbers, relevant="item"):
    """A judgment per number."""
    return [Judgment(f"query {n}", (f"{relevant}-{n}",), (f"t::{n}",), "skill") for n in numbers]


@pytest.fixture
def client(langsmith):
    """The real client, with its retries but without its waits."""
    retries = LangSmithRetry(
        total=3,
        backoff_factor=0,
        status_forcelist=[429, 500, 502, 503, 504, 408, 425],
        allowed_methods=None,
        raise_on_status=False,
    )
    made = Client(
        api_url=langsmith.url, api_key=KEY, retry_config=retries, auto_batch_tracing=False
    )
    yield made
    made.close()


def rows(langsmith):
    """The rows of the dataset, by golden_id, as the file would write them."""
    found = langsmith.rows()
    assert len({row["metadata"]["golden_id"] for row in found}) == len(found)
    return {row["metadata"]["golden_id"]: (row["inputs"], row["outputs"]) for row in found}


def file_rows(wanted):
    """What the rows should be."""
    return {each.golden_id: (each.inputs, each.outputs) for each in wanted}


def ids(langsmith):
    """The server's id of each query."""
    return {row["inputs"]["query"]: row["id"] for row in langsmith.rows()}


def methods(langsmith):
    """How many writes of each kind were sent."""
    return Counter(request.method for request in langsmith.writes)


def test_250_rows_stay_250(langsmith, client):
    """Case 21: three runs: the first writes in bounded batches, the others read and write nothing."""
    wanted = judgments(range(250))
    assert str(mirror(client, NAME, wanted)) == "250 created, 0 updated, 0 removed, 0 unchanged"
    # The dataset itself, then 100 + 100 + 50 rows.
    assert methods(langsmith) == {"POST": 4}
    for _run in range(2):
        langsmith.forget_requests()
        assert mirror(client, NAME, wanted) == Difference(unchanged=250)
        assert langsmith.writes == []
        assert rows(langsmith) == file_rows(wanted)


def test_row_as_the_contract_has_it(langsmith, client):
    """inputs, outputs and identity; nothing else is ours."""
    mirror(client, NAME, [Judgment("a", ("x",), ("t::p",), "rule", "a note")])
    (row,) = langsmith.rows()
    assert row["inputs"] == {"query": "a"}
    assert row["outputs"] == {"relevant": ["x"], "exemplars": ["t::p"], "kind": "rule"}
    assert row["metadata"].keys() == {"dataset_split", "golden_id"}


def test_exactly_the_changed_rows_are_written(langsmith, client):
    """One edited, one added, one removed: three writes, and the others keep their ids."""
    mirror(client, NAME, judgments(range(250)))
    before = ids(langsmith)
    wanted = [*judgments(range(1, 249)), *judgments([250]), *judgments([0], relevant="other")]
    langsmith.forget_requests()
    changes = mirror(client, NAME, wanted)
    assert str(changes) == "1 created, 1 updated, 1 removed, 248 unchanged"
    assert [request.method for request in langsmith.writes] == ["POST", "PATCH", "DELETE"]
    assert langsmith.writes[2].query == {"example_ids": [before["query 249"]]}
    assert rows(langsmith) == file_rows(wanted)
    after = ids(langsmith)
    assert {query: id_ for query, id_ in before.items() if query != "query 249"} == {
        query: id_ for query, id_ in after.items() if query != "query 250"
    }


def test_edited_row_keeps_what_people_added(langsmith, client):
    """A split that was assigned in LangSmith survives an edit in the file."""
    mirror(client, NAME, judgments([1]))
    langsmith.rows()[0]["metadata"]["dataset_split"] = ["hard"]
    mirror(client, NAME, judgments([1], relevant="other"))
    (row,) = langsmith.rows()
    assert row["metadata"]["dataset_split"] == ["hard"]
    assert row["outputs"]["relevant"] == ["other-1"]


def test_file_is_listed_whole_before_the_first_write(langsmith, client):
    """No row is judged by half a listing."""
    mirror(client, NAME, judgments(range(250)))
    langsmith.forget_requests()
    mirror(client, NAME, judgments(range(10, 260)))
    paths = [(request.method, request.path) for request in langsmith.requests]
    first_write = next(place for place, (method, _) in enumerate(paths) if method != "GET")
    assert paths.count(("GET", "/examples")) == 3
    assert ("GET", "/examples") not in paths[first_write:]


@pytest.mark.parametrize("count", [99, 100, 101, 200])
def test_paging_at_its_borders(langsmith, client, count):
    """A full last page is followed by an empty one, and no row is listed twice."""
    mirror(client, NAME, judgments(range(count)))
    assert mirror(client, NAME, judgments(range(count))) == Difference(unchanged=count)
    assert len(langsmith.rows()) == count


def test_removed_row_that_comes_back(langsmith, client):
    """It is created without a conflict: the id that it had is never used again."""
    mirror(client, NAME, judgments(range(3)))
    before = ids(langsmith)
    mirror(client, NAME, judgments(range(2)))
    mirror(client, NAME, judgments(range(3)))
    assert rows(langsmith) == file_rows(judgments(range(3)))
    assert ids(langsmith)["query 2"] != before["query 2"]


def test_rows_of_other_origin(langsmith, client):
    """A row without a golden_id is adopted when query and kind are a judgment's, else removed."""
    mirror(client, NAME, judgments([1, 2]))
    adopted, foreign = langsmith.rows()
    del adopted["metadata"]["golden_id"]
    del foreign["metadata"]["golden_id"]
    foreign["inputs"] = {"question": "made by hand"}
    changes = mirror(client, NAME, judgments([1, 2]))
    assert str(changes) == "1 created, 1 updated, 1 removed, 0 unchanged"
    assert ids(langsmith)["query 1"] == adopted["id"]
    assert rows(langsmith) == file_rows(judgments([1, 2]))


def test_rows_that_are_there_twice(langsmith, client):
    """Two people published at once: the first of two rows stays."""
    mirror(client, NAME, judgments([1]))
    (row,) = langsmith.rows()
    twin = {**copy.deepcopy(row), "id": "22222222-2222-4222-8222-222222222222"}
    langsmith.examples[twin["id"]] = twin
    assert mirror(client, NAME, judgments([1])).remove == (twin,)
    assert langsmith.rows() == [row]


def test_other_datasets_are_left_alone(langsmith, client):
    """Only the dataset of that name is touched."""
    mirror(client, "other", judgments(range(3)))
    mirror(client, NAME, judgments(range(5, 7)))
    assert len(langsmith.rows("other")) == 3
    assert len(langsmith.rows(NAME)) == 2


OLD = judgments(range(23))
NEW = [*judgments(range(6, 18), "edited"), *judgments(range(40, 53))]


@pytest.fixture
def small_batches(monkeypatch):
    """Several requests for what else takes one: pages and batches of 10 rows."""
    monkeypatch.setattr("boost_langchain.evaluation._mirror.BATCH", 10)


@pytest.mark.parametrize("old", [(), OLD], ids=["first run", "later run"])
@pytest.mark.slow
def test_cut_from_any_request_on(langsmith, client, small_batches, old):
    """Case 20: whatever request is the last to arrive, no row is lost, and the next run finishes.

    A single cut would be invisible: the client tries again. So it goes on until the run ends.
    """
    if old:
        mirror(client, NAME, old)
    start = copy.deepcopy((langsmith.datasets, langsmith.examples, langsmith._used))
    fewest = min(len(old), len(NEW))
    outcomes = []
    for number in range(1, 100):
        langsmith.datasets, langsmith.examples, langsmith._used = copy.deepcopy(start)
        langsmith.forget_requests()
        langsmith.cut_from(number)
        client._info = None  # a run of its own asks again
        try:
            mirror(client, NAME, NEW)
        except LangSmithServiceError as e:
            outcomes.append(str(e))
        else:
            break
        assert len(langsmith.rows()) >= fewest
        for id_, row in rows(langsmith).items():
            assert row in (file_rows(old).get(id_), file_rows(NEW).get(id_))
        langsmith.forget_requests()
        client._info = None
        mirror(client, NAME, NEW)
        assert rows(langsmith) == file_rows(NEW)
        langsmith.forget_requests()
        assert mirror(client, NAME, NEW) == Difference(unchanged=len(NEW))
        assert langsmith.writes == []
    assert len(outcomes) > 6
    assert all("it cannot be reached: check LANGSMITH_ENDPOINT" in line for line in outcomes)
    assert any("(before it: 10 created, 0 updated, 0 removed;" in line for line in outcomes)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/datasets"), ("POST", "/examples"), ("PATCH", ""), ("DELETE", "")],
)
@pytest.mark.parametrize("times", [1, 2])
def test_lost_answer_duplicates_nothing(langsmith, client, small_batches, method, path, times):
    """The write was done, its answer was lost, the client sends it again: one row each."""
    if path != "/datasets":
        mirror(client, NAME, OLD)
    langsmith.forget_requests()
    langsmith.lose_answer(method, path, times=times)
    mirror(client, NAME, NEW)
    sent = [(request.method, request.body) for request in langsmith.writes]
    assert len(set(sent)) < len(sent)
    assert rows(langsmith) == file_rows(NEW)
    langsmith.forget_requests()
    assert mirror(client, NAME, NEW) == Difference(unchanged=len(NEW))


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_every_answer_lost(langsmith, client, method):
    """Every answer to a kind of write is lost: one line at most, and the next run is whole."""
    mirror(client, NAME, OLD)
    langsmith.lose_answer(method, "/examples", times=float("inf"))
    try:
        mirror(client, NAME, NEW)
    except LangSmithServiceError as e:
        assert "\n" not in str(e)  # noqa: PT017 - whether it raises is not the point
    assert len(langsmith.rows()) >= min(len(OLD), len(NEW))
    langsmith.forget_requests()
    mirror(client, NAME, NEW)
    assert rows(langsmith) == file_rows(NEW)


def test_conflict_that_never_ends(langsmith, client):
    """A conflict is answered by another look a few times, then by one line."""
    langsmith.refuse(409, method="POST", path="/examples")
    with pytest.raises(LangSmithServiceError, match="409, the name or an id is taken") as caught:
        mirror(client, NAME, judgments([1]))
    assert "\n" not in str(caught.value)
    assert methods(langsmith)["POST"] == 5  # the dataset, the rows, three more looks


def test_name_that_is_taken_out_of_sight(langsmith, client):
    """The dataset cannot be seen and cannot be made: the name is what to change."""
    langsmith.refuse(409, method="POST", path="/datasets")
    with pytest.raises(LangSmithServiceError, match="409, the name or an id is taken: run it"):
        mirror(client, NAME, judgments([1]))


def test_rate_limit_is_waited_for(langsmith, client, monkeypatch):
    """429 with Retry-After: the client waits as long as it was told, and tries again."""
    waits = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", waits.append)
    langsmith.refuse(429, method="POST", path="/examples", times=2, Retry_After=7)
    mirror(client, NAME, judgments(range(3)))
    assert waits.count(7) == 2
    assert rows(langsmith) == file_rows(judgments(range(3)))


def test_service_without_the_multipart_endpoint(langsmith, client):
    """An older deployment: the client falls back to its bulk endpoints, with our ids."""
    langsmith.multipart = False
    mirror(client, NAME, judgments(range(5)))
    langsmith.lose_answer("POST", "/examples/bulk")
    mirror(client, NAME, [*judgments(range(1, 5), "edited"), *judgments([9])])
    assert {request.path for request in langsmith.writes[1:]} == {"/examples/bulk", "/examples"}
    assert rows(langsmith) == file_rows([*judgments(range(1, 5), "edited"), *judgments([9])])


def test_dry_run_sends_no_write(langsmith, client):
    """The difference is told, with and without a dataset; nothing is made."""
    assert str(mirror(client, NAME, judgments([1]), dry_run=True)).startswith("1 created")
    assert langsmith.writes == []
    mirror(client, NAME, judgments([1, 2]))
    langsmith.forget_requests()
    changes = mirror(client, NAME, judgments([2, 3]), dry_run=True)
    assert str(changes) == "1 created, 0 updated, 1 removed, 1 unchanged"
    assert langsmith.writes == []


def test_difference_of_nothing():
    """A first run creates everything, and an unchanged one nothing."""
    assert difference(judgments([1]), []) == Difference(create=tuple(judgments([1])))
    assert difference([], []) == Difference()


def test_mirrored_row_is_kept_before_a_handmade_one():
    """A row of the same query without a golden_id, listed first, does not take its place."""
    (judgment,) = judgments([1])
    inputs = {"query": judgment.query}
    outputs = {"relevant": ["item-1"], "exemplars": ["t::1"], "kind": "skill"}
    ours = {
        "id": "a",
        "inputs": inputs,
        "outputs": outputs,
        "metadata": {"golden_id": judgment.golden_id},
    }
    made = {"id": "b", "inputs": inputs, "outputs": outputs, "metadata": None}
    assert [row["id"] for row in difference([judgment], [made, ours]).remove] == ["b"]
    odd = {"id": "c", "inputs": {"query": "x"}, "outputs": {"relevant": 5, "exemplars": True}}
    assert [row["id"] for row in difference([judgment], [odd, ours]).remove] == ["c"]


def publish(*arguments, script=SCRIPT, prelude="", **environment):
    """Run the script as a command, `prelude` before it."""
    code = f"import runpy, sys; {prelude}; sys.argv[0] = r'{script}'; "
    code += f"runpy.run_path(r'{script}', run_name='__main__')"
    command = ["-c", code] if prelude else [script]
    return python(*command, *arguments, **environment)


@pytest.fixture
def command(monkeypatch, capsys):
    """Call the script's main in this process, which is quicker; the same three results."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    main = importlib.import_module(SCRIPT.stem).main
    logger = logging.getLogger("langsmith")
    level = logger.level

    def call(*arguments, **environment):
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            code = main([*map(str, arguments)])
        return code, *capsys.readouterr()

    yield call
    logger.setLevel(level)


@pytest.fixture
def golden(tmp_path):
    """Two rows as a file."""
    path = tmp_path / "golden.jsonl"
    path.write_text(
        '{"query": "check a deploy", "relevant": ["deploy-check"], "kind": "skill"}\n'
        '{"query": "triage logs", "relevant": ["log-triage"]}\n'
    )
    return path


@pytest.mark.parametrize("script", [SCRIPT, FORWARDER], ids=["scripts", "forwarder"])
def test_command_publishes_our_own_file(langsmith, script):
    """Without arguments: the repository's golden file, under its usual name."""
    code, out, err = publish(script=script)
    assert (code, err) == (0, "")
    assert out == (
        "published 138 examples to LangSmith dataset 'boost-golden-retrieval'\n"
        "138 created, 0 updated, 0 removed, 0 unchanged\n"
    )
    assert rows(langsmith) == file_rows(read_golden(ROOT / "tests" / "eval" / "golden.jsonl"))


def test_command_on_another_file_and_name(command, langsmith, golden):
    """--golden and --name; an endpoint may end in a slash, and the old variables count."""
    environment = {"LANGSMITH_API_KEY": " ", "LANGSMITH_ENDPOINT": "", "LANGCHAIN_API_KEY": KEY}
    code, out, err = command(
        "--golden", golden, "--name", "mine", **environment, LANGCHAIN_ENDPOINT=f"{langsmith.url}/"
    )
    assert (code, err) == (0, "")
    assert out.startswith("published 2 examples to LangSmith dataset 'mine'\n")
    assert len(langsmith.rows("mine")) == 2


def test_command_shows_the_difference(command, langsmith, client, golden):
    """--dry-run names every row that would be written, and writes none."""
    mirror(client, NAME, [Judgment("triage logs", ("other",)), Judgment("old", ("x",))])
    langsmith.forget_requests()
    assert command("--golden", golden, "--dry-run") == (
        0,
        "+ check a deploy\n~ triage logs\n- old\n"
        "would publish 2 examples: 1 created, 1 updated, 1 removed, 0 unchanged\n",
        "",
    )
    assert langsmith.writes == []


def test_reader_that_stops_early(langsmith):
    """A closed pipe is no error."""
    command = f"({sys.executable} {SCRIPT} --dry-run; echo $? >&2) | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd="/")
    assert done.stderr == "0\n"


@pytest.mark.parametrize("key", ["", "  "])
def test_command_without_a_key(command, langsmith, golden, key):
    """No key, or a blank one: one line, exit code 1, nothing sent."""
    code, out, err = command("--golden", golden, LANGSMITH_API_KEY=key)
    assert (code, out) == (1, "")
    assert err == (
        "no LangSmith key: set LANGSMITH_API_KEY (smith.langchain.com, Settings, API Keys)\n"
    )
    assert langsmith.requests == []


def test_command_without_langsmith(langsmith, golden):
    """Langsmith is not installed: one line with the pip command, nothing sent."""
    code, out, err = publish("--golden", golden, prelude="sys.modules['langsmith'] = None")
    assert (code, out) == (1, "")
    assert err == (
        "langsmith is not installed: pip install --upgrade 'boost-langchain[langsmith]'\n"
    )
    assert langsmith.requests == []


def test_command_starts_no_thread_that_sends_runs(command, langsmith, golden, monkeypatch):
    """One that begins after the command's end would end in a traceback."""
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: started.append(self) or start(self))
    assert command("--golden", golden)[0] == 0
    assert [thread.name for thread in started if "tracing" in thread.name] == []


def test_client_without_langsmith(langsmith, monkeypatch):
    """The same for who calls the library; an older langsmith would drop the outputs."""
    monkeypatch.setitem(sys.modules, "langsmith", None)
    with pytest.raises(LangSmithServiceError, match=r"not installed: pip install .*\[langsmith\]'"):
        open_client()
    monkeypatch.undo()
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    monkeypatch.setattr("langsmith.schemas.ExampleCreate.__pydantic_fields__", {})
    with pytest.raises(LangSmithServiceError, match=r"older than 0\.15: pip install --upgrade"):
        open_client()


@pytest.mark.parametrize("endpoint", ["localhost:1984", "smith", "ftp://host", "http://"])
def test_command_on_an_endpoint_that_is_no_address(command, golden, endpoint):
    """The value is named, and what it should be."""
    code, out, err = command("--golden", golden, LANGSMITH_API_KEY=KEY, LANGSMITH_ENDPOINT=endpoint)
    assert (code, out) == (1, "")
    assert err == (
        f"LANGSMITH_ENDPOINT='{endpoint}' is no address: set it to "
        "https://api.smith.langchain.com, or that of your region\n"
    )


@pytest.mark.slow
def test_command_on_an_endpoint_where_nobody_answers(langsmith, golden):
    """A closed port: one line that names the endpoint, without the password in it."""
    langsmith.cut_from(1)
    endpoint = langsmith.url.replace("http://", "http://user:secret@")
    code, out, err = publish("--golden", golden, LANGSMITH_ENDPOINT=endpoint)
    assert (code, out) == (1, "")
    assert err == (
        f"LangSmith at {langsmith.url}: it cannot be reached: check LANGSMITH_ENDPOINT and the "
        "network, and run it again\n"
    )


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (401, "it does not know the key: check LANGSMITH_API_KEY"),
        (403, "the key may not do this: use one that may write"),
        (404, "there is no LangSmith API: set LANGSMITH_ENDPOINT to https://api.smith"),
        (405, "it does not take this request, as the web application's address would not"),
        (413, "the rows are too large for it"),
        (422, "it failed: run it again later"),
        (429, "it still limits the rate after several tries"),
        (500, "it failed: run it again later"),
    ],
)
def test_command_refused(command, langsmith, golden, status, step):
    """Case 22: one line: the endpoint, the status and the next step; exit code 1, no row written."""
    langsmith.refuse(status, **({"Retry_After": 0} if status == 429 else {}))
    code, out, err = command("--golden", golden)
    assert (code, out) == (1, "")
    assert err.startswith(f"LangSmith at {langsmith.url}: {status}, {step}")
    assert len(err.splitlines()) == 1
    assert langsmith.rows() == []


def test_command_on_variables_that_contradict_each_other(command, langsmith, golden):
    """What the client itself refuses is passed on, in one line."""
    code, out, err = command("--golden", golden, LANGSMITH_RUNS_ENDPOINTS="{}")
    assert (code, out) == (1, "")
    assert "You cannot provide both LANGSMITH_ENDPOINT" in err
    assert len(err.splitlines()) == 1
    assert langsmith.requests == []


def test_command_with_a_wrong_key(command, langsmith, golden):
    """The double checks the key as the service does."""
    code, _, err = command("--golden", golden, LANGSMITH_API_KEY="lsv2_pt_other")
    assert code == 1
    assert "401, it does not know the key" in err
    assert "lsv2_pt_other" not in err


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("status", [403, 404, 405, 409, 413, 500])
def test_write_refused(langsmith, client, method, status):
    """A key that may read only, say: what was done is told, and no row is lost."""
    mirror(client, NAME, OLD)
    langsmith.refuse(status, method=method, path="/examples")
    with pytest.raises(LangSmithServiceError, match=f": {status}, ") as caught:
        mirror(client, NAME, NEW)
    told = {"POST": None, "PATCH": "13 created, 0 updated", "DELETE": "12 updated, 0 removed"}
    assert told[method] is None or told[method] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(langsmith.rows()) >= len(OLD)


def test_command_on_the_web_application(command, langsmith, golden):
    """A host that answers with pages is not the API, and is told so."""
    langsmith.html = True
    code, out, err = command("--golden", golden)
    assert (code, out) == (1, "")
    assert err == (
        f"LangSmith at {langsmith.url}: it does not answer as the API does: set "
        "LANGSMITH_ENDPOINT to https://api.smith.langchain.com, or that of your region\n"
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/datasets"), ("POST", "/datasets"), ("GET", "/examples"), ("POST", "/examples")],
)
def test_answer_of_another_shape(langsmith, client, method, path):
    """JSON that is no listing and no dataset: one line; what answers a write is not read."""
    if path != "/datasets":
        mirror(client, NAME, [])
    langsmith.refuse(200, method=method, path=path)
    if (method, path) == ("POST", "/examples"):
        mirror(client, NAME, OLD)
        return
    with pytest.raises(LangSmithServiceError, match="it does not answer as the API does: set"):
        mirror(client, NAME, OLD)


@pytest.mark.parametrize(
    "spoilt", [{"metadata": ["x"]}, {"inputs": "q"}, {"outputs": 5}, {"id": 7}]
)
def test_row_of_another_shape(langsmith, client, spoilt):
    """Nothing is written where the rows that are there cannot be read."""
    mirror(client, NAME, OLD)
    next(iter(langsmith.examples.values())).update(spoilt)
    langsmith.forget_requests()
    with pytest.raises(LangSmithServiceError, match="it does not answer as the API does: set"):
        mirror(client, NAME, NEW)
    assert langsmith.writes == []


def test_row_with_half_a_character(langsmith, client):
    """Somebody else's row that is no Unicode is a row to remove, as any other."""
    mirror(client, NAME, OLD)
    row = next(iter(langsmith.examples.values()))
    row |= {"inputs": {"query": "\ud800"}, "metadata": None}
    mirror(client, NAME, NEW)
    assert rows(langsmith) == file_rows(NEW)


@pytest.mark.parametrize(
    "error", [FileNotFoundError("git"), KeyError("x"), ValueError("x"), PermissionError("x")]
)
def test_what_is_not_langsmiths_fault(error):
    """A fault of the caller's own code stays what it is."""
    with pytest.raises(type(error)) as caught, langsmith_errors("https://example.invalid"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    "error",
    [
        requests.Timeout("x"),
        requests.exceptions.ChunkedEncodingError("x"),
        LangSmithConnectionError("x"),
        ConnectionResetError("x"),
        TimeoutError("x"),
    ],
)
def test_what_is_a_lost_connection(error):
    """One line that names the endpoint, with the cause behind it."""
    with (
        pytest.raises(
            LangSmithServiceError,
            match=r"^LangSmith at https://example\.invalid: it cannot be reached",
        ) as caught,
        langsmith_errors("https://me:secret@example.invalid"),
    ):
        raise error
    assert caught.value.__cause__ is error


def bad_line(number, text):
    """Rows with one other line among them."""
    lines = [json.dumps({"query": f"q{n}", "relevant": ["x"]}) for n in range(1, 21)]
    lines[number - 1] = text
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bad_line(17, '{"query": "q17", "relevant": ["x"'), ":17: not JSON: "),
        (bad_line(17, '{"query": "q3", "relevant": ["x"]}'), ":17: repeats line 3: the query 'q3'"),
        (bad_line(17, '{"query": "q", "relevant": ["x"], "kind": "skil"}'), ":17: unknown kind"),
        (None, ": cannot be read (No such file or directory)"),
        ("", ": holds no judgment"),
    ],
)
def test_command_on_a_bad_file(command, langsmith, tmp_path, text, message):
    """The line is named before the first request."""
    path = tmp_path / "golden.jsonl"
    if text is not None:
        path.write_text(text)
    code, out, err = command("--golden", path)
    assert (code, out) == (1, "")
    assert err.startswith(f"{path}{message}")
    assert len(err.splitlines()) == 1
    assert langsmith.requests == []
