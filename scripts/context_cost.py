"""Characters of context per model call: listing every item, the middleware, the tools.

    python scripts/context_cost.py [--queries FILE]

Over the catalog in $BOOST_HOME (by default this repository's own, in a throwaway home) and the
queries of a golden file. The middleware's figure is read off real model calls of a real agent.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any, override

from boost_cli.core import catalog
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from boost_langchain.middleware import SkillContextMiddleware
from boost_langchain.tools import skill_tools

from _catalog import GOLDEN, queries_of, searched_catalog


class Measuring(GenericFakeChatModel):
    """Answers with a word, and keeps the length of each system message."""

    lengths: list[int]

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.lengths.append(sum(len(m.text) for m in messages if m.type == "system"))
        return super()._generate(messages, *args, **kwargs)


def every_item_listed() -> int:
    """The characters of one line of description and one of path per item."""
    return sum(
        len(f"- **{e['name']}**: {e['description']}\n  -> Read `{e['skill_md']}` for more\n")
        for e in catalog.all_entries()
    )


def handed_over(queries: list[str]) -> list[int]:
    """The characters of system message of one model call per query."""
    model = Measuring(messages=iter([AIMessage("Done.")] * len(queries)), lengths=[])
    agent = create_agent(model, middleware=[SkillContextMiddleware(k=3)])
    for query in queries:
        agent.invoke({"messages": [{"role": "user", "content": query}]})
    return model.lengths


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=Path, default=GOLDEN)
    options = parser.parse_args()
    queries = queries_of(options.queries)
    with searched_catalog():
        tools = skill_tools()
        definitions = sum(len(json.dumps(convert_to_openai_tool(tool))) for tool in tools)
        lists = [len(tools[0].invoke({"query": query})) for query in queries]
        lengths = handed_over(queries)
        items = len(catalog.all_entries())
        listed = every_item_listed()
    median, most = statistics.median(lengths), max(lengths)
    print(f"{items:,} items, {len(queries)} queries; characters per model call")
    print(f"every item listed:               {listed:>9,}")
    print(f"SkillContextMiddleware(k=3):     {median:>9,.0f} (median), {most:,} (maximum)")
    print(f"skill_tools(), system prompt:    {0:>9,}")
    print(f"skill_tools(), tool definitions: {definitions:>9,}")
    print(f"skill_tools(), a search result:  {statistics.median(lists):>9,.0f} (when asked)")


if __name__ == "__main__":
    main()
