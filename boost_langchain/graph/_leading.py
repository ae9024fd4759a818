"""Every system message of a conversation as one leading message.

Chat models disagree about system messages that are not first: one raises, one drops them
without a word, one takes them. A single leading message is what all of them take.
"""

from collections.abc import Sequence
from typing import Any, override

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, ChatMessage, SystemMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig

from boost_langchain._procedures import merged_records


class LeadingSystem(Runnable[LanguageModelInput, list[BaseMessage]]):
    """The class of `leading_system`: a callable and a Runnable."""

    def __init__(self) -> None:
        self.name = "leading_system"

    def __call__(self, messages: LanguageModelInput) -> list[BaseMessage]:
        """Return the messages with one leading system message.

        Args:
            messages: Messages in any form that a chat model takes, or a prompt value.
        """
        if isinstance(messages, PromptValue):
            every = messages.to_messages()
        elif isinstance(messages, str):
            every = convert_to_messages([messages])
        else:
            every = convert_to_messages(messages)
        systems = [message for message in every if _is_system(message)]
        if not systems or (len(systems) == 1 and every[0] is systems[0]):
            return every
        rest = [message for message in every if not _is_system(message)]
        return [_joined(systems), *rest]

    @override
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        return self(input)


leading_system = LeadingSystem()
"""Put every system message of a conversation into one leading message.

A callable, `leading_system(state["messages"])`, and a Runnable that also takes a prompt value,
`prompt | leading_system | model`. The leading message holds the system messages in order: strings
joined by blank lines, or, where one of them is made of blocks, every part as a block, cache
markers kept. The other messages stay as they are.

Example:
    ```python
    from langchain_core.messages import HumanMessage, SystemMessage

    from boost_langchain.graph import leading_system

    conversation = [SystemMessage("Be brief."), HumanMessage("Hi"), SystemMessage("A procedure.")]
    print([message.type for message in leading_system(conversation)])
    #> ['system', 'human']
    ```
"""


def _is_system(message: BaseMessage) -> bool:
    if isinstance(message, ChatMessage):
        return message.role in {"system", "developer"}
    return isinstance(message, SystemMessage) or message.type == "system"


def _joined(systems: Sequence[BaseMessage]) -> SystemMessage:
    extra = {key: value for m in reversed(systems) for key, value in m.additional_kwargs.items()}
    record = merged_records(systems)
    texts = [m.content for m in systems if isinstance(m.content, str)]
    if len(texts) == len(systems):
        content: str | list[str | dict[str, Any]] = "\n\n".join(filter(None, texts))
    else:
        content = [block for message in systems for block in _blocks(message)]
    return SystemMessage(content, additional_kwargs=extra, response_metadata=record)


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    parts = [message.content] if isinstance(message.content, str) else message.content
    # An empty text block is an error for some providers.
    return [
        {"type": "text", "text": part} if isinstance(part, str) else part for part in parts if part
    ]
