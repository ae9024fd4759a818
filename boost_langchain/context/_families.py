"""Six kinds of knowledge about a code base, as data: which words call for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from boost_langchain.context._builder import ContextSource
from boost_langchain.retriever import BoostRetriever


@dataclass(frozen=True)
class ContextFamily:
    """A kind of knowledge about a code base."""

    name: str
    keywords: tuple[str, ...]
    """The words of a question that call for it; none: every question does."""
    fields: tuple[str, ...]
    """What its documents say, by metadata key; `format_context` tells a model what their text
    leaves out."""


FAMILIES: Mapping[str, ContextFamily] = {
    family.name: family
    for family in (
        ContextFamily("files", (), ("path", "summary")),
        ContextFamily(
            "schema",
            ("database", "collection", "store", "save", "user", "data", "schema"),
            ("collection", "fields"),
        ),
        ContextFamily(
            "functions",
            ("function", "method", "how does", "implement", "call"),
            ("name", "file", "line"),
        ),
        ContextFamily(
            "decisions",
            ("decision", "why", "chose", "architecture", "pattern"),
            # Not "context": that key is the label.
            ("decision", "background"),
        ),
        ContextFamily(
            "observations",
            ("bug", "fix", "issue", "pattern", "learned", "gotcha"),
            ("category", "description", "resolution"),
        ),
        ContextFamily(
            "conventions",
            ("convention", "rule", "preference", "style", "standard"),
            ("name", "description"),
        ),
    )
}
"""The families by name: files, schema, functions, decisions, observations, conventions."""


def context_source(
    family: str, retriever: Runnable[str, list[Document]] | None = None
) -> ContextSource:
    """Make the source of a shipped family.

    Args:
        family: A name in `FAMILIES`.
        retriever: Who answers, with documents that say in text or metadata what the family's
            `fields` name. None: for "conventions" the rules of the catalog,
            `BoostRetriever(kind="rule")`, whose documents have the name in metadata and the
            description in their text. The other families have no default.

    Raises:
        ValueError: There is no such family, or it has no default retriever.

    Example:
        ```python
        from boost_langchain.context import ContextBuilder, context_source

        builder = ContextBuilder(sources=[context_source("conventions")])
        print([source.name for source in builder.asked("What is the house style?")])
        #> ['conventions']
        ```
    """
    if family not in FAMILIES:
        msg = f"there is no family {family!r}; there are: {', '.join(FAMILIES)}"
        raise ValueError(msg)
    if retriever is None and family != "conventions":
        msg = f"the family {family!r} has no retriever of its own; pass one"
        raise ValueError(msg)
    asked = BoostRetriever(kind="rule") if retriever is None else retriever
    return ContextSource(family, FAMILIES[family].keywords, asked)
