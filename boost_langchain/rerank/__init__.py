"""A second stage: a better order for what the engine found, with reasons.

Opt-in, outside the seam: the engine's candidates go in, the same documents come out in another
order. Each reranker is a LangChain document compressor.
"""

from boost_langchain.rerank._chat import ChatReranker
from boost_langchain.rerank._embeddings import EmbeddingsReranker
from boost_langchain.rerank._retriever import RerankedRetriever

__all__ = ["ChatReranker", "EmbeddingsReranker", "RerankedRetriever"]
