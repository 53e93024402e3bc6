"""The environment of commands: the login shell is asked once, bounded, and never before trust."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.host.processes import Processes
from holdfast.tools.shell import _environment
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell._functions import BashWithFunctions
from holdfast.tools.shell.bash import BashArgs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def variables(environment: ShellEnvironment, times: int = 1) -> Mapping[str, str | None]:
    async def ask() -> Mapping[str, str | None]:
        async with Processes(environment=environment.base) as processes:
            for _ in range(times - 1):
                await environment.variables(processes, unasked=False)
            return await environment.variables(processes, unasked=False)

    return asyncio.run(ask())


def test_variables_of_git_that_start_programs_or_win_over_the_hardening_are_gone_when_nobody_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_TRACE2_EVENT", "GIT_CONFIG_PARAMETERS", "GIT_NEW", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, "x")
    environment = ShellEnvironment(login=False)

    async def ask(*, unasked: bool) -> Mapping[str, str | None]:
        async with Processes(environment=environment.base) as processes:
            return await environment.variables(processes, unasked=unasked)

    asked, unasked = asyncio.run(ask(unasked=False)), asyncio.run(ask(unasked=True))
    assert not any(name.startswith("GIT_") for name in asked)
    gone = {name for name, value in unasked.items() if value is None and name.startswith("GIT_")}
    assert {"GIT_EXTERNAL_DIFF", "GIT_TRACE2_EVENT", "GIT_CONFIG_PARAMETERS", "GIT_NEW"} <= gone
    assert "GIT_CONFIG_GLOBAL" not in gone
    assert unasked["GIT_PAGER"] == "cat"


@pytest.fixture
def profile(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELL", "/bin/bash")
    return isolated_home / ".bash_profile"


def test_the_login_shell_adds_its_path_and_variables_once(profile: Path, isolated_home: Path) -> None:
    profile.write_text(
        "echo hello from the profile\n"
        f"echo x >> {isolated_home}/count\n"
        'export PATH="$PATH:/opt/mine/bin" HF_MINE="a\nb" EDITOR=vim\n',
        encoding="utf-8",
    )
    found = variables(ShellEnvironment(), times=3)
    assert (found["PATH"] or "").endswith(":/opt/mine/bin")
    assert found["HF_MINE"] == "a\nb"
    assert "EDITOR" not in found
    assert (isolated_home / "count").read_text(encoding="utf-8") == "x\n"


def test_commands_that_start_together_ask_the_login_shell_once(
    profile: Path, isolated_home: Path, make_desk: Any
) -> None:
    profile.write_text(f"echo x >> {isolated_home}/count\n", encoding="utf-8")
    desk = make_desk(environment=ShellEnvironment())

    async def work() -> int:
        for number in range(5):
            desk.running.add(
                {"type": "tool_use", "id": f"p{number}", "name": "Bash", "input": {"command": f"echo {number}"}}
            )
        return len([event async for event in desk.running.results()])

    assert desk.run(work) == 5
    assert (isolated_home / "count").read_text(encoding="utf-8") == "x\n"


def test_before_trust_the_login_shell_is_not_asked(profile: Path) -> None:
    profile.write_text("export HF_MINE=1\n", encoding="utf-8")
    trusted: list[bool] = []
    environment = ShellEnvironment(is_trusted=lambda: bool(trusted))
    assert "HF_MINE" not in variables(environment)
    trusted.append(True)
    assert variables(environment)["HF_MINE"] == "1"


def test_a_login_shell_that_hangs_is_given_up(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile.write_text("export HF_MINE=1\nwhile :; do read -t 9 < <(sleep 9); done\n", encoding="utf-8")
    monkeypatch.setattr(_environment, "_LIMIT_S", 0.3)
    assert "HF_MINE" not in variables(ShellEnvironment())


def test_credentials_that_a_profile_sets_stay_out(profile: Path) -> None:
    profile.write_text("export ANTHROPIC_API_KEY=canary MY_TOKEN=mine\n", encoding="utf-8")
    found = variables(ShellEnvironment())
    assert "ANTHROPIC_API_KEY" not in found
    assert found["MY_TOKEN"] == "mine"


def test_functions_are_there_only_when_wanted_and_are_never_read_only(
    profile: Path, tmp_path: Path, make_desk: Any
) -> None:
    profile.write_text("ls() { echo my ls; }\nalias cat='echo my cat'\n", encoding="utf-8")
    plain = make_desk(environment=ShellEnvironment())
    assert plain.one("ls; cat /dev/null").content == "[The command gave no output]"
    environment = ShellEnvironment(functions=True, definitions_file=lambda: str(tmp_path / "functions"))
    desk = make_desk(environment=environment)
    desk.bash = BashWithFunctions(desk.board, environment=environment)
    desk.tools[0] = desk.bash

    async def work() -> tuple[Any, Any, bool, bool]:
        refused = await desk.sh("ls")
        fine = await desk.sh("pwd")
        return refused, fine, *(desk.bash.is_read_only(BashArgs(command=name)) for name in ("cat x", "pwd"))

    refused, fine, shadowed, free = desk.run(work, permission_mode="default")
    assert refused.outcome == "denied"
    assert (fine.is_error, shadowed, free) == (False, False, True)
    again = make_desk(environment=ShellEnvironment(functions=True, definitions_file=lambda: str(tmp_path / "f2")))
    assert again.one("ls\ncat x").content == "my ls\nmy cat x"
