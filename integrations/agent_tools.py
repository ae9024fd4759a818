"""An agent that looks procedures up itself: search, then read, then a file beside it.

    python integrations/agent_tools.py
    python integrations/agent_tools.py --model openai:gpt-5-mini --own-home

Progressive disclosure: the model sees a short list and reads what it wants. Compare
agent_middleware.py.
"""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolCall

from boost_langchain.tools import skill_tools

from _setup import arguments, catalog, chat_model, print_conversation

SKILL = "langchain-procedures::skills/evaluate-retrieval/SKILL.md"
QUERY = {"query": "evaluate retrieval quality"}
SCRIPT = [
    AIMessage("", tool_calls=[ToolCall(name="search_skills", args=QUERY, id="1")]),
    AIMessage("", tool_calls=[ToolCall(name="read_skill", args={"id": SKILL}, id="2")]),
    AIMessage("", tool_calls=[ToolCall(name="read_skill_file", args={"id": SKILL}, id="3")]),
    AIMessage("(A scripted answer: name a model with --model to get a real one.)"),
]


def main() -> None:
    """Ask one question and print the whole conversation."""
    options = arguments(__doc__, "How do I measure whether my retriever got better?")
    with catalog(options):
        agent = create_agent(
            chat_model(options, SCRIPT),
            skill_tools(),
            system_prompt="Look for a procedure before you answer, and name the one you used.",
        )
        state = agent.invoke({"messages": [{"role": "user", "content": options.question}]})
        print_conversation(state["messages"])


if __name__ == "__main__":
    main()
