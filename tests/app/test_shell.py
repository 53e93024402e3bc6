"""How sessions are wired: limits from the environment, one board for all tools, files that read as inside."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.app import Options, ShellChoices, ShellKit, build_executor, open_session
from holdfast.cli.main import run
from holdfast.events import CallFinished
from holdfast.settings.environment import Environment
from holdfast.tasks.records import read_records

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.engine import Executor


async def call(executor: Executor, name: str, **raw: Any) -> CallFinished:
    executor.add({"type": "tool_use", "id": os.urandom(4).hex(), "name": name, "input": raw})
    replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
    executor.end_turn()
    return replies[-1]


@pytest.mark.parametrize(
    ("variables", "interactive", "limits"),
    [
        ({}, False, (120.0, 600.0, None)),
        ({}, True, (120.0, 600.0, 120.0)),
        ({"HOLDFAST_AUTO_BACKGROUND_TASKS": "1"}, False, (120.0, 600.0, 120.0)),
        ({"CLAUDE_AUTO_BACKGROUND_TASKS": "0"}, True, (120.0, 600.0, None)),
        ({"BASH_DEFAULT_TIMEOUT_MS": "5000", "HOLDFAST_BASH_MAX_TIMEOUT_MS": "9000"}, False, (5.0, 9.0, None)),
        ({"HOLDFAST_BASH_DEFAULT_TIMEOUT_MS": "700000"}, False, (700.0, 700.0, None)),
    ],
)
def test_limits_come_from_the_environment(
    variables: dict[str, str], interactive: bool, limits: tuple[Any, ...]
) -> None:
    kit = ShellKit(ShellChoices(interactive=interactive), variables=Environment(variables))
    assert tuple(kit.limits)[:3] == limits


def test_without_background_work_the_field_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")
    executor = build_executor(Options(cwd=str(tmp_path), permission_mode="bypassPermissions"))
    assert executor.call("Bash", {"command": "true", "run_in_background": True}).outcome == "invalid"
    assert executor.call("Bash", {"command": "echo works"}).content == "works"
    assert executor.call("TaskOutput", {"task_id": "b12345678"}).outcome == "invalid"
    assert executor.call("KillShell", {"shell_id": "b12345678"}).outcome == "invalid"


def test_long_output_and_task_output_read_as_inside(tmp_path: Path) -> None:
    async def work() -> list[CallFinished]:
        async with build_executor(Options(cwd=str(tmp_path))) as executor:
            long = await call(executor, "Bash", command="seq 1 100000")
            return [long, await call(executor, "Read", file_path=long.data["persistedOutputPath"], limit=2)]

    long, read = asyncio.run(work())
    assert not long.is_error
    assert (read.is_error, read.outcome) == (False, "completed")
    assert not os.path.exists(long.data["persistedOutputPath"])


def test_an_added_directory_is_inside_for_cd(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other").mkdir()

    async def work() -> tuple[str, str]:
        options = Options(cwd=str(tmp_path / "project"), permission_mode="bypassPermissions")
        async with build_executor(options) as executor:
            before = await call(executor, "Bash", command="cd ../other")
            working = [str(tmp_path / "project"), str(tmp_path / "other")]
            executor.state.permissions = executor.state.permissions.with_options(working_directories=working)
            await call(executor, "Bash", command="cd ../other")
            return str(before.content), str((await call(executor, "Bash", command="pwd")).content)

    before, place = asyncio.run(work())
    assert "outside the allowed directories" in before
    assert place == str(tmp_path / "other")


def test_with_a_session_records_and_outputs_stay(tmp_path: Path) -> None:
    async def work() -> str:
        async with open_session(Options(cwd=str(tmp_path), permission_mode="bypassPermissions")) as opened:
            started = await call(opened.executor, "Bash", command="echo kept", run_in_background=True)
            await call(opened.executor, "TaskOutput", task_id=started.data["backgroundTaskId"])
            assert opened.session is not None
            return str(opened.session.tasks)

    (record,) = read_records(asyncio.run(work())).values()
    assert (record.status, record.notified) == ("completed", True)
    with open(record.output_file, encoding="utf-8") as file:
        assert file.read() == "kept\n"


def test_one_executor_serves_calls_of_several_loops(tmp_path: Path) -> None:
    executor = build_executor(Options(cwd=str(tmp_path), permission_mode="bypassPermissions"))
    assert [executor.call("Bash", {"command": f"echo {n}"}).content for n in range(3)] == ["0", "1", "2"]


def test_tools_are_listed_with_their_schemas(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "list", "--json"]) == 0
    schemas = {tool["name"]: tool["input_schema"] for tool in json.loads(capfd.readouterr().out)}
    assert set(schemas) >= {"Bash", "Sleep", "TaskOutput", "TaskStop"}
    assert list(schemas["Bash"]["properties"]) == [
        "command",
        "timeout",
        "description",
        "run_in_background",
        "dangerouslyDisableSandbox",
    ]
    assert schemas["Bash"]["required"] == ["command"]
    assert set(schemas["TaskOutput"]["properties"]) == {"task_id", "block", "timeout", "filter"}
    assert list(schemas["Sleep"]["properties"]) == ["duration_seconds", "reason"]


def test_bash_speaks_in_the_same_words_with_the_functions_of_the_login_shell(tmp_path: Path) -> None:
    def words(**choices: Any) -> str:
        found = build_executor(Options(cwd=str(tmp_path), **choices)).pool.find("Bash")
        assert found is not None
        return found.tool.prompt()

    assert words(settings=('{"shell": {"functions": true}}',)) == words()
