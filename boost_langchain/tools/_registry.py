"""An MCP registry of the engine's kind as LangChain tools.

Names, order, descriptions and schemas are the registry's; calls go through it. A tool that is
registered tomorrow appears here without an edit.
"""

import reprlib
from collections.abc import Collection, Mapping
from typing import Any, Protocol, override

from boost_cli.errors import BoostError
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, create_model

from boost_langchain._invisible import visible
from boost_langchain._local_paths import without_home

CHANGES_THE_MACHINE = frozenset({"boost_install"})
"""Left out unless included by name. A registry carries no read-only mark, so this is a list of
known names."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


class Registry(Protocol):
    """What a registry must have: the engine's `boost_cli.core.mcp.Registry` does."""

    def specs(self) -> list[dict[str, Any]]:
        """Name, description and inputSchema of each tool, in order."""

    def call(self, name: str, args: dict[str, Any]) -> tuple[str | None, bool]:
        """The result's text and whether it is an error; (None, False): no such tool."""


def boost_tools(
    registry: Registry | None = None, include: Collection[str] | None = None
) -> list[BaseTool]:
    """Turn an MCP registry of the engine's kind into LangChain tools.

    Every failure reaches the agent as a tool message with status "error" and a text that it
    can use: an error of the tool, the engine's own error with its hint, a missing or mistyped
    argument, any exception. In what a tool says and in its description, characters that a
    reader cannot see are removed, the boost home reads `~/.boost` and the user's home `~`.

    The engine's `boost_search` asks a language model to rank when a key or a model command is
    configured for the engine; set BOOST_NO_AI=1 to keep it from that.

    Args:
        registry: The registry; None: the engine's own, which `boost mcp` serves.
        include: The names of the tools to make, in the registry's order. None: all but those
            known to change the machine (`boost_install`). A registry does not say which of
            its tools only read, so look at what a registry of your own registers.

    Raises:
        TypeError: `registry` is no registry, or `include` no collection of names.
        ValueError: `include` has a name that the registry does not, or two tools have one
            name.

    Example:
        ```python
        from boost_langchain.tools import boost_tools

        print([tool.name for tool in boost_tools(include=["boost_search", "boost_read"])])
        #> ['boost_search', 'boost_read']
        ```
    """
    source = _engines_registry() if registry is None else _checked(registry)
    specs = source.specs()
    names = [spec["name"] for spec in specs]
    if repeated := {name for name in names if names.count(name) > 1}:
        msg = f"the registry has two tools of one name: {', '.join(sorted(repeated))}"
        raise ValueError(msg)
    if include is None:
        wanted = set(names) - CHANGES_THE_MACHINE
    else:
        wanted = _names(include)
        if unknown := wanted.difference(names):
            msg = f"no tool is called {', '.join(sorted(unknown))}; there are: {', '.join(names)}"
            raise ValueError(msg)
    return [_tool(source, spec) for spec in specs if spec["name"] in wanted]


class RegistryTool(BaseTool):
    """One tool of a registry; made by `boost_tools`."""

    registry: Any
    """The registry that answers its calls."""

    @override
    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        # LangChain derives none from a JSON schema, and what it returns instead refuses a
        # call without arguments.
        schema = _schema(self)
        required = schema.get("required", [])
        fields: dict[str, Any] = {
            name: (Any, ... if name in required else None)
            for name in schema["properties"]
            # What is no field name for pydantic is taken as an extra.
            if name.isidentifier() and not name.startswith("_") and not hasattr(BaseModel, name)
        }
        return create_model(self.name, __config__=ConfigDict(extra="allow"), **fields)

    @override
    def _run(self, /, *args: Any, **kwargs: Any) -> str:
        if problem := wrong_argument(_schema(self), kwargs):
            raise ToolException(_shown(f"{self.name}: {problem}"))
        try:
            text, is_error = self.registry.call(self.name, kwargs)
        except BoostError as e:
            raise ToolException(_shown(f"{e} ({e.hint})" if e.hint else str(e))) from e
        except (Exception, SystemExit) as e:
            if _is_control_flow(e):
                raise
            raise ToolException(_shown(_failure(self.name, e))) from e
        if text is None:
            msg = f"{self.name} is unknown to its registry"
            raise ToolException(msg)
        shown = _shown(text if isinstance(text, str) else str(text))
        if is_error:
            raise ToolException(shown.strip() or f"{self.name} failed and said nothing")
        return shown


def _shown(text: str) -> str:
    """`text` as a model reads it."""
    return without_home(visible(text))


def _is_control_flow(error: BaseException) -> bool:
    """Whether LangGraph raised it to steer the graph (an interrupt), not to report a failure."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def _failure(name: str, error: BaseException) -> str:
    try:
        return f"{name} failed: {type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception that cannot even be printed
        return f"{name} failed: {type(error).__name__}"


def wrong_argument(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with a call, for a model to read; None when it fits the schema.

    Names and types at the top level, which is where a model errs; the handler judges the rest.
    """
    properties = schema["properties"]
    takes = ", ".join(properties) or "no argument"
    for name in schema.get("required", []):
        if name not in arguments:
            return f"the argument {name} is missing; it takes {takes}"
    for name, value in arguments.items():
        if name not in properties and schema.get("additionalProperties") is False:
            return f"there is no argument {name}; it takes {takes}"
        about = properties.get(name)
        expected = about.get("type") if isinstance(about, dict) else None
        kinds = [expected] if isinstance(expected, str) else expected or []
        if kinds and not any(_is(value, kind) for kind in kinds):
            return f"{name} must be of type {' or '.join(kinds)}, not {reprlib.repr(value)}"
    return None


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()  # as JSON Schema has it
    return isinstance(value, _TYPES.get(kind, (object,)))


def _schema(tool: BaseTool) -> dict[str, Any]:
    schema = tool.args_schema if isinstance(tool.args_schema, dict) else {}
    return {
        **schema,
        "properties": schema.get("properties") or {},
        "required": schema.get("required") or [],
    }


def _tool(registry: Registry, spec: Mapping[str, Any]) -> BaseTool:
    return RegistryTool(
        name=spec["name"],
        description=_shown(spec.get("description") or ""),
        args_schema=_object_schema(_described(spec.get("inputSchema") or {})),
        registry=registry,
        handle_tool_error=True,
    )


def _described(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its descriptions and titles as a model reads them; the rest decides."""
    described = dict(schema)
    for key, part in schema.items():
        if key in {"description", "title"} and isinstance(part, str):
            described[key] = _shown(part)
        elif isinstance(part, Mapping):
            described[key] = _described(part)
        elif isinstance(part, list):
            described[key] = [_described(one) if isinstance(one, Mapping) else one for one in part]
    return described


def _object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", **schema, "properties": schema.get("properties") or {}}


def _checked(registry: Registry) -> Registry:
    for method in ("specs", "call"):
        if not callable(getattr(registry, method, None)):
            msg = f"registry={registry!r} is no MCP registry: it has no {method}()"
            raise TypeError(msg)
    return registry


def _names(include: Collection[str]) -> set[str]:
    names = [include] if isinstance(include, str) else include
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        msg = f"include={include!r} is no collection of names; pass ['boost_search'], say, or None"
        raise TypeError(msg)
    return set(names)


def _engines_registry() -> Registry:
    # Costs a tenth of a second and brings the whole command line along.
    from boost_cli.commands import configuration  # noqa: PLC0415

    registry: Registry = configuration.REGISTRY
    return registry
