"""The start of a command in the sandbox, against bare bubblewrap with the same flags; and what a killed session leaves.

The least of forty starts counts on both sides: what else the machine does can only add to it. `PEERS=1` also measures
the npm sandbox runtime, which starts a program of its own for each command.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, NotAvailable, Policy, Wall, look_for_sandbox
from holdfast.host.sandbox.blanks import Blanks
from holdfast.host.sandbox.bubblewrap import arguments
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.mounts import plan_mounts
from holdfast.host.sandbox.placeholders import Placeholders, remove_leftovers
from holdfast.host.sandbox.policy import PINNED
from holdfast.host.sandbox.proxy import Refused
from holdfast.host.sandbox.seccomp import filter_program
from holdfast.host.shell import shell_argv
from measure import Row, row

ROUNDS = int(os.environ.get("BENCH_SANDBOX_STARTS", "40"))
PEER_ROUNDS = 5
ALLOWED_FOR_PROXY_MS = 15
PEER = "@anthropic-ai/sandbox-runtime"


class _Nobody:
    """Lets no host pass: only the way to the proxy is measured."""

    own_http_port = own_socks_port = 0

    def admit(self, host: str, port: int) -> str:
        raise Refused(f"{host}:{port}")

    def check(self, host: str, address: str) -> None:
        raise Refused(f"{host} {address}")


def _project(place: Path) -> Policy:
    project = place / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    root = str(project)
    return Policy(writable=(root,), governing=tuple(governing_paths(root)), pinned=tuple(pinned_paths(root)))


class _Bare:
    """Bubblewrap with the same namespaces, mounts and filter, started as barely as can be."""

    def __init__(self, found: Found, policy: Policy, blanks: Blanks) -> None:
        plan = plan_mounts(policy)
        for path in plan.placeholders:  # as they stand while a command runs
            os.mkdir(path) if path not in plan.files else Path(path).write_bytes(PINNED[Path(path).name])
        self._made = plan.placeholders
        self._filter = os.memfd_create("filter")
        os.write(self._filter, filter_program())
        os.set_inheritable(self._filter, True)
        cwd = policy.writable[0]
        flags = arguments(policy, plan, blanks, cwd=cwd, disables_users=found.disables_users)
        self._argv = [found.program, *flags, "--seccomp", str(self._filter), "--", *shell_argv("true")]

    async def start(self) -> None:
        self._start()

    def _start(self) -> None:
        os.lseek(self._filter, 0, os.SEEK_SET)
        read_end, write_end = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
        pid = os.posix_spawn(self._argv[0], self._argv, os.environ, file_actions=actions)
        os.close(write_end)
        said = b""
        while piece := os.read(read_end, 1 << 16):
            said += piece
        os.close(read_end)
        _, status = os.waitpid(pid, 0)
        assert status == 0, said

    def close(self) -> None:
        os.close(self._filter)
        for path in self._made:
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)


async def _least_ms(*jobs: Callable[[], Awaitable[None]]) -> list[float]:
    taken: list[list[float]] = [[] for _ in jobs]
    for turn in range(ROUNDS + 3):
        for into, job in zip(taken, jobs, strict=True):
            begun = time.perf_counter()
            await job()
            if turn >= 3:
                into.append((time.perf_counter() - begun) * 1e3)
    return [min(times) for times in taken]


async def _starts(found: Found, place: Path) -> list[float]:
    """Milliseconds of bare bubblewrap, of ours, of ours by way of Landlock too, and of that with the proxy."""
    policy = _project(place)
    walls = [
        Wall(one, placeholders=Placeholders(str(place / "journal"))) for one in (found._replace(landlock=0), found)
    ]
    blanks = Blanks(str(place))
    bare = _Bare(found, policy, blanks)
    command = Command(argv=shell_argv("true"), cwd=policy.writable[0])
    proxied = Policy(**{name: getattr(policy, name) for name in ("writable", "governing", "pinned")}, border=_Nobody())
    async with Processes() as processes:

        def ours(wall: Wall, given: Policy) -> Callable[[], Awaitable[None]]:
            async def start() -> None:
                done = await processes.run(wall.wrap(command, given))
                assert done.exit.code == 0, done.output.stderr.text()

            return start

        jobs = (ours(walls[0], policy), ours(walls[1], policy), ours(walls[1], proxied))
        found_ms = await _least_ms(bare.start, *jobs)
    bare.close()
    for wall in walls:
        wall.close()
    blanks.remove()
    return found_ms


_SESSION = """
import asyncio, sys
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Policy, Wall, look_for_sandbox
from holdfast.host.sandbox.placeholders import Placeholders
place, journal = sys.argv[1:]
async def main():
    wall = Wall(look_for_sandbox(), placeholders=Placeholders(journal))
    async with Processes() as processes:
        script = "setsid sleep 987654 & (sleep 987654 & disown); echo up; sleep 987654"
        policy = Policy(writable=(place,), governing=(place + "/.claude",))
        command = Command(argv=["/bin/bash", "-c", script], cwd=place, streams_stdout=True)
        process = await processes.start(wall.wrap(command, policy))
        print((await process.read()).decode(), flush=True)
        await process.wait()
asyncio.run(main())
"""


def _left_by_kill(place: Path) -> int:
    """Processes and files that are there five seconds after a session was killed and another one has looked."""
    project, journal = place / "killed", place / "killed-journal"
    project.mkdir()
    argv = [sys.executable, "-c", _SESSION, str(project), str(journal)]
    session = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert session.stdout is not None
    assert session.stdout.readline() == b"up\n"
    session.kill()
    session.wait()
    until = time.monotonic() + 5
    while (running := _sleepers()) and time.monotonic() < until:
        time.sleep(0.05)
    session.stdout.close()
    remove_leftovers(str(journal))
    return running + len(os.listdir(project)) + len(os.listdir(journal))


def _sleepers() -> int:
    count = 0
    for name in os.listdir("/proc"):
        try:
            count += name.isdigit() and b"\0987654\0" in Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
    return count


def rows() -> list[Row]:
    """All measurements of the sandbox."""
    try:
        found = look_for_sandbox()
    except NotAvailable as problem:
        print(f"     no sandbox here: {problem}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(os.path.realpath(directory))
        bare, mounts, ours, proxied = asyncio.run(_starts(found, place))
        left = _left_by_kill(place)
    against = "bubblewrap, same flags"
    extra = max(proxied - bare, 0.0)
    return [
        row("start, mounts and filter", mounts, bare, unit="ms", limit=1.2, against=against),
        row("start, with the second wall", ours, bare, unit="ms", limit=1.2, against=against),
        row("proxy on, over bare", extra, ALLOWED_FOR_PROXY_MS, unit="ms", limit=1.0, against="15 ms"),
        row("left by kill -9", left, 1, unit="", limit=0.0, against="nothing"),
    ]


def peer_rows() -> list[Row]:
    """The npm sandbox runtime with one writable directory and no network, beside ours."""
    home = Path(__file__).parent / ".peers" / "sandbox-runtime"
    program = home / "node_modules" / ".bin" / "srt"
    if not program.exists() and shutil.which("npm"):
        print(f"     installing {PEER} ...", file=sys.stderr)
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(home), PEER], check=False, timeout=600)
    missing = [name for name in ("socat", "rg", "bwrap") if shutil.which(name, path=_path()) is None]
    if missing or not program.exists():
        print(f"     {PEER} is not measured: {', '.join(missing) or 'it cannot be installed here'}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(os.path.realpath(directory))
        _, _, ours, proxied = asyncio.run(_starts(look_for_sandbox(), place))
        theirs = _peer_ms(program, place)
    if theirs is None:
        return []
    return [
        row("start, npm sandbox runtime", ours, theirs, unit="ms", limit=1.0, against=PEER),
        row("start with proxy, npm runtime", proxied, theirs, unit="ms", limit=1.0, against=PEER),
    ]


def _path() -> str:
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def _peer_ms(program: Path, place: Path) -> float | None:
    settings = place / "srt-settings.json"
    given: dict[str, dict[str, list[str]]] = {
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [str(place / "project")], "denyWrite": []},
    }
    settings.write_text(json.dumps(given), encoding="utf-8")
    argv = [str(program), "--settings", str(settings), "true"]
    environment = {**os.environ, "PATH": _path()}
    taken: list[float] = []
    for _ in range(PEER_ROUNDS):
        begun = time.perf_counter()
        done = subprocess.run(
            argv, cwd=place / "project", env=environment, capture_output=True, timeout=60, check=False
        )
        if done.returncode:
            print(f"     {PEER} does not start here: {done.stderr[-300:]!r}", file=sys.stderr)
            return None
        taken.append((time.perf_counter() - begun) * 1e3)
    return min(taken)
