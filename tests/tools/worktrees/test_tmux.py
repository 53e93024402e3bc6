"""The tmux session of a worktree goes with it, and keeps it while somebody works there."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from holdfast import Executor
from holdfast.app import build_executor
from holdfast.app.options import Options
from holdfast.contract import Answer
from holdfast.testing import ScriptedAsker

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def run(*words: str, cwd: Path | None = None) -> str:
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """A session in a repository, beside a tmux server of its own."""
    project = tmp_path / "project"
    project.mkdir()
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    run("git", "init", "-q", "-b", "main", cwd=project)
    run("git", *identity, "commit", "-q", "--allow-empty", "-m", "first", cwd=project)
    with TemporaryDirectory(prefix="tm") as sockets:
        monkeypatch.setenv("TMUX_TMPDIR", sockets)
        monkeypatch.delenv("TMUX", raising=False)
        asker = ScriptedAsker([Answer("allow") for _ in range(9)])
        yield build_executor(Options(cwd=str(project), permission_mode="bypassPermissions"), asker=asker)
        subprocess.run(["tmux", "kill-server"], check=False, capture_output=True, timeout=30)


def begin(name: str, where: Path, *program: str) -> None:
    run("tmux", "-f", "/dev/null", "new-session", "-d", "-s", name, "-c", str(where), *program)


def sessions() -> list[str]:
    done = subprocess.run(["tmux", "ls", "-F", "#{session_name}"], check=False, capture_output=True, timeout=30)
    return sorted(done.stdout.decode().split())


def test_a_session_of_the_worktree_ends_with_it_and_no_other(executor: Executor) -> None:
    tree = Path(executor.call("EnterWorktree", {"name": "v1.2"}).data["worktreePath"])
    begin("worktree-v1_2", tree, "sh")
    begin("mine", tree, "sh")
    reply = executor.call("ExitWorktree", {"action": "remove"})
    assert (reply.data["tmuxSessionName"], sessions(), tree.exists()) == ("worktree-v1_2", ["mine"], False)


def test_a_program_in_it_keeps_the_worktree_until_it_is_given_up(executor: Executor) -> None:
    tree = Path(executor.call("EnterWorktree", {"name": "a"}).data["worktreePath"])
    begin("worktree-a", tree, "sleep 600")
    ends_s = time.monotonic() + 30
    while "sleep" not in run("tmux", "list-panes", "-a", "-F", "#{pane_current_command}") and time.monotonic() < ends_s:
        os.sched_yield()
    reply = executor.call("ExitWorktree", {"action": "remove"})
    assert (reply.error_code, "sleep (in the tmux session worktree-a)" in str(reply.content)) == (6, True)
    assert executor.call("ExitWorktree", {"action": "remove", "discard_changes": True}).data["action"] == "remove"
    assert (sessions(), tree.exists()) == ([], False)


def test_a_session_of_that_name_that_is_elsewhere_stays(executor: Executor, tmp_path: Path) -> None:
    executor.call("EnterWorktree", {"name": "a"})
    begin("worktree-a", tmp_path, "sleep 600")
    assert "tmuxSessionName" not in executor.call("ExitWorktree", {"action": "remove"}).data
    assert sessions() == ["worktree-a"]


def test_a_worktree_that_is_kept_keeps_its_session(executor: Executor) -> None:
    tree = Path(executor.call("EnterWorktree", {"name": "a"}).data["worktreePath"])
    begin("worktree-a", tree, "sleep 600")
    reply = executor.call("ExitWorktree", {"action": "keep"})
    assert (reply.data["tmuxSessionName"], sessions()) == ("worktree-a", ["worktree-a"])
