"""The collector is held off while a program of ours loads, and nobody else's is ever touched."""

import subprocess
import sys

import pytest

CODE = """
import gc
from holdfast.lib import collector
usual = gc.get_threshold()
{before}
from holdfast.app.build import open_session
from holdfast.app.begin import SessionChoice
from holdfast.app.options import Options
import asyncio
async def one():
    held = gc.get_threshold()
    async with open_session(Options(), choice=SessionChoice(is_kept=False)):
        print(held == usual, gc.get_threshold() == usual, gc.get_freeze_count() > 10_000)
asyncio.run(one())
"""


@pytest.mark.parametrize(
    ("before", "seen"), [("collector.hold_off()", "False True True"), ("", "True True False")], ids=["ours", "theirs"]
)
def test_what_is_loaded_is_not_looked_through_again_in_our_own_program(before: str, seen: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(before=before)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == seen.split()


def test_the_command_line_holds_it_off() -> None:
    code = (
        "import gc, sys; from holdfast import __main__ as front; import holdfast.cli.main as line\n"
        "line.run = lambda **_: print(gc.get_threshold()[0]) or 0\n"
        "sys.argv = ['holdfast', 'tools']; front.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 100_000


MANY = """
import gc
from holdfast.lib import collector
from holdfast.tasks.jobs import AgentRoom
usual = gc.get_threshold()
{before}
collector.let_go()
first, second = AgentRoom(), AgentRoom()
seen = []
for room in (first, second):
    for _ in range(20):
        room.enter()
    seen.append(gc.get_threshold()[0] > usual[0])
for room in (first, second):
    for _ in range(20):
        room.leave()
    seen.append(gc.get_threshold() == usual)
print(*seen)
"""


@pytest.mark.parametrize(
    ("before", "seen"),
    [("collector.hold_off()", "True True False True"), ("", "False False True True")],
    ids=["ours", "theirs"],
)
def test_while_many_agents_work_it_looks_more_seldom_in_our_own_program(before: str, seen: str) -> None:
    argv = [sys.executable, "-c", MANY.format(before=before)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == seen.split()
