"""The graph node: from a state to an update that carries this turn's procedures."""

from collections.abc import Callable
from typing import Any, override

from langchain_core.documents import Document
from langchain_core.messages import RemoveMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor

from boost_langchain._entry import Kind
from boost_langchain._narrowing import chosen_retriever, narrowing_of
from boost_langchain._procedures import BUDGET, Screen, check_options, procedure_text
from boost_langchain._turn import Turn

type Update = dict[str, list[SystemMessage | RemoveMessage]]


class SkillContextNode(Runnable[Any, Update]):
    """What `skill_context_node` returns: a callable and a Runnable, sync and async."""

    def __init__(
        self,
        retriever: Runnable[str, list[Document]],
        turn: Turn,
        *,
        budget: int | None,
        screen: Screen,
        name: str | None,
    ) -> None:
        self.name = "boost_skills"
        self._retriever = retriever
        self._turn = turn
        self._budget = budget
        self._screen: Screen = screen
        # One id per narrowing: two nodes in one graph, for skills and for rules say, do not
        # replace each other's message.
        self.message_id = ":".join(["boost-procedures", *narrowing_of(retriever, name)])

    @override
    def __repr__(self) -> str:
        return (
            f"SkillContextNode(message_id={self.message_id!r}, retriever={self._retriever!r}, "
            f"budget={self._budget!r})"
        )

    def __call__(self, state: object, config: RunnableConfig | None = None) -> Update:
        """Run on a state, as a plain function would."""
        return self.invoke(state, config)

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        question = self._turn.question(input)
        if question is None:
            return {}
        documents = self._retriever.invoke(question, config) if question else []
        return self._update(input, documents)

    @override
    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Update:
        question = await self._turn.aquestion(input)
        if question is None:
            return {}
        documents = await self._retriever.ainvoke(question, config) if question else []
        # Rendering and screening take milliseconds per procedure.
        return await run_in_executor(None, self._update, input, documents)

    def _update(self, state: object, documents: list[Document]) -> Update:
        found = procedure_text(documents, budget=self._budget, screen=self._screen)
        if found is not None:
            message = SystemMessage(found.text, id=self.message_id, response_metadata=found.record)
            return {self._turn.messages_key: [message]}
        if any(message.id == self.message_id for message in self._turn.messages(state)):
            return {self._turn.messages_key: [RemoveMessage(self.message_id)]}
        return {}


def skill_context_node(  # noqa: PLR0913 - options, most of them keyword-only
    retriever: Runnable[str, list[Document]] | None = None,
    k: int = 3,
    kind: Kind | None = None,
    *,
    messages_key: str = "messages",
    query: Callable[[Any], Any] | None = None,
    when: Callable[[Any], Any] | None = None,
    budget: int | None = BUDGET,
    screen: Screen = None,
    name: str | None = None,
) -> SkillContextNode:
    """Make a graph node that hands the procedures of this turn to the model.

    The node searches for the text of the last human message and returns one system message
    with the procedures that answer it, each labelled with where it comes from. The message
    has a fixed id, so that the `add_messages` reducer replaces the procedures of the turn
    before, in their old place; when the new question matches nothing it removes them
    (`RemoveMessage`). That is the doing of `add_messages`, which `MessagesState` has: with a
    reducer that only appends they would pile up, and with none the update would be the whole
    conversation. In a subgraph a removal does not reach the parent's state, and two nodes of
    one id must not run in one superstep. The id names the retriever's `kind` and `tap`: two
    nodes in one graph need a different kind, tap or `name`, or each replaces the message of
    the other. A thread that was stored under others keeps their message.

    It returns `{}`, no update, when there is nothing to add or to remove, while a tool call
    of this turn is unanswered, when the question was summarized or trimmed away while it is
    being answered, and when `when` says no. An empty catalog or an engine fault
    never raises: the graph runs on with what a simpler ranking finds, or with nothing.

    Providers disagree about a system message that is not the first one: put
    `leading_system` between the messages and the model.

    Args:
        retriever: A configured retriever, `BoostRetriever(kind="rule")` say; it decides
            wholesale, and `k` and `kind` then say nothing. None: `BoostRetriever(k, kind)`.
        k: The most procedures of a turn. Lower than the retriever's own default: these are
            whole procedures in a live conversation.
        kind: Only procedures of this kind; None: all three.
        messages_key: Where the state keeps its messages.
        query: What to search for instead, from the state: the application's own rewriting of
            follow-ups ("what about the second one?"). May be async under ainvoke.
        when: Whether to do anything this turn, from the state; False ("thanks!") leaves what
            an earlier turn injected. May be async under ainvoke.
        budget: The most characters of the message, at least 500. What does not fit is cut at
            a paragraph or listed by its label, visibly. None: no limit.
        screen: "label" names in each label the rules of the engine's injection scan that
            fired; "drop" leaves such procedures out. Off by default: it flags one answer in
            five, mostly harmless, and costs some 17 ms per new body.
        name: What the message's id names instead of the retriever's `kind` and `tap`, for two
            nodes in one graph that differ in something else, `query` say.

    Returns:
        The node: `node(state)` as a function, and natively sync and async in LangGraph.

    Raises:
        pydantic.ValidationError: `k` or `kind` is wrong.
        TypeError: An option is of a wrong type; at run time, `query` gave no string.
        ValueError: `budget`, `screen` or `name` has a value that means nothing.

    Example:
        With the catalog of this repository tapped:

        ```python
        from boost_langchain import skill_context_node
        from boost_langchain.graph import procedures

        node = skill_context_node(k=1)
        update = node({"messages": [("user", "How do I retry a call with backoff?")]})
        print(procedures(update["messages"][0])[0].path)
        #> skills/retry-with-backoff/SKILL.md
        ```
    """
    check_options(budget, screen)
    return SkillContextNode(
        chosen_retriever(retriever, k, kind),
        Turn(messages_key, query, when),
        budget=budget,
        screen=screen,
        name=name,
    )
