"""The user's own status line: a command that reads what we know as JSON and writes one line (`statusLine`)."""

import asyncio
import os
import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast import __version__
from holdfast.tui.show.words import prose

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["StatusCommand", "safe_colours"]

_EVERY_S = 0.3
_LIMIT_S = 5.0
_MOST_BYTES = 16_384
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,40}m)")


class StatusCommand:
    """Runs the command when something has changed, never more than one at a time."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._began_s = time.monotonic()
        self._last_s = 0.0
        self._job: asyncio.Task[None] | None = None
        self.line = ""
        """What it wrote last; colours are kept, everything else that a terminal would obey is spelled out."""

    def wish(self, agent: "RunningAgent", on_done: Any) -> None:
        """Something has changed: run it soon."""
        if self._job is not None or time.monotonic() - self._last_s < _EVERY_S:
            return
        self._last_s = time.monotonic()
        self._job = asyncio.ensure_future(self._run(self._facts(agent), agent.cwd))
        self._job.add_done_callback(lambda _job: self._ended(on_done))

    def close(self) -> None:
        """End it."""
        if self._job is not None:
            self._job.cancel()

    def _ended(self, on_done: Any) -> None:
        self._job = None
        on_done()

    async def _run(self, facts: bytes, cwd: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                self._command,
                cwd=cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return
        try:
            async with asyncio.timeout(_LIMIT_S):
                out, _ = await process.communicate(facts)
            text = out[:_MOST_BYTES].decode("utf-8", "replace")
            self.line = safe_colours(text.split("\n", 1)[0])
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                _end(process.pid)
                await process.wait()

    def _facts(self, agent: "RunningAgent") -> bytes:
        name = agent.model.name
        spent = {
            "total_cost_usd": agent.cost_usd or 0.0,
            "total_duration_ms": round((time.monotonic() - self._began_s) * 1000),
        }
        window = agent.model.context_window or 0
        return msgspec.json.encode(
            {
                "hook_event_name": "Status",
                "session_id": agent.session_id,
                "cwd": agent.cwd,
                "model": {"id": name, "display_name": name.rpartition(":")[2]},
                "workspace": {"current_dir": agent.cwd, "project_dir": agent.rights.settings.root},
                "version": __version__,
                "permission_mode": agent.mode,
                "cost": spent,
                "context_window": {"context_window_size": window, "used_tokens": agent.context_tokens},
                "exceeds_200k_tokens": agent.context_tokens > 200_000,
            }
        )


def safe_colours(text: str) -> str:
    """The line with its colours, and nothing else that a terminal would obey."""
    parts = _COLOUR.split(text)
    return "".join(part if place % 2 else prose(part) for place, part in enumerate(parts))


def _end(pid: int) -> None:
    try:
        os.killpg(pid, 9)
    except OSError:
        return
