"""A mirror of the catalog in a vector store of your own, kept in step by difference.

    python integrations/vector_store_mirror.py
    python integrations/vector_store_mirror.py --own-home

Runs twice: the first run adds every item, the second finds nothing to do. After `boost
update` a run rewrites what was edited; after `boost untap` it deletes what is gone. Put
your own vector store and embeddings in; the ones here run offline and know no meaning.
"""

import hashlib
from typing import override

from langchain_core.embeddings import Embeddings
from langchain_core.indexing import IndexingResult, InMemoryRecordManager, index
from langchain_core.indexing.base import RecordManager
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from boost_langchain.loader import CatalogLoader, document_key

from _setup import arguments, catalog


class DigestEmbeddings(Embeddings):
    """A stand-in for a model: the same text, the same vector, and nothing more."""

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[byte / 255 for byte in hashlib.sha256(text.encode()).digest()] for text in texts]

    @override
    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def mirror(store: VectorStore, records: RecordManager) -> IndexingResult:
    """Bring the store in step with what is tapped.

    cleanup="full" deletes what the loader does not yield. A broken catalog therefore raises
    before the first document, and nothing is deleted.
    """
    return index(CatalogLoader(), records, store, cleanup="full", key_encoder=document_key)


def main() -> None:
    """Mirror the catalog twice."""
    options = arguments(__doc__)
    # Both in memory here; records that outlive the process are langchain's SQLRecordManager.
    store = InMemoryVectorStore(DigestEmbeddings())
    records = InMemoryRecordManager(namespace="boost")
    records.create_schema()
    with catalog(options):
        print("first run: ", mirror(store, records))
        print("second run:", mirror(store, records))


if __name__ == "__main__":
    main()
