"""Where a remote agent works: a session of its own, spoken to in lines; here as a process of this machine."""

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, cast

from holdfast.contract import ToolFailed
from holdfast.host.command import Command, StartError, Stdin
from holdfast.host.process import Process
from holdfast.host.processes import Processes
from holdfast.lib.visible import visible

__all__ = ["Line", "LocalProcess", "RemoteOrder", "RemotePlace", "RemoteTalk"]

Line = dict[str, Any]
_ASKS_EVERYTHING: Final = {"permissions": {"ask": ["*"]}, "disableAllHooks": True}
"""Rules, modes, hooks and people are heard here, by whoever started it; there nothing passes without that word."""
_END_GRACE_S: Final = 2.0
_KEPT_BYTES: Final = 32 << 10


class RemoteOrder(NamedTuple):
    """What a remote session begins with."""

    model: str
    cwd: str
    tools: tuple[str, ...]
    is_planning: bool = False
    """It is in plan mode, so that what it starts is kept from writing there, too."""
    sources: tuple[str, ...] = ()
    """The settings that it reads: `user`, `project`, `local`."""
    max_turns: int | None = None
    max_budget_usd: float | None = None
    effort: str | None = None
    session: str = ""
    """Go on with this one; empty: a new one."""
    persists: bool = True
    system: str = ""
    """Its own words, instead of ours."""
    appended: str = ""
    """Behind its words."""


class RemoteTalk(Protocol):
    """A remote session that has begun; lines are those of stream-json."""

    def lines(self) -> AsyncIterator[Line]:
        """What it says, until it has ended."""
        ...

    async def send(self, line: Mapping[str, Any]) -> None:
        """Tell it something; raises `ToolFailed` when it is gone."""
        ...

    def how_it_ended(self) -> str:
        """Why there are no more lines, in words."""
        ...

    async def close(self) -> None:
        """End it and everything it started."""
        ...


class RemotePlace(Protocol):
    """Somewhere a session can run: a process of this machine, later another machine."""

    async def open(self, order: RemoteOrder) -> RemoteTalk:
        """Begin a session there; raises `ToolFailed` when it cannot be."""
        ...


class LocalProcess:
    """A process of this machine."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def open(self, order: RemoteOrder) -> RemoteTalk:
        """Start it, and tell it what it is."""
        # Not from the working directory: a folder of our name there is not our program.
        argv = [sys.executable, "-P", "-m", "holdfast", *_arguments(order)]
        command = Command(
            argv=argv,
            cwd=order.cwd,
            env=dict(os.environ),
            inherits_env=False,
            stdin=Stdin.PIPE,
            streams_stdout=True,
            kept_bytes=_KEPT_BYTES,
            label="remote agent",
        )
        try:
            process = await self._processes.start(command)
        except StartError as error:
            raise ToolFailed(f"the process for the remote agent cannot be started: {error}") from error
        talk = _ProcessTalk(process)
        words = {"systemPrompt": order.system, "appendSystemPrompt": order.appended}
        request = {"subtype": "initialize", **{name: text for name, text in words.items() if text}}
        await talk.send({"type": "control_request", "request_id": "begin", "request": request})
        return talk


def _arguments(order: RemoteOrder) -> list[str]:
    found = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"]
    found += ["--permission-prompt-tool", "stdio", "--model", order.model, "--tools", ",".join(order.tools)]
    found += ["--permission-mode", "plan" if order.is_planning else "default"]
    found += ["--settings", json.dumps(_ASKS_EVERYTHING), "--setting-sources", ",".join(order.sources)]
    found += ["--strict-mcp-config"]
    found += [] if order.max_turns is None else ["--max-turns", str(order.max_turns)]
    found += [] if order.max_budget_usd is None else ["--max-budget-usd", f"{order.max_budget_usd:.6f}"]
    found += [] if order.effort is None else ["--effort", order.effort]
    found += ["--resume", order.session] if order.session else []
    return found if order.persists else [*found, "--no-session-persistence"]


class _ProcessTalk:
    """The pipes of that process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def lines(self) -> AsyncIterator[Line]:
        """Each line that is an object; anything else is no word of the session."""
        async for block in self._process.lines():
            for text in block.splitlines():
                try:
                    line: Any = json.loads(text)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    yield cast("Line", line)
        await self._process.wait_at_most(_END_GRACE_S)

    async def send(self, line: Mapping[str, Any]) -> None:
        """One line."""
        try:
            await self._process.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            await self._process.wait_at_most(_END_GRACE_S)
            raise ToolFailed(f"the remote agent is gone: {self.how_it_ended()}") from error

    def how_it_ended(self) -> str:
        """Its exit code, and its last words on standard error."""
        ended = self._process.exit
        how = "its output ended" if ended is None else f"its process ended with code {ended.shell_code}"
        said = self._process.output.stderr.last_lines(5).strip()
        return f"{how}; it said: {visible(said, limit_chars=500)}" if said else how

    async def close(self) -> None:
        """End its input, which ends it; then whatever is left."""
        self._process.close_stdin()
        await self._process.kill_tree()
