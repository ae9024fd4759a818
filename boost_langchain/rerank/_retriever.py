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
from langchain_core.runnables import RunnableConfig, RunnableLambda
from pydantic import ConfigDict, Field, validate_call

from boost_langchain.rerank._order import reordered, untouched
from boost_langchain.retriever import BoostRetriever

type Candidates = dict[str, Any]


class RerankedRetriever(BaseRetriever):
    """Retrieve candidates, then let a compressor order them; both stages are runs in a trace.

    Takes any LangChain document compressor: the rerankers of this package, a cross-encoder,
    FlashRank. One that fails leaves the engine's order, with one warning. `metadata["engine"]`
    keeps naming the rung that retrieved; `metadata["reranker"]` names what reordered, or "".

    `k` may be given per call; other call arguments go to the base.

    Raises:
        pydantic.ValidationError: A field has a wrong type or value.

    Example:
        See `EmbeddingsReranker`.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    name: str | None = "boost-reranked"
    """The name of its runs in traces."""
    base: BaseRetriever = Field(default_factory=BoostRetriever)
    """Where the candidates come from."""
    compressor: BaseDocumentCompressor
    """What orders them."""
    fetch_k: int = Field(default=60, ge=1, strict=True)
    """How many candidates a `BoostRetriever` is asked for; another base decides itself."""
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
        found = self.base.invoke(query, config, **asked)
        stage = RunnableLambda(self._rerank, name=type(self.compressor).__name__)
        return stage.invoke({"query": query, "documents": found}, config)[:k]

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k, asked = self._arguments(kwargs)
        config = RunnableConfig(callbacks=run_manager.get_child())
        found = await self.base.ainvoke(query, config, **asked)
        stage = RunnableLambda(
            self._rerank, afunc=self._arerank, name=type(self.compressor).__name__
        )
        return (await stage.ainvoke({"query": query, "documents": found}, config))[:k]

    def _arguments(self, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The documents to return, and what to ask of the base."""
        others = {name: value for name, value in given.items() if name not in {"k", "verbose"}}
        k = _checked_k(given.get("k", self.k))
        if isinstance(self.base, BoostRetriever):
            return k, {"k": max(self.fetch_k, k), **others}
        return k, others

    def _rerank(self, candidates: Candidates, config: RunnableConfig) -> list[Document]:
        documents = _unmarked(candidates["documents"])
        compress = partial(self.compressor.compress_documents, documents, candidates["query"])
        try:
            return self._named(compress(callbacks=config.get("callbacks")))
        except Exception as e:  # noqa: BLE001 - whatever a compressor raises, the order is still there
            return untouched(documents, type(self.compressor).__name__, repr(e))

    async def _arerank(self, candidates: Candidates, config: RunnableConfig) -> list[Document]:
        documents = _unmarked(candidates["documents"])
        compress = partial(self.compressor.acompress_documents, documents, candidates["query"])
        try:
            return self._named(await compress(callbacks=config.get("callbacks")))
        except Exception as e:  # noqa: BLE001 - whatever a compressor raises, the order is still there
            return untouched(documents, type(self.compressor).__name__, repr(e))

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


@validate_call
def _checked_k(k: int = Field(ge=1, strict=True)) -> int:
    return k
