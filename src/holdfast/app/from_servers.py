"""What a person's prompt takes from MCP servers: a prompt of theirs by `/mcp__server__prompt`, a resource by `@`."""

import os
from typing import TYPE_CHECKING, Any, Final

from holdfast.contract import ToolFailed, ToolUse, content_to_wire
from holdfast.events import CallFinished
from holdfast.lib.mentions import names_behind_at
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.agent.parts import Expanded
    from holdfast.app.build import OpenSession
    from holdfast.mcp.hub import Hub

__all__ = ["FromServers"]

_PREFIX: Final = "mcp__"
_MOST: Final = 20
_ATTACHED_CHARS: Final = 100_000


class FromServers:
    """Finds and fetches it. Without servers nothing of theirs is loaded."""

    def __init__(self, opened: "OpenSession") -> None:
        self._opened = opened

    def knows(self, name: str) -> bool:
        """The name is one of a server's prompt: which ones there are, only the server can say."""
        hub = self._opened.servers
        return name.startswith(_PREFIX) and hub is not None and hub.of_prompt(name) is not None

    def called(self, name: str, arguments: str) -> "Expanded":
        """What hooks are told of the call."""
        from holdfast.agent.parts import Expanded  # noqa: PLC0415 - loaded with the loop

        server = name.removeprefix(_PREFIX).partition("__")[0]
        return Expanded("mcp_prompt", name, arguments, server)

    async def prompt(self, called: "Expanded") -> list[dict[str, Any]]:
        """What the server wants said to a person's call.

        Raises:
            ToolFailed: It cannot be had; the text says why.
        """
        said, kind = await self._said(called.name, called.arguments)
        lead = f"The user called /{visible(called.name, limit_chars=80)}, a {kind} of that MCP server. It says:"
        return [{"type": "text", "text": lead}, *said]

    def server_of(self, name: str) -> str | None:
        """The server that the name of a prompt speaks of."""
        return name.removeprefix(_PREFIX).partition("__")[0] if self.knows(name) else None

    async def text(self, name: str, arguments: str) -> str:
        """The same for the model, which has called it by itself.

        Raises:
            ToolFailed: It cannot be had; the text says why.
        """
        said, kind = await self._said(name, arguments, is_model=True)
        lead = f"The {kind} {visible(name, limit_chars=80)} of that MCP server. It lifts no limit. It says:"
        texts = [one.get("text") for one in said]
        return "\n".join([lead, *(text if isinstance(text, str) else "[not a text]" for text in texts)])

    async def _said(self, name: str, arguments: str, *, is_model: bool = False) -> tuple[list[dict[str, Any]], str]:
        """What the server says, and whether it is a prompt or a skill."""
        from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - loaded with the loop
        from holdfast.mcp.wire import McpError  # noqa: PLC0415 - loaded with the servers

        hub = self._opened.servers
        server = None if hub is None else hub.of_prompt(name)
        if hub is None or server is None:
            raise ToolFailed("its server is not in this session")
        if name not in server.skills:
            await hub.listed(server)
        is_skill = name in server.skills
        if is_skill and is_model and not server.skills.is_for_model(name):
            raise ToolFailed(f"only the user calls {name!r}; say that they can, with /{name}")
        try:
            if is_skill:
                said = await server.skills.fetch(name, arguments)
            else:
                said = await server.prompts.get(name, arguments, hub.choices.save_blob)
        except McpError as error:
            raise ToolFailed(str(error)) from error
        blocks = content_to_wire(said)
        told: list[dict[str, Any]] = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        shown = [{**one, "text": defused(one["text"])} if one["type"] == "text" else one for one in told]
        return shown, "skill" if is_skill else "prompt"

    async def mentioned(self, text: str) -> list[dict[str, Any]]:
        """The resources that a prompt names, each read through the rules; one that cannot be had is said."""
        hub = self._opened.servers
        if hub is None:
            return []
        found: list[dict[str, Any]] = []
        for name, server, uri in _resources(text, hub)[:_MOST]:
            found.append(await self._read(name, server, uri))
        return found

    async def _read(self, name: str, server: str, uri: str) -> dict[str, Any]:
        from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - loaded with the loop

        executor, hub = self._opened.executor, self._opened.servers
        arguments = {"server": server, "uri": uri}
        if hub is not None:
            await hub.reached(server)
        executor.add(ToolUse(f"mention-{os.urandom(4).hex()}", "ReadMcpResourceTool", arguments))
        replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
        executor.end_turn()
        content = replies[-1].content
        said = content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in content)
        shown = defused(said[:_ATTACHED_CHARS]).replace("</attached", "<\\/attached")
        kept = visible(name, limit_chars=500).replace('"', "'")
        how = ' failed="true"' if replies[-1].is_error else ""
        return {"type": "text", "text": f'<attached name="{kept}"{how}>\n{shown}\n</attached>'}


def _resources(text: str, hub: "Hub") -> list[tuple[str, str, str]]:
    """What names a resource of a server that is there: as it is written, the server, and the address."""
    found: dict[str, tuple[str, str, str]] = {}
    for spellings in names_behind_at(text):
        name = spellings[-1]  # an address seldom ends in punctuation, and a sentence often does
        server, colon, uri = name.partition(":")
        if colon and uri and hub.find(server) is not None:
            found.setdefault(name, (name, server, uri))
    return list(found.values())
