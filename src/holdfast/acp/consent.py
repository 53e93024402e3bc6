"""What an editor's folder and its MCP servers need before they count: a person's yes, to exactly this content."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.acp.content import text_block
from holdfast.acp.questions import choose
from holdfast.acp.wire import INVALID_PARAMS, Peer, RpcError, as_list, as_object

if TYPE_CHECKING:
    from holdfast.app.options import Options
    from holdfast.app.rights import Rights
    from holdfast.settings.trust_question import TrustQuestion

__all__ = ["Consent", "servers_of"]

Fields = dict[str, Any]
_TRUST = [
    {"optionId": "yes", "name": "Trust this folder", "kind": "allow_always"},
    {"optionId": "no", "name": "Work here without it", "kind": "reject_once"},
]
_START = [
    {"optionId": "once", "name": "Start it, for this session", "kind": "allow_once"},
    {"optionId": "always", "name": "Always start it, as it is now", "kind": "allow_always"},
    {"optionId": "no", "name": "Do not start it", "kind": "reject_once"},
]


def servers_of(listed: Any) -> dict[str, Fields]:
    """The editor's servers as our own configuration names them.

    Raises:
        RpcError: An entry is broken, or of a kind that was not offered.
    """
    found: dict[str, Fields] = {}
    try:
        for entry in map(as_object, as_list(listed)):
            kind = entry.get("type", "stdio")
            if kind in ("http", "sse"):
                config = {"type": kind, "url": str(entry["url"]), "headers": _pairs(entry.get("headers"))}
            elif kind == "stdio":
                words = [str(word) for word in as_list(entry.get("args"))]
                config = {
                    "type": kind,
                    "command": str(entry["command"]),
                    "args": words,
                    "env": _pairs(entry.get("env")),
                }
            else:
                raise RpcError(
                    INVALID_PARAMS, f"MCP servers of the type {kind!r} are not known; stdio, http and sse are"
                )
            found[str(entry["name"])] = config
    except (KeyError, TypeError, AttributeError) as error:
        raise RpcError(INVALID_PARAMS, f"an entry of mcpServers is broken: {error!r}") from error
    return found


def _pairs(listed: Any) -> dict[str, str]:
    return {str(pair["name"]): str(pair["value"]) for pair in map(as_object, as_list(listed))}


class Consent:
    """Asks about the folder and about each server, once in a session."""

    def __init__(self, peer: Peer, session_id: str, servers: Mapping[str, Fields]) -> None:
        self._peer = peer
        self.session_id = session_id
        self._servers = dict(servers)
        self.allowed: dict[str, Fields] = {name: config for name, config in servers.items() if self._is_known(name)}
        self._has_asked = False

    async def ask(self, options: "Options", rights: "Rights") -> bool:
        """Put the questions that are open; whether something counts now that did not before."""
        if self._has_asked:
            return False
        self._has_asked = True
        changed = False
        try:
            if options.trust is None:
                changed = await self._trust(rights)
            for name in [name for name in self._servers if name not in self.allowed]:
                changed = await self._start(name) or changed
        except RpcError:  # the editor cannot ask: nothing counts that did not before
            return changed
        return changed

    async def _trust(self, rights: "Rights") -> bool:
        from holdfast.settings import SettingsRoots, TrustStore  # noqa: PLC0415 - initialize is answered without it
        from holdfast.settings.trust_question import trust_question  # noqa: PLC0415 - the same

        question = await asyncio.to_thread(trust_question, rights.settings)
        if question is None:
            return False
        title = f"Trust the folder {question.folder}?"
        if await self._choose("trust", title, _words(question), _TRUST) != "yes":
            return False
        roots = SettingsRoots.from_environment()
        TrustStore(roots.state, home=roots.home).trust(rights.settings.root, items=question.approvals)
        return True

    async def _start(self, name: str) -> bool:
        from holdfast.lib.visible import visible  # noqa: PLC0415 - as above

        config = self._servers[name]
        what = config.get("url") or " ".join([config["command"], *config["args"]])
        title = f"Start the MCP server {visible(name, limit_chars=80)} of your editor?"
        chosen = await self._choose(f"server-{name}", title, visible(str(what)), _START)
        if chosen not in ("once", "always"):
            return False
        if chosen == "always":
            self._keep(name)
        self.allowed[name] = config
        return True

    async def _choose(self, id_: str, title: str, text: str, options: list[Fields]) -> str | None:
        shown = [{"type": "content", "content": text_block(text)}]
        call = {"toolCallId": f"consent-{id_}", "title": title, "kind": "other", "status": "pending", "content": shown}
        update = {"sessionUpdate": "tool_call", **call}
        self._peer.tell("session/update", {"sessionId": self.session_id, "update": update})
        chosen = await choose(self._peer, self.session_id, call, options)
        status = "failed" if chosen in (None, "no") else "completed"
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": status}
        self._peer.tell("session/update", {"sessionId": self.session_id, "update": ended})
        return chosen

    # What was always allowed is remembered by its content.

    def _is_known(self, name: str) -> bool:
        from holdfast.app.editor_servers import is_remembered  # noqa: PLC0415 - only with servers

        return is_remembered(name, self._servers[name])

    def _keep(self, name: str) -> None:
        from holdfast.app.editor_servers import remember  # noqa: PLC0415 - only with servers

        remember(name, self._servers[name])


def _words(question: "TrustQuestion") -> str:
    lines = [f"- {line.place}: {line.kind} {line.text} ({line.effect})" for line in question.lines]
    return "\n".join(["It brings:", *lines])
