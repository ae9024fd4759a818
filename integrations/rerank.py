"""Two stages: the engine's candidates, and a chat model's order with reasons.

    python integrations/rerank.py
    python integrations/rerank.py --model openai:gpt-5-mini --own-home

Prints the engine's order and the new one side by side. Without --model a scripted model orders,
so that it runs offline. For an order without a chat model, hand any LangChain Embeddings to
`EmbeddingsReranker`.
"""

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolCall

from boost_langchain import BoostRetriever
from boost_langchain.rerank import ChatReranker, RerankedRetriever

from _setup import arguments, catalog, chat_model

QUESTION = "my bot repeats what I said ten minutes ago and the bill doubles every turn"
PICKS = {
    "picks": [
        {"name": "trim-message-history", "why": "Cuts the history that is sent each turn."},
        {"name": "summarize-long-memory", "why": "Keeps the gist of what was cut."},
    ]
}
SCRIPT = [AIMessage("", tool_calls=[ToolCall(name="Shortlist", args=PICKS, id="1")])]


def show(title: str, documents: list[Document]) -> None:
    """Print an order, with a reason where there is one."""
    print(title)
    for document in documents:
        about = document.metadata
        why = about["why"] if about.get("reranker") else about["snippet"]
        print(f"  {about['rank']}. {about['name']}: {' '.join(why.split())[:90]}")


def main() -> None:
    """Order the candidates for one question."""
    options = arguments(__doc__, QUESTION)
    with catalog(options):
        reranker = ChatReranker(model=chat_model(options, SCRIPT))
        show("The engine's order:", BoostRetriever(k=5).invoke(options.question))
        retriever = RerankedRetriever(compressor=reranker, fetch_k=60, k=5)
        show("The second stage's:", retriever.invoke(options.question))


if __name__ == "__main__":
    main()
