"""Play one hook script as users write them, and look what came of it."""

import asyncio
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.hooks.events import EVENTS
from holdfast.hooks.hear import Verdict, hear
from holdfast.hooks.schema import Handlers, hooks_of
from holdfast.host.processes import Processes
from holdfast.settings.merge import Origin, freeze
from holdfast.settings.model import HookEntry
from holdfast.settings.sources import SourceKind

__all__ = ["Case", "bash", "check", "edit"]


class Case(NamedTuple):
    """A script, what it is told, and what comes of it.

    That is a decision, or a word after one of: `note:` (told to the model or the user), `warn:` (it failed), `input:`,
    `output:`, `stop:`, `more:` (what only this event knows), `env:` (left for later commands), `file:` (written to the
    file `out` of the project); nothing for nothing.
    """

    name: str
    event: str
    script: str
    told: dict[str, Any]
    comes: str


def bash(command: str) -> dict[str, Any]:
    """A call of Bash."""
    return {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"}


def edit(path: str, **more: Any) -> dict[str, Any]:
    """A call of Edit that worked."""
    given = {"file_path": path, "new_string": "x", "content": "x", **more}
    response = {"filePath": path, "success": True}
    return {"tool_name": "Edit", "tool_input": given, "tool_use_id": "t", "tool_response": response}


def _run(case: Case, project: Path, left: dict[str, str]) -> Verdict:
    (project / "run.sh").write_text("#!/bin/sh\nexit 2\n")
    (project / "run.sh").chmod(0o755)
    command = case.script
    if command.startswith("#!"):
        (project / "hook").write_text(command)
        (project / "hook").chmod(0o755)
        command = "$CLAUDE_PROJECT_DIR/hook"
    kind = EVENTS[case.event]
    known = {name: value for name, value in case.told.items() if name in kind.__struct_fields__}
    told: dict[str, Any] = {"cwd": str(project), "session_id": "s1", **known}
    event = kind(**told)
    (project / "variables").touch()

    def variables(key: str) -> str:
        return str(project / "variables")

    async def body() -> Verdict:
        async with asyncio.timeout(60), Processes() as processes:
            around = Surroundings(project_dir=str(project), env_file=variables, on_env=left.update)
            runner = CommandRunner(lambda: processes, around)
            raw: Any = freeze({"type": "command", "command": command})
            entry = HookEntry(case.event, None, raw, Origin(SourceKind.USER, "/settings.json", 1))
            hooks = hooks_of((entry,), Handlers(runner, {}))
            return await hear(tuple(hooks), event, hooks)

    return asyncio.run(body())


@cache
def _starts(program: str) -> bool:
    """Whether this user may start it: one that only root can reach is as good as none."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except OSError:
        return False


def check(case: Case, project: Path) -> None:
    """Play it, and compare."""
    needed = [program for program in ("jq", "node") if program in case.script]
    if not all(_starts(program) for program in needed):
        pytest.skip(f"needs {needed}")
    left: dict[str, str] = {}
    verdict = _run(case, project, left)
    what, _, word = case.comes.partition(":")
    if word == "":
        assert (verdict.behavior or "") == case.comes, verdict
        assert not verdict.warnings
        return
    found = {
        "note": "\n".join((*verdict.contexts, *verdict.messages)),
        "warn": "\n".join(verdict.warnings),
        "input": json.dumps(verdict.updated_input),
        "output": str(verdict.updated_output),
        "stop": verdict.stop or "",
        "more": json.dumps(verdict.more),
        "updates": str(verdict.updates),
        "reason": verdict.reason if verdict.blocks else "",
        "env": json.dumps(left),
        "file": (project / "out").read_text() if (project / "out").exists() else "",
    }[what]
    assert word in found, verdict
    assert verdict.behavior == {"reason": "deny", "updates": "allow"}.get(what)
