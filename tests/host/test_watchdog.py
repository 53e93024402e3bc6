import subprocess
import sys

import pytest

from holdfast.host import cgroup
from holdfast.host.watchdog import Pressure, count_tasks

HOME = cgroup.find_group("/sys/fs/cgroup", "/proc/self/cgroup")

# The control group keeps this machine safe while a real bomb goes off under a small limit.
BOMB = """
import asyncio, os, sys
from holdfast.host.guard import run_guarded
def program():
    from holdfast.host import tree
    from holdfast.host.cgroup import limit_tasks
    from holdfast.host.command import Command
    from holdfast.host.processes import Processes
    limit = limit_tasks(150)
    assert limit
    def alive():
        return [entry for entry in tree.descendants(tree.scan(), [os.getpid()]) if entry.is_running]
    async def main():
        async with Processes(max_descendants=60) as processes:
            processes._limiting = asyncio.get_running_loop().create_future()
            processes._limiting.set_result(None)
            await processes.run(Command(argv=["/bin/bash", "-c", ":(){ :|:& };:"]))
            while alive():
                await asyncio.sleep(0.05)
            done = await processes.run(Command(argv=["/bin/echo", "still works"]))
            print(done.output.stdout.text().strip())
    asyncio.run(asyncio.wait_for(main(), 40))
    limit.close()
    return 0
sys.exit(run_guarded(program))
"""


@pytest.mark.skipif(HOME is None, reason="no control group here keeps a fork bomb small")
def test_a_real_fork_bomb_is_ended_and_work_goes_on() -> None:
    result = subprocess.run([sys.executable, "-c", BOMB], check=False, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "still works\n"), result.stderr


def test_a_jump_in_the_number_of_tasks_asks_for_a_look_at_once() -> None:
    tasks = [100]
    pressure = Pressure(lambda: tasks[0])
    assert not pressure.should_look()
    tasks[0] = 400
    assert pressure.should_look()
    assert not pressure.should_look()
    tasks[0] = 300
    assert not pressure.should_look()
    tasks[0] = 460  # measured from the lowest point since
    assert pressure.should_look()


def test_tasks_of_this_machine_are_counted() -> None:
    assert count_tasks() > 0
