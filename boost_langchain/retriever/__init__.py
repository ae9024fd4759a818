"""The catalog as a LangChain retriever (a package, so that it wins over the engine's module).

Translates one query into a call of the engine's ladder, and its hits into Documents.
"""

from functools import partial
from typing import Any, Literal, override

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables.config import run_in_executor
from pydantic import BaseModel, ConfigDict, Field

import boost_langchain._requirements  # noqa: F401 - refuses an unsupported langchain-core
from boost_langchain._documents import hit_document
from boost_langchain._entry import Kind
from boost_langchain._ladder import Query, answer
from boost_langchain._rendering import format_procedures

__all__ = ["BoostRetriever", "format_procedures"]


class _CallOptions(BaseModel):
    """Every option of a call, validated like the fields of the retriever."""

    model_config = ConfigDict(strict=True, extra="forbid", title="BoostRetriever call")

    k: int = Field(ge=1)
    kind: Kind | None
    tap: str | None
    full_content: bool
    collapse_near_duplicates: bool
    local_paths: bool
    refresh: Literal["auto", "never"]
    on_error: Literal["empty", "raise"]


_PER_CALL = ("k", "kind", "tap", "full_content")
"""The options that a call may give as well."""


class BoostRetriever(BaseRetriever):
    """Retrieve the procedures of the tapped registries that answer a query.

    Ranking is the engine's own: full-content BM25, fused with dense vectors where a dense
    store is built. Nothing tapped, nothing matched or a blank query is `[]`, never an
    exception. No API key is needed and no model is called.

    The default rung indexes Latin letters and digits: a query in CJK or emoji finds nothing
    there, nor does one made of stopwords alone. The dense rung serves those.

    Fields are keyword-only and strict: they are checked when the retriever is made, when one
    is assigned, and again on each call. `k`, `kind`, `tap` and `full_content` may also be
    given per call: `retriever.invoke("query", k=3)`, `retriever.bind(kind="rule")`.

    Each Document carries in `id` and `metadata["id"]` the item's address `tap::path`, and in
    metadata: `name`, `kind`, `tap`, `source` and `path` (the file in the upstream
    repository), `version` (what the file declares, or ""), `commit` (of the registry, at
    which the index was built), `engine` (the rung that answered), `score` (higher is better,
    comparable within one answer only), `rank` (from 1), `snippet` and `has_body` (False when
    page_content is only the description).

    A file larger than 1,000,000 bytes is cut there, with a note at its end.

    Raises:
        pydantic.ValidationError: A field or call argument has a wrong type or value.
        TypeError: The query is not a string, or a call argument is unknown.
        BoostRetrievalError: The engine failed and `on_error` is "raise".

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain import BoostRetriever

        retriever = BoostRetriever(k=3, kind="skill")
        for document in retriever.invoke("retry a flaky call with backoff"):
            print(document.id)
            #> langchain-procedures::skills/retry-with-backoff/SKILL.md
            #> langchain-procedures::skills/retry-idempotent-calls/SKILL.md
            #> langchain-procedures::skills/handle-tool-errors/SKILL.md
        ```
    """

    model_config = ConfigDict(strict=True, extra="forbid", validate_assignment=True)

    name: str | None = "boost"
    """The name of its runs in traces; `run_name` in a config wins."""
    k: int = Field(default=8, ge=1)
    """The most documents returned."""
    kind: Kind | None = None
    """Only items of this kind; None: all three."""
    full_content: bool = True
    """Whether page_content is the whole item, or its one-line description."""
    tap: str | None = None
    """Only items of this registry. One that is not tapped here answers `[]`, with a warning."""
    collapse_near_duplicates: bool = False
    """Collapse near-identical items; the engine needs a dense store for it."""
    local_paths: bool = False
    """Add `file`, the item's path on this machine, to metadata."""
    refresh: Literal["auto", "never"] = "auto"
    """auto: build a missing index, and renew one when at most one registry changed since.
    never: build and write nothing."""
    on_error: Literal["empty", "raise"] = "empty"
    """What an engine fault does: a simpler ranking or `[]` with one warning, or
    `BoostRetrievalError`."""

    @override
    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="boost")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        options = self._call_options(kwargs)
        if not isinstance(query, str):
            msg = f"BoostRetriever needs a string to search for, not {query!r}; pass its text"
            raise TypeError(msg)
        if not query.strip():
            return []
        found = answer(
            Query(
                text=query,
                k=options.k,
                kind=options.kind,
                tap=options.tap,
                collapse_near_duplicates=options.collapse_near_duplicates,
                refresh=options.refresh,
                on_error=options.on_error,
            )
        )
        if found.catalog is None:
            return []
        return [
            hit_document(
                hit,
                found.catalog,
                engine=found.engine,
                rank=rank,
                full_content=options.full_content,
                local_paths=options.local_paths,
            )
            for rank, hit in enumerate(found.hits, start=1)
        ]

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = partial(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **kwargs
        )
        return await run_in_executor(None, call)

    def _call_options(self, given: dict[str, Any]) -> _CallOptions:
        """This call's options: the fields, overridden by the call's own arguments.

        The fields are checked again because `model_copy(update=...)` never checks any.
        """
        given.pop("verbose", None)  # LangChain's own
        for argument, value in given.items():
            if argument not in _PER_CALL:
                msg = (
                    f"BoostRetriever got an unknown call argument {argument}={value!r}; "
                    f"a call takes {', '.join(_PER_CALL)}"
                )
                raise TypeError(msg)
        fields = {field: getattr(self, field) for field in _CallOptions.model_fields}
        return _CallOptions(**fields | given)
