import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.layout import find_layout, main_checkout


def _git(*arguments: str, cwd: Path) -> None:
    names = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", **names}
    subprocess.run(["git", *arguments], cwd=cwd, env=clean, check=True, timeout=60, capture_output=True)


@pytest.fixture
def worktree(tmp_path: Path) -> tuple[Path, Path]:
    main = tmp_path / "main"
    main.mkdir()
    _git("init", "-q", cwd=main)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=main)
    _git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=main)
    return main, tmp_path / "tree"


def test_the_root_is_the_nearest_directory_with_git_in_it(tmp_path: Path) -> None:
    inner = tmp_path / "a/b/c"
    inner.mkdir(parents=True)
    assert find_layout(str(inner), home="/nowhere").root == str(inner)
    (tmp_path / "a/.git").mkdir()
    layout = find_layout(str(inner), home="/nowhere")
    assert layout.root == str(tmp_path / "a")
    assert layout.directories == (str(tmp_path / "a"), str(tmp_path / "a/b"), str(inner))


def test_a_real_worktree_finds_its_main_checkout_without_running_git(worktree: tuple[Path, Path]) -> None:
    main, tree = worktree
    assert find_layout(str(tree), home="/nowhere").main_checkout == str(main)
    assert find_layout(str(main), home="/nowhere").main_checkout is None


def test_a_folder_that_only_claims_to_be_a_worktree_is_not_believed(
    worktree: tuple[Path, Path], tmp_path: Path
) -> None:
    main, tree = worktree
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text((tree / ".git").read_text())
    assert main_checkout(str(hostile)) is None
    fake = hostile / "fake"
    fake.mkdir()
    (hostile / ".git").write_text(f"gitdir: {fake}\n")
    (fake / "commondir").write_text(f"{main}/.git\n")
    (fake / "gitdir").write_text(f"{hostile}/.git\n")
    assert main_checkout(str(hostile)) is None
    private = hostile / "x/.git/worktrees/w"
    private.mkdir(parents=True)
    (hostile / ".git").write_text(f"gitdir: {private}\n")
    (private / "commondir").write_text(f"{main}/.git\n")
    (private / "gitdir").write_text(f"{hostile}/.git\n")
    assert main_checkout(str(hostile)) is None


@pytest.mark.parametrize(
    "content", [b"", b"gitdir:", b"gitdir: ", b"\x00", b"gitdir: a\nb", b"gitdir: " + b"x" * 5000, b"hello"]
)
def test_a_strange_git_file_is_no_worktree(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert main_checkout(str(tmp_path)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_somebody_elses_git_in_a_shared_parent_does_not_adopt_our_directory(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / ".git").mkdir()
    os.chown(tmp_path / ".git", 12345, 12345)
    assert find_layout(str(own), home="/nowhere").root == str(own)


def test_a_worktree_reads_the_local_file_of_the_main_checkout_and_needs_trust_in_both(
    world: Any, worktree: Any
) -> None:
    main, tree = worktree
    local = main / ".claude/settings.local.json"
    local.parent.mkdir()
    local.write_text('{"permissions": {"allow": ["A"], "deny": ["D"]}}')

    def rules() -> list[str]:
        return [rule.text for rule in world.load(cwd=tree).rules]

    assert rules() == ["D"]
    world.store.trust(str(main))
    assert rules() == ["D"]
    world.store.trust(str(tree))
    assert rules() == ["D", "A"]
    world.store.revoke(str(main))
    assert rules() == ["D"]


def test_an_empty_git_directory_does_not_hide_the_repository_above(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / ".git" / "HEAD").touch()
    (tmp_path / "a" / "b" / ".git").mkdir(parents=True)
    assert find_layout(str(tmp_path / "a" / "b"), home="/nowhere").root == str(tmp_path / "a")
