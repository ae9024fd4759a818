"""Procedures into an agent of `langchain.agents.create_agent`, turn by turn.

Translates the question of a turn into a text block of the system message of its model calls;
nothing is written into messages, output or checkpoints.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, cast, override

from langchain_core.documents import Document
from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import run_in_executor

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.runtime import Runtime
except ModuleNotFoundError as e:
    msg = "boost_langchain.middleware needs langchain: pip install 'boost-langchain[agents]'"
    raise ModuleNotFoundError(msg, name=e.name) from e

from boost_langchain._entry import Kind
from boost_langchain._narrowing import chosen_retriever, narrowing_of
from boost_langchain._procedures import (
    BUDGET,
    Screen,
    check_options,
    merged_records,
    procedure_text,
)
from boost_langchain._turn import Turn, content_blocks, last_human

__all__ = ["SkillContextMiddleware"]


class SkillContextState(AgentState[Any]):
    """An agent's state with what was found for the current turn, private and never stored."""

    boost_procedures: NotRequired[Annotated[dict[str, Any], UntrackedValue, PrivateStateAttr]]


class SkillContextMiddleware(AgentMiddleware[AgentState[Any], ContextT, ResponseT]):
    """Hand the procedures of the current turn to every model call of an agent.

    Retrieves once per user turn, for the last human message, and reuses the result through
    the tool loop (once more after an interrupt and resume: the private state does not survive
    it). The procedures are appended to the system message of each model call as a text block;
    the agent's own prompt, its blocks and its cache markers stay as they are. Messages, output
    and checkpoints never hold them. Where `skill_context_node` would do nothing, so does this.

    Of the streams, "updates" shows the node `SkillContextMiddleware.before_model` with one key,
    `boost_procedures`, once per turn, and "values" that key beside `messages`; so do "debug",
    "tasks" and "checkpoints", which show a run from inside. "messages" shows nothing of it.

    A middleware that replaces the system message belongs before this one in the list. One that
    summarizes the conversation is best placed behind it: the question is then read before it
    may go, and what was found for it stays to the end of the turn. A turn that is resumed after
    its question was summarized away goes on without procedures.

    Sync and async. The options are those of `skill_context_node`; two in one agent need a
    different kind, tap or `name`.

    Args:
        retriever: A configured retriever; it decides wholesale. None: `BoostRetriever(k, kind)`.
        k: The most procedures of a turn.
        kind: Only procedures of this kind; None: all three.
        query: What to search for instead, from the state. May be async under ainvoke.
        when: Whether to hand over anything this turn, from the state. May be async.
        budget: The most characters of the text block, at least 500; None: no limit.
        screen: "label" or "drop" what the engine's injection scan flags; None: no scan.
        name: What the middleware's name holds instead of the retriever's `kind` and `tap`, for
            two in one agent that differ in something else, `query` say.

    Raises:
        pydantic.ValidationError: `k` or `kind` is wrong.
        TypeError: An option is of a wrong type; at run time, `query` gave no string.
        ValueError: `budget`, `screen` or `name` has a value that means nothing.

    Example:
        ```python
        from langchain.agents import create_agent
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        from boost_langchain.middleware import SkillContextMiddleware

        model = GenericFakeChatModel(messages=iter([AIMessage("Back off.")]))
        agent = create_agent(model, middleware=[SkillContextMiddleware(k=3)])
        state = agent.invoke({"messages": [("user", "How do I retry a model call?")]})
        print([message.text for message in state["messages"]])
        #> ['How do I retry a model call?', 'Back off.']
        ```
    """

    state_schema = SkillContextState

    def __init__(  # noqa: PLR0913 - options, most of them keyword-only
        self,
        retriever: Runnable[str, list[Document]] | None = None,
        k: int = 3,
        kind: Kind | None = None,
        *,
        query: Callable[[Any], Any] | None = None,
        when: Callable[[Any], Any] | None = None,
        budget: int | None = BUDGET,
        screen: Screen = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_options(budget, screen)
        self._retriever = chosen_retriever(retriever, k, kind)
        self._suffix = narrowing_of(self._retriever, name)
        self._turn = Turn(query=query, when=when)
        self._budget = budget
        self._screen: Screen = screen

    @override
    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}(name={self.name!r}, retriever={self._retriever!r}, budget={self._budget!r})"

    @property
    @override
    def name(self) -> str:
        """The class's name, with the `name` option or what the retriever is narrowed to."""
        # LangGraph allows neither in the name of a node, and a registry may have them in its own.
        return re.sub("[:|]", "_", "-".join([type(self).__name__, *self._suffix]))

    @override
    def before_model(
        self, state: AgentState[Any], runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        if self._found(state) is not None:
            return None
        question = self._turn.question(state)
        documents = self._retriever.invoke(question) if question else []
        return self._keep(state, documents)

    @override
    async def abefore_model(
        self, state: AgentState[Any], runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        if self._found(state) is not None:
            return None
        question = await self._turn.aquestion(state)
        documents = await self._retriever.ainvoke(question) if question else []
        # Rendering and screening take milliseconds per procedure.
        return await run_in_executor(None, self._keep, state, documents)

    @override
    def wrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]],
    ) -> ModelResponse[ResponseT]:
        return handler(self._with_procedures(request))

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT]:
        return await handler(self._with_procedures(request))

    def _found(self, state: AgentState[Any]) -> dict[str, Any] | None:
        """What was found for this very human message, if that was looked up already.

        Where no human message is left, one was summarized or trimmed away in mid-turn: the
        state is private to one run, so what it holds is this turn's.
        """
        found: dict[str, Any] | None = _kept(state).get(self.name)
        turn = _turn_key(self._turn, state)
        return found if found and (not turn or found["turn"] == turn) else None

    def _keep(self, state: AgentState[Any], documents: list[Document]) -> dict[str, Any]:
        rendered = procedure_text(documents, budget=self._budget, screen=self._screen)
        found = {
            "turn": _turn_key(self._turn, state),
            "text": rendered.text if rendered else "",
            "record": rendered.record if rendered else {},
        }
        # Another instance may keep its own beside it.
        return {"boost_procedures": {**_kept(state), self.name: found}}

    def _with_procedures(self, request: ModelRequest[ContextT]) -> ModelRequest[ContextT]:
        # As before_model kept it: a middleware in between may have edited the human message.
        found = _kept(request.state).get(self.name)
        if not found or not found["text"]:
            return request
        ours = SystemMessage(
            [{"type": "text", "text": found["text"]}], response_metadata=found["record"]
        )
        base = request.system_message
        if base is None:
            return request.override(system_message=ours)
        message = base.model_copy(
            update={
                "content": [*content_blocks(base), *ours.content],
                "response_metadata": base.response_metadata | merged_records([base, ours]),
            }
        )
        return request.override(system_message=message)


def _kept(state: AgentState[Any]) -> dict[str, Any]:
    return cast("SkillContextState", state).get("boost_procedures") or {}


def _turn_key(turn: Turn, state: object) -> list[Any]:
    """Which human message a turn belongs to: its id, or its place and text; [] for none."""
    messages = turn.messages(state)
    index = last_human(messages)
    if index is None:
        return []
    message = messages[index]
    return [message.id] if message.id else [index, message.content]
