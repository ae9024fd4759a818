"""The retriever that a seam was handed, and what it is narrowed to.

Translates a retriever, wrapped or not, into the suffix that tells two nodes of one graph, or
two middlewares of one agent, apart.
"""

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase

from boost_langchain._entry import Kind
from boost_langchain.retriever import BoostRetriever


def chosen_retriever(
    retriever: Runnable[str, list[Document]] | None, k: int, kind: Kind | None
) -> Runnable[str, list[Document]]:
    """The retriever that was handed over, or a `BoostRetriever` with `k` and `kind`.

    Raises:
        TypeError: It is no Runnable.
        pydantic.ValidationError: `k` or `kind` is wrong.
    """
    if retriever is None:
        return BoostRetriever(k=k, kind=kind)
    return checked_retriever(retriever)


def checked_retriever(
    retriever: Runnable[str, list[Document]],
) -> Runnable[str, list[Document]]:
    """The retriever, if it is one.

    Raises:
        TypeError: It is no Runnable.
    """
    if not isinstance(retriever, Runnable):
        msg = f"retriever={retriever!r} is no retriever; pass a BoostRetriever, or None"
        raise TypeError(msg)
    return retriever


def boost_retriever_in(retriever: object) -> BoostRetriever | None:
    """The `BoostRetriever` that a call of `retriever` asks first, as the wrappers bind it.

    Wrappers are what a Runnable's own methods make (`bind`, `with_retry`, `with_fallbacks`,
    `configurable_fields`, `|`) and retrievers over a base retriever, such as
    `RerankedRetriever`. None where there is no such retriever.
    """
    bound: dict[str, Any] = {}
    while not isinstance(retriever, BoostRetriever):
        if isinstance(retriever, RunnableBindingBase):
            bound = {**retriever.kwargs, **bound}
        retriever = _wrapped(retriever)
        if retriever is None:
            return None
    return retriever.model_copy(update={f: bound[f] for f in ("kind", "tap") if f in bound})


def is_plain(retriever: object) -> bool:
    """Whether this is a `BoostRetriever` itself, with nothing but bindings and retries."""
    while isinstance(retriever, RunnableBindingBase):
        retriever = retriever.bound
    return isinstance(retriever, BoostRetriever)


def narrowing_of(retriever: object, name: str | None = None) -> list[str]:
    """What tells a retriever from another in one graph: `name`, or its kind and tap.

    Raises:
        TypeError: `name` is no string.
        ValueError: `name` is blank.
    """
    if name is not None:
        return [_checked_name(name)]
    found = boost_retriever_in(retriever)
    return [] if found is None else [str(value) for value in (found.kind, found.tap) if value]


def _wrapped(retriever: object) -> object:
    """What a wrapper calls first, with the call's own arguments; None for no wrapper."""
    if isinstance(retriever, RunnableBindingBase):
        return retriever.bound
    if isinstance(retriever, RunnableSequence):
        # What stands before it may rewrite the question.
        return next((step for step in retriever.steps if boost_retriever_in(step)), None)
    if isinstance(retriever, BaseRetriever):
        # As ours call it, and langchain's own.
        return vars(retriever).get("base") or vars(retriever).get("base_retriever")
    # They cost 25 ms, and a plain retriever never comes here.
    from langchain_core.runnables import RunnableWithFallbacks  # noqa: PLC0415
    from langchain_core.runnables.configurable import DynamicRunnable  # noqa: PLC0415

    if isinstance(retriever, RunnableWithFallbacks):
        return retriever.runnable
    return retriever.default if isinstance(retriever, DynamicRunnable) else None


def _checked_name(name: str) -> str:
    if not isinstance(name, str):
        msg = f"name={name!r} is no string; pass one, or None"
        raise TypeError(msg)
    if not name.strip():
        msg = f"name={name!r} tells nothing apart; pass a word, or None"
        raise ValueError(msg)
    return name
