"""Tools with controlled timing: they wait for a time or at a gate, end as told, and record what happened."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from holdfast.contract import Args, Fatal, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.contract.tool import InterruptBehavior

__all__ = ["Ending", "Gate", "Record", "ScriptedArgs", "ScriptedTool", "Span"]

Ending = Literal["ok", "error", "fail", "crash", "exit", "fatal", "cancel"]
"""How a scripted call ends: a result, a result marked as error, `ToolFailed`, a bug, `SystemExit`, `Fatal`,
or a `CancelledError` of its own."""


class Gate:
    """A door that calls wait at until the test opens it. `reached` lets the test wait for them in turn."""

    def __init__(self, name: str = "gate") -> None:
        self.name = name
        self.arrived = 0
        """How many came to this gate so far."""
        self._open = asyncio.Event()
        self._news = asyncio.Condition()

    @property
    def is_open(self) -> bool:
        """Whoever comes passes at once."""
        return self._open.is_set()

    def open(self) -> None:
        """Let everybody through, now and later."""
        self._open.set()

    async def wait(self) -> None:
        """Pass when the gate is open."""
        async with self._news:
            self.arrived += 1
            self._news.notify_all()
        await self._open.wait()

    async def reached(self, by: int = 1) -> None:
        """Return when that many came to the gate."""
        async with self._news:
            await self._news.wait_for(lambda: self.arrived >= by)


@dataclass(slots=True)
class Span:
    """One call's time at work."""

    call: str
    started_s: float
    safe: bool
    read_only: bool
    ended_s: float | None = None
    cancelled: bool = False


@dataclass(slots=True)
class Record:
    """What scripted tools did: in what order they worked, and how many at once."""

    spans: list[Span] = field(default_factory=list[Span])
    max_overlap: int = 0
    """The most calls that were at work at the same time."""
    violations: list[str] = field(default_factory=list[str])
    """Each time an exclusive call met another one at work."""

    @property
    def running(self) -> list[str]:
        """Calls that are at work now."""
        return [span.call for span in self.spans if span.ended_s is None]

    @property
    def started(self) -> list[str]:
        """Calls in the order they began to work."""
        return [span.call for span in self.spans]

    @property
    def cancelled(self) -> list[str]:
        """Calls that were cancelled at work."""
        return [span.call for span in self.spans if span.cancelled]

    def begin(self, span: Span) -> None:
        """A call goes to work."""
        beside = [other for other in self.spans if other.ended_s is None]
        self.spans.append(span)
        self.max_overlap = max(self.max_overlap, len(beside) + 1)
        self.violations += [f"{span.call} beside {other.call}" for other in beside if not (span.safe and other.safe)]

    def span(self, call: str) -> Span:
        """The time at work of one call."""
        return next(span for span in self.spans if span.call == call)


class ScriptedArgs(Args):
    """What one scripted call does."""

    seconds: float = Field(default=0.0, description="Work for this long.")
    gate: str | None = Field(default=None, description="Then wait at this gate.")
    progress: tuple[str, ...] = Field(default=(), description="Report these first.")
    end: Ending = Field(default="ok", description="How the call ends.")
    text: str = Field(default="done", description="The result.")
    safe: bool = Field(default=True, description="May run beside others.")
    read_only: bool = Field(default=True, description="Changes nothing.")
    on_message: InterruptBehavior = Field(default="block", description="What a user message does to it.")
    resist_s: float = Field(default=0.0, description="When cancelled, go on this long before giving in.")


class ScriptedTool(Tool[ScriptedArgs, str]):
    """Does what its arguments say and records it. Several may share one record and one set of gates."""

    args_type = ScriptedArgs
    max_result_chars = 10_000

    def __init__(
        self,
        name: str = "Scripted",
        *,
        record: Record | None = None,
        gates: Mapping[str, Gate] | None = None,
        shell_like: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        self.name = name
        self.record = Record() if record is None else record
        self.gates: dict[str, Gate] = dict(gates or {})
        self.failure_cancels_dependents = shell_like
        self.timeout_s = timeout_s

    def prompt(self, facts: Any = None) -> str:
        """What a model would read."""
        del facts
        return "Works for a given time and ends as told, for tests of schedules."

    def is_read_only(self, args: ScriptedArgs) -> bool:
        """As the call says."""
        return args.read_only

    def is_concurrency_safe(self, args: ScriptedArgs) -> bool:
        """As the call says."""
        return args.safe

    def on_user_message(self, args: ScriptedArgs) -> InterruptBehavior:
        """As the call says."""
        return args.on_message

    def gate(self, name: str) -> Gate:
        """The gate of this name, made when it is first asked for."""
        return self.gates.setdefault(name, Gate(name))

    async def call(self, args: ScriptedArgs, ctx: ToolContext) -> ToolResult[str]:
        """Report, work, wait at the gate, end."""
        loop = asyncio.get_running_loop()
        span = Span(ctx.tool_use_id, loop.time(), args.safe, args.read_only)
        self.record.begin(span)
        try:
            for report in args.progress:
                ctx.progress(report)
            await self._work(args)
        except asyncio.CancelledError:
            span.cancelled = True
            await _resist(args.resist_s)
            raise
        finally:
            span.ended_s = loop.time()
        return _ended(args)

    async def _work(self, args: ScriptedArgs) -> None:
        if args.seconds:
            await asyncio.sleep(args.seconds)
        if args.gate is not None:
            await self.gate(args.gate).wait()


async def _resist(seconds: float) -> None:
    """Go on for so long, whatever is asked."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        try:
            await asyncio.sleep(until - loop.time())
        except asyncio.CancelledError:
            continue  # being stubborn is the point


def _ended(args: ScriptedArgs) -> ToolResult[str]:
    if args.end == "fail":
        raise ToolFailed(args.text)
    if args.end == "crash":
        raise RuntimeError(args.text)
    if args.end == "exit":
        raise SystemExit(args.text)
    if args.end == "fatal":
        raise Fatal(args.text)
    if args.end == "cancel":
        raise asyncio.CancelledError
    return ToolResult(args.text, is_error=args.end == "error")
