"""The engine's own MCP server through langchain-mcp-adapters, from list to shutdown.

    python integrations/mcp_client.py

Starts the real `boost mcp --stdio` as a child process on the catalog of this repository, lists
its tools, searches, reads, and asks for a tool that is not there. In the same process use
`boost_langchain.tools.boost_tools()` instead: it needs no server.

Needs langchain-mcp-adapters.
"""

import asyncio
import os
import sys
from pathlib import Path

try:
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.sessions import StdioConnection
    from langchain_mcp_adapters.tools import load_mcp_tools
    from mcp.shared.exceptions import McpError
except ModuleNotFoundError as e:
    sys.exit(f"{e.name} is not installed: pip install langchain-mcp-adapters")

from _setup import arguments, catalog


def connection() -> StdioConnection:
    """How to start the server: the `boost` beside this Python, in the boost home in force."""
    return StdioConnection(
        transport="stdio",
        command=str(Path(sys.executable).with_name("boost")),
        args=["mcp", "--stdio"],
        env=dict(os.environ),
    )


async def talk(question: str) -> None:
    """Hold one session with the server."""
    client = MultiServerMCPClient({"boost": connection()})
    async with client.session("boost") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        print("tools:", ", ".join(tools))
        for name, arguments_ in (
            ("boost_search", {"query": question}),
            ("boost_read", {"name": "retry-with-backoff"}),
        ):
            (block,) = await tools[name].ainvoke(arguments_)
            print(f"\n{name}:\n{block['text'][:400]}")
        try:
            await session.call_tool("nope", {})
        except McpError as e:
            print(f"\nnope: error {e.error.code}: {e.error.message}")
    print("\nthe server has shut down")


def main() -> None:
    """Talk to the server about one question."""
    options = arguments(__doc__, "retry with backoff", asks_model=False)
    with catalog(options):
        asyncio.run(talk(options.question))


if __name__ == "__main__":
    main()
