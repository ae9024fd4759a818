"""A code base as six retrievers, one per family of `boost_langchain.context`.

Files by BM25 (bm25s, with PyStemmer), functions by Python's own parser, decisions from git and
CHANGELOG.md, observations from its "Fixed" entries, tables from a SQLite database, conventions
from the rules of the boost catalog. Paths are the repository's own: nothing of this machine.
"""

import argparse
import ast
import math
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import override

import bm25s
import Stemmer
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from boost_langchain import BoostRetriever
from boost_langchain.context import FAMILIES, ContextBuilder, RecencyBoost, context_source
from boost_langchain.rerank import RerankedRetriever
from boost_langchain.testing import TappedCatalog

from _local_model import OLLAMA_PORT

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = "CHANGELOG.md"
"""Decisions and observations quote its entries."""
TEXTS = {".cfg", ".ini", ".json", ".md", ".mdc", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}
MOST_BYTES = 200_000
LONGEST_CATEGORY = 30
WINDOW = 6
"""Lines that are quoted of a file."""
HIDDEN = {"node_modules", "build", "dist", "__pycache__"}
# What asks, and what routes: such words say where to look, not what for.
STOP_WORDS = [
    *bm25s.stopwords.STOPWORDS_EN,
    *("did", "do", "does", "has", "have", "how", "its", "what", "when", "where", "which", "were"),
    *("chosen", "data", "explain", "fixed", "keep", "keeps", "store", "work", "works"),
    *chain.from_iterable(FAMILIES[name].keywords for name in FAMILIES if name != "schema"),
]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Shelf(BaseRetriever):
    """Documents ranked by BM25 over their text, their names and their paths."""

    documents: list[Document]
    k: int = 3
    """The most documents returned."""
    place: Callable[[Document, set[str]], Document] | None = None
    """Narrows a hit to the passage that has the words of the question."""

    @cached_property
    def index(self) -> bm25s.BM25:
        """Built when it is first asked."""
        index = bm25s.BM25()
        index.index(terms([surface(d) for d in self.documents]), show_progress=False)
        return index

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        asked = terms([query])
        if not self.documents or not asked[0]:
            return []
        k = min(self.k, len(self.documents))
        rows, scores = self.index.retrieve(asked, k=k, show_progress=False)
        found = [
            (self.documents[row], float(score))
            for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True)
            if score > 0
        ]
        return [
            scored(self.place(document, set(asked[0])) if self.place else document, score)
            for document, score in found
        ]


class ByName(Shelf):
    """The same; what the question names comes first."""

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        # A name of one word may as well be meant as a word.
        said = {word for word in re.findall(r"\w+", query) if not word.islower() or "_" in word}
        named = [one for one in self.documents if one.metadata["name"].split(".")[-1] in said]
        ids = {document.id for document in named}
        ranked = super()._get_relevant_documents(query, run_manager=run_manager)
        return [*named, *(one for one in ranked if one.id not in ids)][: self.k]


def terms(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, stemmed; a name is its parts: skill_context_node, CatalogLoader."""
    spaced = [_CAMEL.sub(" ", text).replace("_", " ") for text in texts]
    found: list[list[str]] = bm25s.tokenize(
        spaced,
        stopwords=STOP_WORDS,
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    return found


def surface(document: Document) -> str:
    """What a document is found by; its own metadata under `text`, or what it says."""
    about = document.metadata
    names = [about.get(key, "") for key in ("name", "name", "path")]
    return "\n".join([*map(str, names), str(about.get("text") or document.page_content)])


def scored(document: Document, score: float) -> Document:
    """The document with its score, without what it was found by."""
    kept = {key: value for key, value in document.metadata.items() if key != "text"}
    return document.model_copy(update={"metadata": {**kept, "score": score}})


@dataclass(frozen=True)
class Commit:
    """One commit of the repository's history."""

    sha: str
    day: str
    subject: str
    body: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class CodeBase:
    """A repository on disk, read once."""

    root: Path
    leave_out: tuple[Path, ...] = ()
    """Directories that explain nothing."""

    @cached_property
    def paths(self) -> list[Path]:
        """Its text files: what git tracks, or without git what lies there."""
        listed = self.git("ls-files", "-z").split("\0")
        found = [self.root / name for name in listed if name] or list(self._walk())
        return sorted(path for path in found if self._is_text(path))

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each file, by its path in the repository."""
        read = {}
        for path in self.paths:
            try:
                read[path.relative_to(self.root).as_posix()] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
        return read

    @cached_property
    def commits(self) -> list[Commit]:
        """The history, newest first; a clone without one has none."""
        form = "--format=%x1e%H%x1f%cI%x1f%s%x1f%b%x1f"
        commits = []
        for record in self.git("log", "--name-only", form).split("\x1e")[1:]:
            sha, day, subject, body, files = record.split("\x1f")
            names = tuple(name for name in files.split("\n") if name)
            commits.append(Commit(sha, day, subject, body.strip(), names))
        return commits

    @cached_property
    def modified(self) -> dict[str, str]:
        """When each file was last committed; {} where history is cut short or absent."""
        if self.git("rev-parse", "--is-shallow-repository").strip() != "false":
            return {}
        # Newest first, so that the last one written is the newest.
        return {name: commit.day for commit in reversed(self.commits) for name in commit.files}

    def git(self, *arguments: str) -> str:
        """What git prints about this repository, or "" without git or without a repository."""
        git = shutil.which("git")
        if git is None or not (self.root / ".git").exists():
            return ""
        command = [git, "-C", str(self.root), "-c", "core.quotePath=false", *arguments]
        done = subprocess.run(  # noqa: S603 - git, reading
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
        return done.stdout if done.returncode == 0 else ""

    def _walk(self) -> Iterator[Path]:
        for directory, folders, names in self.root.walk():
            folders[:] = [f for f in folders if not f.startswith(".") and f not in HIDDEN]
            yield from (directory / name for name in names)

    def _is_text(self, path: Path) -> bool:
        if path.suffix not in TEXTS or any(path.is_relative_to(d) for d in self.leave_out):
            return False
        return path.is_file() and not path.is_symlink() and path.stat().st_size <= MOST_BYTES


# ----------------------------------------------------------------------------------- the families


def files(code: CodeBase) -> list[Document]:
    """Every text file but the changelog, found by its whole text; says its path and a summary."""
    return [
        Document(
            summary(path, text),
            id=f"file:{path}",
            metadata={
                "name": path.rpartition("/")[2],
                "path": path,
                "summary": summary(path, text),
                "modified": code.modified.get(path),
                "text": text,
            },
        )
        for path, text in code.texts.items()
        if path != CHANGELOG
    ]


def summary(path: str, text: str) -> str:
    """What a file says it is: its docstring's first paragraph, its first heading or comment."""
    if path.endswith(".py"):
        try:
            said = ast.get_docstring(ast.parse(text))
        except (SyntaxError, ValueError):
            said = None
        if said:
            return " ".join(said.split("\n\n")[0].split())
    lines = (line.strip("#/-*;<>!= \t") for line in text.splitlines())
    return next((line for line in lines if line), "(an empty file)")[:200]


def passage(document: Document, asked: set[str]) -> Document:
    """A file with the lines that have most words of the question, and the first one's number."""
    lines = str(document.metadata["text"]).splitlines()
    said = [asked.intersection(words) for words in terms(lines)] if lines else []
    common = Counter(chain.from_iterable(said))

    def weight(at: int) -> float:
        """A word of few lines says more; a passage begins with a line that has one."""
        window = set().union(*said[at : at + WINDOW])
        return sum(1 / math.log(2 + common[word]) for word in window) if said[at] else 0.0

    best = max(range(len(lines)), default=0, key=weight)
    quoted = "\n".join(lines[best : best + WINDOW])
    about = {**document.metadata, "line": best + 1}
    text = f"{document.page_content}\n\n{quoted}"
    return document.model_copy(update={"page_content": text, "metadata": about})


def functions(code: CodeBase) -> list[Document]:
    """Every function, method and class but the tests, by qualified name; says what it calls."""
    found = []
    for path, text in code.texts.items():
        if not path.endswith(".py") or path.startswith("tests/"):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        found += [function(path, name, node) for name, node in definitions(tree, "")]
    return found


type Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.AST, inside: str) -> Iterator[tuple[str, Definition]]:
    """The definitions in a tree, each with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            yield name, node
            yield from definitions(node, f"{name}.")


def function(path: str, name: str, node: Definition) -> Document:
    """One definition: how it is called, what it is for, what it calls."""
    signature = "" if isinstance(node, ast.ClassDef) else f"({ast.unparse(node.args)})"
    said = (ast.get_docstring(node) or "").split("\n\n")[0]
    calls = sorted({called(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)} - {""})
    lines = [f"{name}{signature}", " ".join(said.split())]
    lines += [f"calls: {', '.join(calls)}"] if calls else []
    about = {"name": name, "file": path, "line": node.lineno, "path": path}
    return Document("\n".join(filter(None, lines)), id=f"{path}:{node.lineno}", metadata=about)


def called(node: ast.expr) -> str:
    """The name of what is called."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def decisions(code: CodeBase) -> list[Document]:
    """What was decided: each commit with what it says and touched, each entry of the changelog."""
    committed = [
        Document(
            f"{commit.subject}\n{commit.body}\nTouched: {', '.join(commit.files[:8])}",
            id=f"commit {commit.sha[:12]}",
            metadata={
                "name": commit.subject,
                "decision": commit.subject,
                "background": commit.body or f"committed {commit.day[:10]}",
            },
        )
        for commit in code.commits
    ]
    entered = [
        Document(
            f"{section}: {entry}",
            id=f"{CHANGELOG}:{line}",
            metadata={
                "name": section,
                "decision": sentences(entry)[0],
                "background": sentences(entry)[1] or section,
                "path": CHANGELOG,
                "line": line,
            },
        )
        for section, line, entry in changelog(code)
        if section != "Fixed"
    ]
    return committed + entered


def observations(code: CodeBase) -> list[Document]:
    """What was learned from faults: the "Fixed" entries of the changelog.

    An entry reads "Category: what was wrong. What was done about it."
    """
    found = []
    for section, line, entry in changelog(code):
        if section == "Fixed":
            category, colon, said = entry.partition(": ")
            if not colon or len(category) > LONGEST_CATEGORY:
                category, said = section, entry
            description, resolution = sentences(said)
            about = {
                "name": category,
                "category": category,
                "description": description,
                "resolution": resolution,
                "path": CHANGELOG,
                "line": line,
            }
            found.append(Document(entry, id=f"{CHANGELOG}:{line}", metadata=about))
    return found


def changelog(code: CodeBase) -> Iterator[tuple[str, int, str]]:
    """Section, line and text of each entry of CHANGELOG.md."""
    section = ""
    for match in re.finditer(
        r"^### (?P<section>.+)|^- (?P<entry>.+(?:\n  .+)*)",
        code.texts.get(CHANGELOG, ""),
        re.MULTILINE,
    ):
        if match["section"]:
            section = match["section"].strip()
        else:
            line = match.string.count("\n", 0, match.start()) + 1
            yield section, line, " ".join(match["entry"].split())


def sentences(text: str) -> tuple[str, str]:
    """The first sentence, and what follows it."""
    first, end, rest = text.partition(". ")
    return first + end.strip(), rest


def tables(database: Path | None) -> list[Document]:
    """The tables of a SQLite database, read from the database itself."""
    if database is None or not database.is_file():
        return []
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        named = connection.execute(
            "SELECT m.name, c.name, c.type FROM sqlite_master AS m"
            " JOIN pragma_table_info(m.name) AS c"
            " WHERE m.type = 'table' ORDER BY m.name, c.cid"
        ).fetchall()
    fields: dict[str, list[str]] = {}
    for table, column, kind in named:
        fields.setdefault(table, []).append(f"{column} {kind}".strip())
    return [
        Document(
            f"The table {table} of {database.name} stores: {', '.join(columns)}",
            id=f"{database.name}, table {table}",
            metadata={"name": table, "collection": table, "fields": columns},
        )
        for table, columns in fields.items()
    ]


# ---------------------------------------------------------------------------------- put together


def shelves(code: CodeBase, database: Path | None) -> dict[str, BaseRetriever]:
    """The retriever of each family but the conventions, which the catalog answers for."""
    recent = Shelf(documents=files(code), k=8, place=passage)
    return {
        "files": RerankedRetriever(base=recent, compressor=RecencyBoost(), k=4),
        "schema": Everything(documents=tables(database)),
        "functions": ByName(documents=functions(code), k=4),
        "decisions": Shelf(documents=decisions(code)),
        "observations": Shelf(documents=observations(code)),
    }


class Everything(BaseRetriever):
    """All its documents, whatever the question: a schema is read as a whole."""

    documents: list[Document]

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def context_builder(code: CodeBase, database: Path | None) -> ContextBuilder:
    """The catalog's skills as the base, the code base and the catalog's rules as sources."""
    rules = BoostRetriever(kind="rule", k=2, full_content=False)
    found = {**shelves(code, database), "conventions": rules}
    sources = [context_source(name, retriever) for name, retriever in found.items()]
    return ContextBuilder(
        base=BoostRetriever(kind="skill", k=2, full_content=False), sources=sources
    )


def with_code_base(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that say which code base, which database and which local model."""
    parser.add_argument(
        "--repository",
        type=Path,
        default=ROOT,
        help="the code base to explain (default: this repository)",
    )
    parser.add_argument(
        "--database",
        type=Path,
        help="a SQLite file (default for this repository: the index that the engine built)",
    )
    parser.add_argument(
        "--ollama-port",
        type=int,
        default=OLLAMA_PORT,
        help="where an Ollama server of this machine would answer",
    )
    return parser


def opened(
    options: argparse.Namespace, tapped: TappedCatalog | None
) -> tuple[CodeBase, Path | None]:
    """The code base and the database that the options name."""
    # This repository's recipes and tests quote the questions themselves.
    quoting = (ROOT / "integrations", ROOT / "tests")
    code = CodeBase(options.repository.resolve(), leave_out=quoting)
    if options.database is not None or tapped is None or code.root != ROOT:
        return code, options.database
    BoostRetriever().invoke("build the index")
    return code, tapped.boost_home / "cache" / "rag_postings.sqlite"
