"""Bash: what it answers, what it carries on, what it refuses."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import Answer, PromptFacts, Question, SessionFacts, ToolContext
from holdfast.engine import Executor
from holdfast.events import CallFinished, CallProgressed
from holdfast.host.command import Exit, Stopped
from holdfast.tools.shell._reply import ending
from holdfast.tools.shell.bash import Bash, BashArgs, BashLimits

if TYPE_CHECKING:
    from collections.abc import Callable

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def text(reply: CallFinished) -> str:
    if isinstance(reply.content, str):
        return reply.content
    return "\n".join(block.get("text", "") for block in reply.content)


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until something is true, at most ten seconds."""
    for _ in range(2_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    pytest.fail("it did not become true in ten seconds")


def test_both_streams_come_back_apart_for_programs_and_together_for_the_model(desk: Any) -> None:
    reply = desk.one("echo out; echo err >&2")
    assert (reply.content, reply.is_error) == ("out\nerr", False)
    assert reply.data == {"stdout": "out", "stderr": "err", "interrupted": False, "exitCode": 0}


def test_a_failure_shows_its_exit_code_and_is_not_wrapped(desk: Any) -> None:
    reply = desk.one("echo before; exit 3; echo after")
    assert (reply.content, reply.is_error) == ("Exit code 3\nbefore", True)
    assert reply.outcome == "completed"


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep nothing /dev/null", "no matches"),
        ("test 1 = 2", "the test is false"),
        ("echo a > a; echo b > b; diff a b", "files differ"),
    ],
)
def test_an_exit_code_that_is_an_answer_is_no_failure(desk: Any, command: str, meaning: str) -> None:
    reply = desk.one(command)
    assert not reply.is_error
    assert reply.data["returnCodeInterpretation"] == meaning
    assert meaning in text(reply)


def test_no_output_is_said(desk: Any) -> None:
    reply = desk.one("mkdir made")
    assert reply.content == "[The command gave no output]"
    assert reply.data["noOutputExpected"] is True


@pytest.mark.parametrize(
    "move",
    [
        "cd sub",
        "cd sub && true",
        "cd sub; exit 0",
        "cd ./sub/../sub",
        "pushd sub >/dev/null",
        "set -e; cd sub; false",
        "d=sub; cd $d",
        'eval "cd sub"',
        "builtin cd sub",
        "f() { cd sub; }; f",
        "CDPATH=/ ; cd ./sub",
    ],
)
def test_the_directory_is_carried_on_and_variables_are_not(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> tuple[str, str]:
        await desk.sh(move)
        place = await desk.sh("pwd -P")
        await desk.sh("export HF_TEST_X=1")
        return text(place), text(await desk.sh('echo "[$HF_TEST_X]"'))

    assert desk.run(work) == (str(tmp_path / "sub"), "[]")


@pytest.mark.parametrize("move", ["(cd sub)", "cd sub | true", "exec true", "cd sub &"])
def test_a_move_of_a_subshell_does_not_count(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> str:
        await desk.sh(move)
        return text(await desk.sh("pwd -P"))

    assert desk.run(work) == str(tmp_path)


@pytest.mark.parametrize("move", ["cd /", "cd ..", "cd out", "cd sub && pushd / >/dev/null"])
def test_a_move_outside_is_set_back_and_said(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "out").symlink_to("/usr")

    async def work() -> tuple[str, str]:
        moved = await desk.sh(move)
        return text(moved), text(await desk.sh("pwd -P"))

    told, place = desk.run(work)
    assert "working directory" in told
    assert place == str(tmp_path)


def test_a_directory_that_the_command_removed_is_not_carried_on(desk: Any, tmp_path: Path) -> None:
    async def work() -> str:
        await desk.sh("mkdir sub && cd sub && rmdir ../sub")
        return text(await desk.sh("pwd -P"))

    assert desk.run(work) == str(tmp_path)


def test_a_directory_with_a_newline_in_its_name_is_carried_on(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "a\nb ").mkdir()

    async def work() -> str:
        await desk.sh("cd a*")
        return text(await desk.sh('pwd -P | od -c | head -1000 >/dev/null; basename "$PWD"'))

    assert desk.run(work) == "a\nb "


def test_a_directory_that_is_gone_is_left_for_the_project(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> tuple[CallFinished, str]:
        await desk.sh("cd sub")
        (tmp_path / "sub").rmdir()
        return await desk.sh("pwd"), text(await desk.sh("pwd -P"))

    lost, place = desk.run(work)
    assert lost.is_error
    assert "is gone" in text(lost)
    assert place == str(tmp_path)


def test_output_that_is_too_long_keeps_both_ends_and_goes_to_a_file(desk: Any) -> None:
    async def work() -> tuple[CallFinished, int]:
        reply = await desk.sh("seq 1 100000; echo last >&2")
        return reply, len(Path(reply.data["persistedOutputPath"]).read_text(encoding="utf-8").splitlines())

    reply, lines = desk.run(work)
    assert len(text(reply)) <= 30_000
    assert text(reply).startswith("1\n2\n")
    assert "last" in text(reply)
    assert (lines, reply.data["persistedOutputSize"]) == (100_001, 588_895 + 5)
    assert reply.data["persistedOutputPath"] in text(reply)


def test_text_between_the_limit_and_what_is_kept_in_memory_has_its_file_too(desk: Any) -> None:
    async def work() -> tuple[CallFinished, int]:
        reply = await desk.sh("head -c 20000 /dev/zero | tr '\\0' a; head -c 20000 /dev/zero | tr '\\0' b >&2")
        return reply, os.path.getsize(reply.data["persistedOutputPath"])

    reply, size = desk.run(work)
    assert len(text(reply)) <= 30_000
    assert size == 40_000


def test_a_picture_in_the_output_becomes_an_image_block(desk: Any) -> None:
    uri = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    reply = desk.one(f"printf %s '{uri}'")
    assert reply.data["isImage"] is True
    assert reply.content[0]["type"] == "image"
    assert base64.b64decode(reply.content[0]["source"]["data"]) == PIXEL


def test_a_large_picture_is_read_from_its_file(desk: Any, tmp_path: Path) -> None:
    raw = PIXEL + bytes(600_000)
    (tmp_path / "p").write_bytes(raw)
    reply = desk.one("printf 'data:image/png;base64,'; base64 -w0 p")
    assert len(base64.b64decode(reply.content[0]["source"]["data"])) == len(raw)


@pytest.mark.parametrize("uri", ["data:image/svg+xml;base64,AAAA", "data:image/png;base64,%%%", "data:image/png,x"])
def test_what_only_looks_like_a_picture_stays_text(desk: Any, uri: str) -> None:
    assert desk.one(f"printf '%s' '{uri}'").content == uri


def test_commits_are_summarised(desk: Any) -> None:
    git = "git -c user.name=n -c user.email=e@x -c commit.gpgsign=false"
    reply = desk.one(f"git init -q . && touch f && git add f && {git} commit -m first")
    operation = reply.data["structuredContent"]["gitOperation"]
    assert operation["commit"]["kind"] == "committed"
    assert operation["commit"]["sha"] in text(reply)
    assert reply.display.startswith("committed ")


@pytest.mark.parametrize("command", ["cat f.txt", "head -2 f.txt", "sed -n 1p f.txt", "grep two f.txt"])
def test_a_file_that_a_command_showed_may_be_edited(desk: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "f.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")

    async def work() -> CallFinished:
        await desk.sh(command)
        return await desk.call("Edit", file_path="f.txt", old_string="two", new_string="2")

    assert not desk.run(work).is_error
    assert (tmp_path / "f.txt").read_text(encoding="utf-8") == "one\n2\nthree\n"


def test_a_file_that_no_command_showed_may_not_be_edited(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("one\n", encoding="utf-8")

    async def work() -> CallFinished:
        await desk.sh("cat f.txt | wc -l")
        return await desk.call("Edit", file_path="f.txt", old_string="one", new_string="1")

    assert desk.run(work).is_error


@pytest.mark.parametrize("command", ["sleep 2", "sleep 60 && echo done", "sleep 1m", "sleep 5; ls"])
def test_waiting_first_is_refused_with_advice(desk: Any, command: str) -> None:
    reply = desk.one(command)
    assert reply.is_error
    assert "TaskOutput" in text(reply)


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b"])
def test_a_command_that_cannot_be_run_is_refused(desk: Any, command: str) -> None:
    assert desk.one(command).outcome == "invalid"


def test_no_sandbox_is_said(desk: Any) -> None:
    reply = desk.one("echo hi", dangerouslyDisableSandbox=True)
    assert reply.content.startswith("hi\n[There is no sandbox")
    assert reply.data["dangerouslyDisableSandbox"] is True


def test_internal_fields_are_an_error_when_a_model_sends_them(desk: Any) -> None:
    for name in ("_simulatedSedEdit", "simulated_sed_edit"):
        reply = desk.one("true", **{name: {"file_path": "/x", "old_sha256": "", "new_content": ""}})
        assert reply.outcome == "invalid"
    assert not any("sed" in name.lower() for name in Bash().arguments.schema()["properties"])


def test_background_is_offered_only_where_it_is_available(desk: Any) -> None:
    schema = desk.bash.arguments.schema
    assert "run_in_background" in schema(PromptFacts(background=True))["properties"]
    assert "run_in_background" not in schema(PromptFacts(background=False))["properties"]


def test_the_text_tells_the_limits_and_the_background_that_there_are(make_desk: Callable[..., Any]) -> None:
    usual = make_desk().bash.prompt()
    assert "120000 (2 minutes) if omitted, at most 600000" in usual
    assert "run_in_background" in usual
    text = make_desk(limits=BashLimits(default_s=5, max_s=10)).bash.prompt(PromptFacts(background=False))
    assert "`timeout` is in milliseconds: 5000 if omitted, at most 10000. A command that runs into it is ended." in text
    assert "background" not in text
    assert "TaskOutput" not in text


# Time.


def test_at_its_limit_a_command_goes_on_in_the_background(desk: Any) -> None:
    go = Path(desk.cwd, "go")
    os.mkfifo(go)  # the command waits until we say so, however slow the machine is

    async def work() -> tuple[CallFinished, CallFinished]:
        moved = await desk.sh("echo early; read < go; echo late", timeout=200)
        await asyncio.to_thread(go.write_bytes, b"\n")
        return moved, await desk.call("TaskOutput", task_id=moved.data["backgroundTaskId"], timeout=60_000)

    moved, output = desk.run(work)
    assert not moved.is_error
    assert moved.data["timedOutAfterMs"] == 200
    assert output.data["retrieval_status"] == "success"
    assert output.data["task"]["output"] == "early\nlate\n"


@pytest.mark.parametrize("background", [True, False])
def test_a_bare_sleep_or_without_background_the_limit_ends_it(desk: Any, background: bool) -> None:
    session = SessionFacts(project_root=str(desk.cwd), prompt=PromptFacts(background=background))
    command = "sleep 1.9" if background else "echo begun; cat <(sleep 30)"

    async def work() -> tuple[CallFinished, int]:
        reply = await desk.sh(command, timeout=100)
        return reply, len(desk.board.processes.running)

    reply, running = desk.run(work, session=session)
    assert reply.is_error
    assert reply.data["interrupted"] is True
    assert "0.1 s" in text(reply)
    assert running == 0


def test_the_limit_is_capped(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(limits=BashLimits(default_s=0.05, max_s=0.1))

    async def work() -> CallFinished:
        return await desk.sh("read -t 20 < <(sleep 20)", timeout=500_000)

    assert desk.run(work).data["timedOutAfterMs"] == 100


def test_long_commands_go_on_by_themselves_where_that_is_on(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(limits=BashLimits(automatic_background_s=0.1))

    async def work() -> CallFinished:
        return await desk.sh("read -t 20 < <(sleep 20)")

    assert desk.run(work).data["assistantAutoBackgrounded"] is True


def test_the_user_can_let_a_running_command_go_on(desk: Any) -> None:
    async def work() -> CallFinished:
        desk.running.add(
            {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "read -t 20 < <(sleep 20)"}}
        )
        await eventually(lambda: desk.bash.background("x"))
        return [event async for event in desk.running.results()][-1]

    reply = desk.run(work)
    assert reply.data["backgroundedByUser"] is True
    assert not desk.bash.background("x")


def test_progress_tells_new_output_lines_and_time(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.tools.shell._follow.PROGRESS_AFTER_S", 0.05)
    monkeypatch.setattr("holdfast.tools.shell._follow._PROGRESS_EVERY_S", 0.05)

    async def work() -> list[Any]:
        command = "echo one; echo two >&2; read -t 0.5 < <(sleep 5); true"
        desk.running.add({"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": command}})
        return [event.data async for event in desk.running.results() if isinstance(event, CallProgressed)]

    reports = desk.run(work)
    first = next(report for report in reports if report["totalLines"])
    assert first["type"] == "bash_progress"
    assert (first["output"], first["totalLines"], first["totalBytes"]) == ("one\ntwo\n", 2, 8)
    assert reports[-1]["output"] == ""


def test_an_interrupt_ends_the_command_and_its_children(desk: Any) -> None:
    async def work() -> tuple[str, int]:
        desk.running.add(
            {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "touch begun; cat <(sleep 30)"}}
        )
        await eventually((desk.cwd / "begun").exists)
        await desk.running.interrupt()
        replies = [event async for event in desk.running.results()]
        return replies[-1].outcome, len(desk.board.processes.running)

    assert desk.run(work) == ("cancelled", 0)


# What the engine and the permissions are told.


@pytest.mark.parametrize(
    ("command", "read_only", "safe"),
    [
        ("ls", True, True),
        ("cd sub && ls", True, False),
        ("touch x", False, False),
        ("git status", True, True),
        ("echo $(rm x)", False, False),
    ],
)
def test_behaviour_follows_the_analysis(command: str, read_only: bool, safe: bool) -> None:
    tool = Bash()
    args = BashArgs(command=command)
    assert (tool.is_read_only(args), tool.is_concurrency_safe(args)) == (read_only, safe)
    assert tool.on_user_message(args) == ("cancel" if read_only else "block")
    assert tool.is_destructive(args) is not read_only


def test_effects_name_what_the_text_tells(tmp_path: Path) -> None:
    effects = Bash().effects(BashArgs(command="cp a b > c"), ToolContext(tmp_path))
    assert str(tmp_path / "a") in effects.reads
    assert str(tmp_path / "c") in effects.writes
    assert not effects.known


class _Yes:
    """Somebody who always agrees, and remembers what was shown."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer("allow")


def test_git_is_hardened_only_when_a_read_only_command_ran_unasked(desk: Any) -> None:
    asker = _Yes()

    async def work() -> tuple[str, str]:
        show = "git config --get core.hooksPath"  # what git itself was told
        unasked = await desk.sh(f"cat /dev/null; {show}")
        asked = await desk.sh(f"touch x; {show}")
        return text(unasked), text(asked)

    assert desk.run(work, permission_mode="default", asker=asker) == ("/dev/null", "Exit code 1: the key is not set")
    assert len(asker.questions) == 1


def test_git_that_would_start_programs_of_the_repository_is_asked_about(desk: Any) -> None:
    asker = _Yes()

    async def work() -> list[int]:
        await desk.sh("git init -q . && git status")
        asked = [len(asker.questions)]
        for command in ("git status --short", "git config filter.x.clean evil", "git status --short", "ls"):
            await desk.sh(command)
            asked.append(len(asker.questions))
        return asked

    # Making the repository and its setting is asked about in any case; the second `git status` because of the setting.
    assert desk.run(work, permission_mode="default", asker=asker) == [1, 1, 2, 3, 3]
    assert "filter" in asker.questions[-1].reason


def test_a_sed_edit_is_shown_as_a_diff_and_written_as_shown(desk: Any, tmp_path: Path) -> None:
    asker = _Yes()
    (tmp_path / "f.txt").write_text("one\ntwo\n", encoding="utf-8")
    reply = desk.run(lambda: desk.sh("sed -i 's/two/2/' f.txt"), permission_mode="default", asker=asker)
    assert not reply.is_error
    assert "-two\n+2\n" in asker.questions[0].preview
    assert (tmp_path / "f.txt").read_text(encoding="utf-8") == "one\n2\n"


def test_a_sed_edit_is_not_written_over_a_change_made_after_it_was_shown(desk: Any, tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")

    class Meddler:
        async def ask(self, question: Question) -> Answer:
            file.write_text("two and more\n", encoding="utf-8")
            return Answer("allow")

    reply = desk.run(lambda: desk.sh("sed -i 's/two/2/' f.txt"), permission_mode="default", asker=Meddler())
    assert reply.is_error
    assert file.read_text(encoding="utf-8") == "two and more\n"


def test_providers_credentials_never_reach_a_command(
    monkeypatch: pytest.MonkeyPatch, make_desk: Callable[..., Any]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-1")
    monkeypatch.setenv("OPENAI_API_KEY", "canary-2")
    reply = make_desk().one("env; cat /proc/self/environ")
    assert "canary" not in text(reply)


# A turn of several calls.


@pytest.mark.parametrize(
    ("setting", "outcomes"),
    [
        ("cancel-dependents", ["completed", "cancelled", "completed"]),
        ("cancel-all", ["completed", "cancelled", "cancelled"]),
        ("independent", ["completed", "failed", "completed"]),
    ],
)
def test_a_failed_command_and_the_calls_behind_it(desk: Any, tmp_path: Path, setting: Any, outcomes: list[str]) -> None:
    (tmp_path / "f.txt").write_text("one\n", encoding="utf-8")

    async def turn() -> list[CallFinished]:
        async with Executor(
            desk.tools, cwd=tmp_path, permission_mode="bypassPermissions", sibling_errors=setting
        ) as executor:
            for number, (name, raw) in enumerate(
                [
                    ("Bash", {"command": "mkdir no/such/place"}),
                    ("Edit", {"file_path": "f.txt", "old_string": "one", "new_string": "1"}),
                    ("Read", {"file_path": "f.txt"}),
                ]
            ):
                executor.add({"type": "tool_use", "id": f"t{number}", "name": name, "input": raw})
            return [event async for event in executor.results() if isinstance(event, CallFinished)]

    replies = asyncio.run(turn())
    assert [reply.outcome for reply in replies] == outcomes
    assert replies[0].is_error
    assert "Exit code 1" in text(replies[0])


def test_a_stop_reason_has_words() -> None:
    assert ending(Exit(None, 9, Stopped.WATCHDOG, 1.0), None, limit_s=1)[1]
    assert ending(Exit(None, 15, Stopped.CALLER, 1.0), None, limit_s=1)[1]
    assert "SIGSEGV" in ending(Exit(None, 11, Stopped.NOBODY, 1.0), None, limit_s=1)[0]
