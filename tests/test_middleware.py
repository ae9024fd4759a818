"""SkillContextMiddleware in real agents: what each model call sees, and what is stored."""

import asyncio

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from pydantic import ValidationError

from boost_langchain import BoostRetriever
from boost_langchain.graph import procedures
from boost_langchain.middleware import SkillContextMiddleware

from recorder import scripted

RETRY = "How do I retry a model call with backoff?"
CHUNK = "How do I chunk Markdown documents?"
MARK = "Procedures from the boost catalog"
CACHED = {"type": "text", "text": "You are brief.", "cache_control": {"type": "ephemeral"}}


class Counter(BaseCallbackHandler):
    """Counts retrievals."""

    def __init__(self):
        self.queries = []

    def on_retriever_start(self, serialized, query, **kwargs):
        """One more."""
        self.queries.append(query)


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"looked at {at}"


def script(calls_per_turn, turns):
    """Tool calls, then an answer, turn after turn."""
    messages = []
    for turn in range(turns):
        for number in range(calls_per_turn):
            call = {"name": "look", "args": {"at": "it"}, "id": f"{turn}-{number}"}
            messages.append(AIMessage("", tool_calls=[call]))
        messages.append(AIMessage(f"Answer {turn}."))
    return scripted(*messages)


@pytest.fixture(params=["sync", "async"])
def invoke(request):
    """Run an agent, sync or async."""

    def run(agent, value, config):
        if request.param == "sync":
            return agent.invoke(value, config)
        return asyncio.run(agent.ainvoke(value, config))

    return run


def config_of(counter, thread="1"):
    """A thread, with its retrievals counted."""
    return {"configurable": {"thread_id": thread}, "callbacks": [counter]}


def system_of(messages):
    """The one system message of a model call, which leads."""
    assert [m.type for m in messages].count("system") == 1
    assert messages[0].type == "system"
    return messages[0]


class Shout(AgentMiddleware):
    """Another middleware, which adds to the system message in its own way."""

    def __init__(self, word):
        super().__init__()
        self.word = word

    @property
    def name(self):
        """Unlike its sibling's."""
        return f"Shout-{self.word}"

    def _louder(self, request):
        base = request.system_message
        content = [*(base.content_blocks if base else []), {"type": "text", "text": self.word}]
        return request.override(system_message=SystemMessage(content))

    def wrap_model_call(self, request, handler):
        """Sync."""
        return handler(self._louder(request))

    async def awrap_model_call(self, request, handler):
        """Async."""
        return await handler(self._louder(request))


def test_two_turns_of_three_tool_calls(own_catalog, invoke):
    """One retrieval per turn; every call sees the procedures once; nothing of ours is stored."""
    model, counter, saver = script(3, 2), Counter(), InMemorySaver()
    agent = create_agent(
        model,
        [look],
        system_prompt=SystemMessage([CACHED]),
        middleware=[Shout("BEFORE"), SkillContextMiddleware(k=2), Shout("AFTER")],
        checkpointer=saver,
    )
    config = config_of(counter)
    for number, question in enumerate((RETRY, CHUNK)):
        state = invoke(agent, {"messages": [HumanMessage(question)]}, config)
        assert state["messages"][-1].content == f"Answer {number}."
        assert set(state) == {"messages"}
        assert MARK not in repr(state)
    assert counter.queries == [RETRY, CHUNK]
    assert len(model.seen) == 8
    for number, messages in enumerate(model.seen):
        blocks = system_of(messages).content
        assert blocks[0] == CACHED
        texts = [block["text"] for block in blocks]
        assert [t for t in texts if t in {"BEFORE", "AFTER"}] == ["BEFORE", "AFTER"]
        (ours,) = [text for text in texts if text.startswith(MARK)]
        assert ("skills/retry-with-backoff/SKILL.md" in ours) is (number < 4)
        assert ("skills/chunk-documents/SKILL.md" in ours) is (number >= 4)
    stored = repr(list(saver.list(config))) + repr(saver.storage) + repr(saver.blobs)
    assert MARK not in stored
    assert "retry-with-backoff" not in stored


def test_string_prompt_and_record(own_catalog, invoke):
    """A base prompt as a string stays in front; the record is on the message."""
    model = script(0, 1)
    agent = create_agent(
        model, system_prompt="You are brief.", middleware=[SkillContextMiddleware(k=1)]
    )
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, {})
    system = system_of(model.seen[0])
    assert system.content[0] == {"type": "text", "text": "You are brief."}
    assert procedures(system)[0].path == "skills/retry-with-backoff/SKILL.md"


def test_one_more_retrieval_after_an_interrupt(own_catalog, invoke):
    """The private state does not survive an interrupt; the turn goes on with the same procedures."""
    model, counter = script(2, 1), Counter()
    agent = create_agent(
        model,
        [look],
        middleware=[
            SkillContextMiddleware(k=1),
            HumanInTheLoopMiddleware(interrupt_on={"look": True}),
        ],
        checkpointer=InMemorySaver(),
    )
    config = config_of(counter)
    state = invoke(agent, {"messages": [HumanMessage(RETRY)]}, config)
    assert state["__interrupt__"]
    assert counter.queries == [RETRY]
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    invoke(agent, approve, config)
    assert counter.queries == [RETRY, RETRY]
    state = invoke(agent, approve, config)
    assert counter.queries == [RETRY] * 3
    assert state["messages"][-1].content == "Answer 0."
    assert all(MARK in repr(system_of(messages)) for messages in model.seen)


class Rewriting(AgentMiddleware):
    """Edits the human message in place, as one that redacts does."""

    def before_model(self, state, runtime):
        """Same id, other text."""
        human = next(m for m in state["messages"] if m.type == "human")
        return {"messages": [HumanMessage(f"{human.content} [edited]", id=human.id)]}


def test_a_middleware_that_edits_the_question(own_catalog):
    """Every call still sees the procedures, and one retrieval is enough."""
    model, counter = script(2, 1), Counter()
    agent = create_agent(model, [look], middleware=[SkillContextMiddleware(k=1), Rewriting()])
    agent.invoke({"messages": [HumanMessage(RETRY)]}, config_of(counter))
    assert counter.queries == [RETRY]
    assert all(procedures(system_of(messages)) for messages in model.seen)


@pytest.mark.parametrize("first", ["summarizer", "procedures"])
@pytest.mark.parametrize("query", [None, lambda state: RETRY])
def test_a_summary_is_no_question(own_catalog, invoke, first, query):
    """Langchain's summary takes the question away in mid-turn; what was found for it stays."""
    model, counter = script(4, 2), Counter()
    summarizer = scripted(*[AIMessage("SUMMARY")] * 9)
    middleware = [
        SummarizationMiddleware(summarizer, trigger=("messages", 6), keep=("messages", 2)),
        SkillContextMiddleware(k=1, query=query),
    ]
    if first == "procedures":
        middleware.reverse()
    agent = create_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver())
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, config_of(counter))
    assert counter.queries == [RETRY]
    assert len(model.seen) == 5
    assert [m for m in model.seen[-1] if m.type == "human"][-1].text.endswith("SUMMARY")
    for messages in model.seen:
        assert procedures(system_of(messages))[0].path == "skills/retry-with-backoff/SKILL.md"
    if query is None:
        invoke(agent, {"messages": [HumanMessage(CHUNK)]}, config_of(counter))
        assert counter.queries == [RETRY, CHUNK]
        for messages in model.seen[5:]:
            assert "chunk" in procedures(system_of(messages))[0].path


class Forgetting(AgentMiddleware):
    """Trims the question away while it is being answered."""

    def before_model(self, state, runtime):
        """Leave the last call and its answer."""
        if len(state["messages"]) < 5:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *state["messages"][-2:]]}


def test_a_question_that_was_trimmed_away(own_catalog):
    """The turn goes on with what was found for it."""
    model, counter = script(3, 1), Counter()
    agent = create_agent(model, [look], middleware=[Forgetting(), SkillContextMiddleware(k=1)])
    agent.invoke({"messages": [HumanMessage(RETRY)]}, config_of(counter))
    assert counter.queries == [RETRY]
    assert not [m for m in model.seen[-1] if m.type == "human"]
    assert all(procedures(system_of(messages)) for messages in model.seen)


@pytest.mark.parametrize("text", ["zzqxj", "   "])
def test_nothing_found_leaves_the_request_alone(own_catalog, invoke, text):
    """No match, no text: the agent runs as without the middleware."""
    model = script(1, 1)
    agent = create_agent(model, [look], middleware=[SkillContextMiddleware()])
    invoke(agent, {"messages": [HumanMessage(text)]}, {})
    assert [m.type for m in model.seen[0]] == ["human"]


def test_empty_catalog_and_faults(empty_catalog, invoke):
    """An empty home and a broken one: the agent answers."""
    for breakage in (None, "{"):
        if breakage:
            empty_catalog.boost_home.mkdir(exist_ok=True)
            (empty_catalog.boost_home / "config.json").write_text(breakage)
        model = script(0, 1)
        agent = create_agent(model, middleware=[SkillContextMiddleware()])
        state = invoke(agent, {"messages": [HumanMessage(RETRY)]}, {})
        assert state["messages"][-1].content == "Answer 0."


def test_when_and_query(own_catalog, invoke):
    """A skipped turn hands over nothing; a rewriting replaces the question."""
    model, counter = script(0, 2), Counter()
    agent = create_agent(
        model,
        middleware=[
            SkillContextMiddleware(
                k=1,
                query=lambda state: CHUNK,
                when=lambda state: "thanks" not in state["messages"][-1].text,
            )
        ],
        checkpointer=InMemorySaver(),
    )
    config = config_of(counter)
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, config)
    invoke(agent, {"messages": [HumanMessage("thanks!")]}, config)
    assert counter.queries == [CHUNK]
    assert "chunk" in procedures(system_of(model.seen[0]))[0].path
    assert [m.type for m in model.seen[1]] == ["human", "ai", "human"]


def test_two_of_different_kinds(own_catalog, invoke):
    """One for skills and one for rules, in one agent."""
    model, counter = script(1, 1), Counter()
    agent = create_agent(
        model,
        [look],
        middleware=[
            SkillContextMiddleware(k=1, kind="skill"),
            SkillContextMiddleware(k=1, kind="rule"),
        ],
    )
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, config_of(counter))
    assert counter.queries == [RETRY, RETRY]
    for messages in model.seen:
        assert sorted(p.kind for p in procedures(system_of(messages))) == ["rule", "skill"]


def test_a_name_tells_two_apart(own_catalog, invoke):
    """Two that differ in their query alone, and one whose retriever is wrapped."""
    model = script(1, 1)
    middleware = [
        SkillContextMiddleware(k=1),
        SkillContextMiddleware(k=1, query=lambda state: CHUNK, name="topic"),
        SkillContextMiddleware(BoostRetriever(k=1, kind="rule").with_retry()),
    ]
    assert [one.name for one in middleware] == [
        "SkillContextMiddleware",
        "SkillContextMiddleware-topic",
        "SkillContextMiddleware-rule",
    ]
    agent = create_agent(model, [look], middleware=middleware)
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, {})
    for messages in model.seen:
        asked, topic, rule = procedures(system_of(messages))
        assert asked.path == "skills/retry-with-backoff/SKILL.md"
        assert "chunk" in topic.path
        assert rule.kind == "rule"


@pytest.mark.parametrize("option", ["retriever", "name"])
def test_names_that_a_graph_reserves(own_catalog, option):
    """A registry may have a colon in its name, and a node may not."""
    odd = {"retriever": {"retriever": BoostRetriever(tap="a:b|c")}, "name": {"name": "a:b|c"}}
    middleware = SkillContextMiddleware(**odd[option])
    assert middleware.name == "SkillContextMiddleware-a_b_c"
    agent = create_agent(script(0, 1), middleware=[middleware])
    assert agent.invoke({"messages": [HumanMessage(RETRY)]})["messages"][-1].text == "Answer 0."


def test_streams_show_what_the_docs_say(own_catalog):
    """Both streams show the private key, once found; messages and the output never hold ours."""
    agent = create_agent(script(1, 1), [look], middleware=[SkillContextMiddleware(k=1)])
    question = {"messages": [HumanMessage(RETRY)]}
    seen = list(agent.stream(question, stream_mode=["values", "updates"]))
    values = [chunk for mode, chunk in seen if mode == "values"]
    updates = [chunk for mode, chunk in seen if mode == "updates"]
    assert {key for value in values for key in value} == {"messages", "boost_procedures"}
    assert MARK not in repr([value["messages"] for value in values])
    ours = [chunk for chunk in updates if MARK in repr(chunk)]
    assert [list(chunk) for chunk in ours] == [["SkillContextMiddleware.before_model"]]
    assert list(ours[0]["SkillContextMiddleware.before_model"]) == ["boost_procedures"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"k": 0}, ValidationError),
        ({"budget": 0}, ValueError),
        ({"screen": "x"}, ValueError),
        ({"name": ""}, ValueError),
        ({"name": 3}, TypeError),
    ],
)
def test_bad_options_fail_where_they_are_written(options, error):
    """The same rules as the node's."""
    with pytest.raises(error):
        SkillContextMiddleware(**options)


def test_configured_retriever_decides(own_catalog, invoke):
    """A retriever of one's own, screened and bounded."""
    model = script(0, 1)
    middleware = SkillContextMiddleware(
        BoostRetriever(k=4, kind="rule"), budget=2_000, screen="label"
    )
    agent = create_agent(model, middleware=[middleware])
    invoke(agent, {"messages": [HumanMessage(RETRY)]}, {})
    (block,) = system_of(model.seen[0]).content
    assert len(block["text"]) <= 2_000
    assert {p.kind for p in procedures(model.seen[0][0])} == {"rule"}
    assert middleware.name == "SkillContextMiddleware-rule"
    assert repr(middleware) == (
        "SkillContextMiddleware(name='SkillContextMiddleware-rule', "
        "retriever=BoostRetriever(k=4, kind='rule'), budget=2000)"
    )
