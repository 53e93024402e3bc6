"""What was judged is what is done: nothing that moves while a question is open slips through."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor, ToolContext
from holdfast.app.tools import all_tools
from holdfast.contract import Answer, Asker, Effects, Question, RuleSubject
from holdfast.engine import approve
from holdfast.events import CallFinished
from holdfast.permissions import PermissionContext

from .conftest import Write, WriteArgs, saying


class Meanwhile(Asker):
    """Says yes, after something has happened."""

    def __init__(self, happens: Callable[[], object], answer: Answer | None = None) -> None:
        self.happens = happens
        self.answer = answer or Answer("allow")
        self.count = 0

    async def ask(self, question: Question) -> Answer:
        del question
        self.count += 1
        self.happens()
        return self.answer


def run(folder: Path, asker: Asker, name: str, arguments: dict[str, Any], **options: Any) -> CallFinished:
    async def session() -> CallFinished:
        permissions = PermissionContext.started_in(str(folder))
        async with Executor(
            options.pop("tools", None) or all_tools(), permissions=permissions, cwd=str(folder), asker=asker, **options
        ) as executor:
            executor.add({"type": "tool_use", "id": "1", "name": name, "input": arguments})
            replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
        return replies[0]

    return asyncio.run(asyncio.wait_for(session(), 60))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to("plain")
    return tmp_path


def turn(folder: Path, where: str) -> None:
    os.unlink(folder / "link")
    (folder / "link").symlink_to(where)


CALLS = [
    ("Write", {"file_path": "link/post-checkout", "content": "evil"}),
    ("Bash", {"command": "printf evil > link/post-checkout"}),
    ("Bash", {"command": "cp /bin/true link/post-checkout"}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_link_turned_to_a_protected_place_while_the_question_is_open_is_refused(
    folder: Path, name: str, arguments: dict[str, Any]
) -> None:
    asker = Meanwhile(lambda: turn(folder, ".git/hooks"))
    reply = run(folder, asker, name, arguments)
    assert (reply.outcome, asker.count) == ("denied", 1)
    assert "link/post-checkout' led to" in str(reply.content)
    assert list((folder / ".git" / "hooks").iterdir()) == []
    assert list((folder / "plain").iterdir()) == []


def test_a_link_turned_to_an_ordinary_place_is_refused_too(folder: Path) -> None:
    (folder / "other").mkdir()
    reply = run(folder, Meanwhile(lambda: turn(folder, "other")), *CALLS[0])
    assert (reply.outcome, list((folder / "other").iterdir())) == ("denied", [])
    assert "leads to" in str(reply.content)


def test_a_file_that_became_a_link_is_refused(folder: Path) -> None:
    asker = Meanwhile(lambda: (folder / "plain" / "new").symlink_to(folder / ".git" / "hooks" / "pre-push"))
    reply = run(folder, asker, "Write", {"file_path": "plain/new", "content": "evil"})
    assert (reply.outcome, (folder / ".git" / "hooks" / "pre-push").exists()) == ("denied", False)


def test_a_file_that_got_a_second_name_meanwhile_is_refused(folder: Path) -> None:
    (folder / "plain" / "file").write_text("x")
    asker = Meanwhile(lambda: os.link(folder / "plain" / "file", folder / "plain" / "second"))
    reply = run(folder, asker, "Write", {"path": "plain/file"}, tools=[Counted()])
    assert reply.outcome == "denied"
    assert "hard links" in str(reply.content)


def test_nothing_that_stays_where_it_was_is_refused(folder: Path) -> None:
    for call in CALLS:
        assert run(folder, Meanwhile(lambda: None), *call).outcome == "completed"


def test_a_yes_to_a_protected_path_is_a_yes_to_that_path(folder: Path) -> None:
    reply = run(folder, Meanwhile(lambda: None), "Write", {"file_path": ".git/hooks/x", "content": "mine"})
    assert (reply.outcome, (folder / ".git" / "hooks" / "x").read_text()) == ("completed", "mine")


class Counted(Write):
    """Counts how often it is asked what it would do."""

    def __init__(self) -> None:
        self.counted = 0

    def effects(self, args: WriteArgs, ctx: ToolContext) -> Effects:
        self.counted += 1
        return Effects(writes=[str(ctx.resolve(args.path))])

    def permission_matcher(self, args: WriteArgs, ctx: ToolContext) -> RuleSubject:
        return RuleSubject("edit_path", str(ctx.resolve(args.path)))


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    made: list[None] = []
    plain = approve.decide

    def counted(*args: Any, **options: Any) -> Any:
        made.append(None)
        return plain(*args, **options)

    monkeypatch.setattr(approve, "decide", counted)
    return made


def test_an_asked_call_is_worked_out_once_and_judged_at_most_twice(tmp_path: Path, decisions: list[None]) -> None:
    tool = Counted()
    reply = run(tmp_path, Meanwhile(lambda: None), "Write", {"path": "x"}, tools=[tool])
    assert (reply.outcome, tool.counted, len(decisions)) == ("completed", 1, 2)


def test_a_changed_input_is_worked_out_once_more(tmp_path: Path, decisions: list[None]) -> None:
    tool = Counted()
    changed = Meanwhile(lambda: None, Answer("allow", updated_input={"path": "y"}))
    reply = run(tmp_path, changed, "Write", {"path": "x"}, tools=[tool])
    assert (reply.data, tool.counted, len(decisions)) == ("y", 2, 2)


def test_a_call_that_is_allowed_is_worked_out_and_judged_once(tmp_path: Path, decisions: list[None]) -> None:
    tool = Counted()
    permissions = PermissionContext.started_in(str(tmp_path), "acceptEdits")

    async def session() -> list[str]:
        async with Executor([tool], permissions=permissions, cwd=str(tmp_path)) as executor:
            executor.add({"type": "tool_use", "id": "1", "name": "Write", "input": {"path": "x"}})
            return [event.outcome async for event in executor.results() if isinstance(event, CallFinished)]

    assert asyncio.run(session()) == ["completed"]
    assert (tool.counted, len(decisions)) == (1, 1)


def test_a_gate_does_not_make_the_tool_say_it_again(tmp_path: Path) -> None:
    tool = Counted()
    reply = run(tmp_path, Meanwhile(lambda: None), "Write", {"path": "x"}, tools=[tool], hooks=[saying(None)])
    assert (reply.outcome, tool.counted) == ("completed", 1)
