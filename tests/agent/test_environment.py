"""The environment block: true, stable, harmless in a hostile folder."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.agent.environment import Environment, GitState, Today, describe_environment
from holdfast.host.processes import Processes

NOW = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)


def git(place: Path, *words: str) -> str:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *names, *words], cwd=place, check=True, timeout=60, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    place.mkdir()
    git(place, "init", "-q")
    (place / "a.txt").write_text("a")
    git(place, "add", "a.txt")
    git(place, "commit", "-qm", "First step")
    return place


def look(place: Path, *, trusted: bool = True, environ: Mapping[str, str] | None = None) -> Environment:
    async def run() -> Environment:
        async with Processes() as processes:
            return await describe_environment(
                str(place), now=NOW, model="scripted:x", trusted=trusted, processes=processes, environ=environ
            )

    return asyncio.run(asyncio.wait_for(run(), 30))


def test_the_block_names_directory_platform_shell_date_and_model(tmp_path: Path) -> None:
    found = look(tmp_path, environ={**os.environ, "SHELL": "/usr/bin/zsh"})
    text = found.text
    assert f"- Working directory: {tmp_path}" in text
    assert "- Git repository: no" in text
    assert "- Platform: " in text
    assert "- Shell of commands: bash; the user's own shell is zsh" in text
    assert "2026-11-16 (Monday)" in text
    assert "- Model: scripted:x" in text


def test_additional_directories_and_the_project_root_are_named(repository: Path) -> None:
    inner = repository / "src"
    inner.mkdir()

    async def run() -> Environment:
        return await describe_environment(
            str(inner), now=NOW, model="m", trusted=True, additional_directories=["/opt/data"]
        )

    text = asyncio.run(run()).text
    assert f"- Project root: {repository}" in text
    assert "- Additional working directory: /opt/data" in text


def test_a_trusted_repository_is_described_with_branch_status_and_commits(repository: Path) -> None:
    (repository / "a.txt").write_text("b")
    (repository / "new.txt").write_text("n")
    state = look(repository).git
    assert state is not None
    assert (state.branch, state.status, state.more_changes) == ("main", (" M a.txt", "?? new.txt"), 0)
    assert [commit.partition(" ")[2] for commit in state.commits] == ["First step"]


def test_a_clean_repository_says_so(repository: Path) -> None:
    assert "- Status: clean" in look(repository).text


def test_many_changes_are_counted_not_listed(repository: Path) -> None:
    for number in range(100):
        (repository / f"file{number:03}").write_text("x")
    state = look(repository).git
    assert state is not None
    assert state.status is not None
    assert len(state.status) == 40
    assert state.more_changes == 60


def test_the_same_facts_give_the_same_bytes(repository: Path) -> None:
    assert look(repository).text == look(repository).text


def test_the_working_tree_is_not_touched_by_looking(repository: Path) -> None:
    index = repository / ".git" / "index"
    os.utime(repository / "a.txt", (1, 1))
    before = index.read_bytes(), index.stat().st_mtime_ns
    look(repository)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_in_an_untrusted_folder_nothing_runs_and_the_branch_is_still_known(repository: Path, tmp_path: Path) -> None:
    marker = plant(repository, tmp_path, "core.fsmonitor")
    state = look(repository, trusted=False).git
    assert state == GitState("main", unknown="git is not run in a folder that is not trusted")
    assert not marker.exists()


@pytest.mark.parametrize("key", ["core.fsmonitor", "filter.x.clean", "diff.external", "alias.status", "core.pager"])
def test_configuration_that_starts_programs_keeps_git_from_running(repository: Path, tmp_path: Path, key: str) -> None:
    marker = plant(repository, tmp_path, key)
    state = look(repository).git
    assert state is not None
    assert state.status is None
    assert state.unknown
    assert not marker.exists()


def plant(repository: Path, place: Path, key: str) -> Path:
    """Make git start a program that leaves a mark, if it starts it at all."""
    marker, script = place / "ran", place / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    script.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=x\n")
    (repository / "a.txt").write_text("changed")
    git(repository, "config", key, f"!{script}" if key.startswith("alias") else str(script))
    return marker


def test_variables_that_lead_git_elsewhere_do_not_count(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "leak.txt").write_text("x")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    state = look(repository).git
    assert state is not None
    assert state.status == ()


def test_a_missing_git_or_one_named_by_a_relative_path_is_not_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    fake = repository / "git"
    fake.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    fake.chmod(0o755)
    state = look(repository, environ={**os.environ, "PATH": ".:"}).git
    assert state is not None
    assert state.unknown == "git is not installed"
    assert not (repository / "ran").exists()


def test_a_git_that_fails_is_quietly_left_out(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    state = look(repository, environ={**os.environ, "PATH": str(tmp_path / "bin")}).git
    assert state is not None
    assert state.status is None


def test_a_git_that_hangs_is_ended_and_left_out(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.agent.environment.GIT_LIMIT_S", 0.05)
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git"
    fake.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    fake.chmod(0o755)
    state = look(repository, environ={**os.environ, "PATH": str(tmp_path / "bin")}).git
    assert state is not None
    assert "no answer" in state.unknown


def test_a_detached_head_a_worktree_and_the_remotes_main_branch_are_recognised(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-ref", "refs/remotes/origin/trunk", commit)
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    git(repository, "worktree", "add", "-q", "-b", "side", str(repository.parent / "tree"))
    git(repository, "checkout", "-q", "--detach")
    detached, worktree = look(repository).git, look(repository.parent / "tree").git
    assert detached is not None
    assert worktree is not None
    assert (detached.branch, detached.main_branch) == (f"detached at {commit[:8]}", "trunk")
    assert (worktree.branch, worktree.main_branch, worktree.status) == ("side", "trunk", ())


def test_broken_git_files_are_no_reason_to_fail(repository: Path) -> None:
    (repository / ".git" / "HEAD").unlink()
    os.mkfifo(repository / ".git" / "HEAD")
    state = look(repository, trusted=False).git
    assert state is not None
    assert state.branch == ""
    assert "- Branch: unknown" in Environment("/x", "/x", "linux", "Linux", "", "d", "m", git=state).text


def test_text_from_the_repository_cannot_pose_as_lines_of_the_block(repository: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "x\u202e\x1b[2J" + "y" * 500)
    (repository / "a\nb").write_text("x")
    found = look(repository)
    assert found.git is not None
    assert "<U+202E>" in found.git.commits[0]
    assert len(found.git.commits[0]) < 200
    assert all(line.isprintable() for line in found.text.splitlines())


def test_a_new_day_is_news_once_and_again_when_the_words_are_gone() -> None:
    first, second = datetime(2026, 11, 16, 23, 59, tzinfo=UTC), datetime(2026, 11, 17, 0, 1, tzinfo=UTC)
    clock = [first]
    today = Today(first, lambda: clock[0])
    assert today.news() is None
    clock[0] = second
    assert [today.news(), today.news()] == ["2026-11-17 (Tuesday)", None]
    today.tell_again()
    assert today.news() == "2026-11-17 (Tuesday)"
    clock[0] = first
    today.tell_again()
    assert today.news() is None
