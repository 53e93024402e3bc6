"""A tool of a server as a tool of ours. What it says about itself is shown and never believed where it would grant."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol, cast

import msgspec

from holdfast.contract import (
    NO_FACTS,
    Arguments,
    ArgumentsInvalid,
    McpInfo,
    PromptFacts,
    Resource,
    SchemaArguments,
    Tool,
    ToolContext,
    ToolResult,
    UsageError,
)
from holdfast.mcp.content import CallReply
from holdfast.mcp.schema import flattened

__all__ = ["DEFAULT_RESULT_CHARS", "Caller", "Listed", "RemoteTool", "read_listed"]

_DESCRIPTION_CHARS = 2048
DEFAULT_RESULT_CHARS = 100_000
_MAX_RESULT_CHARS = 500_000


class Listed(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as a server lists it."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Any = None
    annotations: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")

    @property
    def pin(self) -> str:
        """The identity of what a model is told: another description or schema is another tool."""
        told = [self.name, self.title, self.description, self.input_schema]
        return hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


class Caller(Protocol):
    """The server behind the tool."""

    async def call_tool(self, tool: str, arguments: Mapping[str, Any], ctx: ToolContext) -> ToolResult[Any]:
        """Run the tool there."""
        ...


class _RemoteArguments(SchemaArguments):
    """Checked by the schema as the server gave it, shown in the form that providers take."""

    __slots__ = ("_shown",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(schema)
        self._shown: dict[str, Any] | None = None

    def parse(self, raw: Mapping[str, Any], facts: PromptFacts = NO_FACTS) -> Any:
        """The arguments as they came."""
        try:
            return self._parsed(raw, facts)
        except UsageError as error:
            raise ArgumentsInvalid(f"the server's schema for this tool cannot be used ({error})") from error

    def _parsed(self, raw: Mapping[str, Any], facts: PromptFacts) -> Any:
        """As they came; models write null for what they leave out, and few schemas take that."""
        try:
            return super().parse(raw, facts)
        except ArgumentsInvalid:
            required = self._schema.get("required") or ()
            kept = {name: value for name, value in raw.items() if value is not None or name in required}
            if len(kept) == len(raw):
                raise
            return super().parse(kept, facts)

    def schema(self, facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
        """The schema for a model."""
        del facts
        if self._shown is None:
            self._shown = flattened(self._schema)
        return self._shown


class RemoteTool(Tool[Any, CallReply]):
    """One tool of one server. Calls are asked about unless a rule allows them."""

    overflow = "keep-start"

    def __init__(
        self,
        name: str,
        listed: Listed,
        schema: Mapping[str, Any],
        *,
        server: str,
        caller: Caller,
        held: Resource,
        always_load: bool = False,
        max_result_chars: int = DEFAULT_RESULT_CHARS,
    ) -> None:
        self.name = name
        self.listed = listed
        self.json_schema = schema
        self.mcp_info = McpInfo(server, listed.name)
        self.resources = (held,)
        self._caller = caller
        hints, meta = listed.annotations or {}, listed.meta or {}
        self.read_only = hints.get("readOnlyHint") is True
        self.concurrency_safe = self.read_only
        self.destructive = hints.get("destructiveHint", True) is not False and not self.read_only
        self.interrupt_behavior = "cancel"
        self.requires_user_interaction = meta.get("anthropic/requiresUserInteraction") is True
        self.always_load = always_load or meta.get("anthropic/alwaysLoad") is True
        self.should_defer = not self.always_load
        self.search_hint = _text(meta.get("anthropic/searchHint"))[:200]
        self.max_result_chars = _result_chars(meta.get("anthropic/maxResultSizeChars"), max_result_chars)

    @cached_property
    def arguments(self) -> Arguments:
        """The parser and schema of this tool's arguments."""
        return _RemoteArguments(self.json_schema or {})

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """What the server says about the tool, bounded."""
        del facts
        text = (self.listed.description or self.listed.title or f"The tool {self.listed.name}.").strip()
        text = text.encode("utf-8", "replace").decode()
        return text if len(text) <= _DESCRIPTION_CHARS else f"{text[:_DESCRIPTION_CHARS]}… (shortened)"

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult[Any]:
        """Run it on the server."""
        return await self._caller.call_tool(self.listed.name, cast("Mapping[str, Any]", args), ctx)


def _result_chars(value: object, default: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return default
    return int(min(value, _MAX_RESULT_CHARS))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_listed = msgspec.json.Decoder(Listed)


def read_listed(raw: msgspec.Raw) -> Listed:
    """One entry of a tool list.

    Raises:
        ValueError: It is no tool.
    """
    try:
        found = _listed.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not found.name or len(found.name) > 256:
        raise ValueError("its name is empty or longer than 256 characters")
    return found
