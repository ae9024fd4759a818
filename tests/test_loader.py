"""SkillMarkdownLoader: one file as one Document, whatever the file holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from boost_langchain import SkillMarkdownLoader
from boost_langchain.errors import SkillLoadError

from support import OWN, skill, snapshot

BODY = "\n\n# Steps\n\nRun the checks.\n"
SECRET = "placeholder-secret-value"


@pytest.fixture
def read(tmp_path):
    """Write a SKILL.md and load it."""

    def read(text):
        path = tmp_path / "SKILL.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        (document,) = SkillMarkdownLoader(path).load()
        strict = json.loads(json.dumps(document.metadata, allow_nan=False))
        assert strict == document.metadata
        assert isinstance(document.metadata["description"], str)
        assert document.metadata["source"] == str(path)
        return document

    return read


def fields(document):
    """The metadata that comes from the header."""
    return {k: v for k, v in document.metadata.items() if k not in {"source", "warnings"}}


# ------------------------------------------------------------------------------- what is loaded


def test_one_document_with_the_frontmatter_as_metadata(tmp_path):
    """A skill is one Document: the body, its fields and where it came from."""
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: a\ndescription: b\ntags: [x, y]\n---\n\n# Title\n\nText.\n")
    (document,) = SkillMarkdownLoader(path).load()
    assert document.page_content == "# Title\n\nText."
    assert document.metadata == {
        "name": "a",
        "description": "b",
        "tags": ["x", "y"],
        "warnings": [],
        "source": str(path),
    }


@pytest.mark.parametrize("form", [str, Path])
def test_path_may_be_a_string_or_a_path(tmp_path, form):
    """Both forms, of a file and of its directory, load the same Document."""
    path = tmp_path / "SKILL.md"
    path.write_text(skill("a", "b", "Body."))
    (of_file,) = SkillMarkdownLoader(form(path)).load()
    (of_directory,) = SkillMarkdownLoader(form(tmp_path)).load()
    assert of_file == of_directory
    assert of_file.metadata["source"] == str(path)


def test_home_and_relative_paths(tmp_path, monkeypatch):
    """`~` is the user's home, and source is the whole path in every case."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "SKILL.md").write_text(skill("deploy"))
    for path in ("~/deploy", "deploy", "./deploy/../deploy/SKILL.md"):
        (document,) = SkillMarkdownLoader(path).load()
        assert document.metadata["source"] == str(tmp_path / "deploy" / "SKILL.md")
    with pytest.raises(SkillLoadError, match="give the path in full"):
        SkillMarkdownLoader("~nobody-of-that-name/deploy")


@pytest.mark.parametrize(
    ("names", "loaded"),
    [
        (["skill.md"], "skill.md"),
        (["Skill.MD"], "Skill.MD"),
        (["skill.md", "SKILL.md"], "SKILL.md"),
        (["skill.md", "Skill.md", "README.md"], "Skill.md"),
    ],
)
def test_directory_with_the_name_in_another_letter_case(tmp_path, names, loaded):
    """SKILL.md is found in any letter case, the exact name first."""
    for name in names:
        (tmp_path / name).write_text(skill(name))
    (document,) = SkillMarkdownLoader(tmp_path).load()
    assert document.metadata["name"] == loaded
    assert document.metadata["source"] == str(tmp_path / loaded)


@pytest.mark.parametrize("name", ["style.mdc", ".cursorrules", "commands/review.md"])
def test_file_of_any_kind(tmp_path, name):
    """A rule or a workflow is a file like any other."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("Always check.\n")
    (document,) = SkillMarkdownLoader(path).load()
    assert document.page_content == "Always check.\n"


def test_loading_is_lazy(tmp_path):
    """Nothing is read before a document is asked for, and each time anew."""
    loader = SkillMarkdownLoader(tmp_path)
    documents = loader.lazy_load()
    (tmp_path / "SKILL.md").write_text(skill("first"))
    assert next(documents).metadata["name"] == "first"
    (tmp_path / "SKILL.md").write_text(skill("second"))
    assert loader.load()[0].metadata["name"] == "second"


async def test_loading_from_a_coroutine(tmp_path):
    """The async methods give the same Document and the same error."""
    (tmp_path / "SKILL.md").write_text(skill("a", "b", "Body."))
    loader = SkillMarkdownLoader(tmp_path)
    assert await loader.aload() == loader.load()
    assert [document async for document in loader.alazy_load()] == loader.load()
    with pytest.raises(SkillLoadError):
        await SkillMarkdownLoader(tmp_path / "missing").aload()


# --------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("header", "description"),
    [
        pytest.param(">-\n  first line\n  second: line", "first line second: line", id="fold"),
        pytest.param(
            "|\n  first line\n  second line\n\n  para two",
            "first line second line para two",
            id="literal",
        ),
        pytest.param(
            ">2\n  first line\n\n  - a dash line", "first line - a dash line", id="indent"
        ),
        pytest.param("|2-\n  only line", "only line", id="indent and chomp"),
        pytest.param(">+1\n only line", "only line", id="chomp and indent"),
        pytest.param("|4 # as is\n    only: line\n    # kept", "only: line # kept", id="comment"),
        pytest.param(">2\n  note: >2\n  more", "note: >2 more", id="the same as content"),
        pytest.param("|2-", "", id="empty"),
    ],
)
def test_block_scalar_is_one_string(read, header, description):
    """Case 02: with or without indicators a block scalar is its text, in one string."""
    document = read(f"---\nname: a\ndescription: {header}\nlicense: MIT\n---{BODY}")
    assert fields(document) == {"name": "a", "description": description, "license": "MIT"}
    assert document.page_content == "# Steps\n\nRun the checks."
    assert document.metadata["warnings"] == []


@pytest.mark.parametrize(
    ("value", "description"),
    [
        ("[one, two]", "one, two"),
        ("\n  - Use it when\n  - it rains", "Use it when, it rains"),
        ("\n  Use when reviewing: it checks", "Use when reviewing: it checks"),
        ("\n  en: English\n  de: [Deutsch, gut]", "en: English, de: Deutsch, gut"),
        ("true", "true"),
        ("null", ""),
        ("12", "12"),
        ("nan", "nan"),
        ("", ""),
    ],
)
def test_description_is_always_one_string(read, value, description):
    """Lists, maps, numbers and nothing at all come out as text."""
    document = read(f"---\nname: a\ndescription: {value}\n---\nBody.\n")
    assert document.metadata["description"] == description
    assert document.metadata["warnings"] == []


@pytest.mark.parametrize("fence", ["---", "..."])
def test_indented_fence_is_content(read, fence):
    """Case 04: a fence inside a block scalar stays text, and the catalog's reading is named."""
    document = read(
        f"---\nname: tri\ndescription: |\n  before\n  {fence}\n  after\nversion: 2.1\n---{BODY}"
    )
    assert fields(document) == {
        "name": "tri",
        "description": f"before {fence} after",
        "version": 2.1,
    }
    assert document.page_content == "# Steps\n\nRun the checks."
    assert document.metadata["warnings"] == [
        f"the {fence} on line 5 does not begin a line, so it is content here; "
        "the catalog ends the header there"
    ]


def test_rule_in_the_body_stays(read):
    """Case 04: `---` within a value or as a rule in the body ends nothing."""
    document = read("---\nname: rule\ndescription: uses --- inline\n---\none\n\n---\n\ntwo\n")
    assert fields(document) == {"name": "rule", "description": "uses --- inline"}
    assert document.page_content == "one\n\n---\n\ntwo"
    assert document.metadata["warnings"] == []


def test_unclosed_header_is_text_with_a_warning(read):
    """Case 04: a header without an end cannot be told from the body, and that is said."""
    text = "---\nname: open\ndescription: never closed\n\n# Title\n"
    document = read(text)
    assert fields(document) == {"description": ""}
    assert document.page_content == text
    assert document.metadata["warnings"] == [
        "the header is not closed (no --- at column 0), so all of it is read as text"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "\n---\nname: late\ndescription: starts on line two\n---\nbody\n",
        "    \n    ---\n    name: late\n    ---\nbody\n",
    ],
)
def test_late_header_is_text_with_a_warning(read, text):
    """Case 04: a header that does not begin the file is none to the catalog; that is said."""
    document = read(text)
    assert fields(document) == {"description": ""}
    assert document.page_content == text
    assert document.metadata["warnings"] == [
        "the header begins on line 2, not with the first characters of the file, "
        "so it is read as text, as in the catalog"
    ]


@pytest.mark.parametrize(
    ("rest", "body"),
    [
        pytest.param("Text.\n", "Text.", id="no other fence"),
        pytest.param("Text.\n\n---\n\nMore.\n", "Text.\n\n---\n\nMore.", id="a rule in the body"),
    ],
)
def test_indented_fence_ends_a_header_that_nothing_else_ends(read, rest, body):
    """A stray space before the closing fence loses neither fields nor text."""
    document = read(f"---\nname: a\ndescription: b\n ---\n{rest}")
    assert fields(document) == {"name": "a", "description": "b"}
    assert document.page_content == body
    assert document.metadata["warnings"] == [
        "the --- on line 4 does not begin a line; the header ends there all the same, "
        "as in the catalog"
    ]


def test_text_that_a_rule_in_the_body_made_header_is_named(read):
    """An unclosed header that ends at a rule of the body: the lost lines are counted up."""
    document = read("---\nname: a\n\n# Title\n\nRun the checks.\n\n---\n\nMore.\n")
    assert fields(document) == {"name": "a", "description": ""}
    (warning,) = document.metadata["warnings"]
    assert warning.startswith("not all of the header is in the metadata (line 6)")


def test_types_stay_as_the_catalog_reads_them(read):
    """Case 06: versions, dates and leading zeros are text, and so is what JSON has not."""
    document = read(
        "---\nname: typed\ndescription: typed fields\nversion: 1.10\ndate: 2026-01-05\n"
        "built: 2026-01-05T10:00:00Z\nratio: inf\nscore: nan\nloss: -inf\nflag: yes\n"
        "code: 007\nlist: [nan, 1.0]\nmap:\n  low: -inf\n---\nbody\n"
    )
    assert fields(document) == {
        "name": "typed",
        "description": "typed fields",
        "version": "1.10",
        "date": "2026-01-05",
        "built": "2026-01-05T10:00:00Z",
        "ratio": "inf",
        "score": "nan",
        "loss": "-inf",
        "flag": "yes",
        "code": "007",
        "list": ["nan", 1.0],
        "map": {"low": "-inf"},
    }


def test_non_finite_name_and_description(read):
    """Case 06: a skill may be called nan."""
    document = read("---\nname: nan\ndescription: inf\nversion: 1e5\n---\nbody\n")
    assert fields(document) == {"name": "nan", "description": "inf", "version": "1e5"}


LOST = "not all of the header is in the metadata (line {})"
PLAIN = "{} on line {} is read as it stands, not by the rules of YAML"


@pytest.mark.parametrize(
    ("text", "expected", "warned"),
    [
        pytest.param("name: \"a b\"\nx: 'c'", {"name": "a b", "x": "c"}, [], id="quotes"),
        pytest.param(
            'name: "a" # why',
            {"name": '"a" # why'},
            [PLAIN.format("name", 2)],
            id="quote, then comment",
        ),
        pytest.param("g: 'it''s'", {"g": "it''s"}, [PLAIN.format("g", 2)], id="quote in quotes"),
        pytest.param(
            'g: "*.ts", "*.js"',
            {"g": '*.ts", "*.js'},
            [PLAIN.format("g", 2)],
            id="quotes side by side",
        ),
        pytest.param("g: *.ts,**/x", {"g": "*.ts,**/x"}, [], id="glob"),
        pytest.param("t: **Bold** x", {"t": "**Bold** x"}, [], id="Markdown"),
        pytest.param("name: a # why", {"name": "a"}, [], id="comment"),
        pytest.param(
            'name: "a\n  b"',
            {"name": '"a b"'},
            [PLAIN.format("name", 2)],
            id="quoted over two lines",
        ),
        pytest.param(r'name: "a\nb"', {"name": "a\nb"}, [], id="escaped line end"),
        pytest.param(r"name: C:\new", {"name": r"C:\new"}, [], id="backslash"),
        pytest.param("name: a\n  b: c\n  d", {"name": "a b: c d"}, [], id="folded plain"),
        pytest.param("name: a\nname: b", {"name": "b"}, [LOST.format(2)], id="duplicate key"),
        pytest.param(
            '"name": a', {'"name"': "a"}, ['the quotes of "name" on line 2'], id="quoted key"
        ),
        pytest.param(
            "a: &x one\nb: *x",
            {"a": "&x one", "b": "*x"},
            [PLAIN.format("a", 2), PLAIN.format("b", 3)],
            id="anchor and alias",
        ),
        pytest.param("t: !!str 5", {"t": "!!str 5"}, [PLAIN.format("t", 2)], id="tag"),
        pytest.param("m: {a: b}", {"m": "{a: b}"}, [PLAIN.format("m", 2)], id="flow map"),
        pytest.param(
            "t: [a,\n  b]", {"t": "[a, b]"}, [PLAIN.format("t", 2)], id="list over two lines"
        ),
        pytest.param("t: [a, 'b, c', 1]", {"t": ["a", "b, c", 1]}, [], id="flow list"),
        pytest.param("t:\n- a\n- b: c", {"t": ["a", "b: c"]}, [], id="block list"),
        pytest.param("- a\n- b", {}, [LOST.format("2, 3")], id="a list for a mapping"),
        pytest.param("only words", {}, [LOST.format(2)], id="a scalar for a mapping"),
        pytest.param("\tname:\ta\n\tx: b", {"name": "a", "x": "b"}, [], id="tabs"),
        pytest.param(
            "a:\n  b:\n    c: d\n  e: f",
            {"a": {"b": "", "e": "f"}},
            [LOST.format(4)],
            id="nested deep",
        ),
        pytest.param(
            "a:\n  b: |2\n    text\n  c: d",
            {"a": {"b": "", "c": "d"}},
            [LOST.format(4)],
            id="nested block scalar",
        ),
        pytest.param(
            "a: true\nb: null\nc: ~\nd:",
            {"a": True, "b": None, "c": None, "d": ""},
            [],
            id="words of YAML",
        ),
        pytest.param("a: one\N{LINE SEPARATOR}two", {"a": "one"}, [LOST.format(3)], id="U+2028"),
        pytest.param(
            "a: one\N{LINE SEPARATOR}---\N{LINE SEPARATOR}b: c",
            {"a": "one", "b": "c"},
            ["the --- on line 3 does not begin a line"],
            id="a fence after U+2028",
        ),
        pytest.param("name: a\n\n# note: b\n", {"name": "a"}, [], id="blank and comment"),
        pytest.param("", {}, [], id="empty header"),
        pytest.param("source: elsewhere", {}, [], id="a field called source"),
        pytest.param(
            "warnings: [mine]",
            {},
            ["the header's own `warnings` is left out"],
            id="a field called warnings",
        ),
        pytest.param("名前: 値\nnaïve: é", {"名前": "値", "naïve": "é"}, [], id="not ASCII"),
        pytest.param(f"a: {'9' * 5_000}", {"a": "9" * 5_000}, [], id="a number of 5,000 digits"),
    ],
)
def test_header(read, text, expected, warned):
    """What comes out of each shape of header, and which of them are warned about."""
    document = read(f"---\n{text}\n---\nBody.\n")
    assert fields(document) == {"description": "", **expected}
    assert document.page_content == "Body."
    assert [
        w[: len(start)] for w, start in zip(document.metadata["warnings"], warned, strict=True)
    ] == warned


@pytest.mark.parametrize(
    ("text", "name", "body"),
    [
        pytest.param("", None, "", id="empty file"),
        pytest.param("Just text.\n", None, "Just text.\n", id="no frontmatter"),
        pytest.param("---", None, "---", id="a fence alone"),
        pytest.param("----\nname: a\n----\n", None, "----\nname: a\n----\n", id="four dashes"),
        pytest.param("\ufeff---\nname: a\n---\nText.\n", "a", "Text.", id="BOM"),
        pytest.param("---\r\nname: a\r\n---\r\nOne.\r\nTwo.\r\n", "a", "One.\nTwo.", id="CRLF"),
        pytest.param("---\rname: a\r---\rText.\r", "a", "Text.", id="CR"),
        pytest.param("---  \nname: a\n---\t\nText.\n", "a", "Text.", id="space after a fence"),
        pytest.param("---\nname: a\n...\nText.\n", "a", "Text.", id="dots as a fence"),
        pytest.param("---\n  name: a\n  x: b\n---\nText.\n", "a", "Text.", id="indented fields"),
    ],
)
def test_file(read, text, name, body):
    """What comes out of each shape of file."""
    document = read(text)
    assert document.metadata.get("name") == name
    assert document.page_content == body
    warnings = document.metadata["warnings"]
    assert [w[:28] for w in warnings] == (["the header is not closed (no"] if text == "---" else [])


def test_bytes_that_are_not_utf8_are_named(read):
    """Latin-1 reads as the catalog reads it, and the warning says what to do."""
    document = read(b"---\nname: caf\xe9\n---\nText.\n")
    assert document.metadata["name"] == "caf\ufffd"
    assert document.metadata["warnings"] == [
        "bytes that are not UTF-8 are read as U+FFFD; save the file as UTF-8"
    ]


@pytest.mark.parametrize(
    "header", ["description: " + "x" * 990_000, "description: |\n" + "  line\n" * 140_000]
)
def test_header_of_a_megabyte(read, header):
    """A huge header is read like any other, in a moment."""
    document = read(f"---\nname: a\n{header}\n---\nText.\n")
    assert document.metadata["name"] == "a"
    assert len(document.metadata["description"]) > 600_000
    assert document.page_content == "Text."


def test_huge_file_is_cut_with_a_note(read):
    """Case 30: a body of millions of characters is read up to a limit, visibly."""
    document = read(skill("whale", "d", "whale line of text\n" * 300_000))
    assert len(document.page_content) < 1_001_000
    assert document.page_content.endswith("more bytes of this file were not read]")
    assert document.metadata["warnings"] == ["only the first 1,000,000 bytes of the file are read"]


def test_every_file_of_the_own_catalog(own_catalog):
    """The repository's own procedures load without a warning, as the catalog has them."""
    for entry in own_catalog.entries():
        path = own_catalog.clone(entry["tap"]) / entry["skill_md"]
        (document,) = SkillMarkdownLoader(path).load()
        assert fields(document) == {"description": "", **entry["meta"]}
        assert document.metadata["warnings"] == []
        assert document.metadata["source"] == str(path)


@given(data=st.binary(max_size=2_000) | st.text(max_size=500).map(str.encode))
@example(data=b"---\n\xff\xfe: \x00\n---\n")
@example(data=b"---\n:\n---\n")
@settings(
    max_examples=300, deadline=5_000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_arbitrary_bytes(tmp_path, data):
    """Whatever a file holds, it is a Document with strict JSON or the one error."""
    loads_or_refuses(tmp_path, data)


_PIECES = [
    "---",
    "...",
    "name",
    "description",
    ": ",
    " |2-",
    " >",
    "\n",
    "\n  ",
    "\n- ",
    "[",
    "]",
    "{",
    '"',
    "'",
    "#",
    " #",
    "&a",
    "\t",
    "\u2028",
    "nan",
    "-inf",
    "1.10",
    "é",
    "\r\n",
]


@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=40))
@settings(
    max_examples=500, deadline=5_000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_arbitrary_headers(tmp_path, pieces):
    """The same for what looks like a header, where the parser has something to do."""
    loads_or_refuses(tmp_path, ("---\n" + "".join(pieces) + "\n---\nText.\n").encode())


def loads_or_refuses(directory, data):
    """Load bytes as a SKILL.md; whatever comes out is a Document or a SkillLoadError."""
    path = directory / "SKILL.md"
    path.write_bytes(data)
    try:
        (document,) = SkillMarkdownLoader(path).load()
    except SkillLoadError as e:
        assert str(path) in str(e)  # noqa: PT017 - either outcome is right
    else:
        json.dumps(document.metadata, allow_nan=False).encode()
        document.page_content.encode()
        assert isinstance(document.metadata["description"], str)
        assert all(isinstance(warning, str) for warning in document.metadata["warnings"])


# ---------------------------------------------------------------------------------------- errors


def refusal(path):
    """The message of the one error that loading a path raises."""
    with pytest.raises(SkillLoadError) as raised:
        SkillMarkdownLoader(path).load()
    return str(raised.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(lambda path: None, "No such file", id="missing"),
        pytest.param(
            lambda path: path.mkdir(), "a directory without a SKILL.md", id="empty directory"
        ),
        pytest.param(lambda path: path.write_bytes(b"\x89PNG\0\0"), "is binary", id="binary"),
        pytest.param(
            lambda path: path.write_text("---\nname: a\n---\n", "utf-16"), "is UTF-16", id="UTF-16"
        ),
        pytest.param(
            lambda path: path.write_text("name", "utf-16-le"), "or UTF-16", id="UTF-16 without BOM"
        ),
        pytest.param(os.mkfifo, "not a regular file", id="FIFO"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "leads out", id="device"),
        pytest.param(lambda path: path.symlink_to(path), "not a regular file", id="link to itself"),
        pytest.param(lambda path: path.symlink_to("gone"), "No such file", id="link to nothing"),
    ],
)
def test_what_cannot_be_loaded_is_named(tmp_path, make, reason):
    """One error, whose message has the path, the reason and what to give instead."""
    path = tmp_path / "thing"
    make(path)
    message = refusal(path)
    assert message.startswith(f"{path} cannot be loaded: it ")
    assert reason in message
    assert "give a regular text file in UTF-8, or a directory that holds one" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_and_directory(tmp_path):
    """A file or directory without permission is the same error."""
    for path in (tmp_path / "SKILL.md", tmp_path / "closed"):
        path.touch() if path.suffix else path.mkdir()
        path.chmod(0)
        assert "Permission denied" in refusal(path)
        path.chmod(0o700)


def test_links_out_of_the_directory_are_refused(tmp_path):
    """Case 27: a link to a file outside is refused; within the directory, it is followed."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.md").write_text(SECRET)
    directory = tmp_path / "leak"
    directory.mkdir()
    link = directory / "SKILL.md"
    link.symlink_to(tmp_path / "out" / "secret.md")
    for path in (link, directory):
        message = refusal(path)
        assert "leads out of its directory" in message
        assert SECRET not in message
    link.unlink()
    (directory / "docs").mkdir()
    (directory / "docs" / "real.md").write_text(skill("inside"))
    link.symlink_to("docs/real.md")
    (document,) = SkillMarkdownLoader(directory).load()
    assert document.metadata["name"] == "inside"
    assert document.metadata["source"] == str(directory / "docs" / "real.md")


def test_directory_that_is_a_link_is_the_skills_directory(tmp_path):
    """An agent's link to the store is followed: the user named it. source is the real file."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "SKILL.md").write_text(skill("a"))
    (tmp_path / "link").symlink_to(tmp_path / "store")
    (document,) = SkillMarkdownLoader(tmp_path / "link").load()
    assert document.metadata["source"] == str(tmp_path / "store" / "SKILL.md")


@pytest.mark.parametrize(
    ("path", "error"),
    [(None, TypeError), (3, TypeError), (b"x", TypeError), ("", SkillLoadError)],
)
def test_what_is_no_path_is_refused_where_it_is_given(path, error):
    """A wrong argument fails at construction, and is named."""
    with pytest.raises(error, match="needs the path of a file or a directory, not"):
        SkillMarkdownLoader(path)


def test_path_with_a_nul():
    """A path that no file can have is the one error too."""
    assert "cannot be loaded" in refusal("a\0b")


# -------------------------------------------------------------------------------- from_installed


@pytest.fixture
def boost(own_home, tmp_path, monkeypatch):
    """Run the real `boost` in a throwaway HOME where the own catalog is tapped."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BOOST_HOME", str(home / ".boost"))
    monkeypatch.setenv("BOOST_ASSUME_YES", "1")

    def run(*arguments, cwd=home):
        done = subprocess.run(
            [Path(sys.executable).with_name("boost"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return home

    run("tap", str(own_home.repository(own_home.taps[0])))
    monkeypatch.chdir(home)
    return run


def decline(name):
    """The message with which from_installed declines a name."""
    with pytest.raises(SkillLoadError) as raised:
        SkillMarkdownLoader.from_installed(name)
    return str(raised.value)


def test_installed_skill(boost):
    """A skill in user scope loads from the canonical store, and nothing is written."""
    home = boost("install", "retry-with-backoff")
    store = home / ".agents" / "skills"
    before = snapshot(home)
    (document,) = SkillMarkdownLoader.from_installed("retry-with-backoff").load()
    assert document.metadata["name"] == "retry-with-backoff"
    assert document.metadata["source"] == str(store / "retry-with-backoff" / "SKILL.md")
    (original,) = SkillMarkdownLoader(OWN / "skills" / "retry-with-backoff").load()
    assert document.page_content == original.page_content
    assert snapshot(home) == before


def test_installed_rule_and_workflow_are_declined_by_the_lock_file(boost):
    """Neither is a SKILL.md, though a workflow has a copy in the store that looks like one."""
    home = boost("install", "async-nodes", "eval-analyst")
    assert (home / ".agents" / "skills" / "eval-analyst" / "SKILL.md").is_file()
    assert decline("async-nodes") == (
        "async-nodes is installed as a rule, and a rule is no SKILL.md to load; "
        "retrieve it with BoostRetriever(kind='rule')"
    )
    assert "is installed as a workflow" in decline("eval-analyst")
    assert "BoostRetriever(kind='workflow')" in decline("eval-analyst")


def test_project_scope(boost, tmp_path, monkeypatch):
    """What `--local` installed is not in the store; the message says where it is."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    boost("install", "--local", "retry-with-backoff", "async-nodes", "eval-analyst", cwd=project)
    monkeypatch.chdir(project)
    message = decline("retry-with-backoff")
    copy = project / ".claude" / "skills" / "retry-with-backoff"
    assert "retry-with-backoff is not installed in user scope (" in message
    assert f"load that copy with SkillMarkdownLoader({str(copy)!r})" in message
    (document,) = SkillMarkdownLoader(copy).load()
    assert document.metadata["name"] == "retry-with-backoff"
    assert "installed as a rule" in decline("async-nodes")
    assert "installed as a workflow" in decline("eval-analyst")
    monkeypatch.chdir(tmp_path)
    assert "run `boost install retry-with-backoff`" in decline("retry-with-backoff")
    (project / ".boost" / "skill-lock.json").write_text('{"skills": {"retry-with-backoff": 5}}')
    monkeypatch.chdir(project)
    assert "run `boost install retry-with-backoff`" in decline("retry-with-backoff")


def test_name_that_is_not_installed(boost):
    """The message says where it looked and what to run."""
    assert decline("retry-with-backoff").endswith(
        ".agents/skills) nor in this project; run `boost install retry-with-backoff`"
    )


@pytest.mark.parametrize("name", ["../../etc", "a/b", "tap:skill", "", ".", "..", "a\0b", "a b"])
def test_unsafe_name(boost, name):
    """A name that could lead anywhere is refused before anything is looked up."""
    assert "give the bare name of an installed skill" in decline(name)
    assert repr(name) in decline(name)


def test_name_that_is_no_string():
    """A wrong type is the caller's error."""
    with pytest.raises(TypeError, match="not 5"):
        SkillMarkdownLoader.from_installed(5)


def test_store_copy_without_a_lock_row_loads(boost):
    """A skill that was put into the store by hand is still a skill."""
    home = boost("install", "retry-with-backoff")
    by_hand = home / ".agents" / "skills" / "by-hand"
    by_hand.mkdir()
    (by_hand / "SKILL.md").write_text(skill("by-hand", "mine", "Body."))
    (document,) = SkillMarkdownLoader.from_installed("by-hand").load()
    assert document.page_content == "Body."
    (home / ".agents" / "skills" / ".skill-lock.json").unlink()
    assert SkillMarkdownLoader.from_installed("by-hand").load() == [document]


def test_lock_row_without_a_store_copy(boost):
    """A copy that is gone, or that quarantine has set aside, is said to be so."""
    home = boost("install", "retry-with-backoff", "token-budget")
    boost("quarantine", "token-budget")
    assert "`boost quarantine --release token-budget`" in decline("token-budget")
    (home / ".agents" / "skills" / "retry-with-backoff").rename(home / "elsewhere")
    assert "run `boost reinstall retry-with-backoff`" in decline("retry-with-backoff")


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "corrupt"), ('{"skills": []}', "corrupt"), ('{"version": 99}', "of another version")],
)
def test_lock_file_that_cannot_be_read(boost, content, reason):
    """Without the lock file a workflow cannot be told from a skill: declined, not guessed."""
    home = boost("install", "retry-with-backoff")
    lock = home / ".agents" / "skills" / ".skill-lock.json"
    lock.write_text(content)
    before = snapshot(home)
    message = decline("retry-with-backoff")
    assert reason in message
    assert "boost doctor" in message
    assert snapshot(home) == before


def test_store_elsewhere(boost, tmp_path, monkeypatch):
    """The engine's own variable says where the store is; a bad one is the one error."""
    monkeypatch.setenv("BOOST_AGENTS_STORE", str(tmp_path / "store"))
    (tmp_path / "store" / "mine").mkdir(parents=True)
    (tmp_path / "store" / "mine" / "SKILL.md").write_text(skill("mine"))
    (document,) = SkillMarkdownLoader.from_installed("mine").load()
    assert document.metadata["name"] == "mine"
    monkeypatch.setenv("BOOST_AGENTS_STORE", "${NOT_SET}/store")
    assert "NOT_SET" in decline("mine")
