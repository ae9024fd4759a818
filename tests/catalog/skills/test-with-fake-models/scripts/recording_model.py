"""A scripted chat model that records what it was sent.

Run the file to see it work.
"""

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field


class RecordingModel(GenericFakeChatModel):
    """Plays its script and keeps each list of messages in `calls`."""

    calls: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[str] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> "RecordingModel":
        self.bound[:] = [getattr(t, "name", str(t)) for t in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.calls.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


if __name__ == "__main__":
    model = RecordingModel(messages=iter([AIMessage("hello"), AIMessage("again")]))
    print(model.invoke("hi").text)
    print([m.text for m in model.calls[0]])
