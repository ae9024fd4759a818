"""The model that costs nothing: an Ollama server on this machine, where one answers."""

import argparse
import json
from collections.abc import Sequence
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from _setup import chat_model

OLLAMA_PORT = 11434


def local_model(options: argparse.Namespace, script: Sequence[AIMessage]) -> BaseChatModel:
    """The model that --model names, else the first of a local Ollama server, else the script."""
    url = f"http://127.0.0.1:{options.ollama_port}"
    names = [] if options.model else ollama_models(url)
    if not names:
        return chat_model(options, script)
    try:
        from langchain_ollama import ChatOllama  # noqa: PLC0415 - an extra of the recipe
    except ModuleNotFoundError:
        print("An Ollama server answers here; to use it: pip install langchain-ollama\n")
        return chat_model(options, script)
    print(f"Asking {names[0]} of the Ollama server at {url}.\n")
    # Without the environment's proxies: it is this machine.
    model: BaseChatModel = ChatOllama(
        model=names[0], base_url=url, client_kwargs={"trust_env": False}
    )
    return model


def ollama_models(url: str) -> list[str]:
    """The models of an Ollama server, or [] where none answers."""
    try:
        with build_opener(ProxyHandler({})).open(f"{url}/api/tags", timeout=1) as response:
            return [str(model["name"]) for model in json.load(response)["models"]]
    except (URLError, OSError, ValueError, KeyError, TypeError):
        return []
