"""The user's own status line: a command that reads what we know as JSON and writes a line or a few (`statusLine`)."""

import asyncio
import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast import __version__
from holdfast.tui.show.words import prose

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["StatusCommand", "safe_colours"]

_EVERY_S = 0.3
_LIMIT_S = 5.0
_MOST_BYTES = 16_384
_MOST_ROWS = 3
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,40}m)")


class StatusCommand:
    """Runs the user's command when something has changed, never more than one at a time; without one it is silent."""

    def __init__(self) -> None:
        self._command: str = ""
        self._began_s = time.monotonic()
        self._last_s = 0.0
        self._job: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self.line = ""
        """What it wrote last, in rows; colours are kept, everything else that a terminal would obey is spelled out."""

    def use(self, command: str) -> None:
        """Run this one from now on; empty: none."""
        if command != self._command:
            self._stop()
            self._command, self.line = command, ""

    def wish(self, agent: "RunningAgent", on_done: Callable[[], object]) -> None:
        """Something has changed: run it soon, so that it has seen the last change, too."""
        if not self._command or self._again is not None:
            return
        wait_s = self._last_s + _EVERY_S - time.monotonic()
        if self._job is not None or wait_s > 0:
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(max(wait_s, _EVERY_S / 2), self._wish_again, agent, on_done)
            return
        self._last_s = time.monotonic()
        self._job = asyncio.ensure_future(self._run(self._facts(agent), agent.cwd))
        self._job.add_done_callback(lambda _job: self._ended(on_done))

    async def close(self) -> None:
        """End it for good."""
        self._command, job = "", self._job
        self._stop()
        if job is not None:
            await asyncio.wait({job})

    def _stop(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._job is not None:
            self._job.cancel()

    def _wish_again(self, agent: "RunningAgent", on_done: Callable[[], object]) -> None:
        self._again = None
        self.wish(agent, on_done)

    def _ended(self, on_done: Callable[[], object]) -> None:
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
            rows = text.rstrip().split("\n")[:_MOST_ROWS]
            self.line = "\n".join(safe_colours(row) for row in rows)
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
        window, used = agent.model.context_window or 0, agent.context_tokens
        percentage = min(100, round(100 * used / window)) if window else 0
        usage = agent.usage
        return msgspec.json.encode(
            {
                "hook_event_name": "Status",
                "session_id": agent.session_id,
                "transcript_path": agent.transcript_path,
                "cwd": agent.cwd,
                "model": {"id": name, "display_name": name.rpartition(":")[2]},
                "workspace": {"current_dir": agent.cwd, "project_dir": agent.rights.settings.root},
                "version": __version__,
                "permission_mode": agent.mode,
                "cost": spent,
                "output_style": {"name": "default"},
                "context_window": {
                    "context_window_size": window,
                    "used_tokens": used,
                    "used_percentage": percentage,
                    "remaining_percentage": 100 - percentage,
                    "total_input_tokens": usage.input_tokens,
                    "total_output_tokens": usage.output_tokens,
                },
                "exceeds_200k_tokens": used > 200_000,
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
