"""Kill a session in every way while it runs jobs of every kind, and look for survivors.

    python scripts/torture_processes.py --rounds 200        every way in turn, a summary at the end
    python scripts/torture_processes.py --way segfault      one way once

A survivor is found by its command line, so neither parents nor environment marks can hide one from this script.
"""

import argparse
import asyncio
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import time

from holdfast.host.command import Command
from holdfast.host.guard import run_guarded
from holdfast.host.processes import Processes

LIMIT_S = 2.0
READY_S = 20.0
JOBS = 20

KINDS = {
    "plain": "sleep {t}",
    "background": "sleep {t} & sleep {t} & wait",
    "setsid": "setsid sleep {t}",
    "double fork": "( ( sleep {t} & ) & )",
    "clean environment, setsid and double fork": "env -i setsid sh -c '( sleep {t} & ) &'",
    "nohup": "nohup sleep {t} >/dev/null 2>&1 &",
    "ignores TERM": "trap '' TERM INT HUP; sleep {t} & while :; do wait; sleep {t}; done",
    "stopped": "sleep {t} & sleep 0.2; kill -STOP $! $$",
}
GAP = "clean environment, setsid and double fork"

# What we do to it, and the status its shell must see.
WAYS = {
    "kill program": -signal.SIGKILL,
    "kill guard": -signal.SIGKILL,
    "SIGTERM": -signal.SIGTERM,
    "SIGHUP": -signal.SIGHUP,
    "SIGINT": -signal.SIGINT,
    "segfault": -signal.SIGSEGV,
    "broken pipe": -signal.SIGPIPE,
    "exit": 7,
}
LIBRARY_WAYS = ("kill program", "SIGTERM", "SIGHUP", "SIGINT", "segfault", "broken pipe", "exit")
_SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGINT": signal.SIGINT}


def command_lines() -> dict[int, bytes]:
    """Every process with its command line."""
    found: dict[int, bytes] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                found[int(name)] = file.read()
    return found


def holders(token: str, *, program: bytes = b"") -> dict[int, bytes]:
    """Processes that carry the token in their command line."""
    text = token.encode()
    return {pid: line for pid, line in command_lines().items() if text in line and line.startswith(program)}


# -- the victim


async def work(token: str, way: str, kinds: list[str]) -> int:
    async with Processes() as processes:
        for number in range(JOBS):
            script = KINDS[kinds[number % len(kinds)]].format(t=f"{token}{number:02d}")
            await processes.start(Command(argv=["/bin/bash", "-c", script]))
        os.write(1, f"ready {os.getpid()}\n".encode())
        told = asyncio.Event()
        asyncio.get_running_loop().add_reader(0, told.set)
        await told.wait()
        if way == "segfault":
            ctypes.string_at(0)
        if way == "broken pipe":
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            while True:
                os.write(1, b"more\n")
                await asyncio.sleep(0.01)
        if way != "exit":
            await asyncio.sleep(3600)
    return 7


def victim(token: str, way: str, mode: str) -> int:
    kinds = list(KINDS) if mode == "guard" else [kind for kind in KINDS if kind != GAP]
    # A shell starts what it puts in the background with SIGINT ignored; here it must arrive.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def program() -> int:
        return asyncio.run(work(token, way, kinds))

    if mode == "guard":
        return run_guarded(program)
    return program()


# -- the killer


def strike(process: "subprocess.Popen[bytes]", program_pid: int, way: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    if way == "kill program":
        os.kill(program_pid, signal.SIGKILL)
    elif way == "kill guard":
        process.kill()
    elif way in _SIGNALS:
        process.send_signal(_SIGNALS[way])
    else:
        if way == "broken pipe":
            process.stdout.close()
        process.stdin.write(b"go\n")
        process.stdin.flush()


def wait_until_ready(process: "subprocess.Popen[bytes]", token: str) -> int:
    assert process.stdout is not None
    line = process.stdout.readline().split()
    if len(line) != 2:
        raise RuntimeError(f"the victim did not start: {line!r}")
    deadline = time.monotonic() + READY_S
    while True:
        sleeping = set(holders(token, program=b"sleep").values())
        if len(sleeping) == JOBS:
            return int(line[1])
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {len(sleeping)} of {JOBS} jobs came up")
        time.sleep(0.01)


def scenario(way: str, mode: str = "guard") -> "tuple[list[str], float]":
    """One killing. Returns what went wrong, and the seconds until nothing was left."""
    token = f"77777.{random.randrange(10**9):09d}"
    process = subprocess.Popen(
        [sys.executable, __file__, "--victim", token, "--way", way, "--mode", mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the tracebacks of killed victims are no news
        start_new_session=True,
        env={**os.environ, "PYTHONFAULTHANDLER": ""},
    )
    problems: list[str] = []
    try:
        program_pid = wait_until_ready(process, token)
        begun = time.monotonic()
        strike(process, program_pid, way)
        while (left := holders(f"{token}")) and time.monotonic() - begun < LIMIT_S:
            time.sleep(0.005)
        spent = time.monotonic() - begun
        if left:
            problems.append(f"{len(left)} alive after {LIMIT_S} s: {sorted(set(left.values()))!r}")
        status = process.wait(10)
        expected = WAYS[way]
        if status != expected:
            problems.append(f"status {status}, not {expected}")
    finally:
        for pid in holders(token):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait(10)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe:
                    pipe.close()
    return problems, spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("TORTURE_KILLS", "200")))
    parser.add_argument("--way", choices=list(WAYS))
    parser.add_argument("--mode", choices=["guard", "library"])
    parser.add_argument("--victim")
    options = parser.parse_args()
    if options.victim:
        return victim(options.victim, options.way, options.mode)
    plan = [(way, "guard") for way in WAYS] + [(way, "library") for way in LIBRARY_WAYS]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the victims would rightly survive it
    if options.way:
        plan = [(options.way, options.mode or "guard")]
        options.rounds = 1
    failures = 0
    slowest = 0.0
    for number in range(options.rounds):
        way, mode = plan[number % len(plan)]
        problems, spent = scenario(way, mode)
        slowest = max(slowest, spent)
        failures += bool(problems)
        for problem in problems:
            print(f"round {number}, {mode}, {way}: {problem}")
    print(
        f"{options.rounds} killings with {JOBS} jobs each, {failures} with problems, slowest clean-up {slowest:.2f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
