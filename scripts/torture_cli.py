"""Kill `holdfast -p` at random points, resume it, and look for lost results, broken requests and work done twice.

    python scripts/torture_cli.py --kills 200 --seed 1

Like torture_loop.py, but each agent is a real process of the command line with Bash as its tool, and the model is a
provider on this machine that knows nothing but the messages it is sent.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import uuid
from typing import Any

from torture_loop import LOG, STEPS, next_steps, problems_of

from holdfast.session import user_store
from holdfast.session.validity import message_problems
from holdfast.testing import FakeProvider, FakeTurn, RecordedRequest

_LONGEST_S = 120.0


def written(use: dict[str, Any]) -> int | None:
    """The line that a Bash call adds, if it adds one."""
    found = re.match(r"echo (\d+) >>", str(use["input"].get("command")))
    return int(found[1]) if found else None


def calling(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call with an id of its own."""
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:12]}", "name": name, "input": arguments}


class Provider(FakeProvider):
    """Counts to a number, one line in a file for each step; where the outcome of a step is not known, it looks."""

    def __init__(self) -> None:
        super().__init__(then=self._next)
        self.problems: list[str] = []
        self.asked = asyncio.Event()

    def _next(self, request: RecordedRequest) -> FakeTurn:
        self.asked.set()
        messages = request.json["messages"]
        self.problems += message_problems(messages)
        todo, must_look = next_steps(messages, written)
        if must_look:
            return FakeTurn(blocks=[calling("Read", file_path=LOG)])
        if not todo:
            return FakeTurn(blocks=[{"type": "text", "text": "Done."}])
        steps = [calling("Bash", command=f"echo {number} >> {LOG}") for number in todo[:2]]
        note = calling("Write", file_path=f"note-{todo[0]}.txt", content=f"before {todo[0]}")
        return FakeTurn(blocks=[*steps, note], drip_s=0.002)


class Place:
    """A project and a home for one agent."""

    def __init__(self, directory: str, url: str) -> None:
        self.project = os.path.join(directory, "project")
        os.mkdir(self.project)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HOLDFAST_"))},
            "HOME": directory,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "NO_PROXY": "127.0.0.1",
        }
        self.store = user_store(self.environment)

    def argv(self) -> list[str]:
        """Begin, or go on with what is there."""
        resume = ["--continue"] if any(True for _ in self.store.paths(self.project)) else []
        chosen = ["--model", "anthropic:fake-model", "--permission-mode", "bypassPermissions"]
        return [sys.executable, "-m", "holdfast", "-p", "Go on.", *chosen, *resume]

    def lines(self) -> list[str]:
        """What the agent wrote."""
        with open(os.path.join(self.project, LOG), encoding="utf-8") as file:
            return file.read().split()

    async def start(self) -> asyncio.subprocess.Process:
        """A real process."""
        return await asyncio.create_subprocess_exec(
            *self.argv(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            cwd=self.project,
            env=self.environment,
        )


async def kill_one(place: Place, provider: Provider, dice: random.Random) -> bool:
    """Start an agent and kill it a moment after one of its requests; false when it came to its end before."""
    process = await place.start()
    ending = asyncio.create_task(process.wait())
    for _ in range(dice.randrange(4)):
        provider.asked.clear()
        asking = asyncio.create_task(provider.asked.wait())
        await asyncio.wait({ending, asking}, timeout=_LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
    await asyncio.wait({ending}, timeout=dice.uniform(0.0, 0.1))
    if not ending.done():
        process.kill()
    return await ending < 0


async def torture(kills: int, seed: int) -> tuple[int, int]:
    """Kill so many processes; how many agents came to their end, and how many times one was resumed."""
    dice = random.Random(seed)
    killed = finished = resumed = 0
    while killed < kills:
        with tempfile.TemporaryDirectory(prefix="holdfast-torture-") as directory:
            async with Provider() as provider:
                place = Place(directory, provider.url)
                while killed < kills and await kill_one(place, provider, dice):
                    killed += 1
                    resumed += "--continue" in place.argv()
                    check(place, provider, f"after kill {killed} (seed {seed})")
                last = await place.start()
                if await asyncio.wait_for(last.wait(), _LONGEST_S) != 0:
                    raise SystemExit(f"after kill {killed} (seed {seed}) an agent failed")
                check(place, provider, f"at the end, after kill {killed} (seed {seed})")
            lines = place.lines()
            if sorted(map(int, lines)) != list(range(1, STEPS + 1)):
                raise SystemExit(f"after {killed} kills (seed {seed}) the file has the lines {lines}")
            finished += 1
    return finished, resumed


def check(place: Place, provider: Provider, when: str) -> None:
    """Nothing that was sent would be refused, and the journal gives a valid history with every reply."""
    problems = list(provider.problems)
    if any(True for _ in place.store.paths(place.project)):
        problems += problems_of(place.store.load("latest", project=place.project))
    if problems:
        raise SystemExit(f"{when}: {problems[:3]}")


def main() -> None:
    """Run it and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    finished, resumed = asyncio.run(torture(options.kills, options.seed))
    print(
        f"{options.kills} kills of {finished} command lines, {resumed} of them resumed: every line written once, "
        "every request and every history valid"
    )


if __name__ == "__main__":
    main()
