"""What every recipe needs first: a catalog to search and a chat model to ask."""

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, override

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from boost_langchain.testing import TappedCatalog, tapped_catalog

PROCEDURES = Path(__file__).resolve().parent.parent / "tests" / "catalog"


def arguments(
    description: str | None, question: str | None = None, *, asks_model: bool = True
) -> argparse.Namespace:
    """Read a recipe's command line: --own-home, the question, and which model is asked it."""
    return parser(description, question, asks_model=asks_model).parse_args()


def parser(
    description: str | None, question: str | None = None, *, asks_model: bool = True
) -> argparse.ArgumentParser:
    """The same for a recipe that has options of its own."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if question is not None:
        parser.add_argument("question", nargs="?", default=question)
    if question is not None and asks_model:
        parser.add_argument(
            "--model",
            metavar="PROVIDER:NAME",
            help="a chat model for langchain's init_chat_model (default: a scripted one, offline)",
        )
    parser.add_argument(
        "--own-home",
        action="store_true",
        help="search what you have tapped yourself (default: the repository's own catalog)",
    )
    return parser


def catalog(options: argparse.Namespace) -> AbstractContextManager[TappedCatalog | None]:
    """The repository's own catalog in a throwaway home, or the user's own home."""
    if options.own_home:
        return nullcontext()
    return tapped_catalog(PROCEDURES, name="langchain-procedures")


class ScriptedChatModel(GenericFakeChatModel):
    """Answers with prepared messages, tool calls among them."""

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self  # its calls are in the script


def print_conversation(messages: Sequence[BaseMessage]) -> None:
    """Print the messages of an agent's state, with the tool calls that they ask for."""
    for message in messages:
        calls = getattr(message, "tool_calls", [])
        asked = "".join(f" {call['name']}({call['args']})" for call in calls)
        print(f"{message.type}:{asked} {message.text[:600]}\n")


def chat_model(options: argparse.Namespace, script: Sequence[AIMessage]) -> BaseChatModel:
    """The model that --model names, or one that answers with `script`, message by message."""
    if options.model is None:
        return ScriptedChatModel(messages=iter(script))
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as e:
        msg = "--model needs langchain: pip install 'boost-langchain[agents]'"
        raise SystemExit(msg) from e
    model: BaseChatModel = init_chat_model(options.model)
    return model
