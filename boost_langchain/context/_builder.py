"""Several retrievers as one: the base always answers, the sources when a question names them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, override

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass

from boost_langchain._answers import checked_documents, shortened
from boost_langchain.context._routing import mentions, words
from boost_langchain.retriever import BoostRetriever

logger = logging.getLogger("boost_langchain")

BASE = "base"
"""The label of the base's documents; no source may have it."""


@dataclass(
    frozen=True,
    config=ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True),
)
class ContextSource:
    """One kind of knowledge about a system, and the words of a question that call for it.

    Raises:
        pydantic.ValidationError: A field has a wrong type or value.

    Example:
        See `ContextBuilder`.
    """

    name: Annotated[str, Field(pattern=r"\S")]
    """What its documents are labelled with, in `metadata["context"]`, and its runs in traces."""
    keywords: Sequence[str]
    """Asked when one of them occurs in the question, as whole words, in any case, also as a
    plural. None of them: always asked."""
    retriever: Runnable[str, list[Document]]
    """Who answers: any retriever, also bound, with fallbacks, or another Runnable."""

    @field_validator("keywords")
    @classmethod
    def _has_words(cls, keywords: Sequence[str]) -> tuple[str, ...]:
        for keyword in keywords:
            if not words(keyword):
                msg = f"the keyword {keyword!r} has no word; pass no keywords to ask always"
                raise ValueError(msg)
        return tuple(keywords)

    def is_asked(self, question: str) -> bool:
        """Whether a question calls for this source."""
        return not self.keywords or mentions(question, self.keywords)


class ContextBuilder(BaseRetriever):
    """Retrieve what a question about a system needs, from the sources that its words call for.

    The base always answers. Each source whose keywords occur in the question is asked as well;
    under `ainvoke` all of them at once. Documents come back base first, then in the order of
    the sources, as copies whose `metadata["context"]` is "base" or the source's name. Of
    documents with one id the first stays.

    A source that fails is named in one warning, and the others answer. An error of the base is
    the caller's, as it is when the base is asked alone; a `BoostRetriever` has none by default.

    `k` may be given per call. In a trace every one that is asked is a child run, with the name
    that labels its documents.

    Raises:
        pydantic.ValidationError: A field or call argument has a wrong type or value, or two
            sources have one name.
        TypeError: The question is not a string, a call argument is unknown, or the base
            answered something else than a list of Documents.

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain import BoostRetriever
        from boost_langchain.context import ContextBuilder, ContextSource

        agents = ContextSource("agents", ("agent",), BoostRetriever(kind="workflow", k=1))
        builder = ContextBuilder(base=BoostRetriever(k=1, kind="skill"), sources=[agents])
        for document in builder.invoke("Which agents review a LangGraph graph?"):
            print(document.metadata["context"], document.metadata["name"])
            #> base compose-subgraphs
            #> agents graph-reviewer
        ```
    """

    model_config = ConfigDict(strict=True, extra="forbid", validate_assignment=True)

    name: str | None = "boost-context"
    """The name of its runs in traces; `run_name` in a config wins."""
    base: Runnable[str, list[Document]] = Field(default_factory=BoostRetriever)
    """Who always answers: a hybrid search over the whole. Any retriever, also bound or with
    retries, or another Runnable."""
    sources: Sequence[ContextSource] = ()
    """Who is asked when a question's words call for it, in the order of their answers."""
    k: int | None = Field(default=None, ge=1)
    """The most documents returned, in turns: every one that was asked gives its best before any
    gives its second. None: all that they return."""

    @field_validator("sources")
    @classmethod
    def _has_names(cls, sources: Sequence[ContextSource]) -> tuple[ContextSource, ...]:
        names = Counter([BASE, *(source.name for source in sources)])
        for name, count in names.items():
            if count > 1:
                msg = f"two sources would be labelled {name!r}; give one of them another name"
                raise ValueError(msg)
        return tuple(sources)

    def asked(self, question: str) -> tuple[ContextSource, ...]:
        """The sources that a question calls for, besides the base."""
        return tuple(source for source in self.sources if source.is_asked(question))

    @override
    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="boost-context")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k = self._k(kwargs)
        if not _is_question(query):
            return []
        sources = self.asked(query)
        answers = [_documents(self.base.invoke(query, _child(run_manager, BASE)), BASE)]
        for source in sources:
            try:
                found = source.retriever.invoke(query, _child(run_manager, source.name))
                answers.append(_documents(found, source.name))
            except Exception as e:  # noqa: BLE001 - whatever a source raises, the others answer
                answers.append(_nothing(source, e))
        return _joined(sources, answers, k)

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k = self._k(kwargs)
        if not _is_question(query):
            return []
        sources = self.asked(query)

        async def ask(source: ContextSource) -> list[Document]:
            try:
                config = _child(run_manager, source.name)
                return _documents(await source.retriever.ainvoke(query, config), source.name)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise  # the caller's doing, not the source's
                return _nothing(source, RuntimeError("it was cancelled"))
            except Exception as e:  # noqa: BLE001 - whatever a source raises, the others answer
                return _nothing(source, e)

        async def ask_base() -> list[Document]:
            return _documents(await self.base.ainvoke(query, _child(run_manager, BASE)), BASE)

        # A task group: when the base raises, no source is left running behind the caller.
        failure: Exception | None = None
        try:
            async with asyncio.TaskGroup() as group:
                base = group.create_task(ask_base())
                others = [group.create_task(ask(source)) for source in sources]
        except ExceptionGroup as failed:
            (failure,) = failed.exceptions  # the base's: `ask` has none
        if failure is not None:
            raise failure  # out here, where it keeps its own cause and gets no other context
        return _joined(sources, [task.result() for task in (base, *others)], k)

    def _k(self, given: dict[str, Any]) -> int | None:
        for argument, value in given.items():
            if argument not in {"k", "verbose"}:  # verbose is LangChain's own
                msg = f"ContextBuilder got an unknown call argument {argument}={value!r}; use k"
                raise TypeError(msg)
        return _CallOptions(k=given.get("k", self.k)).k


class _CallOptions(BaseModel):
    """The option that a call may override, with the rule of the field that it overrides."""

    model_config = ConfigDict(strict=True, title="ContextBuilder call")

    k: int | None = Field(ge=1)


def _is_question(query: object) -> bool:
    if not isinstance(query, str):
        msg = f"ContextBuilder needs a string to ask about, not {query!r}; pass its text"
        raise TypeError(msg)
    return bool(query.strip())


def _child(
    run_manager: CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun, name: str
) -> RunnableConfig:
    return RunnableConfig(callbacks=run_manager.get_child(), run_name=name)


def _documents(answer: object, name: str) -> list[Document]:
    return checked_documents(answer, f"{name!r}")


def _nothing(source: ContextSource, reason: Exception) -> list[Document]:
    logger.warning("the context source %s did not answer: %s", source.name, shortened(reason))
    return []


def _joined(
    sources: Sequence[ContextSource], answers: Sequence[list[Document]], k: int | None
) -> list[Document]:
    """The answers one after another: labelled, each id once, at most `k` of them."""
    labels = [BASE, *(source.name for source in sources)]
    seen: set[str] = set()
    kept: list[list[Document]] = []
    for label, answer in zip(labels, answers, strict=True):
        kept.append([])
        for document in answer:
            identity = _identity(document)
            if identity is None or identity not in seen:
                kept[-1].append(_labelled(document, label))
                seen.update([identity] if identity is not None else [])
    return [document for answer in _in_turns(kept, k) for document in answer]


def _identity(document: Document) -> str | None:
    """What a document is told apart by; a row number in metadata is no address."""
    identity = document.id or document.metadata.get("id")
    return identity if isinstance(identity, str) else None


def _in_turns(answers: Sequence[list[Document]], k: int | None) -> Sequence[list[Document]]:
    if k is None:
        return answers
    places = [(place, who) for who, answer in enumerate(answers) for place in range(len(answer))]
    given = Counter(who for _, who in sorted(places)[:k])
    return [answer[: given[who]] for who, answer in enumerate(answers)]


def _labelled(document: Document, label: str) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "context": label}})
