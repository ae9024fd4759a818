"""What the current turn asks, read from an application's state.

A state may be a dict, a pydantic model or a dataclass; its messages may be objects, role
dicts or (role, text) pairs.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables.config import run_in_executor

_TEXT_BLOCKS = {"text", "input_text"}
"""LangChain's and the OpenAI responses API's name for a block of text."""


@dataclass(frozen=True)
class Turn:
    """How a question is read from a state; the fields are options of the node."""

    messages_key: str = "messages"
    query: Callable[[Any], Any] | None = None
    when: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        """Raise TypeError for an option that could not work in any turn."""
        if not isinstance(self.messages_key, str) or not self.messages_key:
            msg = f"messages_key={self.messages_key!r} is not the name of a state's key"
            raise TypeError(msg)
        for name in ("query", "when"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                msg = f"{name}={value!r} cannot be called; pass a function of the state, or None"
                raise TypeError(msg)

    def question(self, state: object) -> str | None:
        """The text to search for: "" when nothing is asked, None when to leave all as it is.

        Raises:
            TypeError: `query` is a coroutine function, or gave no string.
        """
        if self.when is not None and not _now(self.when, state, "when"):
            return None
        messages = self.messages(state)
        if _awaits_a_tool(messages):
            return None
        if self.query is not None:
            return _text(_now(self.query, state, "query"))
        return _asked(messages)

    async def aquestion(self, state: object) -> str | None:
        """Like `question`; `query` and `when` may be async, and sync ones do not block."""
        if self.when is not None and not await _later(self.when, state):
            return None
        messages = self.messages(state)
        if _awaits_a_tool(messages):
            return None
        if self.query is not None:
            return _text(await _later(self.query, state))
        return _asked(messages)

    def messages(self, state: object) -> list[BaseMessage]:
        """The messages in `state`; what is no message is passed over."""
        if isinstance(state, Mapping):
            found = state.get(self.messages_key)
        else:
            found = getattr(state, self.messages_key, None)
        if found is None:
            return []
        if isinstance(found, str | BaseMessage | Mapping) or not isinstance(found, Iterable):
            found = [found]
        return [message for one in found if (message := _message(one)) is not None]


def last_human(messages: Sequence[BaseMessage]) -> int | None:
    """The index of the last human message, or None."""
    for index in range(len(messages) - 1, -1, -1):
        if _is_human(messages[index]):
            return index
    return None


def message_text(message: BaseMessage) -> str:
    """The text of a message, its text blocks joined by newlines."""
    if isinstance(message.content, str):
        return message.content.strip()
    parts = [
        block if isinstance(block, str) else block.get("text")
        for block in message.content
        if isinstance(block, str) or block.get("type", "text") in _TEXT_BLOCKS
    ]
    return "\n".join(part for part in parts if isinstance(part, str)).strip()


def content_blocks(message: BaseMessage) -> list[dict[str, Any]]:
    """The content of a message as blocks, strings as text blocks, empty strings left out."""
    parts = [message.content] if isinstance(message.content, str) else message.content
    return [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts if p]


def _asked(messages: Sequence[BaseMessage]) -> str | None:
    """The text of the last human message; "" without one, None where it is gone in mid-turn.

    Earlier human turns never stand in for it: they are answered context. A summarizer that
    runs between two model calls may take the question away while it is being answered.
    """
    index = last_human(messages)
    if index is not None:
        return message_text(messages[index])
    spoken = [message for message in messages if message.type != "system"]
    answering = bool(spoken) and isinstance(spoken[-1], ToolMessage)
    return None if answering or any(map(_is_summary, messages)) else ""


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def _is_human(message: BaseMessage) -> bool:
    if _is_summary(message):
        return False  # langchain's summary of earlier turns poses as a human message
    if isinstance(message, ChatMessage):
        return message.role in {"user", "human"}
    return isinstance(message, HumanMessage) or message.type == "human"


def _awaits_a_tool(messages: Sequence[BaseMessage]) -> bool:
    """Whether a tool call made after the last human message has no answer yet."""
    start = last_human(messages)
    turn = messages if start is None else messages[start + 1 :]
    answered = {m.tool_call_id for m in turn if isinstance(m, ToolMessage)}
    calls = [call["id"] for m in turn if isinstance(m, AIMessage) for call in m.tool_calls]
    return any(call not in answered for call in calls)


def _message(value: object) -> BaseMessage | None:
    try:
        return convert_to_messages([value])[0]  # type: ignore[list-item]  # that is the question
    except (KeyError, NotImplementedError, TypeError, ValueError):
        return None


def _now(function: Callable[[Any], object], state: object, option: str) -> object:
    result = function(state)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()  # it will never be awaited
        msg = f"{option}={function!r} is async; run the graph with ainvoke or astream"
        raise TypeError(msg)
    return result


async def _later(function: Callable[[Any], object], state: object) -> object:
    # Whatever is sync may ask a model: off the event loop with it.
    result = await run_in_executor(None, function, state)
    return await result if inspect.isawaitable(result) else result


def _text(value: object) -> str:
    if not isinstance(value, str):
        msg = f"query must return a string to search for, not {value!r}; return '' for none"
        raise TypeError(msg)
    return value.strip()
