"""Small tools, and what is said about replies, for the tests of the engine."""

import asyncio
import json
from types import MappingProxyType
from typing import Any

from holdfast import Executor, Tool, ToolContext, ToolResult, tool
from holdfast.contract import (
    Args,
    PromptFacts,
    internal,
)
from holdfast.events import (
    CallFinished,
    CallStarted,
    PermissionDecided,
    decode_event,
    encode_event,
)
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import (
    Timeline,
    ToolRun,
    run_virtual,
)


class NoArgs(Args):
    pass


class Plain(Tool[NoArgs]):
    """A tool whose call is given; everything else is the default."""

    name = "Plain"
    args_type = NoArgs
    max_result_chars = 1_000

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Do as told."


@tool
async def takes(count: int, flag: bool = False) -> str:
    """Take a count and a flag."""
    return f"{count!r} {flag!r}"


def raising(error: BaseException) -> Plain:
    class Raising(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[Any]:
            raise error

    return Raising()


def returning(value: Any) -> Plain:
    class Returning(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[Any]:
            return value

    return Returning()


async def answer_all(executor: Executor, *blocks: dict[str, Any]) -> list[CallFinished]:
    async with executor:
        for block in blocks:
            executor.add(block)
        return [event async for event in executor.results() if isinstance(event, CallFinished)]


def answers(tools: list[Tool], *blocks: tuple[str, str, Any], **options: Any) -> list[CallFinished]:
    options.setdefault("permission_mode", "bypassPermissions")
    calls = [{"type": "tool_use", "id": id_, "name": name, "input": raw} for id_, name, raw in blocks]
    return run_virtual(answer_all(Executor(tools, **options), *calls))


def the_reply(run: ToolRun) -> CallFinished:
    """The reply, after checking that it is the only one and that the journal can keep it."""
    replies = [event for event in run.events if isinstance(event, CallFinished)]
    assert replies == [run.reply]
    assert json.loads(encode_event(run.reply))["tool_use_id"] == "call-1"
    decode_event(encode_event(run.reply))
    return run.reply


def assert_error(reply: CallFinished, outcome: str, *, mentions: str = "") -> None:
    assert (reply.is_error, reply.outcome) == (True, outcome)
    assert isinstance(reply.content, str)
    assert reply.content.startswith("<tool_use_error>")
    assert reply.content.endswith("</tool_use_error>")
    assert mentions in reply.content
    assert "Traceback" not in reply.content


class SafePlain(Plain):
    """The same, but it only looks, so it may run beside others."""

    read_only = True
    concurrency_safe = True


def block(id_: str, name: str = "Plain", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


async def drain(executor: Executor) -> list[CallFinished]:
    return [event async for event in executor.results() if isinstance(event, CallFinished)]


def everything_answered_once(timeline: Timeline, *ids: str) -> bool:
    return timeline.order == list(ids) and timeline.record.running == []


class Changing(Tool[Any]):
    """Asks for the changes it is told, after a while."""

    name = "Changing"
    max_result_chars = 1_000
    read_only = True
    json_schema = MappingProxyType({"type": "object"})

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Change."

    def is_concurrency_safe(self, args: Any) -> bool:
        return args["safe"]

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult[str]:
        await asyncio.sleep(args.get("seconds", 0))
        return ToolResult(ctx.cwd, modifiers=args["changes"])


class WriteArgs(Args):
    path: str = "a"
    approved_by: str | None = internal()


class Write(Tool[WriteArgs, str]):
    """Changes something, and tells which arguments it got."""

    name = "Write"
    aliases = ("OldWrite",)
    args_type = WriteArgs
    max_result_chars = 1_000

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Write."

    async def call(self, args: WriteArgs, ctx: ToolContext) -> ToolResult[str]:
        return ToolResult(args.path)


class Reader(Write):
    name = "Reader"
    aliases = ()
    read_only = True


def rules(**texts: str) -> PermissionContext:
    """A context with one rule per behaviour."""
    found = [Rule.parse(behavior, text) for behavior, text in texts.items()]  # pyright: ignore[reportArgumentType]
    return PermissionContext("default", found)


def saying(answer: HookAnswer | None, matcher: str = "*") -> Hook:
    async def run(call: HookCall) -> HookAnswer | None:
        return answer

    return Hook("PreToolUse", run, matcher)


def decided(run: ToolRun) -> list[str]:
    return [event.behavior for event in run.events if isinstance(event, PermissionDecided)]


def refused(run: ToolRun) -> bool:
    """Denied, answered once, and the tool never began."""
    replies = [event for event in run.events if isinstance(event, CallFinished)]
    started = [event for event in run.events if isinstance(event, CallStarted)]
    return run.outcome == "denied" and run.is_error and len(replies) == 1 and started == []
