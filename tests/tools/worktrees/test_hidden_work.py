"""Work that git was told not to look at is work: a worktree with some is not removed in passing."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.app import build_executor
from holdfast.app.options import Options

IDENTITY = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(where: Path, *words: str) -> str:
    env = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "words",
    [("update-index", "--assume-unchanged"), ("update-index", "--skip-worktree")],
    ids=["assume-unchanged", "skip-worktree"],
)
def test_changes_that_git_does_not_look_at_keep_the_worktree(tmp_path: Path, words: tuple[str, ...]) -> None:
    repository = tmp_path / "project"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for name in ("code.py", "ä b.txt"):
        (repository / name).write_text("x = 1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "first")
    executor = build_executor(Options(cwd=str(repository), permission_mode="bypassPermissions"))
    entered = executor.call("EnterWorktree", {"name": "a"})
    tree = Path(entered.data["worktreePath"])
    git(tree, *words, "code.py", "ä b.txt")
    (tree / "code.py").write_text("x = 'an evening of work'\n")
    assert git(tree, "status", "--porcelain") == ""
    refused = executor.call("ExitWorktree", {"action": "remove"})
    assert refused.is_error
    assert refused.error_code == 4
    assert "code.py" in str(refused.content)
    assert (tree / "code.py").read_text() == "x = 'an evening of work'\n"
    gone = executor.call("ExitWorktree", {"action": "remove", "discard_changes": True})
    assert not gone.is_error, gone.content
    assert not tree.exists()


def test_files_that_a_sparse_checkout_leaves_out_are_no_work(tmp_path: Path) -> None:
    repository = tmp_path / "project"
    (repository / "big").mkdir(parents=True)
    git(repository, "init", "-q", "-b", "main")
    (repository / "code.py").write_text("x = 1\n")
    (repository / "big" / "data.txt").write_text("much\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "first")
    executor = build_executor(Options(cwd=str(repository), permission_mode="bypassPermissions"))
    tree = Path(executor.call("EnterWorktree", {"name": "a"}).data["worktreePath"])
    git(tree, "sparse-checkout", "set", "--no-cone", "/code.py")
    assert not (tree / "big").exists()
    done = executor.call("ExitWorktree", {"action": "remove"})
    assert not done.is_error, done.content
