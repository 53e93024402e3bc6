"""Bash: time limits, the background, progress and interrupts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import PromptFacts, SessionFacts
from holdfast.events import CallFinished, CallProgressed
from holdfast.tools.shell.bash import BashLimits

from .conftest import text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


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


def test_the_user_can_let_a_running_command_go_on(
    desk: Any, comes_true: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    async def work() -> CallFinished:
        desk.running.add(
            {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "read -t 20 < <(sleep 20)"}}
        )
        await comes_true(lambda: desk.bash.background("x"))
        return [event async for event in desk.running.results()][-1]

    reply = desk.run(work)
    assert reply.data["backgroundedByUser"] is True
    assert not desk.bash.background("x")


def test_without_a_background_the_user_cannot_let_a_command_go_on(
    desk: Any, comes_true: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    session = SessionFacts(project_root=str(desk.cwd), prompt=PromptFacts(background=False))

    async def work() -> CallFinished:
        command = "touch begun; read < go; echo done"
        desk.running.add({"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": command}})
        await comes_true((desk.cwd / "begun").exists)
        assert not desk.bash.background("x")
        await asyncio.to_thread((desk.cwd / "go").write_bytes, b"\n")
        return [event async for event in desk.running.results()][-1]

    os.mkfifo(desk.cwd / "go")
    assert desk.run(work, session=session).content == "done"


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


def test_an_interrupt_ends_the_command_and_its_children(
    desk: Any, comes_true: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    async def work() -> tuple[str, int]:
        desk.running.add(
            {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "touch begun; cat <(sleep 30)"}}
        )
        await comes_true((desk.cwd / "begun").exists)
        await desk.running.interrupt()
        replies = [event async for event in desk.running.results()]
        return replies[-1].outcome, len(desk.board.processes.running)

    assert desk.run(work) == ("cancelled", 0)
