"""The editor's terminals: commands run in them, so that the person sees them as they work."""

import asyncio
from typing import Any

from holdfast.acp.tool_calls import ToolCalls
from holdfast.acp.wire import Peer, RpcError, as_object

__all__ = ["EditorTerminals"]

Fields = dict[str, Any]
_OUTPUT_BYTES = 1 << 20
_LIMIT_S = 10.0
_END_LIMIT_S = 1.0
"""The command is ended by then; the editor is only told."""


class EditorTerminals:
    """Opens one terminal for each command. `calls` is set when the session runs."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.session_id = ""
        self.calls: ToolCalls | None = None
        self.are_usable = True

    def give_up(self) -> None:
        """Ask for none any more."""
        self.are_usable = False

    async def open(self, tool_use_id: str, program: str, cwd: str) -> "EditorTerminal":
        """Start a program in a new terminal, and show that with the call.

        Raises:
            ConnectionError: The editor says no, says nothing, or is gone.
        """
        wanted: Fields = {"command": program, "args": [], "cwd": cwd, "outputByteLimit": _OUTPUT_BYTES}
        answer = await _asked(self._peer, "terminal/create", {"sessionId": self.session_id, **wanted})
        id_ = answer.get("terminalId")
        if not isinstance(id_, str):
            raise ConnectionError("the editor names no terminal")
        if self.calls is not None and (update := self.calls.show_terminal(tool_use_id, id_)):
            self._peer.tell("session/update", {"sessionId": self.session_id, "update": update})
        return EditorTerminal(self._peer, {"sessionId": self.session_id, "terminalId": id_})


class EditorTerminal:
    """One terminal."""

    def __init__(self, peer: Peer, names: Fields) -> None:
        self._peer = peer
        self._names = names

    async def wait(self) -> tuple[int | None, str]:
        """The command's end, however long it takes; whoever waits has a limit."""
        answer = await _asked(self._peer, "terminal/wait_for_exit", self._names, limit_s=None)
        code, name = answer.get("exitCode"), answer.get("signal")
        if isinstance(code, int) and not isinstance(code, bool):
            return code, ""
        return None, name if isinstance(name, str) else ""

    async def output(self) -> tuple[str, bool]:
        """What it shows."""
        answer = await _asked(self._peer, "terminal/output", self._names)
        text = answer.get("output")
        return text if isinstance(text, str) else "", answer.get("truncated") is True

    async def kill(self) -> None:
        """End the command."""
        await _asked(self._peer, "terminal/kill", self._names, limit_s=_END_LIMIT_S)

    async def release(self) -> None:
        """Let the editor forget it; what it shows stays."""
        await _asked(self._peer, "terminal/release", self._names, limit_s=_END_LIMIT_S)


async def _asked(peer: Peer, method: str, params: Fields, *, limit_s: float | None = _LIMIT_S) -> Fields:
    try:
        return as_object(await asyncio.wait_for(peer.ask(method, params), limit_s))
    except RpcError as error:
        raise ConnectionError(error.message) from error
    except TimeoutError as error:
        raise ConnectionError(f"it did not answer {method} within {limit_s:g} s") from error
