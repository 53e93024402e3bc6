"""Agents share the tools of a session, and each call is judged by the rights of whoever makes it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor
from holdfast.app import Options, open_session
from holdfast.events import CallFinished
from holdfast.permissions import PermissionContext, Rule


async def ask(executor: Executor, tool: str, **arguments: Any) -> str:
    executor.add({"type": "tool_use", "id": f"{tool}{executor.turn}", "name": tool, "input": arguments})
    (reply,) = [event async for event in executor.results() if isinstance(event, CallFinished)]
    executor.end_turn()
    return str(reply.content)


def told(
    folder: Path,
    *calls: tuple[str, dict[str, Any]],
    rights: Callable[[PermissionContext], PermissionContext],
    cwd: Path | None = None,
) -> list[str]:
    """What a child reads that has these rights, on the tools of a session in the folder."""

    async def session() -> list[str]:
        async with open_session(Options(cwd=str(folder), permission_mode="acceptEdits")) as opened:
            parent = opened.executor
            permissions = rights(parent.state.permissions)
            async with Executor(
                parent.pool, permissions=permissions, cwd=cwd or folder, session=parent.state.session, resources=()
            ) as child:
                return [await ask(child, tool, **arguments) for tool, arguments in calls]

    return asyncio.run(session())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "plan.txt").write_text("needle in secret\n")
    (tmp_path / "open.txt").write_text("needle in the open\n")
    return tmp_path


def test_what_a_rule_hides_from_a_child_no_search_shows_it(folder: Path):
    calls = [
        ("Grep", {"pattern": "needle", "output_mode": "content"}),
        ("Glob", {"pattern": "**/*.txt"}),
        ("Read", {"file_path": "secret/plan.tx"}),
    ]
    rule = Rule.parse("deny", "Read(secret/**)")
    hidden = told(folder, *calls, rights=lambda parent: parent.child(rules=[rule]))
    seen = told(folder, *calls, rights=lambda parent: parent.child())
    assert ["plan.txt" in text for text in hidden] == [False] * 3
    assert ["plan.txt" in text for text in seen] == [True] * 3
    assert "in the open" in hidden[0]


def test_what_a_rule_hides_from_the_parent_its_children_never_see(folder: Path):
    rule = Rule.parse("deny", "Read(secret/**)")
    (text,) = told(
        folder,
        ("Grep", {"pattern": "needle", "output_mode": "content"}),
        rights=lambda parent: parent.with_rules(rule).child().child("bypassPermissions"),
    )
    assert "in the open" in text
    assert "plan.txt" not in text


def test_a_child_elsewhere_moves_within_its_own_directories(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    tree = tmp_path_factory.mktemp("worktree")
    (tree / "src").mkdir()

    def rights(parent: PermissionContext) -> PermissionContext:
        return parent.with_options(working_directories=[str(tree)], project_root=str(tree))

    moved, back = told(
        folder,
        ("Bash", {"command": "cd src && pwd"}),
        ("Bash", {"command": f"cd {folder} && pwd"}),
        rights=lambda parent: rights(parent).with_mode("bypassPermissions"),
        cwd=tree,
    )
    assert os.path.realpath(tree / "src") in moved
    assert "set back" not in moved
    assert f"set back to {tree / 'src'}" in back
