"""Documents on a shelf: a retriever by BM25 (bm25s, with PyStemmer), by name, or of all of them."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import override

try:
    import bm25s
    import Stemmer
except ModuleNotFoundError as e:
    sys.exit(f"{e.name} is not installed: pip install 'bm25s[stem]'")
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from boost_langchain.context import FAMILIES

# What asks, and what routes: such words say where to look, not what for.
STOP_WORDS = [
    *bm25s.stopwords.STOPWORDS_EN,
    *("did", "do", "does", "has", "have", "how", "its", "what", "when", "where", "which", "were"),
    *("chosen", "data", "explain", "fixed", "keep", "keeps", "store", "work", "works"),
    *chain.from_iterable(FAMILIES[name].keywords for name in FAMILIES if name != "schema"),
]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Shelf(BaseRetriever):
    """Documents ranked by BM25 over their text, their names and their paths."""

    documents: list[Document]
    k: int = 3
    """The most documents returned."""
    place: Callable[[Document, set[str]], Document] | None = None
    """Narrows a hit to the passage that has the words of the question."""

    @cached_property
    def index(self) -> bm25s.BM25:
        """Built when it is first asked."""
        index = bm25s.BM25()
        index.index(terms([surface(d) for d in self.documents]), show_progress=False)
        return index

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        asked = terms([query])
        if not self.documents or not asked[0]:
            return []
        k = min(self.k, len(self.documents))
        rows, scores = self.index.retrieve(asked, k=k, show_progress=False)
        found = [
            (self.documents[row], float(score))
            for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True)
            if score > 0
        ]
        return [
            scored(self.place(document, set(asked[0])) if self.place else document, score)
            for document, score in found
        ]


class ByName(Shelf):
    """The same; what the question names comes first."""

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        # A name of one word may as well be meant as a word.
        said = {word for word in re.findall(r"\w+", query) if not word.islower() or "_" in word}
        named = [one for one in self.documents if one.metadata["name"].split(".")[-1] in said]
        ids = {document.id for document in named}
        ranked = super()._get_relevant_documents(query, run_manager=run_manager)
        return [*named, *(one for one in ranked if one.id not in ids)][: self.k]


class Everything(BaseRetriever):
    """All its documents, whatever the question: a schema is read as a whole."""

    documents: list[Document]

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def terms(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, stemmed; a name is its parts: skill_context_node, CatalogLoader."""
    spaced = [_CAMEL.sub(" ", text).replace("_", " ") for text in texts]
    found: list[list[str]] = bm25s.tokenize(
        spaced,
        stopwords=STOP_WORDS,
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    return found


def surface(document: Document) -> str:
    """What a document is found by; its own metadata under `text`, or what it says."""
    about = document.metadata
    names = [about.get(key, "") for key in ("name", "name", "path")]
    return "\n".join([*map(str, names), str(about.get("text") or document.page_content)])


def scored(document: Document, score: float) -> Document:
    """The document with its score, without what it was found by."""
    kept = {key: value for key, value in document.metadata.items() if key != "text"}
    return document.model_copy(update={"metadata": {**kept, "score": score}})
