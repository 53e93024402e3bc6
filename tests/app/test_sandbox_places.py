"""Where commands in the sandbox may write and look beside the project: our own files, worktrees, other repositories."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_sandbox import call, session

from holdfast.testing import ScriptedAsker

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
GOVERNS = ("hooks/x", "config", "commondir", "config.worktree", "HEAD", "index")
GIT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;"
LOOKS = """
import fcntl, os, sys
for top in sys.argv[1:]:
    for here, folders, files in os.walk(top):
        for name in files:
            try:
                with open(os.path.join(here, name)) as file:
                    print("read", name, "TOKEN" in file.read())
            except OSError:
                pass
        if os.path.basename(here) == "sandbox":
            fcntl.flock(os.open(here, os.O_RDONLY), fcntl.LOCK_EX)
            print("holds up all others")
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    project = Path(os.path.realpath(tmp_path)) / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    return project


def git(place: Path, *words: str) -> None:
    options = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(place), *options, *words], check=True, timeout=60)


def test_of_what_we_keep_a_command_sees_only_its_own_session(place: Path) -> None:
    state, config = Path(os.environ["XDG_STATE_HOME"], "holdfast"), Path(os.environ["XDG_CONFIG_HOME"], "holdfast")
    home = Path(os.environ["HOME"])
    executor = session(place)
    secret = (state / "mcp" / "logins" / "a.json", state / "mcp" / "serve-token", config / "mcp.json")
    for kept in (*secret, home / ".codex" / "auth.json", home / ".pgpass"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("TOKEN", encoding="utf-8")
    (home / "seen").touch()
    (place / "look.py").write_text(LOOKS, encoding="utf-8")
    script = f"python3 look.py {state} {config} {home}; touch $TMPDIR/mine && echo fine"
    shown = str(executor.call("Bash", {"command": script}).content).splitlines()
    assert (shown[-2:], "read seen False" in shown) == (["read seen False", "fine"], True)
    assert not [line for line in shown if "True" in line or "others" in line]


def test_what_was_kept_of_a_long_result_can_be_read_by_the_next_command(place: Path) -> None:
    executor = session(place)
    reply = executor.call("Bash", {"command": "seq 100000; echo the last line"})
    path = reply.data["persistedOutputPath"]
    assert executor.call("Bash", {"command": f"tail -1 {path}"}).content == "the last line"


def test_git_works_in_a_linked_worktree_and_what_governs_its_repository_stays(place: Path) -> None:
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    tree = place.parent / "tree"
    for one in (tree, place.parent / "next"):
        git(place, "worktree", "add", "-q", str(one))
    repository = place / ".git"
    before = {name: (repository / name).read_bytes() for name in ("HEAD", "config", "index")}
    mine, other = repository / "worktrees" / "tree", repository / "worktrees" / "next"
    evil = [*(repository / name for name in GOVERNS), *(mine / name for name in ("commondir", "gitdir"))]
    evil += [mine / "config.worktree", other / "HEAD", other / "x", place / "code", tree / ".git"]
    script = f"""{GIT} echo a > a; git add a && git commit -qm two && git switch -qc more; git log --format=%s
        for f in {" ".join(map(str, evil))}; do echo x >> $f && echo "wrote $f"; mv $f $f.x && echo "moved $f"; done
        mv {mine} {mine}2 && echo moved; mv {repository} {place}/g && echo moved; true"""
    said = str(session(tree).call("Bash", {"command": script}).content).splitlines()
    assert said[:2] == ["two", "one"]
    assert not [line for line in said if line.startswith(("wrote", "moved"))]
    assert {name: (repository / name).read_bytes() for name in before} == before
    assert not {"config.worktree", "commondir"} & set(os.listdir(repository))
    git(tree, "fsck")


def test_a_worktree_of_our_own_can_be_worked_in(place: Path) -> None:
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    places = (".git", ".claude/x", "../x", "../../settings.json", "../../../new")
    work = f"{GIT} echo a > a; git add a && git commit -qm two; cat a; pwd"

    async def main() -> None:
        async with session(place, mode="acceptEdits", asker=ScriptedAsker(["allow"])) as executor:
            assert (await call(executor, "EnterWorktree", {"name": "mine"})).outcome == "completed"
            done = await call(executor, "Bash", {"command": work})
            assert str(done.content).splitlines()[:2] == ["a", str(place / ".holdfast" / "worktrees" / "mine")]
            reply = await call(executor, "Bash", {"command": f"for f in {' '.join(places)}; do echo x > $f; done"})
            assert str(reply.content).count("Read-only file system") >= len(places)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert not (place / "new").exists()


def test_a_repository_in_a_further_writable_place_gets_nothing_that_governs_it(place: Path) -> None:
    more, bare = place.parent / "more", place.parent / "bare"
    git(place, "init", "-q", str(more))
    git(place, "init", "-q", "--bare", str(bare))
    names = (".git/commondir", ".git/config.worktree", ".claude/settings.json", ".mcp.json", ".holdfast/settings.json")
    evil = [*(more / name for name in names), *(bare / name for name in GOVERNS[:4])]
    script = f"""for f in {" ".join(map(str, evil))}; do
        mkdir -p $(dirname $f); echo x >> $f && echo "wrote $f"; done; touch {more}/y"""
    wanted: dict[str, Any] = {"allowWrite": [str(more), str(bare)]}
    assert "wrote" not in session(place, filesystem=wanted).call("Bash", {"command": script}).content
    assert sorted(os.listdir(more)) == [".git", "y"]


def test_a_bare_repository_as_the_project_keeps_what_governs_it(place: Path) -> None:
    bare = place.parent / "bare"
    git(place, "init", "-q", "--bare", str(bare))
    reply = session(bare).call(
        "Bash", {"command": f"for f in {' '.join(GOVERNS[:4])}; do echo x >> $f && echo wrote $f; done; touch y; ls"}
    )
    assert "wrote" not in reply.content
    assert (bare / "y").exists()
    assert not {"commondir", "config.worktree"} & set(os.listdir(bare))
