"""Any LangChain Embeddings as reranker: cosine of the query with what each item says it is."""

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Literal, override

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import BaseStore, InMemoryByteStore
from pydantic import ConfigDict, Field

from boost_langchain.rerank._order import description, reordered, untouched

_RRF_K = 60
"""The constant of reciprocal rank fusion, as in the engine (`rag.RRF_K`)."""

_NOT_FINITE = "the embedder gave a vector that is not finite"


class EmbeddingsReranker(BaseDocumentCompressor):
    """Order documents by the cosine of the query with their name and description.

    No vector store and no index to build: an item is embedded when it is first a candidate,
    and its vector is kept in `store` under a digest of its text. A warm query embeds one text.
    An item that was edited has another digest and is embedded anew.

    An embedder that fails, or gives vectors of another size, leaves the order as it was, with
    one warning; `metadata["reranker"]` is then "".

    Example:
        ```python
        from langchain_core.embeddings import DeterministicFakeEmbedding

        from boost_langchain import BoostRetriever
        from boost_langchain.rerank import EmbeddingsReranker, RerankedRetriever

        embeddings = DeterministicFakeEmbedding(size=8)  # put your embeddings here
        retriever = RerankedRetriever(
            base=BoostRetriever(), compressor=EmbeddingsReranker(embeddings=embeddings), k=3
        )
        print(len(retriever.invoke("retry with backoff")))
        #> 3
        ```
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    embeddings: Embeddings
    """What embeds the query and the items."""
    fuse: Literal["engine"] | None = None
    """None: the cosine alone. "engine": the engine's order and the cosine's, fused by reciprocal
    rank (k=60)."""
    store: BaseStore[str, bytes] = Field(default_factory=InMemoryByteStore)
    """Where item vectors are kept, as little-endian 32-bit floats. The default lives as long as
    this object; a file store survives a restart."""
    namespace: str | None = None
    """What keeps the vectors of different models apart in one store. None: the embedder's class
    and model name."""
    top_n: int | None = Field(default=None, ge=1, strict=True)
    """The most documents returned; None: all."""

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        if not documents:
            return []
        texts = [_text(document) for document in documents]
        try:
            known = self._known(texts)
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            fresh = self.embeddings.embed_documents(missing) if missing else []
            vector = self.embeddings.embed_query(query)
            self._keep(missing, fresh, len(vector))
        except Exception as e:  # noqa: BLE001 - whatever an embedder raises, the order is still there
            return untouched(documents, self._name, repr(e))[: self.top_n]
        return self._ordered(
            documents, texts, known | dict(zip(missing, fresh, strict=True)), vector
        )

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        if not documents:
            return []
        texts = [_text(document) for document in documents]
        try:
            known = self._decoded(texts, await self.store.amget(list(map(self._key, texts))))
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            fresh = await self.embeddings.aembed_documents(missing) if missing else []
            vector = await self.embeddings.aembed_query(query)
            if rows := self._rows(missing, fresh, len(vector)):
                await self.store.amset(rows)
        except Exception as e:  # noqa: BLE001 - whatever an embedder raises, the order is still there
            return untouched(documents, self._name, repr(e))[: self.top_n]
        return self._ordered(
            documents, texts, known | dict(zip(missing, fresh, strict=True)), vector
        )

    @property
    def _name(self) -> str:
        how = "cosine" if self.fuse is None else "cosine + engine order"
        return f"{type(self).__name__}({how})"

    def _key(self, text: str) -> str:
        space = self.namespace
        if space is None:
            model = getattr(self.embeddings, "model", None) or getattr(
                self.embeddings, "model_name", ""
            )
            space = f"{type(self.embeddings).__name__}:{model}"
        return hashlib.sha256(f"{space}\0{text}".encode("utf-8", "replace")).hexdigest()

    def _known(self, texts: Sequence[str]) -> dict[str, list[float]]:
        return self._decoded(texts, self.store.mget(list(map(self._key, texts))))

    @staticmethod
    def _decoded(texts: Sequence[str], found: Sequence[bytes | None]) -> dict[str, list[float]]:
        return {
            text: list(struct.unpack(f"<{len(data) // 4}f", data))
            for text, data in zip(texts, found, strict=True)
            if data
        }

    def _rows(
        self, texts: Sequence[str], vectors: Sequence[Sequence[float]], size: int
    ) -> list[tuple[str, bytes]]:
        if not all(math.isfinite(number) for vector in vectors for number in vector):
            raise ValueError(_NOT_FINITE)
        return [
            (self._key(text), struct.pack(f"<{size}f", *vector))
            for text, vector in zip(texts, vectors, strict=True)
        ]

    def _keep(self, texts: Sequence[str], vectors: Sequence[Sequence[float]], size: int) -> None:
        if rows := self._rows(texts, vectors, size):
            self.store.mset(rows)

    def _ordered(
        self,
        documents: Sequence[Document],
        texts: Sequence[str],
        vectors: dict[str, list[float]],
        query: Sequence[float],
    ) -> list[Document]:
        try:
            cosines = [_cosine(query, vectors[text]) for text in texts]
        except ValueError as e:
            return untouched(documents, self._name, e)[: self.top_n]
        places = range(len(documents))
        order = sorted(places, key=lambda index: -cosines[index])
        if self.fuse == "engine":
            ranks = {index: rank for rank, index in enumerate(order, start=1)}
            fused = [1 / (_RRF_K + 1 + i) + 1 / (_RRF_K + ranks[i]) for i in places]
            order = sorted(places, key=lambda index: -fused[index])
        return reordered(documents, order, reranker=self._name)[: self.top_n]


def _text(document: Document) -> str:
    """What an item says it is: its name and its description."""
    return f"{document.metadata.get('name', '')}: {description(document)}"


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    if len(left) != len(right):
        msg = f"the query's vector has {len(left)} numbers and an item's {len(right)}"
        raise ValueError(msg)
    norm = math.hypot(*left) * math.hypot(*right)
    if not math.isfinite(norm):
        raise ValueError(_NOT_FINITE)
    return math.sumprod(left, right) / norm if norm else 0.0
