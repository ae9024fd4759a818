"""Every system message of a conversation as one leading message.

Chat models disagree about system messages that are not first: one raises, one drops them
without a word, one takes them. A single leading message is what all of them take.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, override

from langchain_core.messages import BaseMessage, ChatMessage, SystemMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig

from boost_langchain._procedures import merged_records
from boost_langchain._turn import content_blocks

if TYPE_CHECKING:
    from langchain_core.language_models import LanguageModelInput


class LeadingSystem(Runnable["LanguageModelInput", list[BaseMessage]]):
    """The class of `leading_system`: a callable and a Runnable."""

    def __init__(self) -> None:
        self.name = "leading_system"

    @override
    def __repr__(self) -> str:
        return "leading_system"

    @property
    @override
    def InputType(self) -> Any:
        """Anything: what a chat model takes has no type that is cheap to import."""
        return Any

    def __call__(self, messages: "LanguageModelInput") -> list[BaseMessage]:
        """Return the messages with one leading system message.

        Args:
            messages: Messages in any form that a chat model takes, or a prompt value.
        """
        every = [message for message in _messages(messages) if message.type != "remove"]
        systems = [message for message in every if _is_system(message)]
        if not systems or (len(systems) == 1 and every[0] is systems[0]):
            return every
        rest = [message for message in every if not _is_system(message)]
        alone = len(systems) == 1 and isinstance(systems[0], SystemMessage)
        return [systems[0] if alone else _joined(systems), *rest]

    @override
    def invoke(
        self, input: "LanguageModelInput", config: RunnableConfig | None = None, **kwargs: Any
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


def _messages(value: "LanguageModelInput") -> list[BaseMessage]:
    # Its module costs a third of the import of this package; a chain has loaded it already.
    from langchain_core.prompt_values import PromptValue  # noqa: PLC0415

    if isinstance(value, PromptValue):
        return value.to_messages()
    if isinstance(value, str | BaseMessage):
        return convert_to_messages([value])
    if isinstance(value, Mapping):
        msg = f"leading_system takes messages, not a state; pass its messages (keys: {list(value)})"
        raise TypeError(msg)
    return convert_to_messages(value)


def _is_system(message: BaseMessage) -> bool:
    if isinstance(message, ChatMessage):
        return message.role.lower() in {"system", "developer"}
    return isinstance(message, SystemMessage) or message.type == "system"


def _joined(systems: Sequence[BaseMessage]) -> SystemMessage:
    # What only some of them say, a developer's role for one, is not true of the whole.
    extra = {
        key: value
        for key, value in systems[0].additional_kwargs.items()
        if all(m.additional_kwargs.get(key) == value for m in systems)
    }
    record = merged_records(systems)
    texts = [m.content for m in systems if isinstance(m.content, str)]
    if len(texts) == len(systems):
        content: str | list[str | dict[str, Any]] = "\n\n".join(filter(None, texts))
    else:
        content = [block for message in systems for block in _blocks(message)]
    return SystemMessage(content, additional_kwargs=extra, response_metadata=record)


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    # An empty text block is an error for some providers.
    return [b for b in content_blocks(message) if b.get("type") != "text" or b.get("text")]
