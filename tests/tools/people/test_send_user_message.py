"""Messages to the user: what is sent, and that files are judged as reads."""

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import SessionFacts
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.permissions import PermissionContext, Rule
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.testing import ScriptedAsker
from holdfast.tools.people.send_user_message import SendUserMessage


def send(place: Path, *rules: Rule, asker: Any = None, mode: str = "default", **raw: Any) -> CallFinished:
    context = PermissionContext.started_in(str(place), mode, rules)
    executor = Executor([SendUserMessage()], permissions=context, cwd=str(place), asker=asker)
    return executor.call("SendUserMessage", {"status": "normal", **raw})


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "auto"])
def test_a_message_is_shown_in_every_mode(tmp_path: Path, mode: str) -> None:
    reply = send(tmp_path, message="**half** done", mode=mode)
    assert (reply.data["message"], "attachments" in reply.data) == ("**half** done", False)
    assert reply.data["sentAt"].endswith("+00:00")
    assert reply.display == "**half** done"


def test_files_go_with_their_size_and_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "b.dat").write_bytes(b"\x89PNG\r\n\x1a\n123")
    reply = send(tmp_path, message="look", attachments=["a.txt", str(tmp_path / "b.dat")])
    first, second = reply.data["attachments"]
    assert (first["path"], first["size"], first["isImage"]) == (str(tmp_path / "a.txt"), 3, False)
    assert (second["isImage"], second["size"]) == (True, 11)
    assert first["file_uuid"] != second["file_uuid"]
    assert str(tmp_path / "a.txt") in str(reply.display)


def test_files_are_judged_as_reads(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "secret.txt").write_text("x")
    (tmp_path / "outside.txt").write_text("y")
    denied = send(project, Rule.parse("deny", "Read(secret.txt)"), message="m", attachments=["secret.txt"])
    assert denied.outcome == "denied"
    person = ScriptedAsker(["deny"])
    assert send(project, message="m", attachments=["../outside.txt"], asker=person).outcome == "denied"
    assert len(person.questions) == 1
    assert send(project, message="m", attachments=["../outside.txt"], mode="dontAsk").outcome == "denied"


def test_what_is_no_file_is_not_sent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        assert send(tmp_path, message="m", attachments=[name]).is_error


def test_the_status_must_be_given_and_known(tmp_path: Path) -> None:
    assert send(tmp_path, message="m", status=None).outcome == "invalid"
    assert send(tmp_path, message="m", status="loud").outcome == "invalid"


def test_an_agent_reports_to_whoever_started_it_and_not_to_the_user() -> None:
    assert not SendUserMessage().is_enabled(SessionFacts(agent_id="a1"))


def test_policy_tests_judge_it_as_sessions_do(tmp_path: Path) -> None:
    facts = facts_from_input("SendUserMessage", {"message": "m", "attachments": ["a.txt"]}, str(tmp_path))
    assert facts.effects.reads == (str(tmp_path / "a.txt"),)
