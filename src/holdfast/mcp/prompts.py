"""Prompts that servers offer: a person calls them by `/mcp__server__prompt`, and the server writes what is said."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from holdfast.contract import Block, Text
from holdfast.lib.visible import visible
from holdfast.mcp.content import SaveBlob, part_blocks
from holdfast.mcp.names import tool_names
from holdfast.mcp.records import PromptArgument, PromptListed
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.mcp.server import Server

__all__ = ["Prompts", "fill_arguments"]

_MAX_PROMPTS = 1000
_MAX_MESSAGES = 200
_LISTED = 20


class Prompts:
    """Those of one server: remembered from the last time, and asked for anew with each connection."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._by_name: dict[str, PromptListed] = {}
        self._take(server.record.prompts)

    def __iter__(self) -> Iterator[tuple[str, PromptListed]]:
        return iter(self._by_name.items())

    def listing(self) -> str:
        """Their names, as a model reads them that may call them with Skill."""
        shown = [visible(name, limit_chars=120) for name in list(self._by_name)[:_LISTED]]
        more = f" and {len(self._by_name) - _LISTED} more" if len(self._by_name) > _LISTED else ""
        return f"Prompts of it, to be used with Skill: {', '.join(shown)}{more}" if shown else ""

    async def refresh(self) -> None:
        """Ask the server for its list.

        Raises:
            McpError: It does not answer.
        """
        greeting = self._server.greeting
        if greeting is not None and "prompts" not in greeting.capabilities:
            return
        found = [_read(entry) for entry in await self._server.list("prompts/list", "prompts")]
        listed = list({one.name: one for one in found[:_MAX_PROMPTS] if one is not None}.values())
        if listed != self._server.record.prompts:
            self._server.record.prompts = listed
            self._server.keep_record()
        self._take(listed)

    async def get(self, name: str, arguments: str, save: SaveBlob | None = None) -> tuple[Block, ...]:
        """What the server wants said, for a prompt by its full name and what stood behind it.

        Raises:
            McpError: There is no such prompt, an argument is missing, or the server fails.
        """
        if name not in self._by_name:
            await self.refresh()
        prompt = self._by_name.get(name)
        if prompt is None:
            known = ", ".join(f"/{visible(one)}" for one in self._by_name) or "none"
            raise McpError(f"the MCP server {self._server.label} has no such prompt; it has: {known}")
        given = fill_arguments(prompt, arguments)
        answer = await self._server.request(
            "prompts/get", {"name": prompt.name, **({"arguments": given} if given else {})}
        )
        messages = answer.get("messages")
        if not isinstance(messages, list):
            raise McpError(f"the MCP server {self._server.label} answered without messages")
        return _said(cast("list[Any]", messages), save)

    def _take(self, listed: Sequence[PromptListed]) -> None:
        names = tool_names(self._server.label, (prompt.name for prompt in listed))
        self._by_name = {names[prompt.name]: prompt for prompt in listed}


def fill_arguments(prompt: PromptListed, text: str) -> dict[str, str]:
    """The words behind a prompt's name as its arguments: in order, or as `name=value`; the last one takes the rest.

    Raises:
        McpError: One that is needed is missing.
    """
    names = [argument.name for argument in prompt.arguments]
    given: dict[str, str] = {}
    words = _words(text)
    while words:
        name, equals, value = words[0].partition("=")
        if equals and name in names and name not in given:
            given[name] = value
            words.pop(0)
            continue
        left = [known for known in names if known not in given]
        if not left:
            break
        if len(left) == 1:
            given[left[0]], words = " ".join(words), []
        else:
            given[left[0]] = words.pop(0)
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in given]
    if missing:
        usage = " ".join(f"<{name}>" if name in missing else f"[{name}]" for name in map(visible, names))
        raise McpError(f"it needs {', '.join(map(visible, missing))}; write them behind its name: {usage}")
    return given


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a single apostrophe is no quote
        return text.split()


def _read(entry: Mapping[str, Any]) -> PromptListed | None:
    """One entry of the list; one that is none is left out, and so are arguments without a name."""
    name, arguments = entry.get("name"), entry.get("arguments")
    if not isinstance(name, str) or not name or len(name) > 256:
        return None
    found = cast("list[Any]", arguments) if isinstance(arguments, list) else []
    wanted = [cast("dict[str, Any]", one) for one in found[:100] if isinstance(one, dict)]
    return PromptListed(
        name,
        _text(entry.get("title"))[:200],
        _text(entry.get("description"))[:2048],
        [
            PromptArgument(one["name"], required=one.get("required") is True)
            for one in wanted
            if isinstance(one.get("name"), str) and one["name"]
        ],
    )


def _said(messages: Sequence[Any], save: SaveBlob | None) -> tuple[Block, ...]:
    """The messages as one: words that the server puts into the model's mouth are marked as what they are."""
    blocks: list[Block] = []
    found = [cast("dict[str, Any]", message) for message in messages if isinstance(message, dict)]
    for entries in found[:_MAX_MESSAGES]:
        content = entries.get("content")
        for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
            told = part_blocks(msgspec.Raw(msgspec.json.encode(part)), save)
            if entries.get("role") == "assistant":
                told = [Text(f"[as if you had said] {one.text}") if isinstance(one, Text) else one for one in told]
            blocks += told
    if not blocks:
        raise McpError("the server's prompt is empty")
    return tuple(blocks)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
