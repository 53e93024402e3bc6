import asyncio
import codecs
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType

import pytest

from holdfast.host import guard, tree
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.testing import started

Eventually = Callable[[Callable[[], object]], object]

NOBODY = 65534
WAYS = ["kill program", "kill guard", "SIGTERM", "SIGHUP", "SIGINT", "segfault", "broken pipe", "exit"]

pytestmark = pytest.mark.skipif(not tree.has_process_table(), reason="the guard needs /proc")


def guarded(body: str) -> list[str]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    code = (
        "import os, signal, sys, time\nfrom holdfast.host.guard import run_guarded\n"
        f"def program():\n{lines}\nsys.exit(run_guarded(program))"
    )
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("way", WAYS)
def test_no_job_of_any_kind_outlives_the_session_however_it_dies(torture: ModuleType, way: str) -> None:
    problems, _ = torture.scenario(way)
    assert problems == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH])
def test_signals_sent_to_the_guard_reach_the_program_once(number: signal.Signals) -> None:
    body = f"""
seen = []
woken, waking = os.pipe()
os.set_blocking(waking, False)
signal.set_wakeup_fd(waking)
signal.signal({int(number)}, lambda *_: seen.append(1))
print("ready", flush=True)
os.read(woken, 1)  # one that came before this is in the pipe: looking at `seen` and then pausing would lose it
while not seen: time.sleep(0)
print(len(seen), flush=True)
return 5"""
    with started(guarded(body), stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"1\n"
        assert process.wait(60) == 5


@pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
def test_the_exit_code_passes_through(code: int) -> None:
    assert subprocess.run(guarded(f"return {code}"), check=False, timeout=60).returncode == code


def test_standard_streams_are_the_programs_alone() -> None:
    # The program closes its output and goes on; whoever reads must see the end although the guard still lives.
    body = "os.write(1, b'x'); os.close(1); os.close(2); sys.stdin.read(); return 3"
    with started(guarded(body), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.read() == b"x"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 3


def test_nohup_still_protects_from_hang_up() -> None:
    body = "os.kill(os.getpid(), signal.SIGHUP); return 4"
    assert subprocess.run(["nohup", *guarded(body)], check=False, capture_output=True, timeout=60).returncode == 4


def test_a_launcher_that_ignores_child_signals_does_not_cost_the_status() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    result = subprocess.run(guarded("return 6"), check=False, timeout=60, preexec_fn=ignore)
    assert result.returncode == 6


def test_a_guarded_program_inside_a_guarded_program_is_ended_with_it(
    torture: ModuleType, token: str, eventually: Eventually
) -> None:
    inner = guarded(f"os.system('setsid sleep {token} &')\nprint('ready', flush=True)\ntime.sleep(100)")
    body = f"import subprocess\nsubprocess.Popen({inner!r})\ntime.sleep(100)"
    with started(guarded(body), stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        eventually(lambda: not torture.holders(token))


def test_the_program_cleans_up_when_its_stopped_guard_is_killed(
    torture: ModuleType, token: str, eventually: Eventually
) -> None:
    body = f"os.system('setsid sleep {token} &')\nprint(os.getpid(), flush=True)\ntime.sleep(100)"
    with started(guarded(body), stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        program = int(process.stdout.readline())
        os.kill(program, signal.SIGSTOP)

        def is_guard_stopped() -> bool:
            entry = tree.read_entry(process.pid)
            return entry is not None and entry.is_stopped

        eventually(is_guard_stopped)
        process.kill()
        # A session leader's death continues the orphaned group; without that, somebody has to.
        os.kill(program, signal.SIGCONT)
        eventually(lambda: not torture.holders(token))


def test_continuing_only_the_program_continues_its_guard(eventually: Eventually) -> None:
    # Python runs a handler between its steps: stopped just before a blocking call, it would run only after that.
    body = (
        "import select\nprint(os.getpid(), flush=True)\nwhile not select.select([0], [], [], 0.05)[0]: pass\nreturn 9"
    )
    with started(guarded(body), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        program = int(process.stdout.readline())

        def is_stopped() -> bool:
            entry = tree.read_entry(process.pid)
            return entry is not None and entry.is_stopped

        os.kill(program, signal.SIGSTOP)
        eventually(is_stopped)
        os.kill(program, signal.SIGCONT)
        eventually(lambda: not is_stopped())
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.wait(60) == 9


def collected(child: int) -> list[int]:
    pid, status = os.waitpid(child, os.WNOHANG)
    return [status] if pid else []


def test_the_guards_environment_cannot_be_read_by_this_user(eventually: Eventually) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # as another user, because root may read everything anyway
        try:
            become_nobody()
            own = os.stat("/proc/self/environ").st_uid
            os._exit(guard.run_guarded(lambda: tell(writing, own, owner_of_the_guards_environment())))
        finally:
            os._exit(99)
    os.close(writing)
    status: list[int] = []
    eventually(lambda: status.extend(collected(child)) or status)
    with os.fdopen(reading, "rb") as answer:
        own, guards = map(int, answer.read().split())
    assert (status, guards) == ([0], 0)
    assert own != 0


def become_nobody() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: a change of user takes it away


def owner_of_the_guards_environment() -> int:
    """The guard closes up while the program already runs, so look until it has, for a bounded time."""
    owner = -1
    for _ in range(1_000):
        owner = os.stat(f"/proc/{os.getppid()}/environ").st_uid
        if owner == 0:
            break
        time.sleep(0.005)
    return owner


def tell(handle: int, *numbers: int) -> int:
    os.write(handle, " ".join(map(str, numbers)).encode())
    return 0


AsNobody = Callable[[Callable[[], int]], str]


@pytest.fixture
def as_nobody(eventually: Eventually) -> AsNobody:
    """Gives what a child that is an ordinary user tells."""
    codecs.lookup("ascii")  # what is loaded late may lie where nobody can read it

    def tell_us(work: Callable[[], int]) -> str:
        listen, handle = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                os.close(listen)
                become_nobody()
                os.dup2(handle, 1)
                os._exit(work())
            finally:
                os._exit(99)
        os.close(handle)
        status: list[int] = []
        eventually(lambda: status.extend(collected(child)) or status)
        with os.fdopen(listen) as told:
            return told.read()

    return tell_us


KEY = "/proc/$PPID/environ"
PEEK = f"cat {KEY} >/dev/null 2>&1 && echo open || echo closed"


def peeking() -> int:
    """Start a command that looks at us, as an ordinary user would."""
    shown = subprocess.run(["/bin/sh", "-c", PEEK], capture_output=True, text=True, check=False, cwd="/", timeout=60)
    os.write(1, shown.stdout.encode())
    return 0


def test_a_command_of_an_ordinary_user_cannot_read_the_programs_environment(
    as_nobody: AsNobody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(guard.DEBUGGER, raising=False)
    assert as_nobody(peeking) == "open\n"
    assert as_nobody(lambda: guard.run_guarded(peeking)) == "closed\n"


def test_a_debugger_is_let_in_by_a_variable(as_nobody: AsNobody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.DEBUGGER, "1")
    assert as_nobody(lambda: guard.run_guarded(peeking)) == "open\n"


def census_of_an_ordinary_user() -> int:
    """Find a hidden grandchild and a fork without exec, and end both."""

    async def scene() -> str:
        async with Processes() as processes:
            script = "setsid sleep 1000 & echo $!; exec sleep 1000"
            process = await processes.start(Command(argv=["/bin/sh", "-c", script], cwd="/", streams_stdout=True))
            hidden = int(await process.read())
            ended = await process.kill_tree(0.0)
            gone = tree.read_entry(hidden) is None or not tree.has_process_table()
            return f"{guard.is_guarded()} {ended.was_killed} {gone} {tree.read_entry(os.getpid()) is not None}"

    pid = os.fork()
    if not pid:
        os._exit(7)
    while not (status := collected(pid)):
        time.sleep(0.001)
    code = os.waitstatus_to_exitcode(status[0])
    os.write(1, f"{asyncio.run(asyncio.wait_for(scene(), 60))} {code}".encode())
    return 0


def test_a_closed_program_of_an_ordinary_user_still_finds_and_ends_its_own(
    as_nobody: AsNobody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(guard.DEBUGGER, raising=False)
    assert as_nobody(lambda: guard.run_guarded(census_of_an_ordinary_user)) == "True True True True 7"


def test_the_promise_about_keys_is_told(as_nobody: AsNobody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(guard.DEBUGGER, raising=False)

    def told() -> int:
        found = {promise.name: promise.holds for promise in guard.guarantees()}
        os.write(1, str(found["commands cannot read the keys of Holdfast"]).encode())
        return 0

    assert as_nobody(told) == "False"
    assert as_nobody(lambda: guard.run_guarded(told)) == "True"


def test_the_guard_adds_nothing_heavy_to_the_package() -> None:
    code = """
import sys, holdfast
before = set(sys.modules)
import holdfast.__main__, holdfast.host.guard
holdfast.host.guard._find_prctl()
heavy = {"asyncio", "pydantic", "msgspec", "typing", "dataclasses", "subprocess", "threading", "ctypes", "re"}
heavy |= {"collections", "contextlib", "enum", "functools", "signal", "types"}
print(sorted(heavy & (set(sys.modules) - before)))
"""
    lean = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    result = subprocess.run(lean, check=True, capture_output=True, text=True, timeout=60)
    assert result.stdout == "[]\n"


def test_without_a_subreaper_the_program_runs_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_find_prctl", lambda: None)
    assert guard.run_guarded(os.getpid) == os.getpid()
    missing = [promise.name for promise in guard.guarantees() if not promise.holds]
    assert "orphaned processes are adopted by Holdfast" in missing
    assert "the guard is running" in missing


def test_guarantees_hold_under_the_guard() -> None:
    check = "[g for g in guarantees() if not g.holds and 'tasks' not in g.name]"
    body = f"from holdfast.host.guard import guarantees\nprint({check})\nreturn 0"
    result = subprocess.run(guarded(body), check=True, capture_output=True, text=True, timeout=60)
    assert result.stdout == "[]\n"


# -- a real terminal

TERMINAL_PROGRAM = """
import os, signal, sys, time
from holdfast.host.guard import run_guarded
def program():
    if sys.argv[1] == "handle":
        signal.signal(signal.SIGINT, lambda *_: print("got-int", flush=True))
    signal.signal(signal.SIGCONT, lambda *_: print("back", os.tcgetpgrp(0) == os.getpgrp(), flush=True))
    signal.signal(signal.SIGWINCH, lambda *_: print("size", os.get_terminal_size(0).columns, flush=True))
    print("front", os.tcgetpgrp(0) == os.getpgrp(), flush=True)
    for line in sys.stdin:
        print("echo-" + line.strip() + "-end", flush=True)
        if line.strip() == "quit":
            return 3
    return 4
sys.exit(run_guarded(program))
"""


class Terminal:
    """A shell with job control in a real terminal of tmux."""

    def __init__(self, directory: str, wait: Eventually) -> None:
        self.wait = wait
        self.base = ["tmux", "-S", f"{directory}/socket", "-f", "/dev/null"]
        environment = {
            **os.environ,
            "TMUX": "",
            "PS1": "",
            "TERM": "screen",
            "SHELL": "/bin/sh",
        }  # nobody's own is none
        shell = "env PS1='prompt> ' bash --norc --noprofile -i"
        start = [*self.base, "new-session", "-d", "-s", "t", "-x", "80", "-y", "50", shell]
        subprocess.run(start, check=True, env=environment, timeout=60)
        self.see("prompt>")

    def keys(self, *keys: str) -> None:
        subprocess.run([*self.base, "send-keys", "-t", "t", *keys], check=True, timeout=60)

    def resize(self, columns: int) -> None:
        subprocess.run([*self.base, "resize-window", "-t", "t", "-x", str(columns)], check=True, timeout=60)

    def screen(self) -> str:
        command = [*self.base, "capture-pane", "-p", "-t", "t"]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    def see(self, pattern: str) -> None:
        self.wait(lambda: re.search(pattern, self.screen()))

    def at_prompt(self) -> None:
        """Wait until the shell reads again: what is typed before may reach the program, or lose its end of line."""
        self.wait(lambda: self.screen().rstrip().endswith("prompt>"))

    def close(self) -> None:
        subprocess.run([*self.base, "kill-server"], check=False, timeout=60)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_job_control_in_a_terminal_works_as_without_the_guard(
    tmp_path_factory: pytest.TempPathFactory, eventually: Eventually
) -> None:
    directory = tmp_path_factory.mktemp("tty")
    program = directory / "program.py"
    program.write_text(TERMINAL_PROGRAM)
    terminal = Terminal(str(directory), eventually)
    try:
        terminal.keys(f"{sys.executable} {program} handle", "Enter")
        terminal.see("front True")
        terminal.keys("C-c")
        terminal.see("got-int")
        assert terminal.screen().count("got-int") == 1
        terminal.resize(100)
        terminal.see("size 100")
        terminal.keys("C-z")
        terminal.see("Stopped")
        terminal.at_prompt()
        terminal.keys("fg", "Enter")
        terminal.see("back True")
        terminal.keys("hello", "Enter")
        terminal.see("echo-hello-end")
        terminal.keys("C-z")
        eventually(lambda: terminal.screen().count("Stopped") == 2)
        terminal.at_prompt()
        terminal.keys("bg", "Enter")
        terminal.keys("fg", "Enter")
        eventually(lambda: terminal.screen().count("back True") >= 2)
        terminal.keys("again", "Enter")
        terminal.see("echo-again-end")
        terminal.keys("quit", "Enter")
        terminal.at_prompt()
        terminal.keys("echo status=$?", "Enter")
        terminal.see("status=3")
        terminal.at_prompt()
        terminal.keys("clear", "Enter")
        eventually(lambda: "status=3" not in terminal.screen())
        terminal.keys(f"{sys.executable} {program} die", "Enter")
        terminal.see("front True")
        terminal.keys("C-c")
        terminal.at_prompt()
        terminal.keys("echo status=$?", "Enter")
        terminal.see("status=130")
    finally:
        terminal.close()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_closing_the_terminal_ends_the_session(
    tmp_path_factory: pytest.TempPathFactory, eventually: Eventually, torture: ModuleType, token: str
) -> None:
    directory = tmp_path_factory.mktemp("tty")
    program = directory / "program.py"
    program.write_text(
        TERMINAL_PROGRAM.replace("def program():", f"def program():\n    os.system('setsid sleep {token} &')")
    )
    terminal = Terminal(str(directory), eventually)
    try:
        # Replacing the shell makes the guard the session's leader: only it is told of the hang-up.
        terminal.keys(f"exec {sys.executable} {program} handle", "Enter")
        terminal.see("front True")
        assert torture.holders(token)
    finally:
        terminal.close()
    eventually(lambda: not torture.holders(token))
