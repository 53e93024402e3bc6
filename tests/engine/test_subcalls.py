"""Calls that a tool makes itself go the way of every call, and end with their tool."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor, ToolContext, ToolFailed, tool
from holdfast.contract import Answer, CallReply, Denied, Effects, Image, Question, Text, UsageError
from holdfast.events import CallFinished, Event, PermissionDecided, SubCallFinished
from holdfast.hooks import Hook, HookAnswer
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import ScriptedAsker, run_virtual
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.shell.bash import Bash

from .conftest import answer_all, answers, assert_error, block, takes

PNG = b"\x89PNG\r\n\x1a\n0000"


@tool
async def twice(count: int, ctx: ToolContext) -> str:
    """Take a count twice."""
    first = await ctx.call("takes", {"count": count})
    second = await ctx.call("takes", {"count": str(count + 1), "flag": True})
    return f"{first.text} and {second.text}, data {second.data!r}"


def rights(tmp_path: Path, *rules: tuple[Any, str], mode: str = "default") -> PermissionContext:
    made = PermissionContext.started_in(str(tmp_path), mode)
    return made.with_rules(*(Rule.parse(behavior, text) for behavior, text in rules))


def test_a_tool_gets_text_and_data_of_another_one():
    (reply,) = answers([takes, twice], ("1", "twice", {"count": 1}))
    assert reply.content == "1 False and 2 True, data '2 True'"


def test_a_plain_function_in_its_thread_can_call_too():
    @tool
    def outer(ctx: ToolContext) -> str:
        """Call in a thread."""
        return ctx.call_sync("takes", {"count": 3}).text

    (reply,) = answers([takes, outer], ("1", "outer", {}))
    assert reply.content == "3 False"


def test_call_sync_in_a_coroutine_says_what_to_write_instead():
    @tool
    async def outer(ctx: ToolContext) -> str:
        """Call the wrong way."""
        with pytest.raises(UsageError, match=r"await ctx\.call"):
            ctx.call_sync("takes", {"count": 3})
        return "ok"

    (reply,) = answers([takes, outer], ("1", "outer", {}))
    assert reply.content == "ok"


def test_a_context_without_a_session_says_so():
    with pytest.raises(UsageError, match="belongs to no session"):
        asyncio.run(ToolContext().call("takes"))


# The same rights.


def test_what_is_denied_to_the_model_is_denied_to_a_tool_that_was_allowed(tmp_path: Path):
    events: list[Event] = []
    permissions = rights(tmp_path, ("allow", "twice"), ("deny", "takes"))
    (reply,) = answers([takes, twice], ("1", "twice", {"count": 1}), permissions=permissions, on_event=events.append)
    assert_error(reply, "denied", mentions="the rule takes denies it")
    judged = [event for event in events if isinstance(event, PermissionDecided)]
    assert [(event.tool_use_id, event.behavior) for event in judged] == [("1", "allow"), ("1.1", "deny")]
    (told,) = [event for event in events if isinstance(event, SubCallFinished)]
    assert (told.tool_use_id, told.id, told.name, told.outcome) == ("1", "1.1", "takes", "denied")


def test_a_yes_to_a_tool_is_no_yes_to_the_calls_that_it_makes(tmp_path: Path):
    asked: list[Question] = []

    class Person:
        async def ask(self, question: Question) -> Answer:
            asked.append(question)
            return Answer("allow") if question.tool == "twice" else Answer("deny", message="not this one")

    (reply,) = answers([takes, twice], ("1", "twice", {"count": 1}), permissions=rights(tmp_path), asker=Person())
    assert [(question.tool, question.tool_use_id) for question in asked] == [("twice", "1"), ("takes", "1.1")]
    assert_error(reply, "denied", mentions="not this one")


def test_a_no_without_a_word_ends_the_turn_of_the_call_that_the_model_made(tmp_path: Path):
    replies = answers(
        [takes, twice],
        ("1", "twice", {"count": 1}),
        ("2", "takes", {"count": 9}),
        permissions=rights(tmp_path),
        asker=ScriptedAsker(["allow", "deny", "allow"]),
    )
    assert [reply.outcome for reply in replies] == ["denied", "cancelled"]


def test_plan_mode_holds_inside_a_tool_that_only_says_it_reads(tmp_path: Path):
    @tool(read_only=True)
    async def sneaky(ctx: ToolContext) -> str:
        """Say that it reads, and write."""
        return (await ctx.call("takes", {"count": 1})).text

    (reply,) = answers([takes, sneaky], ("1", "sneaky", {}), permissions=rights(tmp_path, mode="plan"))
    assert_error(reply, "failed", mentions="sneaky is declared read_only, and takes may change something")


def test_a_tool_that_runs_beside_others_calls_only_such_tools():
    @tool(concurrency_safe=True)
    async def shared(ctx: ToolContext) -> str:
        """Run beside others."""
        return (await ctx.call("takes", {"count": 1})).text

    (reply,) = answers([takes, shared], ("1", "shared", {}))
    assert_error(reply, "failed", mentions="shared is declared concurrency_safe, and takes must run alone")


def test_hooks_hear_of_calls_that_tools_make():
    heard: list[tuple[str, str]] = []

    async def no_twos(call: Any) -> HookAnswer | None:
        heard.append((call.tool_use_id, call.tool_name))
        return HookAnswer("deny", "no twos") if call.tool_input.get("count") == "2" else None

    hook = Hook("PreToolUse", no_twos)
    (reply,) = answers([takes, twice], ("1", "twice", {"count": 1}), hooks=[hook])
    assert heard == [("1", "twice"), ("1.1", "takes"), ("1.2", "takes")]
    assert_error(reply, "denied", mentions="no twos")


# Errors.


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [("nowhere", {}, "'nowhere'"), ("takes", {}, "missing argument 'count'"), ("takes", {"count": "x"}, "'count'")],
)
def test_what_does_not_fit_is_an_error_that_can_be_caught(name: str, arguments: dict[str, Any], said: str):
    @tool
    async def outer(ctx: ToolContext) -> str:
        """Call and catch."""
        with pytest.raises(ToolFailed, match=said):
            await ctx.call(name, arguments)
        return "caught"

    (reply,) = answers([takes, outer], ("1", "outer", {}))
    assert reply.content == "caught"


def test_a_command_that_ends_badly_is_a_reply(tmp_path: Path):
    @tool
    async def build(ctx: ToolContext) -> str:
        """Run a command that fails."""
        reply = await ctx.call("Bash", {"command": "echo out; exit 3"})
        return f"{reply.is_error} {'out' in reply.text}"

    (reply,) = asyncio.run(
        answer_all(Executor([Bash(), build], permission_mode="bypassPermissions", cwd=tmp_path), block("1", "build"))
    )
    assert reply.content == "True True"


def test_a_refusal_can_be_caught_and_told_in_other_words(tmp_path: Path):
    @tool
    async def outer(ctx: ToolContext) -> str:
        """Try, else say so."""
        try:
            return (await ctx.call("takes", {"count": 1})).text
        except Denied:
            return "did without it"

    permissions = rights(tmp_path, ("allow", "outer"), ("deny", "takes"))
    (reply,) = answers([takes, outer], ("1", "outer", {}), permissions=permissions)
    assert (reply.content, reply.is_error) == ("did without it", False)


def test_tools_that_call_each_other_without_end_are_stopped():
    @tool
    async def again(depth: int, ctx: ToolContext) -> str:
        """Go deeper."""
        return (await ctx.call("again", {"depth": depth + 1})).text

    (reply,) = answers([again], ("1", "again", {"depth": 0}))
    assert_error(reply, "failed", mentions="8 deep")


# Together and to the end.


def test_safe_calls_of_a_tool_run_side_by_side_and_others_alone():
    running: list[str] = []
    most: list[tuple[str, ...]] = []

    async def work(name: str) -> str:
        running.append(name)
        most.append(tuple(running))
        await asyncio.sleep(1)
        running.remove(name)
        return name

    @tool(read_only=True, concurrency_safe=True)
    async def look(name: str) -> str:
        """Look."""
        return await work(name)

    @tool
    async def change(name: str) -> str:
        """Change."""
        return await work(name)

    @tool
    async def outer(ctx: ToolContext) -> str:
        """Call all at once."""
        calls = [("look", "a"), ("look", "b"), ("change", "c"), ("look", "d")]
        replies = await asyncio.gather(*(ctx.call(tool_name, {"name": name}) for tool_name, name in calls))
        return "".join(reply.text for reply in replies)

    (reply,) = answers([look, change, outer], ("1", "outer", {}))
    assert reply.content == "abcd"
    assert most == [("a",), ("a", "b"), ("c",), ("d",)]


def test_an_interrupt_ends_the_calls_of_a_tool_before_its_reply():
    ended: list[str] = []

    @tool
    async def forever() -> str:
        """Work without end."""
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.append("forever")
        return "never"

    @tool
    async def outer(ctx: ToolContext) -> str:
        """Call it."""
        return (await ctx.call("forever")).text

    async def scenario() -> list[CallFinished]:
        executor = Executor([forever, outer], permission_mode="bypassPermissions")
        async with executor:
            executor.add(block("1", "outer"))
            await asyncio.sleep(1)
            await executor.interrupt()
            assert ended == ["forever"]
            return [event async for event in executor.results() if isinstance(event, CallFinished)]

    (reply,) = run_virtual(scenario())
    assert_error(reply, "cancelled", mentions="Interrupted")


def test_what_a_tool_leaves_running_ends_with_it_and_a_later_call_is_refused():
    ended: list[str] = []
    kept: list[ToolContext] = []

    @tool
    async def forever() -> str:
        """Work without end."""
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.append("forever")
        return "never"

    @tool
    async def outer(ctx: ToolContext) -> str:
        """Start it and do not wait."""
        kept.append(ctx)
        task = asyncio.create_task(ctx.call("forever"))
        task.add_done_callback(lambda done: done.exception())
        await asyncio.sleep(1)
        return "left"

    async def scenario() -> CallFinished:
        (reply,) = await answer_all(
            Executor([forever, outer], permission_mode="bypassPermissions"), block("1", "outer")
        )
        with pytest.raises(UsageError, match="has ended"):
            await kept[0].call("forever")
        return reply

    assert run_virtual(scenario()).content == "left"
    assert ended == ["forever"]


def test_a_call_of_a_tool_has_the_time_limit_of_what_is_called():
    @tool(timeout_s=5)
    async def slow() -> str:
        """Take an hour."""
        await asyncio.sleep(3_600)
        return "never"

    @tool
    async def outer(ctx: ToolContext) -> str:
        """Call it."""
        with pytest.raises(ToolFailed, match=r"Timed out after 5\.0 s"):
            await ctx.call("slow")
        return "went on"

    (reply,) = answers([slow, outer], ("1", "outer", {}))
    assert reply.content == "went on"


# Files and directories.


def test_what_a_tool_reads_it_may_edit_and_the_model_has_not_seen_it(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\n")

    @tool
    async def mend(ctx: ToolContext) -> str:
        """Read and change a file."""
        await ctx.call("Read", {"file_path": "a.txt"})
        await ctx.call("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
        return "mended"

    async def scenario() -> list[CallFinished]:
        executor = Executor([Read(), Edit(), mend], permission_mode="bypassPermissions", cwd=tmp_path)
        edit = block("2", "Edit", file_path="a.txt", old_string="two", new_string="three")
        return await answer_all(executor, block("1", "mend"), edit)

    mended, edited = asyncio.run(scenario())
    assert mended.content == "mended"
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert_error(edited, "failed", mentions="ead")


def test_a_directory_that_a_tool_goes_to_is_its_own(tmp_path: Path):
    (tmp_path / "sub").mkdir()

    @tool
    async def moves(ctx: ToolContext) -> str:
        """Go to a directory."""
        await ctx.call("Bash", {"command": "cd sub"})
        return (await ctx.call("Bash", {"command": "pwd"})).text.strip()

    async def scenario() -> tuple[CallFinished, str]:
        executor = Executor([Bash(), moves], permission_mode="bypassPermissions", cwd=tmp_path)
        (reply,) = await answer_all(executor, block("1", "moves"))
        return reply, executor.state.cwd

    reply, cwd = asyncio.run(scenario())
    assert reply.content == str(tmp_path / "sub")
    assert cwd == str(tmp_path)


# Pictures and effects.


def test_a_tool_returns_pictures_as_they_are(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(PNG)

    @tool
    async def plot(words: bool) -> Any:
        """Draw something."""
        picture = Image.from_file(tmp_path / "a.png")
        return [Text("a picture"), picture] if words else picture

    alone, both = answers([plot], ("1", "plot", {"words": False}), ("2", "plot", {"words": True}))
    shown = Image(PNG, "image/png").to_wire()
    assert alone.content == [shown]
    assert both.content == [{"type": "text", "text": "a picture"}, shown]


def test_a_file_that_is_no_picture_is_refused_with_its_name(tmp_path: Path):
    (tmp_path / "a.bmp").write_bytes(b"BM....")
    with pytest.raises(UsageError, match=r"a\.bmp"):
        Image.from_file(tmp_path / "a.bmp")


def test_declared_effects_are_what_rules_are_asked_about(tmp_path: Path):
    (tmp_path / "secret").mkdir()

    @tool(read_only=True, effects=lambda args, ctx: Effects(reads=[ctx.resolve(args.path)]))
    async def head(path: str) -> str:
        """Show the first line."""
        return path

    permissions = rights(tmp_path, ("deny", "Read(secret/**)"))
    fine, hidden = answers(
        [head], ("1", "head", {"path": "a"}), ("2", "head", {"path": "secret/b"}), permissions=permissions, cwd=tmp_path
    )
    assert fine.content == "a"
    assert_error(hidden, "denied")


def test_a_reply_has_the_text_of_its_blocks():
    assert CallReply([Text("a").to_wire(), Image(PNG, "image/png").to_wire(), Text("b").to_wire()]).text == "a\nb"
