"""What the demo with agents shows besides: what each agent does, questions, plans, and the list as it moves."""

from collections.abc import Iterable
from typing import Any, Final, cast

from holdfast.app.call_lines import CallLines
from holdfast.app.results import RunResult
from holdfast.app.tools import all_tools
from holdfast.cli.demo_view import DemoView, subject_of
from holdfast.contract import Form
from holdfast.contract.render import Line
from holdfast.events import AgentTold, CallFinished, CallQueued, Event
from holdfast.tools.lists.drawing import item_line

__all__ = ["AgentsView"]

_DRAWN: Final = frozenset({"Agent", "AskUserQuestion", "EnterPlanMode", "EnterWorktree", "ExitWorktree"})
_COLOURS: Final = {"ok": "green", "bad": "red", "warn": "yellow", "accent": "cyan"}
_SHOWN_PLAN: Final = 12


class AgentsView(DemoView):
    """The session with agents, live."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        """What each agent was started for, by the call that started it."""
        self._inner: dict[tuple[str, str], str] = {}
        self._inner_calls = 0
        self._list: dict[str, tuple[str, str]] = {}
        self._drawn = CallLines({tool.name: tool for tool in all_tools()}.get)

    def take(self, event: Event) -> None:
        """Show one event as it happens."""
        if isinstance(event, AgentTold):
            self._told(event)
            return
        if isinstance(event, CallQueued) and event.name == "Agent":
            self._names[event.tool_use_id] = str(cast("dict[str, Any]", event.input).get("description", ""))
        super().take(event)
        if isinstance(event, CallFinished) and not event.is_error:
            self._show(event)

    def _told(self, told: AgentTold) -> None:
        event = told.event
        if isinstance(event, CallQueued):
            self._inner[told.agent_id, event.tool_use_id] = f"{event.name} {subject_of(event.input)}"
        elif isinstance(event, CallFinished):
            self._inner_calls += 1
            who = f"{told.agent_type} · {self._names.get(told.parent_tool_use_id, '')}"
            mark = self._style("✗", fg="red") if event.is_error else self._style("·", fg="green")
            what = self._inner.get((told.agent_id, event.tool_use_id), "")
            self._line(f"    {mark} {self._style(f'{who:<26}', fg='magenta')} {what}")

    def _show(self, event: CallFinished) -> None:
        data: Any = event.data
        if event.name == "TaskCreate":
            self._list[data["task"]["id"]] = (data["task"]["subject"], "pending")
        elif event.name == "TaskUpdate":
            subject, _ = self._list[data["taskId"]]
            self._list[data["taskId"]] = (subject, data["statusChange"]["to"])
            for name, status in self._list.values():
                self._put(item_line(status, name))
        elif event.name in _DRAWN:
            for line in self._drawn.result(event):
                self._put(line)

    def _put(self, line: Line) -> None:
        pieces = (self._style(text, fg=_COLOURS.get(role), dim=role == "dim") for role, text in line)
        self._line("      " + "".join(pieces))

    # Forms.

    def show_form(self, form: Form) -> None:
        """What the person has before them."""
        self._line(f"  {self._style('?', fg='yellow', bold=True)} {form.message}")
        for line in form.text.splitlines()[:_SHOWN_PLAN]:
            self._line(self._style(f"    │ {line}", dim=True))
        for field in form.fields:
            self._say(field.title, indent=4)
            for choice in field.choices:
                more = f": {choice.description}" if choice.description else ""
                self._line(f"      ○ {choice.label}{more}")

    def fill(self, said: str) -> None:
        """What was filled in, and by whom."""
        self._say(f"The demo answers for you: {said}.", indent=4, colour="yellow")

    def say_yes(self) -> None:
        """A yes to one call."""
        self.fill("yes, this once")

    def _figures(self, result: RunResult) -> Iterable[tuple[str, str]]:
        yield "agents", f"{len(self._names)} side by side, {self._inner_calls} calls of their own, one report each"
        yield from super()._figures(result)
