"""What hooks cost a call: none, some that do not fit, one command, twenty at once."""

import asyncio
import os
import subprocess
import timeit

from holdfast import Executor, tool
from holdfast.events import encode_json
from holdfast.hooks import Hook, HookAnswer
from holdfast.hooks.command import CommandHandler, CommandRunner, Surroundings
from holdfast.hooks.gate import Hooks
from holdfast.hooks.hear import hear
from holdfast.hooks.inputs import PreToolUse
from holdfast.host.processes import Processes
from holdfast.host.shell import shell_argv
from measure import Row, interleaved_async, row

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
EVENT = PreToolUse(tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t", cwd="/")
SCRIPT = "cat >/dev/null"
SLOW = "sleep 0.1"


@tool
async def nothing() -> str:
    """Do nothing."""
    return ""


async def _listen(event: object) -> HookAnswer | None:
    del event
    return None


def _bare() -> None:
    pass


def _asked(executor: Executor) -> float:
    """What a call asks about hooks, as the pipeline does: once at its start, and again from what it then knows."""
    hooks = executor.call_hooks

    def ask() -> bool:
        return hooks.is_used and nothing not in hooks.quiet and hooks.hears(nothing)

    return min(timeit.repeat(ask, number=100_000, repeat=7)) / 100_000


def _per_call() -> list[Row]:
    bare = min(timeit.repeat(_bare, number=100_000, repeat=7)) / 100_000
    none, other = Executor([nothing]), Executor([nothing], hooks=[Hook("PreToolUse", _listen, "Other")])
    calls = "bare function calls"
    return [
        row("no hook", _asked(none) * 1e9, bare * 1e9, unit="ns", limit=3, against=calls),
        row("hooks that do not fit", _asked(other) * 1e9, bare * 1e9, unit="ns", limit=5, against=calls),
    ]


async def _processes() -> list[Row]:
    data = encode_json(EVENT)
    async with Processes() as processes:
        runner = CommandRunner(lambda: processes, Surroundings(project_dir="/"))

        async def hook() -> None:
            await runner.run(CommandHandler(SCRIPT), EVENT)

        async def popen() -> None:
            argv = list(shell_argv(SCRIPT))
            pipe = subprocess.PIPE
            started = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/")  # noqa: ASYNC220 - the reference
            started.communicate(data)

        async def slow(event: PreToolUse) -> HookAnswer:
            return await runner.run(CommandHandler(SLOW), event)

        many = Hooks([Hook("PreToolUse", slow)] * 20)

        async def twenty() -> None:
            await hear(tuple(many), EVENT, many)

        ours, bare = await interleaved_async(hook, popen, rounds=ROUNDS)
        (together,) = await interleaved_async(twenty, rounds=3)
    return [
        row("a command", ours * 1e3, bare * 1e3, unit="ms", limit=1.2, against="Popen.communicate"),
        row("20 of 100 ms", together * 1e3, 150 + 20 * bare * 1e3, unit="ms", limit=1, against="150 ms + 20 starts"),
    ]


def rows() -> list[Row]:
    return [*_per_call(), *asyncio.run(_processes())]
