"""Three tools: search the catalog, read a procedure, read a file beside it.

A model sees a short list first and asks for what it wants, instead of being handed every
procedure's text.
"""

from collections.abc import Callable

from langchain_core.documents import Document
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from boost_langchain._catalog import Catalog
from boost_langchain._documents import item_document, one_line
from boost_langchain._entry import Entry, kind_of
from boost_langchain._files import RefusedFileError
from boost_langchain._home import open_catalog
from boost_langchain._invisible import visible
from boost_langchain._procedures import BUDGET
from boost_langchain._rendering import check_budget
from boost_langchain._skill_files import list_files, read_file
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.retriever import BoostRetriever, format_procedures

type Found = tuple[str, list[Document]]

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
    retriever: BoostRetriever | None = None, *, budget: int | None = BUDGET
) -> list[BaseTool]:
    """Make the three tools of progressive disclosure for an agent.

    - `search_skills(query)`: id, name, kind, registry and description of what matches;
      the Documents are the artifact.
    - `read_skill(id)`: the procedure, labelled with where it comes from.
    - `read_skill_file(id, path="")`: a text file in the skill's own folder and nowhere else,
      or the list of them. A file that the registry's clone did not check out is read from
      git, which may fetch it from the registry.

    A mistake (an id that is not there, a path that leads out) is a tool message with status
    "error" and a text that says what to do, so the agent goes on.

    Args:
        retriever: What to search with. Its `kind` and `tap` also bound what can be read.
            None: `BoostRetriever()`.
        budget: The most characters of one procedure or file; the rest is cut, visibly.
            None: no limit.

    Raises:
        TypeError: `budget` is no number.
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
    source = BoostRetriever() if retriever is None else retriever
    shelf = _Shelf(source, budget)
    return [
        _tool("search_skills", SEARCH, shelf.search, artifact=True),
        _tool("read_skill", READ, shelf.read, artifact=True),
        _tool("read_skill_file", READ_FILE, shelf.read_file),
    ]


class _Shelf:
    """What the three tools share: where to search, and what may be read."""

    def __init__(self, retriever: BoostRetriever, budget: int | None) -> None:
        self._retriever = retriever
        self._search = retriever.bind(full_content=False)
        self._budget = budget

    def search(self, query: str) -> Found:
        documents = self._search.invoke(query)
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
                text = "\n".join(one_line(visible(name)) for name in names)
            else:
                text = visible(read_file(catalog, entry, path))
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
        tap, _, path = identity.strip().partition("::")
        catalog = _readable_catalog()
        try:
            entries = catalog.entries(tap) if tap in catalog.taps else []
        except BoostRetrievalError as e:
            msg = f"The catalog cannot be read: {e}."
            raise ToolException(msg) from e
        for entry in entries:
            if entry["skill_md"] == path and self._may_read(entry):
                return catalog, entry
        msg = (
            f"There is no procedure with the id {one_line(identity)[:200]!r}. "
            "Pass an id exactly as search_skills returned it (registry::path)."
        )
        raise ToolException(msg)

    def _may_read(self, entry: Entry) -> bool:
        kind, tap = self._retriever.kind, self._retriever.tap
        return kind in {None, kind_of(entry)} and tap in {None, entry["tap"]}


def _readable_catalog() -> Catalog:
    try:
        return open_catalog()
    except BoostRetrievalError as e:
        msg = f"The catalog cannot be read: {e}."
        raise ToolException(msg) from e


def _listing(document: Document) -> str:
    about = document.metadata
    facts = {
        "id": document.id,
        "name": f"{about['name']} ({about['kind']}, from {about['tap']})",
        "description": document.page_content,
    }
    return "\n".join(f"{key}: {one_line(visible(str(value)))}" for key, value in facts.items())


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
