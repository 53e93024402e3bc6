"""Bash: what it answers, what it offers, what it refuses."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import PromptFacts, SessionFacts
from holdfast.events import CallFinished
from holdfast.host.command import Exit, Stopped
from holdfast.tools.shell._reply import ending
from holdfast.tools.shell.bash import Bash, BashLimits

from .conftest import text

if TYPE_CHECKING:
    from collections.abc import Callable

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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


def test_without_a_background_the_advice_against_waiting_names_none(desk: Any) -> None:
    session = SessionFacts(project_root=str(desk.cwd), prompt=PromptFacts(background=False))
    told = text(desk.run(lambda: desk.sh("sleep 60"), session=session))
    assert "Sleep" in told
    assert "background" not in told
    assert "Task" not in told


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


def test_a_stop_reason_has_words() -> None:
    assert ending(Exit(None, 9, Stopped.WATCHDOG, 1.0), None, limit_s=1)[1]
    assert ending(Exit(None, 15, Stopped.CALLER, 1.0), None, limit_s=1)[1]
    assert "SIGSEGV" in ending(Exit(None, 11, Stopped.NOBODY, 1.0), None, limit_s=1)[0]
