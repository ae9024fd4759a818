"""Write the README's reference and tree from the signatures and docstrings of the code.

    python scripts/write_reference.py [README]

What stands between the markers `<!-- reference -->` and `<!-- tree -->` and their ends is
replaced; the rest of the file stays as it is.
"""

import argparse
import ast
import dataclasses
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

import boost_langchain

ROOT = Path(__file__).resolve().parent.parent

CONSTANTS = {
    "FAMILIES": "The families of knowledge that ship, by name.",
    "Floors": "Least values by slice (all, a kind, mixed), then by metric or judgments: a dict.",
    "leading_system": "A Runnable: joins all system messages into one that leads.",
    "explanation_prompt": "The chat prompt of `explanation_chain`: `question`, `context`.",
}

OTHERS = {
    "integrations": {
        "langgraph.json": "The graph for `langgraph dev`",
        "langchain/listing.yml": "The row for LangChain's list of integrations",
    },
    "scripts": {
        "find_python.sh": "The Python, or the uv, that `make` builds on",
        "pictures/": "The pictures of this page",
    },
    "tests": {
        "catalog/": "79 procedures for LangChain and LangGraph, which demo and tests search",
        "eval/": "Judged queries over them, and the floors that CI holds",
        "typing/": "What an application writes, for the type checkers",
        "test_*.py": "One file per module or property",
    },
    "": {
        ".ci/run": "What CI runs in a clean clone",
        ".github/workflows/": "CI, and a release by trusted publishing",
        "CHANGELOG.md": "What changed, by version",
        "Makefile": "demo, eval, test, check, clean",
        "SECURITY.md": "What is trusted, what is not, how to report",
        "pyproject.toml": "The distribution, its extras, and every tool's settings",
        "tox.ini": "Lint, types, tests per Python, oldest versions, ladder, eval, package",
    },
}


def reference() -> str:
    """Every public name with its defaults and its one-line meaning, a table per module."""
    tables = []
    for module in [boost_langchain, *public_modules()]:
        rows = [row(getattr(module, name), name) for name in module.__all__]
        head = [f"**`{module.__name__}`**", "", "| name and defaults | meaning |", "|---|---|"]
        tables.append("\n".join([*head, *rows]))
    return "\n\n".join(tables)


def public_modules() -> list[Any]:
    """The modules that an application imports from, by name."""
    names = [m.name for m in pkgutil.iter_modules(boost_langchain.__path__)]
    loaded = [
        importlib.import_module(f"boost_langchain.{name}")
        for name in names
        if not name.startswith("_")
    ]
    return sorted(loaded, key=lambda module: module.__name__)


def row(value: Any, name: str) -> str:
    """One name as a row of its table."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        about = CONSTANTS.get(name) or summary(inspect.getdoc(type(value)) or "")
        return f"| `{name}` | {cell(about)} |"
    return f"| `{name}{defaults(value)}` | {cell(summary(inspect.getdoc(value) or ''))} |"


def defaults(value: Any) -> str:
    """The arguments of a class or function, with their defaults and without their types."""
    if inspect.isclass(value) and issubclass(value, BaseModel):
        own = {
            field: info
            for field, info in value.model_fields.items()
            if any(
                field in vars(cls).get("__annotations__", {})
                for cls in value.__mro__
                if cls.__module__.startswith("boost_langchain")
            )
        }
        shown = [
            field if info.is_required() else f"{field}={default(info)}"
            for field, info in own.items()
        ]
        return f"({', '.join(shown)})"
    if inspect.isclass(value) and issubclass(value, Exception):
        return ""
    parameters = []
    keyword_only = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parameters.append("*")
        keyword_only = parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        if parameter.name.startswith("_"):
            continue
        plain = parameter.replace(annotation=parameter.empty)
        if dataclasses.is_dataclass(value) and "factory" in repr(parameter.default):
            plain = plain.replace(default=parameter.empty)
        parameters.append(str(plain))
    return f"({', '.join(parameters)})"


def default(info: FieldInfo) -> str:
    """A field's default as code; of an object without a repr, its class."""
    value = info.get_default(call_default_factory=True)
    return f"{type(value).__name__}()" if " at 0x" in repr(value) else repr(value)


def summary(docstring: str) -> str:
    """The first sentence of a docstring, on one line."""
    return " ".join(docstring.partition("\n\n")[0].split())


def cell(text: str) -> str:
    """A text that stays within its cell."""
    return text.replace("|", "\\|")


def tree() -> str:
    """What is where: one line per module, from the first line of its docstring."""
    lines: list[tuple[str, str]] = []
    for directory in ("boost_langchain", "integrations", "scripts", "tests"):
        lines.append((f"{directory}/", ""))
        for path in sorted((ROOT / directory).rglob("*.py")):
            inside = path.relative_to(ROOT / directory)
            if directory == "tests" and (inside.name.startswith("test_") or inside.parent.name):
                continue
            lines.append((f"  {inside.as_posix()}", meaning(path)))
        lines += [(f"  {name}", line) for name, line in OTHERS.get(directory, {}).items()]
    lines += OTHERS[""].items()
    width = max(len(name) for name, _ in lines)
    text = "\n".join(f"{name:<{width}}  {line}".rstrip() for name, line in lines)
    return f"```text\n{text}\n```"


def meaning(path: Path) -> str:
    """What a module's docstring says first."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return summary(docstring).rstrip(".")


def filled(text: str) -> str:
    """A README with its generated parts made anew."""
    for name, content in {"reference": reference(), "tree": tree()}.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            msg = f"the README has no part between {begin.strip()} and {end.strip()}"
            raise SystemExit(msg)
        text = before + begin + content + end + after
    return text


def main() -> None:
    """Fill in a README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readme", nargs="?", type=Path, default=ROOT / "README.md")
    readme = parser.parse_args().readme
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
