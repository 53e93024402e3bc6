"""Hooks from configuration, run by real processes around a call of a small tool."""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from holdfast import Executor, tool
from holdfast.events import CallFinished, Event, HookRan, HookSpoke, PermissionDecided
from holdfast.hooks import Hooks
from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.hooks.gate import OnFailure
from holdfast.hooks.schema import Handlers, hooks_of
from holdfast.host.processes import Processes
from holdfast.permissions import PermissionContext
from holdfast.settings.merge import Origin, freeze
from holdfast.settings.model import HookEntry
from holdfast.settings.sources import SourceKind

ORIGIN = Origin(SourceKind.USER, "/settings.json", 3)


def entry(event: str, handler: Mapping[str, Any] | str, matcher: str | None = None) -> HookEntry:
    """One configured hook; a text is a command."""
    raw: Mapping[str, Any] = {"type": "command", "command": handler} if isinstance(handler, str) else handler
    frozen: Any = freeze(dict(raw))
    return HookEntry(event, matcher, MappingProxyType(dict(frozen)), ORIGIN)


class Played(NamedTuple):
    """What came of one call with hooks around it."""

    reply: CallFinished
    events: tuple[Event, ...]
    warnings: tuple[str, ...]
    stop: str | None

    @property
    def decided(self) -> list[str]:
        return [event.behavior for event in self.events if isinstance(event, PermissionDecided)]

    @property
    def ran(self) -> list[HookRan]:
        return [event for event in self.events if isinstance(event, HookRan)]

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, HookSpoke)]


@tool(name="Echo")
async def echo(text: str = "", fail: bool = False) -> dict[str, Any]:
    """Give back what was given."""
    if fail:
        raise ValueError("as wished")
    return {"echoed": text}


Play = Callable[..., Played]


def play_hooks(
    *entries: HookEntry,
    given: Mapping[str, Any] | None = None,
    permissions: PermissionContext | None = None,
    mode: str = "bypassPermissions",
    on_gate_failure: OnFailure | None = None,
    asker: Any = None,
    cwd: str | None = None,
) -> Played:
    """One call of Echo with these hooks."""

    async def run() -> Played:
        events: list[Event] = []
        async with Processes() as processes:
            runner = CommandRunner(lambda: processes, Surroundings(project_dir=cwd or "/"))
            hooks: Hooks = hooks_of(entries, Handlers(runner, {}), on_gate_failure=on_gate_failure)
            executor = Executor(
                [echo],
                hooks=hooks,
                permissions=permissions,
                permission_mode=mode,
                on_event=events.append,
                asker=asker,
                cwd=cwd,
            )
            executor.add({"id": "c1", "name": "Echo", "input": dict(given or {"text": "hi"})})
            replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
            stop = executor.call_hooks.stop
            await runner.close()
            await executor.close()
        return Played(replies[-1], tuple(events), hooks.warnings, stop)

    async def bounded() -> Played:
        async with asyncio.timeout(60):
            return await run()

    return asyncio.run(bounded())


@pytest.fixture
def play() -> Play:
    return play_hooks
