"""One tool through the whole real pipeline: parse, validate, permission, call, mapping, size bound."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from typing_extensions import Unpack

from holdfast.contract import Asker, SessionFacts, Tool
from holdfast.engine import Executor
from holdfast.events import CallFinished, CallProgressed, ContextChanged, Event, Outcome
from holdfast.hooks import Hook
from holdfast.permissions import PermissionContext

__all__ = ["RunOptions", "ToolRun", "run_tool", "run_tool_async"]


class ToolRun(NamedTuple):
    """What came of one call: the reply, and everything that happened on the way."""

    reply: CallFinished
    events: tuple[Event, ...]

    @property
    def text(self) -> str:
        """What the model reads, as text; pictures and documents are left out."""
        content = self.reply.content
        if isinstance(content, str):
            return content
        return "\n".join(block["text"] for block in content if block["type"] == "text")

    @property
    def data(self) -> Any:
        """What programs read."""
        return self.reply.data

    @property
    def is_error(self) -> bool:
        """The model reads this as a failure."""
        return self.reply.is_error

    @property
    def outcome(self) -> Outcome:
        """How the call ended."""
        return self.reply.outcome

    @property
    def progress(self) -> list[Any]:
        """What the tool reported while it worked."""
        return [event.data for event in self.events if isinstance(event, CallProgressed)]

    @property
    def changes(self) -> list[tuple[str, Any]]:
        """What the call changed in its session, by the name of the modifier."""
        return [(event.change, event.value) for event in self.events if isinstance(event, ContextChanged)]


class RunOptions(TypedDict, total=False):
    """Surroundings of the call; permissions are bypassed unless told."""

    cwd: str | os.PathLike[str] | None
    permission_mode: str
    permissions: PermissionContext | None
    asker: Asker | None
    hooks: Iterable[Hook]
    session: SessionFacts | None
    timeout_s: float | None
    cancel_grace_s: float
    spill_directory: Path | None


async def run_tool_async(
    tool: Tool, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[RunOptions]
) -> ToolRun:
    """Call one tool as a model would. `arguments` may be raw JSON text, also broken.

    Without `spill_directory` a result too long to send is kept in a temporary directory that is gone afterwards.
    """
    events: list[Event] = []
    options.setdefault("permission_mode", "bypassPermissions")
    async with Executor([tool], on_event=events.append, **options) as executor:
        executor.add({"type": "tool_use", "id": "call-1", "name": tool.name, "input": arguments})
        replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
    return ToolRun(replies[0], tuple(events))


def run_tool(tool: Tool, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[RunOptions]) -> ToolRun:
    """The same without asyncio, in real time; `run_virtual(run_tool_async(...))` is the one in virtual time."""
    return asyncio.run(run_tool_async(tool, arguments, **options))
