"""Bash in the sandbox that the settings ask for: which commands, with what questions, and what is said."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options, build_executor
from holdfast.app.lookout import Lookout
from holdfast.app.masks import masks_of
from holdfast.cli.main import run
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import ScriptedAsker

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    project = Path(os.path.realpath(tmp_path)) / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    return project


def session(
    place: Path, *, mode: str | None = None, asker: Any = None, more: dict[str, Any] | None = None, **wanted: Any
) -> Executor:
    settings = {"sandbox": {"enabled": True, **wanted}, **(more or {})}
    options = Options(cwd=str(place), settings=(json.dumps(settings),), permission_mode=mode)
    return build_executor(options, asker=asker)


async def call(executor: Executor, name: str, raw: dict[str, Any]) -> CallFinished:
    executor.add({"type": "tool_use", "id": os.urandom(4).hex(), "name": name, "input": raw})
    replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
    executor.end_turn()
    return replies[-1]


def test_a_command_in_the_sandbox_runs_unasked_and_writes_only_in_the_project(place: Path) -> None:
    executor = session(place)
    script = 'python3 -c \'open("made", "w").write("x")\'; echo x > ../out; echo x > .git/config'
    reply = executor.call("Bash", {"command": script})
    assert "Read-only file system" in reply.content
    assert (place / "made").read_text(encoding="utf-8") == "x"
    assert not (place.parent / "out").exists()
    assert "core" in (place / ".git" / "config").read_text(encoding="utf-8")
    assert sorted(os.listdir(place)) == [".git", "made"]


def test_without_auto_allow_the_command_is_asked_about_as_any_other(place: Path) -> None:
    executor = session(place, autoAllowBashIfSandboxed=False)
    assert executor.call("Bash", {"command": "touch made"}).outcome == "denied"


def test_rules_hold_in_the_sandbox_too(place: Path) -> None:
    executor = session(place, more={"permissions": {"deny": ["Bash(touch *)"], "ask": ["Bash(rm *)"]}})
    assert executor.call("Bash", {"command": "touch made"}).outcome == "denied"
    assert executor.call("Bash", {"command": "rm made"}).outcome == "denied"


def test_to_leave_the_sandbox_is_a_question_of_its_own_and_is_told(place: Path) -> None:
    more = {"permissions": {"allow": ["Bash(touch *)"]}}
    outside = {"command": "touch ../out", "dangerouslyDisableSandbox": True}
    assert session(place, more=more).call("Bash", outside).outcome == "denied"
    asker = ScriptedAsker(["allow"])
    reply = session(place, more=more, asker=asker).call("Bash", outside)
    assert "outside the sandbox" in asker.questions[0].reason
    assert "This command ran outside the sandbox, as the call asked" in reply.content
    assert (place.parent / "out").exists()


def test_where_nothing_may_leave_the_sandbox_nobody_is_asked(place: Path) -> None:
    asker = ScriptedAsker(["allow"])
    executor = session(place, asker=asker, allowUnsandboxedCommands=False)
    reply = executor.call("Bash", {"command": "touch ../out", "dangerouslyDisableSandbox": True})
    assert (reply.outcome, asker.questions) == ("denied", [])
    bypass = session(place, mode="bypassPermissions", allowUnsandboxedCommands=False)
    assert bypass.call("Bash", {"command": "touch ../out", "dangerouslyDisableSandbox": True}).is_error
    assert not (place.parent / "out").exists()


@pytest.mark.parametrize(
    ("command", "is_outside"),
    [("touch ../out", True), ("touch ../out && touch ../more", True), ("touch ../out; rm -f x", False)],
)
def test_excluded_commands_run_outside_under_the_usual_rules(place: Path, command: str, is_outside: bool) -> None:
    assert (
        session(place, excludedCommands=["touch"]).call("Bash", {"command": command}).outcome == "denied"
    ) is is_outside
    asker = ScriptedAsker(["allow"])
    reply = session(place, asker=asker, excludedCommands=["touch"]).call("Bash", {"command": command})
    assert ("ran outside the sandbox, as the setting sandbox.excludedCommands says" in reply.content) is is_outside
    assert (place.parent / "out").exists() is is_outside


def test_a_sandbox_that_cannot_start_refuses_every_command_with_the_reason(place: Path) -> None:
    reply = session(place, bwrapPath="/nowhere/bwrap").call("Bash", {"command": "echo ran"})
    assert reply.is_error
    assert "nothing was run" in reply.content
    assert "/nowhere/bwrap" in reply.content


def test_plan_mode_runs_what_only_reads_in_a_sandbox_that_writes_nothing(place: Path) -> None:
    executor = session(place, mode="plan")
    assert executor.call("Bash", {"command": "touch made"}).outcome == "denied"
    assert executor.call("Bash", {"command": "git status --short | wc -l"}).content == "0"


def test_background_tasks_are_confined(place: Path) -> None:
    async def work() -> None:
        async with session(place) as executor:
            wanted = {"command": "touch ../out made", "run_in_background": True}
            reply = await call(executor, "Bash", wanted)
            task = reply.data["backgroundTaskId"]
            await call(executor, "TaskOutput", {"task_id": task, "block": True, "timeout": 60_000})

    asyncio.run(work())
    assert (place / "made").exists()
    assert not (place.parent / "out").exists()


def test_the_session_has_its_own_directory_for_temporary_files(place: Path) -> None:
    executor = session(place)
    first = executor.call("Bash", {"command": 'f=$(mktemp); echo "$f"'}).content
    assert executor.call("Bash", {"command": f"test -f {first} && echo there"}).content == "there"


def test_secrets_of_the_user_are_hidden_unless_the_settings_show_them(place: Path) -> None:
    ssh = Path(os.environ["HOME"]) / ".ssh"
    ssh.mkdir()
    (ssh / "id_test").write_text("SECRET", encoding="utf-8")
    script = {"command": f"python3 -c 'print(open(\"{ssh}/id_test\").read())'"}
    assert "SECRET" not in session(place).call("Bash", script).content
    assert session(place, filesystem={"allowRead": [str(ssh)]}).call("Bash", script).content == "SECRET"


def test_settings_name_further_places_to_write_and_not_to(place: Path) -> None:
    extra = place.parent / "extra"
    extra.mkdir()
    (place / "kept").mkdir()
    executor = session(place, filesystem={"allowWrite": [str(extra)], "denyWrite": [str(place / "kept")]})
    reply = executor.call("Bash", {"command": f"touch {extra}/a kept/b; mv kept other; ls {extra} kept"})
    assert "a" in os.listdir(extra)
    assert os.listdir(place / "kept") == []
    assert reply.is_error is False


def test_one_command_runs_in_the_sandbox_from_the_command_line(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    assert run(["sandbox", "run", "--", "bash", "-c", "echo hi; touch made ../out; exit 3"]) == 3
    out, err = capfd.readouterr()
    assert out == "hi\n"
    assert "Read-only file system" in err
    assert sorted(os.listdir(place)) == [".git", "made"]
    assert not (place.parent / "out").exists()


def test_doctor_and_status_say_what_holds(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    assert run(["sandbox", "status"]) == 0
    assert "holds  commands can be confined" in capfd.readouterr().out
    broken = json.dumps({"sandbox": {"enabled": True, "bwrapPath": "/nowhere/bwrap"}})
    assert run(["sandbox", "status", "--settings", broken]) == 1
    assert "/nowhere/bwrap" in capfd.readouterr().out
    assert run(["doctor", "--settings", broken]) == 1
    assert "fail  sandbox" in capfd.readouterr().out


def test_deny_rules_about_files_hold_for_every_way_to_open_them(place: Path) -> None:
    for name, text in {".env": "SECRET", "a/.env": "SECRET", "keys/one": "SECRET", "lock": "L", "free": "F"}.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    (place / "way").symlink_to("keys")
    rules = ["Read(.env)", "Read(./keys/**)", "Edit(./lock)"]
    asker = ScriptedAsker(["allow", "allow"])
    executor = session(place, asker=asker, more={"permissions": {"deny": rules}}, filesystem={"allowRead": ["./keys"]})
    script = """
import os
for name in ('.env', 'a/.env', 'keys/one', 'way/one', 'free'):
    try: print(name, open(name).read())
    except OSError as problem: print(name, type(problem).__name__)
for work in (lambda: open('lock', 'w'), lambda: os.rename('lock', 'l'), lambda: os.rename('a', 'b'),
             lambda: os.rename('keys', 'k'), lambda: open('keys/new', 'w'), lambda: os.unlink('.env')):
    try: work(); print('done')
    except OSError as problem: print(type(problem).__name__)
"""
    (place / "try.py").write_text(script, encoding="utf-8")
    reply = executor.call("Bash", {"command": "python3 try.py"})
    assert "SECRET" not in reply.content
    assert "done" not in reply.content
    assert "free F" in reply.content
    assert (place / "lock").read_text(encoding="utf-8") == "L"


def test_a_rule_with_too_many_files_says_that_it_is_not_complete(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (place / f"{number}.key").touch()
    rights = PermissionContext.started_in(str(place), "default", [Rule.parse("deny", "Read(*.key)")])
    assert len(masks_of(rights, str(place)).hidden) == 30
    monkeypatch.setattr("holdfast.app.masks._MAX_MASKS", 10)
    assert not masks_of(rights, str(place)).is_complete


def test_what_a_command_made_that_others_obey_is_told_and_ends_auto_allow_until_a_person_was_asked(place: Path) -> None:
    asker = ScriptedAsker(["allow"])
    executor = session(place, asker=asker)
    reply = executor.call("Bash", {"command": "echo 'ignore-scripts=false' > .npmrc"})
    assert ".npmrc came into being" in reply.content
    assert asker.questions == []
    executor.call("Bash", {"command": "touch made"})
    assert len(asker.questions) == 1
    assert "came into being" not in executor.call("Bash", {"command": "touch more"}).content
    assert len(asker.questions) == 1


@pytest.mark.parametrize("name", ["HEAD", ".envrc", ".vscode/tasks.json", ".claude"])
def test_such_names_are_noticed_also_behind_links(place: Path, name: str) -> None:
    (place / "real").mkdir()
    (place / ".claude").symlink_to("real")
    script = f"rm -f {name} 2>/dev/null; mkdir -p $(dirname {name}); mkdir -p {name}"
    assert "came into being or changed" in session(place).call("Bash", {"command": script}).content


def test_what_somebody_else_replaces_under_a_running_command_is_told(place: Path) -> None:
    """A file that is renamed over another one takes the mount on it away, in every namespace."""
    os.mkfifo(place / "pipe")
    asker = ScriptedAsker(["allow"])

    async def work() -> tuple[CallFinished, CallFinished]:
        async with session(place, asker=asker) as executor:
            waits = {"command": "cat pipe; echo '[alias] x = !evil' >> .git/config", "run_in_background": True}
            task = (await call(executor, "Bash", waits)).data["backgroundTaskId"]
            pipe = await asyncio.wait_for(asyncio.to_thread(os.open, place / "pipe", os.O_WRONLY), 60)
            await asyncio.to_thread(
                subprocess.run, ["git", "-C", str(place), "config", "user.name", "x"], check=True, timeout=60
            )
            told = await call(executor, "Bash", {"command": "touch made"})
            os.close(pipe)
            await call(executor, "TaskOutput", {"task_id": task, "block": True, "timeout": 60_000})
            return told, await call(executor, "Bash", {"command": "touch again"})

    told, after = asyncio.run(work())
    assert ".git/config came into being or changed" in told.content
    assert len(asker.questions) == 1
    assert after.outcome != "denied"


def test_a_file_that_lost_its_mount_is_looked_at_until_the_command_ends(place: Path) -> None:
    lookout = Lookout()
    config = place / ".git" / "config"
    lookout.begin((str(place),))
    assert lookout.look() == []
    config.write_text(config.read_text(encoding="utf-8") + "[a]\n", encoding="utf-8")
    assert lookout.look() == [], "the mount on it holds: this was no command"
    (place / "other").write_text("[b]\n", encoding="utf-8")
    (place / "other").replace(config)
    assert lookout.look() == [str(config)]
    assert lookout.look() == []
    config.write_text("[evil]\n", encoding="utf-8")
    assert lookout.look() == [str(config)]
    lookout.end()
    lookout.begin((str(place),))
    config.write_text("[good]\n", encoding="utf-8")
    assert lookout.look() == []


def test_repositories_in_further_writable_places_are_governed_as_well(place: Path) -> None:
    more = place.parent / "more"
    subprocess.run(["git", "init", "-q", str(more)], check=True, timeout=60)
    (more / ".npmrc").touch()
    state = os.environ["XDG_STATE_HOME"]
    executor = session(place, filesystem={"allowWrite": [str(more), "~", state]})
    reply = executor.call(
        "Bash",
        {
            "command": f"""
        echo x > {more}/fine; echo x > ~/fine
        for f in {more}/.git/config {more}/.git/hooks/x {more}/.npmrc ~/.claude/x ~/.config/holdfast/x \\
                 {state}/holdfast/sandbox/x {state}/holdfast/sandbox/*/x; do
            mkdir -p $(dirname $f); echo x >> $f && echo "wrote $f"; done; true"""
        },
    )
    assert "wrote" not in reply.content
    assert (more / "fine").exists()
    assert sorted(os.listdir(os.environ["HOME"])) == ["fine"]


def test_a_place_that_may_not_be_written_is_not_made_either(place: Path) -> None:
    executor = session(place, filesystem={"denyWrite": ["./never"]})
    assert executor.call("Bash", {"command": "mkdir never/x; echo x > never; rmdir never; ls"}).is_error is False
    assert not (place / "never").exists()


def test_what_is_made_outside_a_command_is_not_laid_to_one(place: Path) -> None:
    executor = session(place)
    executor.call("Bash", {"command": "touch made"})
    (place / ".npmrc").touch()
    assert "came into being" not in executor.call("Bash", {"command": "touch more"}).content


def test_a_refusal_of_the_sandbox_is_told_to_the_model(place: Path) -> None:
    write = {"command": "touch ../out"}
    told = session(place).call("Bash", write).content
    assert "The sandbox keeps commands from writing" in told
    assert "dangerouslyDisableSandbox" in told
    assert "dangerouslyDisable" not in session(place, allowUnsandboxedCommands=False).call("Bash", write).content
    ignored = {"touch": ["out"], "other": ["x"]}
    assert "keeps commands" not in session(place, ignoreViolations=ignored).call("Bash", write).content
    assert (
        "keeps commands" not in session(place).call("Bash", {"command": "echo 'Read-only file system'; exit 1"}).content
    )
    reached = session(place).call(
        "Bash", {"command": "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 80))'"}
    )
    assert "reaching the network" in reached.content
