"""An agent that is handed the procedures of each turn, by middleware.

    python integrations/agent_middleware.py
    python integrations/agent_middleware.py --model anthropic:claude-sonnet-4-5 --own-home

A fixed budget of context each turn; the model decides nothing. Compare agent_tools.py.
"""

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_core.messages import AIMessage

from boost_langchain.graph import procedures
from boost_langchain.middleware import SkillContextMiddleware

from _setup import arguments, catalog, chat_model

SCRIPT = [AIMessage("(A scripted answer: name a model with --model to get a real one.)")]


@wrap_model_call
def show(
    request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse[Any]]
) -> ModelResponse[Any]:
    """Print what this model call is handed; an agent of your own leaves this out."""
    system = request.system_message
    if system is not None:
        for procedure in procedures(system):
            print(f"handed over: {procedure.tap}:{procedure.path}")
        print(f"system message: {len(system.text):,} characters")
    return handler(request)


def main() -> None:
    """Ask one question."""
    options = arguments(__doc__, "How do I retry a model call with backoff?")
    with catalog(options):
        agent = create_agent(
            chat_model(options, SCRIPT),
            system_prompt="You are brief.",
            middleware=[SkillContextMiddleware(k=3), show],
        )
        state = agent.invoke({"messages": [{"role": "user", "content": options.question}]})
        for message in state["messages"]:
            print(f"{message.type}: {message.text}")


if __name__ == "__main__":
    main()
