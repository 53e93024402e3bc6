"""What the demo shows: the session as it happens, line by line, and what it saved."""

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

import click

from holdfast.app.results import RunResult
from holdfast.cli.flow import Flow
from holdfast.contract import Question
from holdfast.events import (
    AssistantReplied,
    CallFinished,
    CallQueued,
    CallStarted,
    Event,
    ModelRequested,
    PermissionDecided,
    TextStreamed,
    ToolUseStreamed,
)

__all__ = ["NEXT", "DemoView", "overlap_s", "subject_of", "union_s"]

_MAX_COLUMNS = 110
_LABEL = 30
_SHOWN_LINES = 4
_SHORTEST_BARS = 20
_SUBJECTS = ("command", "file_path", "pattern", "subject", "description", "skill", "taskId", "name", "action")
_LAYERS = {"mode": "by the mode", "allow": "by a rule", "ask": "by a person", "deny": "by a rule"}
NEXT = (
    "export ANTHROPIC_API_KEY=…; holdfast                       (a session in your own folder)",
    'holdfast -p "why does this test fail?"                      (one answer)',
    'ollama pull qwen3; holdfast -p "…" --model ollama:qwen3     (on this machine)',
    'holdfast permissions explain Bash \'{"command": "git push"}\'',
)

Interval = tuple[float, float]


def subject_of(raw: Any) -> str:
    """What a call is about, in a few words."""
    given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    found = next((str(given[name]) for name in _SUBJECTS if given.get(name)), "")
    return os.path.basename(found) if os.path.isabs(found) else found


class _Call:
    """One call as the view knows it."""

    def __init__(self, queued: CallQueued, now: float) -> None:
        self.name = queued.name
        self.subject = subject_of(queued.input)
        self.written_at = now
        self.started_at: float | None = None
        self.reply: CallFinished | None = None

    @property
    def label(self) -> str:
        """The tool and what it is about."""
        return f"{self.name} {self.subject}"

    @property
    def interval(self) -> Interval:
        """When it acted."""
        began = self.written_at if self.started_at is None else self.started_at
        return began, began + (self.reply.duration_ms / 1000 if self.reply and self.started_at is not None else 0.0)


class DemoView:
    """Prints a run. Colour only on a terminal, and NO_COLOR counts."""

    def __init__(self) -> None:
        self._has_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._columns = min(shutil.get_terminal_size((100, 24)).columns, _MAX_COLUMNS)
        self._flow = Flow(self._columns - 2, self._write)
        self._waiting: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._turn: list[_Call] = []
        self._requests: list[Interval] = []
        self._is_writing = False
        self._decided: Counter[tuple[str, str]] = Counter()
        self.is_quiet = False
        """Somebody else shows the session; only the figures are ours."""

    # The beginning and the end.

    def open(self, project: str, prompt: str) -> None:
        """Say what is real and what is not."""
        self._line(self._style("Holdfast: a whole agent session without a key", bold=True))
        self._say(
            "The model's words come from a script. Everything else is real: the agent loop, the tools, the permission "
            "rules, the tests. It works on a copy of a small shop; nothing outside of it is touched."
        )
        self._line(self._style(f"  {project}", dim=True))
        self._line()
        self._line(f"{self._style('>', fg='cyan', bold=True)} {self._style(prompt, bold=True)}")
        self._line()

    def is_green(self, tests: str) -> bool:
        """The last run of the tests went well."""
        runs = [call.reply for call in self._calls.values() if call.subject == tests and call.reply is not None]
        return bool(runs) and not runs[-1].is_error

    @property
    def was_refused_by_person(self) -> bool:
        """Somebody said no to a call."""
        return bool(self._decided["deny", "ask"])

    def close(self, result: RunResult, *, is_green: bool, is_elsewhere: bool = False) -> None:
        """What happened in figures, and how to go on; `is_elsewhere`: the person wanted it otherwise."""
        self._end_text()
        self._line()
        if is_green:
            self._line(self._style("✓ The tests pass.", fg="green", bold=True))
        elif is_elsewhere:
            self._line(self._style("○ You took it another way, and the tests did not pass in the end.", bold=True))
        else:
            self._line(self._style(f"✗ The demo did not end green: {result.error or result.outcome}", fg="red"))
        for name, words in self._figures(result):
            self._say(words, indent=15, first=f"  {name:<12} ")
        self._line()
        self._line(self._style("Now with a real model", bold=True))
        for words in NEXT:
            self._line(f"  {words}")

    def _figures(self, result: RunResult) -> Iterable[tuple[str, str]]:
        calls = [call for call in self._calls.values() if call.reply is not None]
        acted = [call.interval for call in calls if call.started_at is not None]
        failed = sum(call.reply is not None and call.reply.is_error for call in calls)
        tools_s, together_s = sum(end - start for start, end in acted), union_s(acted)
        hidden_s = overlap_s(acted, self._requests)
        yield "calls", f"{len(calls)} in {result.turns} turns, each answered exactly once, {failed} with an error"
        decided = ", ".join(
            f"{count} {'allowed' if behavior == 'allow' else 'refused'} {_LAYERS.get(layer, layer)}"
            for (behavior, layer), count in sorted(self._decided.items())
        )
        yield "permissions", decided
        saved = f"{(tools_s - together_s) * 1000:.0f} ms saved by working side by side, {hidden_s * 1000:.0f} ms"
        yield "time", f"tools worked {tools_s * 1000:.0f} ms; {saved} by working while the model wrote"
        said = result.usage
        yield "tokens", f"about {said.get('input_tokens', 0):,} in, {said.get('output_tokens', 0):,} out (estimated)"

    # Events.

    def take(self, event: Event) -> None:
        """Show one event as it happens."""
        now = time.perf_counter()
        if isinstance(event, TextStreamed):
            self._flow.feed(event.text)
        elif isinstance(event, ModelRequested):
            self._end_turn()
            self._requests.append((now, now))
            self._is_writing = True
        elif isinstance(event, ToolUseStreamed):
            self._end_text()
        elif isinstance(event, AssistantReplied):
            self._end_text()
            self._requests[-1] = (self._requests[-1][0], now)
            self._is_writing = False
        elif isinstance(event, CallQueued):
            call = self._calls[event.tool_use_id] = _Call(event, now)
            self._turn.append(call)
        elif isinstance(event, PermissionDecided):
            self._decide(event)
        elif isinstance(event, CallStarted):
            self._calls[event.tool_use_id].started_at = now
        elif isinstance(event, CallFinished):
            self._finish(self._calls[event.tool_use_id], event)

    def _decide(self, event: PermissionDecided) -> None:
        decision = event.decision
        self._decided[event.behavior, decision.layer] += 1
        if event.behavior == "deny":
            self._line(f"  {self._style('✗', fg='red')} {self._label(self._calls[event.tool_use_id])}")
            self._say(f"Refused in layer {decision.layer!r}: {decision.reason}{self._origin(decision)}.", indent=4)

    def _finish(self, call: _Call, reply: CallFinished) -> None:
        call.reply = reply
        if reply.outcome == "denied":
            return
        mark = self._style("✗", fg="red") if reply.is_error else self._style("✓", fg="green")
        when = ", while the model was writing" if self._is_writing else ""
        facts = f"{_size(reply)}{reply.duration_ms:.0f} ms{when}"
        self._line(f"  {mark} {self._label(call)} {self._style(facts, dim=True)}")
        if reply.display and reply.name == "Edit":
            self._diff(reply.display)
        elif reply.name == "Bash":
            for line in str(reply.content).strip().splitlines()[-_SHOWN_LINES:]:
                self._line(self._style(f"    │ {line}"[: self._columns], dim=True))

    def _end_turn(self) -> None:
        """After a turn with many calls: one bar for each, on the time in which the model wrote."""
        turn, self._turn = self._turn, []
        has_room = self._columns >= _LABEL + _SHORTEST_BARS
        if len(turn) >= _SHOWN_LINES and self._requests and has_room:
            self._draw(turn, self._requests[-1])
        if self._requests:
            self._line()

    def _draw(self, calls: Sequence[_Call], request: Interval) -> None:
        began, ended = request[0], max([request[1], *(call.interval[1] for call in calls)])
        width = self._columns - _LABEL - 4
        scale = width / (ended - began)
        self._line()
        for call in calls:
            start, end = ((moment - began) * scale for moment in call.interval)
            column = min(width - 1, int(start))
            bar = self._style("█" * max(1, min(width - column, round(end - start))), fg="green")
            self._line(f"  {self._label(call)} {' ' * column}{bar}")
        line = "─" * max(1, int((request[1] - began) * scale))
        self._line(f"  {'the model writes':<{_LABEL}} {self._style(line, fg='cyan')}")
        self._say("Each call began when its input was complete. The replies went back in the order of the calls.")

    # Questions.

    def ask(self, question: Question) -> None:
        """Show the question that a person would see."""
        self._line(f"  {self._style('?', fg='yellow', bold=True)} {question.tool} {question.input.get('command', '')}")
        self._say(f"May it run? It is asked because {question.reason}.", indent=4)

    def answer(self, *, rule: str | None) -> None:
        """Show what was answered, and by whom: yes with a rule, or no."""
        said = "no" if rule is None else f"yes, and do not ask again for {rule} in this session"
        self._say(f"The demo answers for you: {said}.", indent=4, colour="yellow")

    # Lines.

    def _origin(self, decision: Any) -> str:
        source = getattr(getattr(decision, "rule", None), "source", None)
        path, line = getattr(source, "path", None), getattr(source, "line", None)
        if not path:
            return ""
        return f" ({os.sep.join(str(path).split(os.sep)[-2:])}{f', line {line}' if line else ''})"

    def _label(self, call: _Call) -> str:
        text = call.label if len(call.label) <= _LABEL else f"{call.label[: _LABEL - 1]}…"
        return f"{text:<{_LABEL}}"

    def _diff(self, diff: str) -> None:
        for line in diff.splitlines():
            if line.startswith(("---", "+++")):
                continue
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            self._line(self._style(f"    {line}"[: self._columns], fg=colour))

    def _say(self, text: str, *, indent: int = 2, first: str | None = None, colour: str | None = None) -> None:
        """A paragraph of our own."""
        pieces: list[str] = []
        flow = Flow(self._columns - indent, pieces.append, indent=indent, first=first)
        flow.feed(text)
        flow.end()
        for line in "".join(pieces).splitlines():
            self._line(self._style(line, fg=colour))

    def _style(self, text: str, **choices: Any) -> str:
        return click.style(text, **choices) if self._has_colour and text.strip() else text

    def _line(self, text: str = "") -> None:
        """A line of our own; it waits while the model is in the middle of a paragraph."""
        if self._flow.is_open:
            self._waiting.append(text)
        else:
            self._write(f"{text.rstrip()}\n")

    def _end_text(self) -> None:
        self._flow.end()
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self._line(text)

    def _write(self, text: str) -> None:
        if self.is_quiet:
            return
        click.echo(text, nl=False, color=self._has_colour)


def union_s(intervals: Iterable[Interval]) -> float:
    """How long at least one of them lasted."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def overlap_s(some: Sequence[Interval], others: Sequence[Interval]) -> float:
    """How long something of both lasted at the same time."""
    return union_s(some) + union_s(others) - union_s([*some, *others])


def _size(reply: CallFinished) -> str:
    """How much a read-only tool found."""
    if reply.is_error or reply.name not in {"Read", "Glob", "Grep"}:
        return ""
    lines = len(str(reply.content).strip().splitlines())
    return f"{lines} line{'s' if lines != 1 else ''}, "
