"""Play a script on a real executor and write down what happened when."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from holdfast.contract import Fatal, Tool
from holdfast.engine import Executor
from holdfast.events import CallDiscarded, CallFinished, CallProgressed, CallStarted, Event
from holdfast.testing.clock import run_virtual
from holdfast.testing.script import Script, Step
from holdfast.testing.scripted import Record, ScriptedTool

__all__ = ["Timeline", "play", "play_async"]


@dataclass(slots=True)
class Timeline:
    """What happened, with virtual times in seconds."""

    record: Record
    """What the scripted tools did."""
    events: list[tuple[float, Event]] = field(default_factory=list[tuple[float, Event]])
    """Everything the executor announced."""
    read: list[tuple[float, CallFinished | CallProgressed]] = field(
        default_factory=list[tuple[float, "CallFinished | CallProgressed"]]
    )
    """What a reader of `results()` got."""
    discards: list[bool] = field(default_factory=list[bool])
    """What each `discard` answered."""
    fatal: Fatal | None = None
    """What stopped the run."""

    @property
    def replies(self) -> list[CallFinished]:
        """The replies, in the order they were read."""
        return [event for _, event in self.read if isinstance(event, CallFinished)]

    @property
    def order(self) -> list[str]:
        """Call ids in the order of their replies."""
        return [reply.tool_use_id for reply in self.replies]

    @property
    def outcomes(self) -> dict[str, str]:
        """How each call ended, by id."""
        return {reply.tool_use_id: reply.outcome for reply in self.replies}

    @property
    def started(self) -> dict[str, float]:
        """When each call's tool began to act, by id."""
        return {event.tool_use_id: at_s for at_s, event in self.events if isinstance(event, CallStarted)}

    @property
    def answered(self) -> dict[str, float]:
        """When each reply was read, by id."""
        return {event.tool_use_id: at_s for at_s, event in self.read if isinstance(event, CallFinished)}

    @property
    def discarded(self) -> list[str]:
        """Calls that left without a reply because the stream is repeated."""
        return [event.tool_use_id for _, event in self.events if isinstance(event, CallDiscarded)]

    @property
    def max_overlap(self) -> int:
        """The most scripted calls that were at work at the same time."""
        return self.record.max_overlap

    def reply(self, call_id: str) -> CallFinished:
        """The one reply to a call."""
        return next(reply for reply in self.replies if reply.tool_use_id == call_id)


def play(script: Script, *, tools: Iterable[Tool] | None = None, **executor_options: Any) -> Timeline:
    """Play a script in virtual time; without `tools` on one `ScriptedTool`, with permissions bypassed unless told."""
    return run_virtual(play_async(script, tools=tools, **executor_options))


async def play_async(script: Script, *, tools: Iterable[Tool] | None = None, **executor_options: Any) -> Timeline:
    """The same inside a running loop, which should be a `VirtualClock`."""
    used = [ScriptedTool()] if tools is None else list(tools)
    scripted = [tool for tool in used if isinstance(tool, ScriptedTool)]
    timeline = Timeline(scripted[0].record if scripted else Record())
    loop = asyncio.get_running_loop()
    told = executor_options.pop("on_event", None)

    def note(event: Event) -> None:
        timeline.events.append((loop.time(), event))
        if told is not None:
            told(event)

    executor_options.setdefault("permission_mode", "bypassPermissions")
    async with Executor(used, on_event=note, **executor_options) as executor:
        player = _Player(executor, timeline, scripted)
        await player.play(script.steps)
    player.read_rest()
    return timeline


class _Player:
    def __init__(self, executor: Executor, timeline: Timeline, scripted: list[ScriptedTool]) -> None:
        self._executor = executor
        self._timeline = timeline
        self._scripted = scripted
        self._more = asyncio.Event()
        self._over = False

    async def play(self, steps: tuple[Step, ...]) -> None:
        reader = asyncio.get_running_loop().create_task(self._read())
        try:
            for step in steps:
                await self._take(step)
            self._over = True
            self._more.set()
            await reader
        finally:
            reader.cancel()
            await asyncio.wait([reader])

    def read_rest(self) -> None:
        """What was answered while the executor closed."""
        now_s = asyncio.get_running_loop().time()
        self._timeline.read += [(now_s, event) for event in self._executor.ready()]

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._more.clear()
            try:
                async for event in self._executor.results():
                    self._timeline.read.append((loop.time(), event))
            except Fatal as error:
                self._timeline.fatal = error
            if self._over and not self._more.is_set():
                return
            await self._more.wait()

    async def _take(self, step: Step) -> None:
        executor = self._executor
        if step.verb == "wait":
            await asyncio.sleep(step.seconds)
        elif step.verb == "call":
            executor.add({"type": "tool_use", "id": step.subject, "name": step.tool, "input": step.arguments})
            self._more.set()
        elif step.verb == "open":
            for tool in self._scripted:
                tool.gate(step.subject).open()
        elif step.verb == "end_turn":
            executor.end_turn()
        elif step.verb == "interrupt":
            await executor.interrupt()
        elif step.verb == "user_message":
            executor.user_message()
        else:
            self._timeline.discards.append(await executor.discard())
