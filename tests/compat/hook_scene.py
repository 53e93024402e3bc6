"""A small session with command hooks of the user's settings, and what came of it."""

import json
from pathlib import Path
from typing import Any, cast

from holdfast import Agent
from holdfast.events import CallFinished, Event, HookSpoke
from holdfast.models import ModelRequest
from holdfast.models.scripted import ScriptedModel

__all__ = ["Scene", "command", "group", "own", "says", "tool", "user_settings"]


def command(text: str, **more: Any) -> dict[str, Any]:
    """A handler that runs this."""
    return {"type": "command", "command": text, **more}


def group(*handlers: dict[str, Any], matcher: str | None = None) -> dict[str, Any]:
    """Handlers with one matcher."""
    return {"hooks": list(handlers), **({} if matcher is None else {"matcher": matcher})}


def says(**answer: Any) -> str:
    """A command that answers with this."""
    return f"cat >/dev/null; echo '{json.dumps(answer)}'"


def own(event: str, **answer: Any) -> str:
    """A command that answers with what only this event knows."""
    return says(hookSpecificOutput={"hookEventName": event, **answer})


def tool(id_: str, name: str, /, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def user_settings(home: Path, hooks: dict[str, Any], **more: Any) -> Path:
    """The user's own settings file, with these hooks."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks, **more}), encoding="utf-8")
    return path


def _groups(given: Any) -> list[Any]:
    if isinstance(given, list):
        return cast("list[Any]", given)
    return [given if "hooks" in given else group(given)]


class Scene:
    """A session whose user has hooks: for each event a handler, a group, or a list of groups."""

    def __init__(self, home: Path, place: Path, **hooks: Any) -> None:
        self.home, self.place = home, place
        self.events: list[Event] = []
        self.requests: list[ModelRequest] = []
        self.settings = user_settings(home, {event: _groups(given) for event, given in hooks.items()})

    def run(self, *turns: Any, prompt: str = "go", **options: Any) -> Any:
        model = ScriptedModel(turns)
        options = {"permission_mode": "bypassPermissions", **options}
        with Agent(model, cwd=self.place, on_event=self.events.append, **options) as agent:
            result = agent.run_sync(prompt)
        self.requests = model.requests
        return result

    def call(self, command_: str = "touch made", **options: Any) -> CallFinished:
        """One call of Bash, and its reply."""
        self.run([tool("t", "Bash", command=command_)], "done", **options)
        return self.finished("t")

    def finished(self, id_: str) -> CallFinished:
        """How a call ended."""
        return next(event for event in self.events if isinstance(event, CallFinished) and event.tool_use_id == id_)

    def reply(self, id_: str = "t") -> str:
        """How a call ended, as the model reads it."""
        return str(self.finished(id_).content)

    def lines(self, name: str = "log") -> list[str]:
        """What hooks have written down."""
        file = self.place / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    @property
    def said(self) -> list[str]:
        """What the user read of hooks."""
        return [event.text for event in self.events if isinstance(event, HookSpoke)]

    @property
    def newest(self) -> str:
        """The newest message that the model was sent."""
        return str(self.requests[-1].messages[-1])
