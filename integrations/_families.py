"""A code base as the documents of six retrievers, one per family of `boost_langchain.context`.

Files with their text, functions by Python's own parser, decisions from git and CHANGELOG.md,
observations from its "Fixed" entries, tables from a SQLite database, conventions from the rules
of the boost catalog.
"""

import ast
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from boost_langchain import BoostRetriever
from boost_langchain.context import ContextBuilder, RecencyBoost, context_source
from boost_langchain.rerank import RerankedRetriever

from _codebase import CodeBase
from _shelf import ByName, Everything, Shelf, terms

CHANGELOG = "CHANGELOG.md"
"""Decisions and observations quote its entries."""
LONGEST_CATEGORY = 30
WINDOW = 6
"""Lines that are quoted of a file."""


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


def context_builder(code: CodeBase, database: Path | None) -> ContextBuilder:
    """The catalog's skills as the base, the code base and the catalog's rules as sources."""
    rules = BoostRetriever(kind="rule", k=2, full_content=False)
    found = {**shelves(code, database), "conventions": rules}
    sources = [context_source(name, retriever) for name, retriever in found.items()]
    return ContextBuilder(
        base=BoostRetriever(kind="skill", k=2, full_content=False), sources=sources
    )
