"""One session in which everything happens that hooks can hear of, and what each of them was told."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.askers import asker_of
from holdfast.app.options import AgentOptions, Options
from holdfast.app.running import RunningAgent
from holdfast.app.start_agent import start_agent
from holdfast.events import Event
from holdfast.hooks.events import EVENTS
from holdfast.models import ModelRequest
from holdfast.models.scripted import ScriptedModel

from .hook_scene import command, tool, user_settings

__all__ = ["NEVER", "QUESTION", "SERVER", "Tour", "toured"]

SERVER = Path(__file__).parents[1] / "data" / "mcp" / "scene.py"
QUESTION = {"message": "How old?", "requestedSchema": {"properties": {"age": {"type": "integer"}}, "required": ["age"]}}
NEVER = frozenset({"TeammateIdle", "PreModelSwitch", "PostModelSwitch"})
"""Known names of what does not happen here."""


class Tour:
    """The session. Every event has one command hook, which keeps what stands on its standard input."""

    def __init__(self, home: Path, place: Path, ends: Mapping[str, str]) -> None:
        """Prepare a repository, the user's files and the hooks.

        Args:
            home: The user's home.
            place: Where everything else is.
            ends: What hooks do besides, by their events.
        """
        self.ends = ends
        self.events: list[Event] = []
        self.told: dict[str, list[dict[str, Any]]] = {}
        self.log, self.extra, self.made = place / "log", place / "extra", place / "made"
        self.project = place / "project"
        for folder in (self.log, self.extra, self.project / "sub"):
            folder.mkdir(parents=True)
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
        for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run([*git, *words], cwd=self.project, check=True, timeout=30)
        (home / ".claude" / "commands").mkdir(parents=True)
        (home / ".claude" / "commands" / "greet.md").write_text("Greet $ARGUMENTS.")
        (home / ".claude" / "CLAUDE.md").write_text("Be kind.")
        (self.project / ".watched").write_text("1")
        self.settings = user_settings(home, self._hooks(), permissions={"deny": ["Bash(rm *)"], "allow": RULES})

    def _hooks(self) -> dict[str, Any]:
        keep = f'cat > "{self.log}/$CLAUDE_HOOK_EVENT_NAME-$$.json"'
        given = {"type": "addDirectories", "directories": [str(self.extra)], "destination": "session"}
        decision = {"behavior": "allow", "updatedPermissions": [given]}
        answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        then = {
            "WorktreeCreate": f"mkdir -p {self.made}; echo {self.made}",
            "WorktreeRemove": f"rm -rf {self.made}",
            "PermissionRequest": f"echo '{json.dumps(answer)}'",
            **self.ends,
        }
        matchers = {"FileChanged": ".watched"}
        return {
            name: [{"matcher": matchers.get(name, ""), "hooks": [command(f"{keep}; {then.get(name, ':')}")]}]
            for name in EVENTS
        }

    def go(self) -> None:
        """Run it; what was told is then known by event."""
        asyncio.run(asyncio.wait_for(self._session(), 120))
        for file in sorted(self.log.iterdir(), key=lambda one: one.stat().st_mtime_ns):
            found = json.loads(file.read_text(encoding="utf-8"))
            self.told.setdefault(found["hook_event_name"], []).append(found)

    async def _session(self) -> None:
        server = {"command": sys.executable, "args": [str(SERVER), "elicits", json.dumps(QUESTION)], "alwaysLoad": True}
        options = Options(
            cwd=str(self.project),
            mcp_config=(json.dumps({"mcpServers": {"scene": server}}),),
            strict_mcp_config=True,
        )
        asker = asker_of(None, lambda form: {"age": 7})
        chosen = AgentOptions(model=self._model(), effort="high")
        agent = await start_agent(options, chosen, asker=asker, on_event=self.events.append)
        async with agent:
            await agent.set_up("init")
            await _answered(agent, "/greet you")
            await _answered(agent, "and now fail")
            await agent.compact("keep the names")

    def _model(self) -> ScriptedModel:
        return ScriptedModel([
            [
                tool("bad", "Bash", command="exit 3"),
                tool("denied", "Bash", command="rm x"),
                tool("asked", "Bash", command="touch asked"),
                tool("task", "TaskCreate", subject="tidy", description="up"),
                tool("done", "TaskUpdate", taskId="1", status="completed"),
                tool("echo", "mcp__scene__echo", text="x"),
                tool("agent", "Agent", description="look", prompt="look around", subagent_type="Explore"),
            ],
            "I looked.",
            self._changing(tool("in", "EnterWorktree", name="apart")),
            [tool("out", "ExitWorktree", action="remove", discard_changes=True)],
            [tool("cd", "Bash", command="cd sub")],
            "All done.",
            {"blocks": [], "error": {"kind": "auth", "message": "no key"}},
            "A summary.",
        ])  # fmt: skip

    def _changing(self, *calls: dict[str, Any]) -> Callable[[ModelRequest], Any]:
        """An answer during which somebody changes files."""

        def turn(request: ModelRequest) -> Any:
            (self.project / ".watched").write_text("22")
            change = {**json.loads(self.settings.read_text()), "cleanupPeriodDays": 20}
            self.settings.write_text(json.dumps(change))
            return list(calls)

        return turn


RULES = ["Bash(exit *)", "Bash(cd *)", "TaskCreate", "TaskUpdate", "mcp__scene", "Agent",
         "EnterWorktree", "ExitWorktree"]  # fmt: skip


def toured(places: pytest.TempPathFactory, ends: Mapping[str, str] | None = None) -> Tour:
    """The session has been: what was told, and what was seen."""
    home, place = places.mktemp("home"), places.mktemp("place").resolve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("ENABLE_TOOL_SEARCH", "false")
        patch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        for name in ("CONFIG", "STATE", "DATA", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        tour = Tour(home, place, ends or {})
        tour.go()
    return tour


async def _answered(agent: RunningAgent, prompt: str) -> None:
    async for _ in agent.run(prompt):
        pass
