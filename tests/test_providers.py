"""What the real message converters of three providers make of our system message."""

import json
import warnings
from itertools import product

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from langgraph.graph.message import add_messages

from boost_langchain import skill_context_node
from boost_langchain.graph import leading_system, procedures

TURNS = ("How do I retry a model call with backoff?", "How do I chunk Markdown documents?")
CACHE = {"type": "ephemeral"}


def anthropic(messages, model="claude-sonnet-4-5"):
    """The request that langchain-anthropic would send."""
    return ChatAnthropic(model=model, api_key="none")._get_request_payload(messages)


def google(messages):
    """The request that langchain-google-genai would send."""
    model = ChatGoogleGenerativeAI(model="gemini-2.5-flash", api_key="none")
    return model._prepare_request(messages)


def openai_chat(messages):
    """The request that langchain-openai would send to chat completions."""
    return ChatOpenAI(model="gpt-5-mini", api_key="none")._get_request_payload(messages)


def openai_responses(messages):
    """The request that langchain-openai would send to the responses API."""
    model = ChatOpenAI(model="gpt-5-mini", api_key="none", use_responses_api=True)
    return model._get_request_payload(messages)


def anthropic_current(messages):
    """The same for a model that takes system messages in the middle."""
    return anthropic(messages, "claude-opus-4-8")


PROVIDERS = [anthropic, anthropic_current, google, openai_chat, openai_responses]
BASES = {
    "no base": [],
    "string": [SystemMessage("You are brief.")],
    "blocks": [SystemMessage([{"type": "text", "text": "You are brief.", "cache_control": CACHE}])],
}


def transcript(base, turns, *, blocks, tools):
    """A conversation through the node, turn by turn, as add_messages keeps it."""
    node = skill_context_node(k=2)
    messages = add_messages([], list(base))
    for number, text in enumerate(TURNS[:turns]):
        content = [{"type": "text", "text": text}] if blocks else text
        messages = add_messages(messages, [HumanMessage(content)])
        messages = add_messages(messages, node({"messages": messages}).get("messages", []))
        if tools:
            call = {"name": "look", "args": {"at": "it"}, "id": f"call{number}"}
            answer = ToolMessage("looked", tool_call_id=call["id"], name="look")
            messages = add_messages(messages, [AIMessage("", tool_calls=[call]), answer])
        if number + 1 < turns:
            messages = add_messages(messages, [AIMessage("An answer.")])
    return messages


def text_of(payload):
    """A request as text, without escapes."""
    if not isinstance(payload, dict):
        payload = repr(payload)
    return json.dumps(payload, ensure_ascii=False, default=repr)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("turns", "blocks", "tools"), list(product((1, 2), (False, True), (False, True)))
)
def test_every_procedure_reaches_every_provider_once(
    own_catalog, provider, base, turns, blocks, tools
):
    """Through leading_system: each procedure exactly once, the base prompt too, nothing raises."""
    messages = transcript(BASES[base], turns, blocks=blocks, tools=tools)
    (ours,) = [m for m in messages if procedures(m)]
    payload = text_of(provider(leading_system(messages)))
    for procedure in procedures(ours):
        assert payload.count(f"{procedure.tap}:{procedure.path}") == 1
    assert payload.count("You are brief.") == bool(BASES[base])
    assert "boost_procedures" not in payload
    for text in TURNS[:turns]:
        assert text in payload


def test_cache_marker_arrives(own_catalog):
    """A marked block of the base prompt stays a marked block."""
    messages = leading_system(transcript(BASES["blocks"], 1, blocks=False, tools=False))
    system = anthropic(messages)["system"]
    assert system[0] == {"type": "text", "text": "You are brief.", "cache_control": CACHE}
    assert len(system) == 2


# What happens without leading_system, so that a change of a provider is noticed here.


@pytest.mark.parametrize("base", ["string", "no base"])
def test_without_it_anthropic_raises(own_catalog, base):
    """Two system messages apart are refused, for most models."""
    messages = transcript(BASES[base], 2, blocks=False, tools=False)
    if base == "no base":
        messages = [*messages, SystemMessage("Another.")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="multiple non-consecutive system messages"):
            anthropic(messages)
    assert "retry" in text_of(anthropic_current(messages))


def test_without_it_google_drops_the_procedures(own_catalog):
    """A system message that is not first is dropped without a word."""
    messages = transcript(BASES["no base"], 1, blocks=False, tools=False)
    assert "skills/retry-with-backoff" not in text_of(google(messages))


@pytest.mark.parametrize("provider", [openai_chat, openai_responses])
def test_without_it_openai_takes_them(own_catalog, provider):
    """System messages may stand anywhere."""
    messages = transcript(BASES["string"], 2, blocks=False, tools=False)
    assert "skills/chunk-code-and-markdown" in text_of(provider(messages))


# ------------------------------------------------------------------------- leading_system by itself


def test_strings_are_joined_by_blank_lines():
    """Case 09: one leading message in order; the last message stays the human turn."""
    messages = [
        SystemMessage("Base."),
        HumanMessage("hi"),
        SystemMessage(""),
        AIMessage("hello"),
        SystemMessage("Procedure."),
        HumanMessage("check the deploy"),
    ]
    merged = leading_system(messages)
    assert [m.type for m in merged] == ["system", "human", "ai", "human"]
    assert merged[0].content == "Base.\n\nProcedure."
    assert merged[1:] == [messages[1], messages[3], messages[5]]


def test_blocks_stay_blocks():
    """One message of blocks makes every part a text block; empty ones are left out."""
    marked = {"type": "text", "text": "Base.", "cache_control": CACHE}
    merged = leading_system(
        [
            HumanMessage("hi"),
            SystemMessage([marked, "More."]),
            SystemMessage(""),
            SystemMessage("P."),
        ]
    )
    assert merged[0].content == [
        marked,
        {"type": "text", "text": "More."},
        {"type": "text", "text": "P."},
    ]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [HumanMessage("hi")],
        [SystemMessage("Base."), HumanMessage("hi")],
        [SystemMessage("Base.")],
    ],
)
def test_what_leads_already_stays_as_it_is(messages):
    """Nothing to do, nothing done."""
    assert leading_system(messages) == messages


def test_other_spellings_of_a_system_message():
    """Role dicts, pairs, ChatMessage, developer messages: all are system messages."""
    developer = SystemMessage("D.", additional_kwargs={"__openai_role__": "developer"})
    merged = leading_system(
        [
            ("user", "hi"),
            {"role": "system", "content": "A."},
            ChatMessage("B.", role="system"),
            developer,
        ]
    )
    assert merged[0].content == "A.\n\nB.\n\nD."
    assert merged[0].additional_kwargs == {}
    assert leading_system("hi") == leading_system(HumanMessage("hi")) == [HumanMessage("hi")]
    assert leading_system([ChatMessage("B.", role="System")]) == [ChatMessage("B.", role="System")]
    alone = leading_system([HumanMessage("hi"), developer])
    assert alone == [developer, HumanMessage("hi")]
    both = leading_system([developer, HumanMessage("hi"), developer])
    assert both[0].additional_kwargs == {"__openai_role__": "developer"}


def test_what_is_not_for_a_model_is_left_out():
    """A removal that an appending reducer kept, an empty block, a state by mistake."""
    empty = {"type": "text", "text": ""}
    messages = [
        SystemMessage([empty, "A."]),
        RemoveMessage("x"),
        SystemMessage("B."),
        HumanMessage("hi"),
    ]
    merged = leading_system(messages)
    assert [m.type for m in merged] == ["system", "human"]
    assert merged[0].content == [{"type": "text", "text": "A."}, {"type": "text", "text": "B."}]
    with pytest.raises(TypeError, match=r"takes messages, not a state.*'messages'"):
        leading_system({"messages": messages})


async def test_as_a_step_of_a_chain():
    """It takes a prompt value, sync and async."""
    prompt = ChatPromptTemplate.from_messages([("user", "{q}"), ("system", "Base.")])
    chain = prompt | leading_system | RunnableLambda(lambda messages: [m.type for m in messages])
    assert chain.invoke({"q": "hi"}) == ["system", "human"]
    assert await chain.ainvoke({"q": "hi"}) == ["system", "human"]
