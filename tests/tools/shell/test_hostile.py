"""Hostile and odd commands: each answers in bounded time with a useful reply, and nothing is left."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.tools.shell.bash import BashLimits

from .conftest import text

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('read x; echo "[$x] $?"', "[] 1"),
        ("cat", "no output"),
        ("cat /dev/tty", "Exit code 1"),
        ("echo secret > /dev/tty", "Exit code 1"),
        ("${EDITOR:-vi} file", "no output"),
        ("git --version | ${PAGER:-less}", "git version"),
        ("python3 -c 'input()'", "EOFError"),
        ("exit 7; echo never", "Exit code 7"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("unset PATH; ls", "Exit code 127"),
        ("echo 'unclosed", "Exit code 2"),
        ("no-such-program-here", "Exit code 127"),
        ("set -u; echo $UNSET_NAME_X", "unbound variable"),
        ("exec 1>&-; echo lost", "write error"),
        ("trap '' TERM; echo kept", "kept"),
        ("trap 'echo own' EXIT; cd /", "own"),
        ("printf 'a\\0b\\n'", "a␀b"),
        ("printf 'caf\\xe9\\n'", "caf�"),
        ("head -c 5000 /dev/urandom", "bytes that are not text"),
        ("printf 'x%.0s' {1..60000}", "left out"),
        ("printf '\\033[31mred\\033[0m'", "red"),
        ("(sleep 30 &) ; echo parent", "parent"),
        ("setsid sleep 30 & echo pipe-held", "pipe-held"),
        ("nohup sleep 30 >/dev/null 2>&1 & disown; echo daemon", "daemon"),
        ("for i in $(seq 300); do export V$i=$(head -c 2000 /dev/zero | tr '\\0' x); done; echo big; true", "big"),
        ('echo "$(yes | head -c 200000)" | wc -c', "200000"),
        ("ulimit -n 8; echo few", "few"),
        ("cd ./no-such-directory", "No such file"),
        ("BASH_ENV=/dev/null bash -c 'echo inner'", "inner"),
    ],
)
def test_odd_commands_answer_soon_and_usefully(desk: Any, command: str, expected: str) -> None:
    async def work() -> str:
        async with asyncio.timeout(30):
            return text(await desk.sh(command))

    assert expected in desk.run(work)


def test_what_a_command_left_behind_is_gone_with_the_session(desk: Any) -> None:
    command = "(setsid sleep 66 & echo $!; sleep 67 & echo $!; (trap '' TERM HUP; sleep 68) & echo $!) 2>/dev/null"
    reply = desk.one(command)
    pids = [int(line) for line in text(reply).splitlines() if line.isdecimal()]
    assert len(pids) == 3
    for pid in pids:
        assert not _runs(pid)


def test_a_gigabyte_of_output_stays_bounded(desk: Any) -> None:
    async def work() -> tuple[str, Any, int]:
        reply = await desk.sh("yes | head -c 1073741824", timeout=50_000)
        return text(reply), reply.data, os.path.getsize(reply.data["persistedOutputPath"])

    told, data, size = desk.run(work)
    assert data["persistedOutputSize"] == 1 << 30
    assert size == 64 << 20
    assert len(told) <= 30_000
    assert "the rest was not kept" in told


def test_a_command_that_ignores_the_polite_signal_is_ended(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(limits=BashLimits(default_s=0.3, max_s=0.3))

    async def work() -> int:
        reply = await desk.sh("trap '' TERM INT HUP; echo $$; while :; do read -t 1 < <(sleep 2); done")
        pid = int(desk.board.processes.running[0].pid)
        await desk.call("TaskStop", task_id=reply.data["backgroundTaskId"])
        return pid

    assert not _runs(desk.run(work))


def test_a_fork_bomb_is_bounded(desk: Any) -> None:
    # Bounded by itself: ulimit does not bind root, and a real bomb would take the whole machine.
    bomb = "for i in $(seq 900); do sleep 30 & done; wait"

    async def work() -> Any:
        desk.board.processes._max_descendants = 64
        return await desk.sh(bomb, timeout=20_000)

    reply = desk.run(work)
    assert reply.is_error
    assert "too many processes" in text(reply)


def test_a_start_up_file_named_by_the_environment_is_not_read(
    monkeypatch: pytest.MonkeyPatch, make_desk: Callable[..., Any], tmp_path: Any
) -> None:
    (tmp_path / "evil").write_text("echo EVIL\n", encoding="utf-8")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "evil"))
    monkeypatch.setenv("ENV", str(tmp_path / "evil"))
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo EVIL; }")
    monkeypatch.setenv("SHELLOPTS", "xtrace")
    monkeypatch.setenv("CDPATH", "/")
    desk = make_desk()
    assert text(desk.one("ls; cd tmp 2>/dev/null || echo stays")) == "evil\nstays"


def test_a_relative_path_entry_does_not_let_the_project_choose_programs(
    monkeypatch: pytest.MonkeyPatch, make_desk: Callable[..., Any], tmp_path: Any
) -> None:
    (tmp_path / "wc").write_text("#!/bin/sh\necho EVIL\n", encoding="utf-8")
    (tmp_path / "wc").chmod(0o755)
    monkeypatch.setenv("PATH", f".::bin:{os.environ['PATH']}")
    assert text(make_desk().one("printf x | wc -c")).strip() == "1"


def _runs(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return False
        except OSError:
            return False
        time.sleep(0.01)
    return True
