"""Worktrees with real git: into one, out of it, and no work is ever lost that nobody gave up."""

import asyncio
import os
import random
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import build_executor
from holdfast.app.begin import SessionChoice
from holdfast.app.build import OpenSession, open_session
from holdfast.app.options import Options
from holdfast.contract import Answer
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.testing import ScriptedAsker

IDENTITY = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(where: Path, *words: str) -> str:
    env = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


class Scene:
    """A repository with one commit, and a session in it."""

    def __init__(self, place: Path, *, mode: str = "bypassPermissions", below: str = "", **options: Any) -> None:
        self.repository = place / "project"
        self.repository.mkdir()
        git(self.repository, "init", "-q", "-b", "main")
        (self.repository / "code.py").write_text("x = 1\n")
        (self.repository / "secrets").mkdir()
        (self.repository / "secrets" / "key.txt").write_text("token\n")
        (self.repository / "part").mkdir()
        (self.repository / "part" / "a.txt").write_text("a\n")
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-qm", "first")
        self.asker = ScriptedAsker([Answer("allow") for _ in range(20)])
        self.cwd = self.repository / below
        self.executor: Executor = build_executor(
            Options(cwd=str(self.cwd), permission_mode=mode, **options), asker=self.asker
        )

    def call(self, name: str, /, **raw: Any) -> CallFinished:
        return self.executor.call(name, raw)

    def enter(self, name: str = "a") -> Path:
        reply = self.call("EnterWorktree", name=name)
        assert not reply.is_error, reply.content
        return Path(reply.data["worktreePath"])

    def commit(self, tree: Path, text: str = "y = 2\n") -> str:
        (tree / "new.py").write_text(text)
        git(tree, "add", "-A")
        git(tree, "commit", "-qm", f"more {text!r}")
        return git(tree, "rev-parse", "HEAD")

    @property
    def branches(self) -> list[str]:
        return git(self.repository, "branch", "--format=%(refname:short)").split()


def test_a_session_goes_to_a_worktree_and_back_and_the_clean_one_is_gone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    reply = scene.call("EnterWorktree", name="feature/one")
    tree = scene.repository / ".holdfast" / "worktrees" / "feature+one"
    assert reply.data["worktreePath"] == str(tree)
    assert reply.data["worktreeBranch"] == "worktree-feature+one"
    state = scene.executor.state
    assert (state.cwd, state.session.project_root) == (str(tree), str(tree))
    assert scene.call("Bash", command="pwd").data["stdout"].strip() == str(tree)
    assert scene.call("Read", file_path="code.py").is_error is False
    assert scene.call("Grep", pattern="x = 1").data["filenames"] == ["code.py"]
    assert git(scene.repository, "status", "--porcelain") == ""  # our folder does not show
    out = scene.call("ExitWorktree", action="remove").data
    assert (out["action"], out["originalCwd"], out["worktreePath"]) == ("remove", str(scene.repository), str(tree))
    assert (out["discardedFiles"], out["discardedCommits"]) == (0, 0)
    assert (state.cwd, state.session.project_root) == (str(scene.repository), str(scene.repository))
    assert (tree.exists(), scene.branches) == (False, ["main"])


def test_a_kept_worktree_stays_with_its_branch_and_can_be_entered_again_but_not_removed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    made = scene.commit(tree)
    assert scene.call("ExitWorktree", action="keep").data["worktreeBranch"] == "worktree-a"
    assert (tree / "new.py").exists()
    again = scene.call("EnterWorktree", path=str(tree))
    assert (again.data["worktreePath"], scene.executor.state.cwd) == (str(tree), str(tree))
    refused = scene.call("ExitWorktree", action="remove", discard_changes=True)
    assert (refused.is_error, "before this session" in str(refused.content)) == (True, True)
    assert git(tree, "rev-parse", "HEAD") == made


@pytest.mark.parametrize("marker", ["nothing", "its own repository", "a link to another one"])
def test_a_repository_that_lists_any_directory_does_not_get_it(tmp_path: Path, marker: str) -> None:
    scene = Scene(tmp_path)
    victim, listed = tmp_path / "victim", scene.repository / ".git" / "worktrees" / "evil"
    victim.mkdir()
    if marker == "its own repository":
        git(victim, "init", "-q")
    elif marker == "a link to another one":
        (victim / ".git").write_text(f"gitdir: {tmp_path}/elsewhere/.git/worktrees/evil\n")
    listed.mkdir(parents=True)
    for name, text in {"gitdir": f"{victim}/.git", "commondir": "../..", "HEAD": "ref: refs/heads/main"}.items():
        (listed / name).write_text(f"{text}\n")
    reply = scene.call("EnterWorktree", path=str(victim))
    assert reply.is_error
    assert "does not say itself" in str(reply.content)
    assert scene.executor.state.cwd == str(scene.repository)


DETACHED = ("on a detached head", "left behind")


@pytest.mark.parametrize("work", ["changed", "new", "staged", "hidden by a setting", "committed", *DETACHED])
def test_work_is_not_removed_unless_it_is_given_up(tmp_path: Path, work: str) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    if work == "changed":
        (tree / "code.py").write_text("x = 2\n")
    elif work == "committed":
        scene.commit(tree)
    elif work in DETACHED:
        git(tree, "checkout", "-q", "--detach")
        scene.commit(tree)
        if work == "left behind":
            git(tree, "checkout", "-q", "worktree-a")
    else:
        (tree / "new.py").write_text("z\n")
        if work == "staged":
            git(tree, "add", "-A")
        if work == "hidden by a setting":
            git(tree, "config", "status.showUntrackedFiles", "no")
    refused = scene.call("ExitWorktree", action="remove")
    assert (refused.is_error, "discard_changes" in str(refused.content)) == (True, True)
    assert (tree.exists(), scene.executor.state.cwd) == (True, str(tree))
    out = scene.call("ExitWorktree", action="remove", discard_changes=True).data
    assert out["discardedFiles"] + out["discardedCommits"] >= 1
    assert (tree.exists(), scene.branches) == (False, ["main"])


def test_work_in_ignored_files_is_seen_and_caches_are_none(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.repository / ".gitignore").write_text("*.env\nout/\n__pycache__/\n*.pyc\n")
    git(scene.repository, "add", "-A")
    git(scene.repository, "commit", "-qm", "ignore")
    tree = scene.enter()
    (tree / "part" / "__pycache__").mkdir()
    (tree / "part" / "__pycache__" / "a.pyc").write_bytes(b"x")
    (tree / "b.pyc").write_bytes(b"x")
    (tree / "out").mkdir()
    (tree / "out" / "report.txt").write_text("an evening's work")
    (tree / "local.env").write_text("TOKEN=1")
    refused = scene.call("ExitWorktree", action="remove")
    assert refused.is_error
    assert "2 files or directories that git ignores" in str(refused.content)
    assert "local.env" in str(refused.content)
    assert (tree / "out" / "report.txt").exists()
    shutil.rmtree(tree / "out")
    (tree / "local.env").unlink()
    assert not scene.call("ExitWorktree", action="remove").is_error
    assert not tree.exists()


def test_who_still_works_in_a_worktree_keeps_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    async def whole() -> None:
        async with open_again(scene, SessionChoice()) as session:
            tree = Path((await call_in(session, "EnterWorktree", name="a")).data["worktreePath"])
            words = {"command": "sleep 300; echo late > work.txt", "run_in_background": True}
            task = (await call_in(session, "Bash", **words)).data["backgroundTaskId"]
            refused = await call_in(session, "ExitWorktree", action="remove")
            assert (refused.error_code, task in str(refused.content), tree.exists()) == (6, True, True)
            removed = await call_in(session, "ExitWorktree", action="remove", discard_changes=True)
            assert (removed.is_error, tree.exists()) == (False, False)
            record = session.shell.board.get(task)
            assert record is not None
            assert record.status == "killed"

    asyncio.run(whole())
    assert scene.branches == ["main"]


def test_merged_work_is_no_loss(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.commit(scene.enter())
    git(scene.repository, "merge", "-q", "worktree-a")
    assert not scene.call("ExitWorktree", action="remove").is_error
    assert scene.branches == ["main"]


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Git that fails where a file says: a file with the words of a call, and what it does before it dies."""
    real = shutil.which("git")
    place = tmp_path / "bin"
    place.mkdir()
    (place / "git").write_text(
        "#!/bin/bash\n"
        f'plan={place}/plan real={real}\n[ -f "$plan" ] && {{ read -r words; read -r act; }} < "$plan"\n'
        'if [ -n "$words" ] && [[ "$*" == *"$words"* ]]; then path="${@: -1}"; eval "$act"; exit 128; fi\n'
        'exec "$real" "$@"\n'
    )
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place / "plan"


HALF_WAY = {
    "nothing happens": ":",
    "it is killed": "kill -9 $$",
    "it answers nonsense": "echo nonsense; exit 0",
    "half of it is done": "rm -f $path/code.py; kill -9 $$",
}
LIES = {"rev-list": "echo 0; exit 0", "status": "exit 0", "ls-files": "exit 0"}


@pytest.mark.parametrize("act", HALF_WAY.values(), ids=HALF_WAY)
@pytest.mark.parametrize(
    "words", ["status", "rev-list", "for-each-ref", "ls-files", "worktree remove", "update-ref", "worktree list"]
)
def test_no_work_is_lost_where_git_fails_in_the_middle(tmp_path: Path, failing: Path, words: str, act: str) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    made = scene.commit(tree)
    (tree / "draft.txt").write_text("not committed")
    failing.write_text(f"{words}\n{act}\n")
    reply = scene.call("ExitWorktree", action="remove")
    failing.unlink()
    assert reply.is_error
    assert ((tree / "draft.txt").read_text(), scene.executor.state.cwd) == ("not committed", str(tree))
    assert made in git(scene.repository, "rev-list", "--all")


@pytest.mark.parametrize("how", ["committed", "on no branch", "not committed"])
@pytest.mark.parametrize("words", LIES)
def test_no_work_is_lost_where_one_answer_of_git_is_wrong(tmp_path: Path, failing: Path, words: str, how: str) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    if how == "on no branch":
        git(tree, "checkout", "-q", "--detach")
    if how == "not committed":
        (tree / "new.py").write_text("y = 2\n")
    else:
        scene.commit(tree)
    failing.write_text(f"{words}\n{LIES[words]}\n")
    reply = scene.call("ExitWorktree", action="remove")
    failing.unlink()
    assert reply.is_error
    assert (tree / "new.py").read_text() == "y = 2\n"


@pytest.mark.parametrize("left", ["", "gitdir: /nowhere\n", "gitdir: ../../../.git\n"])
def test_no_work_is_lost_where_the_worktree_has_lost_its_repository(tmp_path: Path, left: str) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    (tree / "draft.txt").write_text("not committed")
    (tree / ".git").unlink()
    if left:
        (tree / ".git").write_text(left)
    reply = scene.call("ExitWorktree", action="remove")
    assert reply.is_error
    assert (tree / "draft.txt").read_text() == "not committed"


@pytest.mark.parametrize("act", HALF_WAY.values(), ids=HALF_WAY)
@pytest.mark.parametrize("words", ["status", "rev-list", "worktree remove", "update-ref", "worktree list"])
def test_a_clean_worktree_goes_whole_or_the_session_stays_in_it(
    tmp_path: Path, failing: Path, words: str, act: str
) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    made = scene.commit(tree)
    git(scene.repository, "merge", "-q", "worktree-a")
    failing.write_text(f"{words}\n{act}\n")
    reply = scene.call("ExitWorktree", action="remove")
    failing.unlink()
    assert scene.executor.state.cwd == str(tree if reply.is_error else scene.repository)
    assert tree.exists() is bool(reply.is_error)
    assert made in git(scene.repository, "rev-list", "--all")


def test_what_is_lost_is_only_what_was_given_up_over_many_histories(tmp_path: Path, failing: Path) -> None:
    rng = random.Random(18)
    scene = Scene(tmp_path)
    for number in range(12):
        tree = scene.enter(f"w{number}")
        commits: list[str] = []
        draft = False
        for _ in range(rng.randint(0, 3)):
            step = rng.choice(["commit", "draft", "merge", "detach", "rename"])
            if step == "commit":
                commits.append(scene.commit(tree, f"{rng.random()}\n"))
                draft = False  # all of it is in the commit
            elif step == "draft":
                (tree / "draft.txt").write_text(f"{number} {rng.random()}")
                draft = True
            elif step == "merge":
                git(scene.repository, "merge", "-q", "-X", "theirs", "-m", "m", git(tree, "rev-parse", "HEAD"))
            elif step == "detach":
                git(tree, "checkout", "-q", "--detach")
            elif step == "rename" and git(tree, "rev-parse", "--abbrev-ref", "HEAD") != "HEAD":
                git(tree, "branch", "-m", f"renamed-{number}-{rng.randrange(10**6)}")
        if rng.random() < 0.5:
            words = rng.choice(["worktree remove", "update-ref", "rev-list"])
            failing.write_text(f"{words}\n{rng.choice([*HALF_WAY.values()])}\n")
        reply = scene.call("ExitWorktree", action="remove")
        failing.unlink(missing_ok=True)
        known = git(scene.repository, "rev-list", "--all", "HEAD")
        heads = git(tree, "rev-parse", "HEAD") if tree.exists() else ""
        assert all(commit in known or commit == heads or tree.exists() for commit in commits), number
        assert not draft or (tree / "draft.txt").exists(), number
        if reply.is_error:
            assert not scene.call("ExitWorktree", action="keep").is_error


@pytest.mark.parametrize(
    "name", ["", "..", "a/../b", "/a", "a/", "a b", "ä", "x" * 65, "a.lock", ".git", "a;b", "-" * 70, "a//b", "."]
)
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    scene = Scene(tmp_path)
    reply = scene.call("EnterWorktree", name=name)
    assert (reply.outcome, scene.executor.state.cwd) == ("invalid", str(scene.repository))


def test_a_name_is_made_up_where_none_is_given(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    tree = Path(scene.call("EnterWorktree").data["worktreePath"])
    assert tree.is_dir()


def test_not_into_a_second_one_and_only_ones_own_is_left(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert "entered no worktree" in str(scene.call("ExitWorktree", action="remove").content)
    scene.enter()
    assert "ExitWorktree first" in str(scene.call("EnterWorktree", name="b").content)


def test_from_inside_a_worktree_that_was_there_the_new_one_belongs_to_the_main_checkout(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    other = tmp_path / "other"
    git(scene.repository, "worktree", "add", "-q", str(other))
    executor = build_executor(Options(cwd=str(other), permission_mode="bypassPermissions"))
    reply = executor.call("EnterWorktree", {"name": "n"})
    assert reply.data["worktreePath"] == str(scene.repository / ".holdfast" / "worktrees" / "n")
    executor.call("ExitWorktree", {"action": "remove"})
    assert executor.state.cwd == str(other)


def test_what_was_begun_is_taken_back_where_it_cannot_be_made(tmp_path: Path, failing: Path) -> None:
    scene = Scene(tmp_path)
    failing.write_text('worktree add\n"$real" "$@" >/dev/null 2>&1; kill -9 $$\n')
    reply = scene.call("EnterWorktree", name="a")
    failing.unlink()
    assert (reply.is_error, scene.executor.state.cwd) == (True, str(scene.repository))
    assert (scene.branches, (scene.repository / ".holdfast" / "worktrees" / "a").exists()) == (["main"], False)
    assert scene.enter().is_dir()


def test_there_must_be_a_repository_with_a_commit(tmp_path: Path) -> None:
    bare = tmp_path / "plain"
    bare.mkdir()
    executor = build_executor(Options(cwd=str(bare), permission_mode="bypassPermissions"))
    assert "no git repository" in str(executor.call("EnterWorktree", {}).content)
    git(bare, "init", "-q")
    executor = build_executor(Options(cwd=str(bare), permission_mode="bypassPermissions"))
    assert "no commit" in str(executor.call("EnterWorktree", {}).content)


def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (scene.repository / ".holdfast").symlink_to(tmp_path / "elsewhere")
    assert "not a directory" in str(scene.call("EnterWorktree", name="a").content)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def open_again(scene: Scene, choice: SessionChoice) -> OpenSession:
    return open_session(Options(cwd=str(scene.repository), permission_mode="bypassPermissions"), choice=choice)


async def call_in(opened: OpenSession, tool: str, **raw: Any) -> CallFinished:
    opened.executor.add({"id": f"{tool}-{secrets.token_hex(4)}", "name": tool, "input": raw})
    return [event async for event in opened.executor.results() if isinstance(event, CallFinished)][-1]


def test_a_resumed_session_is_in_its_worktree_and_a_fork_may_not_remove_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    async def whole() -> None:
        async with open_again(scene, SessionChoice()) as first:
            tree = (await call_in(first, "EnterWorktree", name="a")).data["worktreePath"]
            assert first.session is not None
            id_ = first.session.id
        async with open_again(scene, SessionChoice(resume=id_, fork=True)) as fork:
            assert fork.executor.state.cwd == tree
            assert (await call_in(fork, "ExitWorktree", action="remove")).is_error
        async with open_again(scene, SessionChoice(resume=id_)) as again:
            assert (again.executor.state.cwd, again.executor.state.session.project_root) == (tree, tree)
            assert not (await call_in(again, "ExitWorktree", action="remove")).is_error
            assert again.executor.state.cwd == str(scene.repository)
        async with open_again(scene, SessionChoice(resume=id_)) as last:
            assert (last.executor.state.cwd, last.executor.state.worktree) == (str(scene.repository), None)

    asyncio.run(whole())
    assert scene.branches == ["main"]


@pytest.mark.parametrize("put", ["a link", "a directory", "another repository"])
def test_what_was_put_in_the_place_of_a_worktree_is_not_worked_in(tmp_path: Path, put: str) -> None:
    scene = Scene(tmp_path)
    other = tmp_path / "other"
    other.mkdir()

    async def whole() -> None:
        async with open_again(scene, SessionChoice()) as first:
            tree = Path((await call_in(first, "EnterWorktree", name="a")).data["worktreePath"])
            assert first.session is not None
            id_ = first.session.id
        tree.rename(tmp_path / "moved")
        if put == "a link":
            tree.symlink_to(other)
        else:
            tree.mkdir()
        if put == "another repository":
            git(tree, "init", "-q")
        async with open_again(scene, SessionChoice(resume=id_)) as again:
            state = again.executor.state
            assert (state.cwd, state.worktree) == (str(scene.repository), None)
            assert not state.is_inside(str(other))

    asyncio.run(whole())


def test_what_was_thrown_away_unseen_is_not_said_to_be_nothing(tmp_path: Path, failing: Path) -> None:
    scene = Scene(tmp_path)
    tree = scene.enter()
    (tree / "draft.txt").write_text("not committed")
    failing.write_text("status\n:\n")
    reply = scene.call("ExitWorktree", action="remove", discard_changes=True)
    assert (reply.is_error, tree.exists()) == (False, False)
    assert "git could not tell" in str(reply.content)
    assert "discardedFiles" not in reply.data
