"""Kill an agent at random points while it works, resume it, and look for lost results and work done twice.

    python scripts/torture_loop.py --kills 200 --seed 1

Each agent is a forked process with a real session on disk, real file tools, and a model that acts only on what its
history tells it: it counts to a number, one line in a file for each step. Where a result says that the outcome is not
known, it reads the file first. At the end every line must be there once, and after every kill the resumed history must
be valid and hold every reply that the journal has.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from holdfast.agent import Loop, LoopChoices, LoopParts
from holdfast.contract import Args, Tool, ToolContext, ToolResult
from holdfast.engine import Executor
from holdfast.events import RunEnded
from holdfast.host.targets import Targets
from holdfast.models import ModelRequest, StreamEvent, Usage, Wire
from holdfast.session import SessionStore, Transcript
from holdfast.session.repair import repair
from holdfast.session.validity import message_problems
from holdfast.testing.planned import Step, answer, call, words
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write

STEPS = 12
LOG = "log.txt"
_UNKNOWN = "outcome unknown"
_CUT = "interrupted"
"""What did not end, or did not begin: a look that was cut off has seen nothing."""


class AppendArgs(Args):
    """Which line."""

    number: int


class Append(Tool[AppendArgs]):
    """Adds a line to the file: done twice it can be seen."""

    name = "Append"
    args_type = AppendArgs
    max_result_chars = 1_000

    def prompt(self, facts: Any = None) -> str:
        """What a model would read."""
        del facts
        return "Add a line."

    async def call(self, args: AppendArgs, ctx: ToolContext) -> ToolResult[None]:
        """Write the line, with time before and after in which the process may die."""
        await asyncio.sleep(0.001)
        append_line(str(ctx.resolve(LOG)), args.number)
        await asyncio.sleep(0.001)
        return ToolResult(None, text=f"line {args.number} is written")


def append_line(path: str, number: int) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{number}\n")


class Counter:
    """A model that knows nothing but its history."""

    name = "torture:counter"
    wire: Wire = "anthropic"
    context_window = 200_000

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next steps, slowly."""
        for step in self._plan(request):
            if isinstance(step, StreamEvent):
                yield step
                await asyncio.sleep(self._random.choice((0, 0, 0.001)))

    def _plan(self, request: ModelRequest) -> list[Step]:
        todo, must_look = next_steps(request.messages)
        id_ = f"c{os.getpid()}-{len(request.messages)}-{time.monotonic_ns() % 10**6}"
        if must_look:
            return answer(words("I look first."), call(f"{id_}-r", "Read", {"file_path": LOG}))
        if not todo:
            return answer(words("Done."))
        note = {"file_path": f"note-{todo[0]}.txt", "content": f"before {todo[0]}"}
        parts = [call(f"{id_}-{number}", "Append", {"number": number}) for number in todo[:2]]
        return answer(words(f"Step {todo[0]}.", pieces=3), *parts, call(f"{id_}-w", "Write", note))

    async def count_tokens(self, request: ModelRequest) -> int:
        """Not needed here."""
        return len(request.messages)

    def cost_usd(self, usage: Usage) -> float | None:
        """Nothing."""
        del usage
        return None

    async def close(self) -> None:
        """Nothing to give back."""


def appended(use: dict[str, Any]) -> int | None:
    """The line that a call adds, if it adds one."""
    return use["input"]["number"] if use["name"] == "Append" else None


def next_steps(messages: Any, line_of: Callable[[dict[str, Any]], int | None] = appended) -> tuple[list[int], bool]:
    """The lines that are still to be written, and whether a look at the file must come first."""
    done, unknown, seen = read_history(messages, line_of)
    done |= {number for number, is_there in seen.items() if is_there and number in unknown}
    return [number for number in range(1, STEPS + 1) if number not in done], bool(unknown - seen.keys())


def read_history(
    messages: Any, line_of: Callable[[dict[str, Any]], int | None]
) -> tuple[set[int], set[int], dict[int, bool]]:
    """What is done, what is not known, and for what is not known: whether a later look showed it."""
    calls: dict[str, dict[str, Any]] = {}
    done: set[int] = set()
    unknown: set[int] = set()
    seen: dict[int, bool] = {}
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result":
                use, text = calls[block["tool_use_id"]], str(block["content"])
                number = line_of(use)
                if number is not None:
                    if not block.get("is_error"):
                        done.add(number)
                    elif _UNKNOWN in text:
                        unknown.add(number)
                        seen.pop(number, None)
                elif use["name"] == "Read" and not (block.get("is_error") and _CUT in text):
                    lines = set(re.findall(r"^\s*\d+\t(\d+)$", text, re.MULTILINE))
                    seen.update((number, str(number) in lines) for number in unknown)
    return done, unknown - done, seen


async def work(store: SessionStore, directory: str, seed: int) -> None:
    """Begin or go on, until the model says that it is done."""
    transcript = None
    if any(True for _ in store.paths(directory)):
        session, transcript = store.resume("latest", project=directory)
    else:
        session = store.create(directory)
    history = [] if transcript is None else repair(transcript).messages
    targets = Targets()
    tools = [Append(), Read(targets), Write(Workbench(targets))]
    async with Executor(
        tools, permission_mode="bypassPermissions", cwd=directory, on_event=session.journal
    ) as executor:
        loop = Loop(
            executor,
            Counter(seed),
            LoopParts(journal=session.journal, history=history, choices=LoopChoices(max_turns=200)),
        )
        ended = [event async for event in loop.run("Go on.") if isinstance(event, RunEnded)]
    session.close()
    if ended[0].outcome != "success":
        raise SystemExit(f"the run ended as {ended[0].outcome}: {ended[0].error}")


def child(store: SessionStore, directory: str, seed: int, kill_after_s: float | None) -> bool:
    """Fork an agent; true when it came to its end before it was killed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            asyncio.run(work(store, directory, seed))
            code = 0
        except BaseException as error:  # noqa: BLE001 - a forked process must not run on in the parent's code
            print(f"child failed: {error!r}", file=sys.stderr)
        finally:
            os._exit(code)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return False
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("the agent failed")
    return True


def problems_of(transcript: Transcript) -> list[str]:
    """What is wrong with the history that this journal gives."""
    messages = repair(transcript).messages
    problems = message_problems(messages)
    results = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
    texts = [str(block["content"]) for block in results]
    for record in transcript.calls:
        if record.reply is not None and not record.discarded and str(record.reply.content) not in texts:
            problems.append(f"the reply to {record.id} is lost")
    return problems


def torture(kills: int, seed: int) -> tuple[int, int]:
    """Kill so many agents; how many came to their end, and how many calls had to be looked after."""
    dice = random.Random(seed)
    killed = finished = interrupted = 0
    while killed < kills:
        with tempfile.TemporaryDirectory(prefix="holdfast-torture-") as directory:
            store = SessionStore(os.path.join(directory, "state"))
            project = os.path.join(directory, "project")
            os.mkdir(project)
            done = False
            for _ in range(6):
                done = child(store, project, dice.randrange(10**6), dice.uniform(0.0, 0.12))
                if done:
                    break
                killed += 1
                if any(True for _ in store.paths(project)):
                    transcript = store.load("latest", project=project)
                    found = problems_of(transcript)
                    if found:
                        raise SystemExit(f"after kill {killed} (seed {seed}): {found[:3]}")
                    interrupted += len(repair(transcript).interrupted)
            if not done:
                child(store, project, dice.randrange(10**6), None)
            with open(os.path.join(project, LOG), encoding="utf-8") as file:
                lines = file.read().split()
            if sorted(map(int, lines)) != list(range(1, STEPS + 1)):
                raise SystemExit(f"after {killed} kills (seed {seed}) the file has the lines {lines}")
            finished += 1
    return finished, interrupted


def main() -> None:
    """Run it and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    finished, interrupted = torture(options.kills, options.seed)
    print(
        f"{options.kills} kills of {finished} agents: every line written once, no reply lost, every history valid; "
        f"{interrupted} calls were cut off"
    )


if __name__ == "__main__":
    main()
