"""Two stages as one retriever: candidates from the engine, order from a compressor."""

from collections.abc import Sequence
from functools import partial
from typing import Any, override

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import RunnableConfigurableFields
from pydantic import BaseModel, ConfigDict, Field

from boost_langchain._answers import checked_documents, shortened
from boost_langchain.rerank._order import reordered, untouched
from boost_langchain.retriever import BoostRetriever

type Candidates = dict[str, Any]


class _CallOptions(BaseModel):
    """The options that a call may override, with the rules of the fields they override."""

    model_config = ConfigDict(strict=True, title="RerankedRetriever call")

    fetch_k: int = Field(ge=1)
    k: int = Field(ge=1)


class RerankedRetriever(BaseRetriever):
    """Retrieve candidates, then let a compressor order them; both stages are runs in a trace.

    Takes any LangChain document compressor: the rerankers of this package, a cross-encoder,
    FlashRank. One that fails leaves the engine's order, with one warning. `metadata["engine"]`
    keeps naming the rung that retrieved; `metadata["reranker"]` names what reordered, or "".

    `k` and `fetch_k` may be given per call; other call arguments go to the base.

    Raises:
        pydantic.ValidationError: A field or call argument has a wrong type or value.
        TypeError: The base answered something else than a list of Documents, or does not know
            a call argument.

    Example:
        See `EmbeddingsReranker`.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    name: str | None = "boost-reranked"
    """The name of its runs in traces."""
    base: Runnable[str, list[Document]] = Field(default_factory=BoostRetriever)
    """Where the candidates come from: any retriever, also bound or with retries, or another
    Runnable."""
    compressor: BaseDocumentCompressor
    """What orders them."""
    fetch_k: int = Field(default=60, ge=1, strict=True)
    """How many candidates a `BoostRetriever` is asked for, also one behind `bind`, `with_retry`
    or `configurable_fields`; another base decides itself."""
    k: int = Field(default=8, ge=1, strict=True)
    """The most documents returned."""

    @override
    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="boost-reranked")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k, asked = self._arguments(kwargs)
        config = RunnableConfig(callbacks=run_manager.get_child())
        found = checked_documents(self.base.invoke(query, config, **asked), "the base")
        stage = RunnableLambda(self._rerank, name=type(self.compressor).__name__)
        return stage.invoke({"query": query, "documents": found}, config)[:k]

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k, asked = self._arguments(kwargs)
        config = RunnableConfig(callbacks=run_manager.get_child())
        found = checked_documents(await self.base.ainvoke(query, config, **asked), "the base")
        stage = RunnableLambda(
            self._rerank, afunc=self._arerank, name=type(self.compressor).__name__
        )
        return (await stage.ainvoke({"query": query, "documents": found}, config))[:k]

    def _arguments(self, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The documents to return, and what to ask of the base."""
        own = {name: given.get(name, getattr(self, name)) for name in _CallOptions.model_fields}
        options = _CallOptions(**own)
        others = {name: value for name, value in given.items() if name not in {*own, "verbose"}}
        if isinstance(_behind(self.base), BoostRetriever):
            return options.k, {"k": max(options.fetch_k, options.k), **others}
        return options.k, others

    def _rerank(self, candidates: Candidates, config: RunnableConfig) -> list[Document]:
        documents = _unmarked(candidates["documents"])
        compress = partial(self.compressor.compress_documents, documents, candidates["query"])
        try:
            return self._named(compress(callbacks=config.get("callbacks")))
        except Exception as e:  # noqa: BLE001 - whatever a compressor raises, the order is still there
            return untouched(documents, type(self.compressor).__name__, shortened(e))

    async def _arerank(self, candidates: Candidates, config: RunnableConfig) -> list[Document]:
        documents = _unmarked(candidates["documents"])
        compress = partial(self.compressor.acompress_documents, documents, candidates["query"])
        try:
            return self._named(await compress(callbacks=config.get("callbacks")))
        except Exception as e:  # noqa: BLE001 - whatever a compressor raises, the order is still there
            return untouched(documents, type(self.compressor).__name__, shortened(e))

    def _named(self, documents: Sequence[Document]) -> list[Document]:
        """The same documents; those of a foreign compressor say what ordered them."""
        if all("reranker" in document.metadata for document in documents):
            return list(documents)
        return reordered(documents, range(len(documents)), reranker=type(self.compressor).__name__)


def _unmarked(documents: Sequence[Document]) -> list[Document]:
    """Copies without the mark of an earlier second stage, which would pass for this one's."""
    return [
        document.model_copy(
            update={"metadata": {k: v for k, v in document.metadata.items() if k != "reranker"}}
        )
        for document in documents
    ]


def _behind(base: object) -> object:
    """What answers in the end, and gets the arguments of the call."""
    while True:
        match base:
            case RunnableBindingBase(bound=inner) | RunnableConfigurableFields(default=inner):
                base = inner
            case _:
                return base
