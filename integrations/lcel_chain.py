"""A chain that answers from the procedures of the catalog.

    python integrations/lcel_chain.py "How do I chunk Markdown?"
    python integrations/lcel_chain.py --model openai:gpt-5-mini --own-home "..."

Without --model a scripted model answers, so that it runs offline; what to look at is the
prompt that a model would get.
"""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough

from boost_langchain import BoostRetriever
from boost_langchain.retriever import format_procedures

from _setup import arguments, catalog, chat_model

SCRIPT = [AIMessage("(A scripted answer: name a model with --model to get a real one.)")]


def build_chain(retriever: BoostRetriever, model: BaseChatModel) -> Runnable[str, str]:
    """Retrieve, label, ask: the chain as an application would write it."""
    prompt = ChatPromptTemplate.from_template(
        "Answer from these procedures only, and name the ones you used.\n\n"
        "{context}\n\nQuestion: {question}"
    )
    return (
        {"context": retriever | format_procedures, "question": RunnablePassthrough()}
        | prompt
        | show
        | model
        | StrOutputParser()
    )


def show(prompt: PromptValue) -> PromptValue:
    """Print what the model gets; a chain of your own leaves this step out."""
    print(prompt.to_string(), end="\n\n")
    return prompt


def main() -> None:
    """Ask one question."""
    options = arguments(__doc__, "How do I retry a model call with backoff?")
    with catalog(options):
        chain = build_chain(BoostRetriever(k=2), chat_model(options, SCRIPT))
        print(chain.invoke(options.question))


if __name__ == "__main__":
    main()
