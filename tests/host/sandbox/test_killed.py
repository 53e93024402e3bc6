"""A session that is killed leaves no process behind, and nothing on the disk once another one has begun."""

import os
import select
import subprocess
import sys
from pathlib import Path

from holdfast.host import tree
from holdfast.host.sandbox import Found
from holdfast.host.sandbox.placeholders import remove_leftovers
from holdfast.testing.started import started

LIMIT_MS = 30_000
SESSION = """
import asyncio, sys
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Policy, Wall, look_for_sandbox
from holdfast.host.sandbox.placeholders import Placeholders
from tests.host.sandbox.test_proxy import Border
place, journal = sys.argv[1:]
async def main():
    wall = Wall(look_for_sandbox(), placeholders=Placeholders(journal))
    async with Processes() as processes:
        script = "setsid sleep 98765 & (sleep 98765 & disown); trap '' TERM HUP INT; echo up; sleep 98765"
        policy = Policy(writable=(place,), governing=(place + "/.claude", place + "/.mcp.json"), border=Border())
        command = Command(argv=["/bin/bash", "-c", script], cwd=place, streams_stdout=True)
        process = await processes.start(wall.wrap(command, policy))
        await process.read()
        print(processes.mark, flush=True)
        await process.wait()
asyncio.run(main())
"""


def helpers_of(pid: int) -> set[int]:
    """What the session itself has started, by whichever of its threads."""
    told = "".join(path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return set(map(int, told.split()))


def marked(mark: str) -> set[int]:
    """Every process inside, as the kernel knows them outside."""
    wanted = f"{tree.SESSION_MARK}={mark}".encode()
    return {one.pid for one in tree.marked(tree.scan(), wanted, since_ticks=0) if one.is_running}


def test_kill_9_leaves_nothing(found: Found, project: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    words = [sys.executable, "-c", SESSION, str(project), str(journal)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with started(words, stdout=subprocess.PIPE, env=environment) as session:
        assert session.stdout is not None
        mark = session.stdout.readline().decode().strip()
        inside, helpers = marked(mark), helpers_of(session.pid)
        assert len(inside) >= 4, "bubblewrap, its first process, the shell and its children"
        assert len(helpers - inside) >= 1, "who serves the network"
        watched = [os.pidfd_open(pid) for pid in inside | helpers]
        assert (project / ".claude").is_dir()
        session.kill()
        for handle in watched:
            ended = select.poll()
            ended.register(handle, select.POLLIN)
            assert ended.poll(LIMIT_MS), "something still runs"
            os.close(handle)
    assert marked(mark) == set()
    assert sorted(Path(path).name for path in remove_leftovers(str(journal))) == [".claude", ".mcp.json"]
    assert (sorted(os.listdir(project)), os.listdir(journal)) == ([".git", "code.py"], [])
