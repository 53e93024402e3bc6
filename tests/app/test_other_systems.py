"""Systems other than Linux, as far as they can be shown here: macOS by taking away, Windows by hiding modules."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

LIKE_MACOS = """
import os, select, signal, sys, sysconfig, time, types
for module, names in (
    (select, ["epoll"]),
    (os, ["pidfd_open", "memfd_create", "MFD_CLOEXEC", "O_PATH", "O_TMPFILE", "splice", "sched_getaffinity"]),
    (signal, ["pidfd_send_signal", "SIGRTMAX", "SIGRTMIN", "sigwaitinfo", "sigtimedwait"]),
    (time, ["CLOCK_BOOTTIME"]),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
os.process_cpu_count = os.cpu_count  # as Python from 3.13 on has it where there is no affinity
sysconfig.get_config_vars()  # read once, from the files that are here
sys.platform = "darwin"
sys.modules["_scproxy"] = scproxy = types.ModuleType("_scproxy")
scproxy._get_proxies = scproxy._get_proxy_settings = dict
"""

WITHOUT_POSIX = """
import asyncio, importlib.abc, os, select, signal, socket, subprocess, sys, tempfile  # as the standard library has them
HIDDEN = {"fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "_posixsubprocess"}

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in HIDDEN:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hide())
KEPT = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "O_EXCL", "O_TRUNC"}
CALLS = (
    "getuid geteuid getgid getegid sysconf register_at_fork getsid setsid killpg fork memfd_create MFD_CLOEXEC"
    " pidfd_open fchdir fchown chown uname pread pwrite waitid P_ALL WEXITED WSTOPPED WNOHANG mkfifo statvfs splice"
    " RTLD_NOW sched_getaffinity"
)
SIGNALS = (
    "SIGKILL SIGHUP SIGCONT SIGQUIT SIGTSTP SIGSTOP SIGCHLD SIGUSR1 SIGUSR2 SIGPIPE SIGRTMAX SIGXCPU SIGWINCH"
    " sigwaitinfo struct_siginfo pidfd_send_signal"
)
for module, names in (
    (os, [name for name in dir(os) if name.startswith("O_") and name not in KEPT]),
    (os, CALLS.split()),
    (signal, SIGNALS.split()),
    (select, ["poll", "epoll"]),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
os.process_cpu_count = os.cpu_count  # as Python from 3.13 on has it where there is no affinity
os.supports_dir_fd = set()
"""


def without_posix(body: str, cwd: Path) -> str:
    code = f"{WITHOUT_POSIX}\n{dedent(body)}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_library_loads_without_posix_modules(tmp_path: Path) -> None:
    body = """
    from holdfast import Agent, Executor, Tool, tool
    import holdfast.app.tools, holdfast.cli.main, holdfast.models.open, holdfast.testing
    print("loaded")
    """
    assert without_posix(body, tmp_path) == "loaded\n"


def test_own_tools_run_without_posix_modules(tmp_path: Path) -> None:
    body = """
    from holdfast import tool
    from holdfast.testing import run_tool

    @tool
    def double(number: int) -> int:
        "Double a number."
        return 2 * number

    print(run_tool(double, {"number": 21}, permission_mode="bypassPermissions").data)
    """
    assert without_posix(body, tmp_path) == "42\n"


def test_own_tools_run_beside_ours_without_posix_modules_and_ours_say_what_is_missing(tmp_path: Path) -> None:
    calls = [("double", {"number": 21}), ("Read", {"file_path": "a"}), ("Bash", {"command": "true"})]
    (tmp_path / "a").write_text("x")
    body = f"""
    import asyncio
    from holdfast import Executor, tool
    from holdfast.app.tools import all_tools
    from holdfast.events import CallFinished

    @tool
    def double(number: int) -> int:
        "Double a number."
        return 2 * number

    async def scene():
        tools = [double, *all_tools()]
        async with Executor(tools, permission_mode="bypassPermissions", cwd={str(tmp_path)!r}) as executor:
            for number, (name, given) in enumerate({calls!r}):
                executor.add({{"type": "tool_use", "id": str(number), "name": name, "input": given}})
            return [event async for event in executor.results() if isinstance(event, CallFinished)]

    for done in asyncio.run(scene()):
        print(done.outcome, str(done.content).replace(chr(10), " "))
    """
    double, read, bash = without_posix(body, tmp_path).splitlines()
    assert double == "completed 42"
    assert "no directory handles" in read
    assert "no process groups" in bash


@pytest.fixture
def macos(tmp_path: Path) -> Any:
    """Runs our command line where /proc is hidden and what only Linux has is gone."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("hiding /proc needs root on Linux")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(LIKE_MACOS)
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("needle\n")
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/proc"]
    if subprocess.run(probe, capture_output=True, timeout=60, check=False).returncode != 0:
        pytest.skip("this machine makes no mount namespaces")

    def run(*words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        program = shlex.join([sys.executable, "-m", "holdfast", *words])
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /proc && exec {program}"],
            input=given,
            capture_output=True,
            text=True,
            timeout=100,
            cwd=work,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])},
            check=False,
        )

    return run


@pytest.mark.macos
def test_the_tools_work_as_on_macos(macos: Any) -> None:
    calls = [
        ("Read", {"file_path": "a.txt"}),
        ("Bash", {"command": "echo hello; pwd"}),
        ("Grep", {"pattern": "needle"}),
        ("Glob", {"pattern": "*.txt"}),
        ("Write", {"file_path": "b.txt", "content": "new\n"}),
        ("Edit", {"file_path": "a.txt", "old_string": "needle", "new_string": "pin"}),
        ("Bash", {"command": "sleep 1000 & echo started", "timeout": 20000}),
        ("Grep", {"pattern": "pin", "path": "a.txt", "output_mode": "content"}),
    ]
    lines = "".join(
        json.dumps({"type": "tool_use", "id": str(number), "name": name, "input": given}) + "\n"
        for number, (name, given) in enumerate(calls)
    )
    done = macos("exec", "--permission-mode", "bypassPermissions", given=lines)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    results = {line["tool_use_id"]: line for line in replies if line["type"] == "tool_result"}
    wrong = {number: line["content"] for number, line in results.items() if line["is_error"]}
    assert (len(results), wrong, done.returncode) == (len(calls), {}, 0), done.stderr
    assert "hello" in results["1"]["content"]
    assert (results["2"]["content"], results["3"]["content"], results["7"]["content"]) == (
        "a.txt",
        "a.txt",
        "a.txt:1:pin",
    )


@pytest.mark.macos
def test_a_prompt_is_answered_as_on_macos(macos: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["hello from the script"]))
    done = macos("-p", "hi", "--model", f"scripted:{script}")
    assert (done.stdout.strip(), done.returncode) == ("hello from the script", 0), done.stderr


@pytest.mark.macos
def test_doctor_says_what_is_missing_as_on_macos(macos: Any) -> None:
    done = macos("doctor", "--json")
    rows = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert "no /proc" in rows["every descendant is found"]["detail"], done.stderr
    assert "no pidfd" in rows["the kernel reports exits"]["detail"]
    assert rows["ripgrep"]["detail"].endswith("rg")
