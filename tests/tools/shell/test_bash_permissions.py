"""Bash: what the engine and the permissions are told, and what people are shown."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import Answer, Question, ToolContext
from holdfast.contract.permission import NO_OBJECTION
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.tools.shell.bash import Bash, BashArgs

from .conftest import text

if TYPE_CHECKING:
    from collections.abc import Callable


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


def test_git_add_in_accept_edits_starts_no_hook_of_the_repository(desk: Any, tmp_path: Path) -> None:
    asker = _Yes()

    async def work() -> list[int]:
        await desk.sh("git init -q . && echo x > a.txt")
        hook = tmp_path / ".git/hooks/post-index-change"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
        hook.chmod(0o755)
        asked = [len(asker.questions)]
        await desk.sh("git add a.txt")
        return [*asked, len(asker.questions)]

    assert desk.run(work, permission_mode="acceptEdits", asker=asker) == [1, 1]
    listed = subprocess.run(["git", "ls-files"], cwd=tmp_path, check=True, timeout=30, capture_output=True, text=True)
    assert (listed.stdout, (tmp_path / "started").exists()) == ("a.txt\n", False)


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"])
def test_git_that_a_variable_leads_elsewhere_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    args, ctx = BashArgs(command="git status"), ToolContext(tmp_path)
    assert asyncio.run(Bash().check_permission(args, ctx)) == NO_OBJECTION
    monkeypatch.setenv(name, "elsewhere")
    opinion = asyncio.run(Bash().check_permission(args, ctx))
    assert name in str(opinion)


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


def test_git_in_a_part_of_the_repository_runs_unasked_hardened_and_looked_at(desk: Any, tmp_path: Path) -> None:
    asker = _Yes()
    show = "git config --get core.hooksPath"

    async def work() -> list[tuple[int, str]]:
        await desk.sh("git init -q . && mkdir sub")
        found = [(len(asker.questions), "")]
        bad = "git config filter.x.clean evil"
        texts = (f"cd sub && {show}", f"git -C sub {show[4:]}", bad, f"(cd sub && {show})", f"cd {tmp_path} && {show}")
        for command in texts:
            reply = text(await desk.sh(command))
            found.append((len(asker.questions), reply.split("\n")[0]))
            await desk.sh(f"cd {tmp_path}")
        return found

    told = desk.run(work, permission_mode="default", asker=asker)
    assert told[:3] == [(1, ""), (1, "/dev/null"), (1, "/dev/null")]
    # What the repository starts is found from a part of it, and behind a `cd` to where the session is.
    assert [asked for asked, _ in told[3:]] == [2, 3, 4]
    assert "filter" in asker.questions[-1].reason


def test_a_version_that_a_project_chooses_is_asked_about(desk: Any, tmp_path: Path) -> None:
    asker = _Yes()

    async def work() -> list[int]:
        asked = list[int]()
        for command in ("rustc --version", "echo x > rust-toolchain.toml", "rustc --version", "python3 --version"):
            await desk.sh(command)
            asked.append(len(asker.questions))
        return asked

    assert desk.run(work, permission_mode="default", asker=asker) == [0, 1, 2, 2]
    assert "rust-toolchain.toml" in asker.questions[-1].reason
    assert (tmp_path / "rust-toolchain.toml").exists()


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


def test_a_list_of_go_packages_is_asked_about_where_git_would_start_a_filter(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=30)
    args, ctx = BashArgs(command="go list ./..."), ToolContext(tmp_path)
    assert asyncio.run(Bash().check_permission(args, ctx)) == NO_OBJECTION
    subprocess.run(["git", "config", "filter.x.clean", "evil"], cwd=tmp_path, check=True, timeout=30)
    assert "filter.x.clean" in str(asyncio.run(Bash().check_permission(args, ctx)))
