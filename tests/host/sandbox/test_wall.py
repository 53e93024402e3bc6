import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.host import tree
from holdfast.host.command import Command, Finished, StartError, Stdin
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, Policy, Wall
from holdfast.host.sandbox.blanks import Blanks
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.placeholders import Placeholders, remove_leftovers

Run = Callable[..., Finished]


def told(done: Finished) -> tuple[int, str, str]:
    return done.exit.shell_code, done.output.stdout.text(), done.output.stderr.text()


def test_work_in_the_project_is_as_outside(run: Run, project: Path) -> None:
    code, out, _ = told(run("python3 code.py && echo new > made && mkdir -p d/e && mv made d/e && git add -A && ls"))
    assert (code, out) == (0, "1\ncode.py\nd\n")
    assert (project / "d" / "e" / "made").read_text(encoding="utf-8") == "new\n"


def test_nothing_else_is_written(run: Run, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    code, _, err = told(run(f"echo x > {beside} || echo x > /etc/x || echo x > /usr/x || exit 9"))
    assert (code, err.count("Read-only file system")) == (9, 3)
    assert not beside.exists()


def test_what_governs_the_agent_is_neither_changed_nor_made(run: Run, project: Path) -> None:
    config = (project / ".git" / "config").read_bytes()
    tries = [
        "echo x > .git/hooks/pre-commit", "echo x > .git/config", "rm -rf .git/hooks", "mv .git old", "mkdir .claude/x",
        "rmdir .claude", "mv .claude c", "echo x > .mcp.json", "ln -s /tmp .holdfast", "rm -r .git",
        "mv .git/config code.py",
        "ln .git/config c", "git config user.name x",
    ]  # fmt: skip
    script = "\n".join(f"({one}) 2>/dev/null && echo 'done: {one}'" for one in tries)
    assert told(run(script + "\ntrue"))[:2] == (0, "")
    assert sorted(os.listdir(project)) == [".git", "code.py"]
    assert (project / ".git" / "config").read_bytes() == config
    assert not (project / ".git" / "hooks" / "pre-commit").exists()


def test_hidden_files_are_not_read(run: Run, project: Path, policy: Policy) -> None:
    import msgspec  # noqa: PLC0415

    (project / "s").mkdir()
    (project / "s" / "key").write_text("SECRET", encoding="utf-8")
    (project / ".env").write_text("SECRET", encoding="utf-8")
    given = msgspec.structs.replace(policy, hidden=(str(project / "s"), str(project / ".env")))
    code, out, _ = told(
        run("cat s/key .env; mv s t; mv .env e; cat t/key e; cp -r . /dev/shm/x; grep -r SECRET .", given)
    )
    assert code != 0
    assert "SECRET" not in out


def test_no_handle_of_ours_is_open_inside(run: Run) -> None:
    assert told(run("cd /proc/self/fd; echo *; cd /proc/1/fd; echo *"))[1] == "0 1 2 3\n0 1 2 4\n"


def test_the_environment_names_the_sessions_own_directory(run: Run, policy: Policy, tmp_path: Path) -> None:
    import msgspec  # noqa: PLC0415

    own = tmp_path / "own"
    own.mkdir()
    given = msgspec.structs.replace(policy, temporary=str(own))
    assert told(run('echo x > "$(mktemp)"; ls "$TMPDIR" | wc -l', given))[:2] == (0, "1\n")


def test_a_command_in_a_read_only_sandbox_changes_nothing(run: Run, project: Path) -> None:
    assert told(run("echo x > made", Policy()))[0] == 1
    assert not (project / "made").exists()


def test_placeholders_stand_while_a_command_runs_and_go_with_it(found: Found, project: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    wall = Wall(found, placeholders=Placeholders(str(journal)))
    given = Policy(writable=(str(project),), governing=(str(project / ".claude"),))

    async def main() -> None:
        async with Processes() as processes:
            command = Command(argv=["/bin/bash", "-c", "echo ready; read"], cwd=str(project), streams_stdout=True)
            process = await processes.start(wall.wrap(command, given))
            assert await asyncio.wait_for(process.read(), 60) == b"ready\n"
            assert (project / ".claude").is_dir()
            assert sorted(name.split(".")[-1] for name in os.listdir(journal)) == ["blanks", "masks"]
            await process.kill_tree()

    asyncio.run(main())
    wall.close()
    assert not (project / ".claude").exists()
    assert os.listdir(journal) == []


def test_what_a_crash_left_is_removed_and_what_is_used_stays(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.mkdir()
    ours, theirs, full = (tmp_path / name for name in ("ours", "theirs", "full"))
    for place in (ours, theirs, full):
        place.mkdir()
    (full / "x").touch()
    me = tree.read_entry(os.getpid())
    assert me is not None
    dead = journal / "999999999-1.masks"
    dead.write_bytes(b"".join(f"{place}\0".encode() for place in (ours, theirs, full)))
    Blanks(str(journal), owner="999999999-1")
    Blanks(str(journal), owner=f"{os.getpid()}-{me.start_ticks}")
    (journal / f"{os.getpid()}-{me.start_ticks}.masks").write_bytes(f"{theirs}\0".encode())
    assert remove_leftovers(str(journal)) == [str(ours)]
    assert (theirs.is_dir(), full.is_dir(), dead.exists()) == (True, True, False)
    assert [name.split("-")[0] for name in os.listdir(journal) if name.endswith(".blanks")] == [str(os.getpid())]


def test_two_owners_in_one_process_do_not_take_each_others_placeholders_away(tmp_path: Path) -> None:
    first, second = Placeholders(str(tmp_path / "journal")), Placeholders(str(tmp_path / "journal"))
    path = str(tmp_path / ".claude")
    by_first = first.hold([path])
    by_second = second.hold([], [path])
    assert by_second == (path,)
    first.release(by_first)
    assert os.path.isdir(path)
    second.release(by_second)
    assert not os.path.exists(path)
    assert os.listdir(tmp_path / "journal") == []


def test_a_placeholder_that_went_between_the_look_and_the_start_is_made_anew(tmp_path: Path) -> None:
    placeholders = Placeholders(str(tmp_path / "journal"))
    kept = tmp_path / "kept"
    kept.mkdir()
    gone, link = str(tmp_path / ".claude"), str(tmp_path / "commondir")
    held = placeholders.hold([], [gone, link, str(kept)])
    assert held == (gone, link)
    assert (os.path.isdir(gone), (tmp_path / "commondir").read_text("utf-8")) == (True, ".\n")
    placeholders.release(held)
    assert sorted(os.listdir(tmp_path)) == ["journal", "kept"]


def test_a_wall_that_cannot_be_built_starts_nothing(found: Found, project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    wall = Wall(found)
    given = Policy(writable=(str(project),), governing=(str(project / "a"),))

    async def main() -> None:
        async with Processes() as processes:
            with pytest.raises(StartError, match="sandbox cannot be built"):
                await processes.start(wall.wrap(Command(argv=["/bin/true"], cwd=str(project)), given))

    asyncio.run(main())


def test_killing_the_command_leaves_nothing_inside_alive(found: Found, project: Path, policy: Policy) -> None:
    wall = Wall(found)

    async def main() -> list[tree.Entry]:
        async with Processes() as processes:
            script = "setsid sleep 1000 & (sleep 1000 & disown); echo ready; sleep 1000"
            command = Command(argv=["/bin/bash", "-c", script], cwd=str(project), streams_stdout=True)
            process = await processes.start(wall.wrap(command, policy))
            assert await asyncio.wait_for(process.read(), 60) == b"ready\n"
            await process.kill_tree(0.0)
            mark = f"{tree.SESSION_MARK}={processes.mark}".encode()
            return [entry for entry in tree.marked(tree.scan(), mark, since_ticks=0) if entry.is_running]

    assert asyncio.run(main()) == []
    wall.close()


def test_a_command_that_ends_opens_no_mask_of_another_that_runs(
    found: Found, project: Path, policy: Policy, tmp_path: Path
) -> None:
    """A directory that is taken away takes every mount on it away, in all namespaces."""
    walls = [Wall(found, placeholders=Placeholders(str(tmp_path / "journal"))) for _ in range(2)]
    tries = "mkdir -p .claude/x; echo x > .claude/y; mkdir .holdfast/z; echo x > .git/commondir; ls -A . .git"

    async def main() -> str:
        async with Processes() as processes:
            first = walls[0].enter(Command(argv=["/bin/true"], cwd=str(project)), policy)
            waits = Command(
                argv=["/bin/bash", "-c", f"echo ready; read; {tries}; echo done"],
                cwd=str(project), stdin=Stdin.PIPE, streams_stdout=True,
            )  # fmt: skip
            others = [await processes.start(wall.wrap(waits, policy)) for wall in walls]
            for other in others:
                assert await asyncio.wait_for(other.read(), 60) == b"ready\n"
            first.left()
            shown = ""
            for other in others:
                await other.write(b"\n")
                while chunk := await asyncio.wait_for(other.read(), 60):
                    shown += chunk.decode()
                await asyncio.wait_for(other.wait(), 60)
            return shown

    assert asyncio.run(main()).count("done") == 2
    for wall in walls:
        wall.close()
    assert sorted(os.listdir(project)) == [".git", "code.py"]
    assert not (project / ".git" / "commondir").exists()


def test_git_works_while_its_pinned_files_stand(run: Run, project: Path) -> None:
    script = """
set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git add -A; git commit -qm one; git checkout -qb other; echo x >> code.py; git commit -qam two; git stash list
git rebase -q -; git tag t; git gc -q; git fsck 2>&1; git status --short --branch"""
    code, out, err = told(run(script))
    assert (code, out, err) == (0, "## other\n", "")
    assert not (project / ".git" / "commondir").exists()


def test_what_a_user_made_himself_is_not_taken_away(run: Run, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".git" / "commondir").write_bytes(b".\n")
    assert told(run("true"))[0] == 0
    assert (project / ".claude").is_dir()
    assert (project / ".git" / "commondir").exists()


def test_git_works_where_settings_that_are_to_be_included_are_missing(
    found: Found, project: Path, tmp_path: Path
) -> None:
    for value in ("../.gitsettings", "../no/such/settings"):
        subprocess.run(["git", "-C", str(project), "config", "--add", "include.path", value], check=True, timeout=60)
    place = str(project)
    given = Policy(writable=(place,), governing=tuple(governing_paths(place)), pinned=tuple(pinned_paths(place)))
    wall = Wall(found, placeholders=Placeholders(str(tmp_path / "journal")))
    script = (
        "git status --short && for f in .gitsettings no/such/settings; do mkdir -p no/such; echo x > $f; rm $f; done"
    )

    async def main() -> Finished:
        async with Processes() as processes:
            command = Command(argv=["/bin/bash", "-c", f"{script}; git status --short"], cwd=place)
            return await asyncio.wait_for(processes.run(wall.wrap(command, given)), 60)

    done = asyncio.run(main())
    wall.close()
    assert done.exit.code == 0, done.output.stderr.text()
    assert "bad config" not in done.output.stderr.text()
    assert sorted(os.listdir(project)) == [".git", "code.py"]
