"""Three tools: search the catalog, read a procedure, read a file beside it.

A model sees a short list first and asks for what it wants, instead of being handed every
procedure's text.
"""

from collections.abc import Callable
from itertools import chain

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from boost_langchain._catalog import Catalog
from boost_langchain._documents import item_document
from boost_langchain._entry import Entry, kind_of
from boost_langchain._files import RefusedFileError
from boost_langchain._home import open_catalog
from boost_langchain._invisible import visible
from boost_langchain._local_paths import without_home
from boost_langchain._narrowing import boost_retriever_in, checked_retriever, is_plain
from boost_langchain._procedures import BUDGET
from boost_langchain._rendering import check_budget
from boost_langchain._skill_files import list_files, read_file
from boost_langchain._text import one_line, visible_line
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.retriever import BoostRetriever, format_procedures

type Found = tuple[str, list[Document]]

_LONGEST_DESCRIPTION = 1_024
"""Characters; what the format of skills allows."""

SEARCH = (
    "Search a catalog of procedures (skills, rules, workflows) that others have worked out. "
    "Describe the task in your own words. Returns a short list of ids with one-line "
    "descriptions; read the one that fits with read_skill."
)
READ = "Read one procedure in full, by the id that search_skills gave (registry::path)."
READ_FILE = (
    "Read a file that belongs to a skill, such as references/guide.md or scripts/check.py, by "
    "the skill's id and the file's path in its folder. Without a path: list the files."
)


def skill_tools(
    retriever: Runnable[str, list[Document]] | None = None, *, budget: int | None = BUDGET
) -> list[BaseTool]:
    """Make the three tools of progressive disclosure for an agent.

    - `search_skills(query)`: id, name, kind, registry and description of what matches;
      the Documents are the artifact.
    - `read_skill(id)`: the procedure, labelled with where it comes from.
    - `read_skill_file(id, path="")`: a text file in the skill's own folder and nowhere else,
      or the list of them. A file that the registry's clone did not check out is read from
      git, which may fetch it from the registry, unless the retriever has `refresh="never"`.

    A mistake (an id that is not there, a path that leads out) or a fault of the engine is a
    tool message with status "error" and a text that says what to do, so the agent goes on.

    Args:
        retriever: What to search with: a `BoostRetriever`, or any retriever of the catalog's
            items, `RerankedRetriever` say, or one over a mirror that `CatalogLoader` filled.
            The `kind` and `tap` of the `BoostRetriever` inside it, as its wrappers bind them,
            also bound what can be read; with `refresh="never"` there, reading writes and
            fetches nothing either. Of whole procedures, which a `BoostRetriever` with more
            than bindings around it returns, the list shows the first line after the name.
            None: `BoostRetriever()`.
        budget: The most characters of one procedure or file; the rest is cut, visibly.
            None: no limit.

    Raises:
        TypeError: `retriever` is no Runnable, or `budget` is no number.
        ValueError: `budget` is not positive.

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain.tools import skill_tools

        search, read, read_file = skill_tools()
        print(search.invoke({"query": "chunk Markdown"}).splitlines()[0])
        #> id: langchain-procedures::skills/chunk-code-and-markdown/SKILL.md
        ```
    """
    check_budget(budget)
    source = BoostRetriever() if retriever is None else checked_retriever(retriever)
    shelf = _Shelf(source, budget)
    return [
        _tool("search_skills", SEARCH, shelf.search, artifact=True),
        _tool("read_skill", READ, shelf.read, artifact=True),
        _tool("read_skill_file", READ_FILE, shelf.read_file),
    ]


class _Shelf:
    """What the three tools share: where to search, and what may be read."""

    def __init__(self, retriever: Runnable[str, list[Document]], budget: int | None) -> None:
        self._retriever = retriever
        # What stands around a retriever may need the whole text, to order by it.
        self._search = retriever.bind(full_content=False) if is_plain(retriever) else retriever
        self._budget = budget

    def search(self, query: str) -> Found:
        try:
            documents = [_described(document) for document in self._search.invoke(query)]
        except BoostRetrievalError as e:
            raise _fault(e) from e
        if not documents:
            _readable_catalog()
            return "Nothing matches. Try other words, or go on without a procedure.", []
        return "\n\n".join(map(_listing, documents)), documents

    def read(self, id: str) -> Found:  # noqa: A002 - the name that the list shows
        catalog, entry = self._entry(id)
        document = item_document(entry, catalog.item(entry), catalog)
        return format_procedures([document], budget=self._budget), [document]

    def read_file(self, id: str, path: str = "") -> str:  # noqa: A002 - the same
        catalog, entry = self._entry(id)
        try:
            if not path:
                names = list_files(catalog, entry)
                text = "\n".join(visible_line(name) for name in names)
            else:
                text = visible(read_file(catalog, entry, path, fetch=self._may_write()))
        except RefusedFileError as e:
            shown = f"{one_line(path)[:200]!r} of {one_line(id)}" if path else one_line(id)
            msg = f"{shown} {e}."
            raise ToolException(msg) from e
        if self._budget is None or len(text) <= self._budget:
            return text
        return (
            f"{text[: self._budget]}\n[... {len(text) - self._budget:,} more characters left out]"
        )

    def _entry(self, identity: str) -> tuple[Catalog, Entry]:
        catalog = _readable_catalog()
        tap, path = _address(identity.strip(), catalog)
        try:
            entries = catalog.entries(tap, write=self._may_write()) if tap in catalog.taps else []
        except BoostRetrievalError as e:
            raise _fault(e) from e
        exact = (entry for entry in entries if entry["skill_md"] == path)
        # An id is shown without hidden characters, on one line: looked for where none is exact.
        line = visible_line(path)
        shown = (entry for entry in entries if visible_line(entry["skill_md"]) == line)
        for entry in chain(exact, shown):
            if self._may_read(entry):
                return catalog, entry
        msg = (
            f"There is no procedure with the id {one_line(identity)[:200]!r}. "
            "Pass an id exactly as search_skills returned it (registry::path)."
        )
        raise ToolException(msg)

    def _may_read(self, entry: Entry) -> bool:
        inside = boost_retriever_in(self._retriever)
        if inside is None:
            return True
        return inside.kind in {None, kind_of(entry)} and inside.tap in {None, entry["tap"]}

    def _may_write(self) -> bool:
        inside = boost_retriever_in(self._retriever)
        return inside is None or inside.refresh == "auto"


def _address(identity: str, catalog: Catalog) -> tuple[str, str]:
    """Registry and path of an id; a label's `tap:path` counts too, as models copy it."""
    for separator in ("::", ":"):
        shown = {visible_line(name) + separator: name for name in catalog.taps}
        shown |= {name + separator: name for name in catalog.taps}
        if found := max(filter(identity.startswith, shown), key=len, default=""):
            return shown[found], identity[len(found) :]
    return "", identity


def _readable_catalog() -> Catalog:
    try:
        return open_catalog()
    except BoostRetrievalError as e:
        raise _fault(e) from e


def _fault(error: BoostRetrievalError) -> ToolException:
    return ToolException(without_home(f"The catalog cannot be read: {error}."))


def _described(document: Document) -> Document:
    """The document with its description alone, as `full_content=False` gives it."""
    about = document.metadata
    if about.get("has_body") is False:
        return document
    lines = [line for line in map(one_line, document.page_content.splitlines()) if line]
    if len(lines) > 1 and lines[0] == about.get("name"):
        del lines[0]
    description = lines[0][:_LONGEST_DESCRIPTION] if lines else ""
    return document.model_copy(
        update={"page_content": description, "metadata": {**about, "has_body": False}}
    )


def _listing(document: Document) -> str:
    about = document.metadata
    facts = {
        # A vector store gives its documents ids of its own.
        "id": about.get("id") or document.id or "?",
        "name": "{} ({}, from {})".format(
            about.get("name") or "unnamed", about.get("kind") or "skill", about.get("tap") or "?"
        ),
        "description": document.page_content,
    }
    return "\n".join(f"{key}: {visible_line(value)}" for key, value in facts.items())


def _tool(
    name: str, description: str, function: Callable[..., object], *, artifact: bool = False
) -> BaseTool:
    return StructuredTool.from_function(
        function,
        name=name,
        description=description,
        response_format="content_and_artifact" if artifact else "content",
        handle_tool_error=True,
        handle_validation_error=lambda e: f"{name} was called with a wrong argument: {e}",
    )
