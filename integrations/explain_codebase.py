"""Explain a code base: its files, functions, tables, history and rules in one prompt.

    python integrations/explain_codebase.py "How does the node replace its message?"
    python integrations/explain_codebase.py --model openai:gpt-5-mini "Why two stages?"
    python integrations/explain_codebase.py --repository ~/app --database ~/app/app.sqlite "..."

Prints which sources the question's words call for, the prompt that a model gets and its answer.
An Ollama server on this machine answers where one runs, so a simple explanation costs nothing;
otherwise a scripted model does, and what to look at is the prompt. By default the code base is
this repository, and the database the engine's own index over its catalog.

Needs bm25s and PyStemmer (pip install 'bm25s[stem]'), and langchain-ollama to ask an Ollama server.
"""

from langchain_core.messages import AIMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableLambda

from boost_langchain.context import explanation_chain, is_explanation_request

from _codebase import opened, with_code_base
from _families import context_builder
from _local_model import local_model
from _setup import catalog, parser

QUESTION = "How does skill_context_node fix the bug of messages that pile up?"
SCRIPT = [AIMessage("(A scripted answer: name a model with --model to get a real one.)")]
BUDGET = 20_000


def show(prompt: PromptValue) -> PromptValue:
    """Print what the model gets; a chain of your own leaves this step out."""
    print(prompt.to_string(), end="\n\n")
    return prompt


def main() -> None:
    """Ask one question."""
    options = with_code_base(parser(__doc__, QUESTION)).parse_args()
    with catalog(options) as tapped:
        builder = context_builder(*opened(options, tapped))
        if not is_explanation_request(options.question):
            print("(This asks for no explanation; a task is served by lcel_chain.py.)")
        asked = [source.name for source in builder.asked(options.question)]
        print(f"The question asks: base, {', '.join(asked)}\n")
        model = RunnableLambda(show) | local_model(options, SCRIPT)
        print(explanation_chain(model, builder, budget=BUDGET).invoke(options.question))


if __name__ == "__main__":
    main()
