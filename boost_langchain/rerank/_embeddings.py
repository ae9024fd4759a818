"""Any LangChain Embeddings as reranker: cosine of the query with what each item says it is."""

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Literal, override

from boost_cli.core.rag import RRF_K
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import BaseStore, InMemoryByteStore
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from boost_langchain._answers import shortened
from boost_langchain.rerank._order import description, reordered, untouched

_NAMES = (
    "model",
    "model_name",
    "model_id",
    "model_path",
    "repo_id",
    "deployment",
    "deployment_name",
    "azure_deployment",
)
"""Where an embedder says which model it asks; two Azure deployments have one `model`."""


class EmbeddingsReranker(BaseDocumentCompressor):
    """Order documents by the cosine of the query with their name and description.

    No vector store and no index to build: an item is embedded when it is first a candidate,
    and its vector is kept in `store` under a digest of its text. A warm query embeds one text.
    An item that was edited has another digest and is embedded anew.

    A kept vector of another size counts as none. An embedder that fails, or gives vectors of
    several sizes, leaves the order as it was, with one warning; `metadata["reranker"]` is then "".

    Raises:
        pydantic.ValidationError: A field has a wrong type or value, or there is a `store` and
            nothing says which model its vectors are of: see `namespace`.

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

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", validate_assignment=True
    )

    embeddings: Embeddings
    """What embeds the query and the items."""
    fuse: Literal["engine"] | None = None
    """None: the cosine alone. "engine": the engine's order and the cosine's, fused by reciprocal
    rank (k=60)."""
    namespace: str | None = None
    """What keeps the vectors of different models apart in one store. None: the embedder's class
    and what it calls its model and deployment (behind a `CacheBackedEmbeddings` too); one that
    says neither needs a namespace when a store is handed over."""
    store: BaseStore[str, bytes] = Field(default_factory=InMemoryByteStore)
    """Where item vectors are kept, as little-endian 32-bit floats. The default lives as long as
    this object; a file store survives a restart."""
    top_n: int | None = Field(default=None, ge=1, strict=True)
    """The most documents returned; None: all."""

    @field_validator("store")
    @classmethod
    def _has_a_namespace(
        cls, store: BaseStore[str, bytes], info: ValidationInfo
    ) -> BaseStore[str, bytes]:
        """Only of a store that was handed over: the default one has one embedder."""
        embeddings = info.data.get("embeddings")
        if embeddings is not None and info.data.get("namespace") is None:
            _require_names(embeddings)
        return store

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        if not documents:
            return []
        texts = [_text(document) for document in documents]
        try:
            vector = _checked(self.embeddings.embed_query(query))
            keys = self._keys(texts)
            known = _decoded(texts, self.store.mget(keys), len(vector))
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            fresh = self.embeddings.embed_documents(missing) if missing else []
            if rows := self._rows(missing, fresh, len(vector)):
                self.store.mset(rows)
        except Exception as e:  # noqa: BLE001 - whatever an embedder raises, the order is still there
            return untouched(documents, self._name, shortened(e))[: self.top_n]
        known |= _decoded(missing, [data for _, data in rows], len(vector))
        return self._ordered(documents, [_cosine(vector, known[text]) for text in texts])

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        if not documents:
            return []
        texts = [_text(document) for document in documents]
        try:
            vector = _checked(await self.embeddings.aembed_query(query))
            keys = self._keys(texts)
            known = _decoded(texts, await self.store.amget(keys), len(vector))
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            fresh = await self.embeddings.aembed_documents(missing) if missing else []
            if rows := self._rows(missing, fresh, len(vector)):
                await self.store.amset(rows)
        except Exception as e:  # noqa: BLE001 - whatever an embedder raises, the order is still there
            return untouched(documents, self._name, shortened(e))[: self.top_n]
        known |= _decoded(missing, [data for _, data in rows], len(vector))
        return self._ordered(documents, [_cosine(vector, known[text]) for text in texts])

    @property
    def _name(self) -> str:
        how = "cosine" if self.fuse is None else "cosine + engine order"
        return f"{type(self).__name__}({how})"

    def _keys(self, texts: Sequence[str]) -> list[str]:
        space = self.namespace
        if space is None:
            if "store" in self.model_fields_set:
                _require_names(self.embeddings)  # either may have been assigned since
            kind, *names = _names(self.embeddings)
            # A store of our own may outlive an embedder without a name, in a copy of this.
            space = ",".join([kind, *(names or [str(id(self.embeddings))])])
        return [
            hashlib.sha256(f"{space}\0{text}".encode("utf-8", "replace")).hexdigest()
            for text in texts
        ]

    def _rows(
        self, texts: Sequence[str], vectors: Sequence[Sequence[float]], size: int
    ) -> list[tuple[str, bytes]]:
        return [
            (key, struct.pack(f"<{size}f", *_checked(vector, size)))
            for key, vector in zip(self._keys(texts), vectors, strict=True)
        ]

    def _ordered(self, documents: Sequence[Document], cosines: Sequence[float]) -> list[Document]:
        places = range(len(documents))
        order = sorted(places, key=lambda index: -cosines[index])
        if self.fuse == "engine":
            ranks = {index: rank for rank, index in enumerate(order, start=1)}
            fused = [1 / (RRF_K + 1 + i) + 1 / (RRF_K + ranks[i]) for i in places]
            order = sorted(places, key=lambda index: -fused[index])
        return reordered(documents, order, reranker=self._name)[: self.top_n]


def _names(embeddings: Embeddings) -> list[str]:
    """The class of an embedder, and what it calls its model and deployment, if anything.

    Strings alone: an object's repr may be another in each process.
    """
    while isinstance(inner := getattr(embeddings, "underlying_embeddings", None), Embeddings):
        embeddings = inner
    said = {name: getattr(embeddings, name, None) for name in _NAMES}
    names = [f"{name}={value}" for name, value in said.items() if value and isinstance(value, str)]
    return [type(embeddings).__name__, *names]


def _require_names(embeddings: Embeddings) -> None:
    """Raise ValueError unless an embedder says which model it asks."""
    kind, *names = _names(embeddings)
    if not names:
        msg = f"{kind} does not say which model it asks; pass namespace='...' to name it"
        raise ValueError(msg)


def _text(document: Document) -> str:
    """What an item says it is: its name and its description."""
    return f"{document.metadata.get('name', '')}: {description(document)}"


def _decoded(
    texts: Sequence[str], found: Sequence[bytes | None], size: int
) -> dict[str, list[float]]:
    """The vectors in a store that can be used: one of another size, or broken, is none."""
    vectors: dict[str, list[float]] = {}
    for text, data in zip(texts, found, strict=True):
        if data is not None and len(data) == 4 * size:
            numbers = list(struct.unpack(f"<{size}f", data))
            if all(map(math.isfinite, numbers)):
                vectors[text] = numbers
    return vectors


def _checked(vector: Sequence[float], size: int | None = None) -> Sequence[float]:
    """`vector`, if it is one that a cosine can be taken of.

    Raises:
        ValueError: It is not.
    """
    if size is not None and len(vector) != size:
        msg = f"the query's vector has {size} numbers and an item's {len(vector)}"
        raise ValueError(msg)
    length = math.hypot(*vector)
    if not math.isfinite(length):
        msg = "the embedder gave a vector that is not finite"
        raise ValueError(msg)
    if size is None and not length:
        msg = "the embedder gave the query an empty vector"
        raise ValueError(msg)
    return vector


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    norm = math.hypot(*left) * math.hypot(*right)
    return math.sumprod(left, right) / norm if norm else 0.0
