"""Golden files: what is read, what is refused, and what our own one holds."""

import json
from collections import Counter

import pytest
from boost_cli.core.rag import tokenize

from boost_langchain.errors import EvaluationFileError
from boost_langchain.evaluation import Judgment, read_golden

from support import ROOT

OWN = ROOT / "tests" / "eval" / "golden.jsonl"


@pytest.fixture
def golden_file(tmp_path):
    """Write a golden file from lines of text or rows; return its path."""

    def write(*lines, end="\n", bom=b""):
        path = tmp_path / "golden.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_bytes(bom + "".join(f"{text}{end}" for text in texts).encode())
        return path

    return write


def test_row_with_everything(golden_file):
    """Each key of a row is a field, a list of ids stays a list."""
    row = {
        "query": "check a deploy",
        "relevant": ["deploy-check", "deploy"],
        "exemplar": ["a/b::deploy/SKILL.md", "c/d::deploy/SKILL.md"],
        "kind": "skill",
        "note": "n1",
    }
    assert read_golden(golden_file(row)) == [
        Judgment(
            query="check a deploy",
            relevant=("deploy-check", "deploy"),
            exemplars=("a/b::deploy/SKILL.md", "c/d::deploy/SKILL.md"),
            kind="skill",
            note="n1",
        )
    ]


def test_row_with_the_least(golden_file):
    """A query and a name are enough; an exemplar or a name may be a plain string."""
    rows = [{"query": "a", "relevant": ["x"]}, {"query": "b", "relevant": "y", "exemplar": "t::p"}]
    assert read_golden(golden_file(*rows)) == [
        Judgment("a", ("x",)),
        Judgment("b", ("y",), ("t::p",)),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_comments_blank_lines_line_ends_and_byte_order_mark(golden_file, end, bom):
    """What editors and people add around the rows is no row."""
    row = {"query": "a", "relevant": ["x"]}
    path = golden_file("# a comment", "", row, "   ", "  # another", end=end, bom=bom)
    assert read_golden(path) == [Judgment("a", ("x",))]


def test_last_line_needs_no_line_end(tmp_path):
    """A file cut after its last character is whole."""
    path = tmp_path / "golden.jsonl"
    path.write_text('{"query": "a", "relevant": ["x"]}')
    assert len(read_golden(path)) == 1


def test_line_separator_inside_a_query(golden_file):
    """U+2028 is part of JSON text, not the end of a line."""
    path = golden_file('{"query": "one\u2028two", "relevant": ["x"]}')
    assert read_golden(path)[0].query == "one\u2028two"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: .* at column 2; write one JSON object per line"),
        ("[1]", r"not a judgment: \[1\]; write one JSON object per line"),
        ("[" * 200_000, "nested too deep; write one JSON object per line"),
        ({"relevant": ["x"]}, "has no query; write what a user would ask"),
        ({"query": "  ", "relevant": ["x"]}, "query is '  '; write text that is not blank"),
        ({"query": 3, "relevant": ["x"]}, "query is 3; write text that is not blank"),
        ({"query": "a"}, "names nothing that answers; give relevant names or an exemplar"),
        ({"query": "a", "relevant": []}, "names nothing that answers"),
        ({"query": "a", "relevant": [""]}, "relevant is ''; write text that is not blank"),
        ({"query": "a", "relevant": [None]}, "relevant is None; write text that is not blank"),
        ({"query": "a", "exemplar": {"t": "p"}}, r"exemplar is \{'t': 'p'\}; write text"),
        ({"query": "a", "exemplar": "t/p"}, "exemplar 't/p' is not an id; write tap::path"),
        ({"query": "a", "exemplar": "::p"}, "exemplar '::p' is not an id; write tap::path"),
        (
            {"query": "a", "relevant": ["x"], "kind": "plugin"},
            "unknown kind 'plugin'; use skill, rule, workflow or null",
        ),
        ({"query": "a", "relevant": ["x"], "kind": ["rule"]}, r"unknown kind \['rule'\]; use"),
        ({"query": "a", "relevant": ["x"], "note": 1}, "note is 1; write text"),
        (
            {"query": "a", "relevant": ["x"], "exemplars": ["t::p"]},
            "unknown key 'exemplars'; a judgment has query, relevant, exemplar, kind, note",
        ),
        ('{"query": "a", "query": "b", "relevant": ["x"]}', "has the key 'query' twice; keep one"),
        ({"query": "\ud83d", "relevant": ["x"]}, r"query '\\ud83d' holds half of a surrogate"),
    ],
    ids=str,
)
def test_malformed_line_is_named(golden_file, line, message):
    """File and line, the value, and what to do; line 3, because comments count too."""
    path = golden_file("# a comment", {"query": "fine", "relevant": ["x"]}, line)
    with pytest.raises(EvaluationFileError, match=message) as caught:
        read_golden(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 200


def test_bytes_that_are_not_utf8(tmp_path):
    """A file in another encoding is named by line and byte."""
    path = tmp_path / "golden.jsonl"
    path.write_bytes(b'{"query": "a", "relevant": ["x"]}\n{"query": "caf\xe9"}\n')
    with pytest.raises(EvaluationFileError, match=r":2: byte 15 is not UTF-8 \(0xe9\); save the"):
        read_golden(path)


def test_duplicate_names_both_lines(golden_file):
    """The same query and kind twice is one judgment too many."""
    row = {"query": "a", "relevant": ["x"], "kind": "rule"}
    path = golden_file(row, {**row, "relevant": ["y"]})
    with pytest.raises(EvaluationFileError, match=":2: repeats line 1: the query 'a' with kind"):
        read_golden(path)


def test_same_query_for_another_kind_is_no_duplicate(golden_file):
    """A query may be judged once per kind; each has an identity of its own."""
    row = {"query": "a", "relevant": ["x"]}
    found = read_golden(golden_file(row, {**row, "kind": "rule"}, {**row, "kind": "skill"}))
    assert len({judgment.golden_id for judgment in found}) == 3


def test_identity_ignores_what_answers():
    """Editing what answers leaves the judgment the same one."""
    before = Judgment("a", ("x",), (), "rule", "why")
    assert before.golden_id == Judgment("a", ("y",), ("t::p",), "rule").golden_id
    assert before.golden_id != Judgment("b", ("x",), (), "rule", "why").golden_id


def test_row_of_a_dataset_and_back():
    """What a dataset holds is what the file says, but for the note."""
    judgment = Judgment("a", ("x", "y"), ("t::p",), "rule", "why")
    assert judgment.inputs == {"query": "a"}
    assert judgment.outputs == {"relevant": ["x", "y"], "exemplars": ["t::p"], "kind": "rule"}
    back = Judgment.from_row(judgment.inputs, judgment.outputs)
    assert back == Judgment("a", ("x", "y"), ("t::p",), "rule")


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_file_without_a_judgment(tmp_path, text):
    """An empty file is refused: mirrored, it would empty the dataset."""
    path = tmp_path / "golden.jsonl"
    path.write_text(text)
    with pytest.raises(EvaluationFileError, match="holds no judgment; write one JSON object"):
        read_golden(path)


def test_missing_file(tmp_path):
    """A path that leads nowhere is named, and so is a directory."""
    with pytest.raises(EvaluationFileError, match=r"nowhere\.jsonl: cannot be read \(No such"):
        read_golden(tmp_path / "nowhere.jsonl")
    with pytest.raises(EvaluationFileError, match=r"cannot be read \(Is a directory\)"):
        read_golden(tmp_path)


def test_own_file_is_large_enough():
    """At least 91 judgments, as many as the engine's own, and every kind well covered."""
    judgments = read_golden(OWN)
    assert len(judgments) >= 91
    kinds = Counter(judgment.kind for judgment in judgments)
    assert min(kinds[kind] for kind in ("skill", "rule", "workflow")) >= 20


def test_own_file_pins_what_the_catalog_holds(own_catalog):
    """Every exemplar is an item, every name belongs to one, and kind is the exemplars' own."""
    entries = {f"{each['tap']}::{each['skill_md']}": each for each in own_catalog.entries()}
    names = {each["name"] for each in entries.values()}
    for judgment in read_golden(OWN):
        assert judgment.exemplars
        assert set(judgment.exemplars) <= entries.keys(), judgment.query
        assert set(judgment.relevant) <= names, judgment.query
        pinned = [entries[exemplar] for exemplar in judgment.exemplars]
        assert [each["name"] for each in pinned] == list(judgment.relevant[: len(pinned)])
        kinds = {each["kind"] for each in pinned}
        assert judgment.kind == (kinds.pop() if len(kinds) == 1 else None), judgment.query


def test_own_file_asks_for_every_item(own_catalog):
    """No item of the catalog goes without a judgment that it answers."""
    asked = {name for judgment in read_golden(OWN) for name in judgment.relevant}
    assert {each["name"] for each in own_catalog.entries()} <= asked


def test_own_file_phrases_a_third_as_problems(own_catalog):
    """A problem shares at most one content word with its item's name and description."""
    entries = {f"{each['tap']}::{each['skill_md']}": each for each in own_catalog.entries()}
    judgments = read_golden(OWN)
    problems = [judgment for judgment in judgments if judgment.note.startswith("problem:")]
    assert len(problems) * 3 >= len(judgments)
    for judgment in problems:
        for exemplar in judgment.exemplars:
            item = entries[exemplar]
            described = f"{item['name']} {item['description']}"
            shared = content_words(judgment.query) & content_words(described)
            assert len(shared) <= 1, (judgment.query, shared)


def content_words(text):
    """The words that the engine indexes, without their commonest endings."""
    words = set(tokenize(text))
    for ending in ("ing", "ed", "es", "s"):
        words = {word.removesuffix(ending) if len(word) > 4 else word for word in words}
    return words
