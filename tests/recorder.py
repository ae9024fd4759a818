"""Doubles that keep what they are told: a tracer, and a chat model with a script."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.tracers.base import BaseTracer
from pydantic import Field


class RecordingModel(GenericFakeChatModel):
    """Answers from its script, takes tools, and keeps the messages of each call."""

    seen: list = Field(default_factory=list)

    def bind_tools(self, tools, **kwargs):
        """Its calls are in the script."""
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def scripted(*messages):
    """A model that answers with these, one after another."""
    return RecordingModel(messages=iter(messages))


class Recorder(BaseTracer):
    """Keeps the finished root runs."""

    def __init__(self):
        super().__init__()
        self.finished = []

    def _persist_run(self, run):
        self.finished.append(run)
