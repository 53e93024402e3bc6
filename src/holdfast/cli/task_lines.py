"""Lines about work beside the conversation: agents that calls have started, and what goes on in the background."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from holdfast.contract.names import AGENT_TASKS
from holdfast.events import AgentTold, AssistantReplied, CallFinished, CallQueued, CallStarted, Event, TaskChanged

__all__ = ["TaskLines"]

Line = dict[str, Any]
MakeLine = Callable[..., Line]
_ENDS = {"completed": "completed", "failed": "failed", "killed": "stopped"}
_OUTCOMES = {"cancelled": "killed"}
_STARTERS = frozenset({"Agent", "Skill"})
"""The tools whose calls start agents."""


class _Work:
    """An agent at work, or one that was: what its call asked for, and what it has used."""

    def __init__(self, task_id: str, tool_use_id: str, asked: Mapping[str, Any], *, depth: int) -> None:
        self.task_id = task_id
        self.tool_use_id = tool_use_id
        self.type = str(asked.get("subagent_type") or "")
        self.description = str(asked.get("description") or asked.get("skill") or "")
        self.prompt = str(asked.get("prompt") or "")
        self.depth = depth
        self._tokens = 0
        self._tool_uses = 0
        self._began_s = time.monotonic()

    def count(self, event: Event) -> bool:
        """Take note of what it does; true where that is worth a line."""
        if isinstance(event, AssistantReplied):
            used = event.usage
            self._tokens = sum(int(used.get(name, 0)) for name in used)
        elif isinstance(event, CallStarted):
            self._tool_uses += 1
            return True
        return False

    @property
    def usage(self) -> Line:
        took_ms = round((time.monotonic() - self._began_s) * 1000)
        return {"total_tokens": self._tokens, "tool_uses": self._tool_uses, "duration_ms": took_ms}

    @property
    def about(self) -> Line:
        found: Line = {"task_id": self.task_id, "tool_use_id": self.tool_use_id, "description": self.description}
        return {**found, **({"subagent_type": self.type} if self.type else {})}


class TaskLines:
    """What hosts are told of tasks: each start, how agents go on, each end, and which are in the background."""

    def __init__(self, make: MakeLine) -> None:
        self._make = make
        self._alive: dict[str, Line] = {}
        """In the background."""
        self._asked: dict[str, tuple[Mapping[str, Any], int]] = {}
        """What calls that may start an agent ask for, and how deep it would be."""
        self._agents: dict[str, _Work] = {}

    @property
    def has_agents(self) -> bool:
        """An agent works in the background; its end is told to the model."""
        return any(task["task_type"] in AGENT_TASKS for task in self._alive.values())

    def note_call(self, event: CallQueued, *, depth: int = 1) -> None:
        """A call that may start an agent."""
        if event.name in _STARTERS and isinstance(event.input, dict):
            self._asked[event.tool_use_id] = (cast("Mapping[str, Any]", event.input), depth)

    def told(self, told: AgentTold) -> Iterator[Line]:
        """An agent does something: the first that is heard of it is its beginning."""
        event = told.event
        work = self._agents.get(told.agent_id)
        if work is None:
            work = self._begun(told.agent_id, told.parent_tool_use_id)
            work.type = work.type or told.agent_type
            yield self._started(work, "local_agent", is_backgrounded=False)
        if isinstance(event, CallQueued):
            self.note_call(event, depth=told.depth + 1)
        elif isinstance(event, CallFinished):
            yield from self.finished(event)
        if work.count(event):
            yield self._make(
                "system", subtype="task_progress", **work.about, usage=work.usage, last_tool_name=event.name
            )

    def finished(self, event: CallFinished) -> Iterator[Line]:
        """A call has its reply: the agents that it waited for have ended."""
        if self._asked.pop(event.tool_use_id, None) is None:
            return
        for work in [one for one in self._agents.values() if one.tool_use_id == event.tool_use_id]:
            if work.task_id in self._alive:
                continue  # it goes on alone
            del self._agents[work.task_id]
            status = _OUTCOMES.get(event.outcome, "failed" if event.is_error else "completed")
            yield self._updated(work.task_id, {"status": status, "end_time": _now_ms()})
            yield self._ended(work.task_id, status, "", work.description, work)

    def lines(self, event: TaskChanged) -> Iterator[Line]:
        """The lines that a change of a background task becomes."""
        if event.status not in _ENDS:
            yield from self._goes_on(event)
        elif self._alive.pop(event.task_id, None) is not None:
            work = self._agents.pop(event.task_id, None)
            yield self._updated(event.task_id, {"status": event.status, "end_time": _now_ms()})
            about = work or _Work(event.task_id, event.tool_use_id or "", {}, depth=0)
            yield self._ended(
                event.task_id, event.status, event.output_file or "", _summary(event), about, has_usage=work is not None
            )
            yield self._changed()

    def _goes_on(self, event: TaskChanged) -> Iterator[Line]:
        is_new = event.task_id not in self._alive
        self._alive[event.task_id] = {
            "task_id": event.task_id,
            "task_type": event.task_type,
            "description": event.description,
        }
        if not is_new:
            yield self._updated(event.task_id, {"status": event.status})
            return
        work = self._agents.get(event.task_id)
        if work is not None:  # a call has waited for it until now
            yield self._updated(event.task_id, {"is_backgrounded": True})
        else:
            work = self._begun(event.task_id, event.tool_use_id or "", is_kept=event.task_type in AGENT_TASKS)
            work.description = event.description
            yield self._started(work, event.task_type, is_backgrounded=True)
        if work.type:
            self._alive[event.task_id]["subagent_type"] = work.type
        yield self._changed()

    def _begun(self, task_id: str, tool_use_id: str, *, is_kept: bool = True) -> _Work:
        asked, depth = self._asked.get(tool_use_id, ({}, 1))
        work = _Work(task_id, tool_use_id, asked if is_kept else {}, depth=depth)
        if is_kept:
            self._agents[task_id] = work
        return work

    def _started(self, work: _Work, task_type: str, *, is_backgrounded: bool) -> Line:
        about = {name: value for name, value in work.about.items() if value or name == "description"}
        if task_type in AGENT_TASKS:
            about |= {"prompt": work.prompt, "spawn_depth": work.depth}
        return self._make(
            "system", subtype="task_started", task_type=task_type, is_backgrounded=is_backgrounded, **about
        )

    def _ended(
        self, task_id: str, status: str, output: str, summary: str, work: _Work, *, has_usage: bool = True
    ) -> Line:
        return self._make(
            "system",
            subtype="task_notification",
            task_id=task_id,
            status=_ENDS[status],
            output_file=output,
            summary=summary,
            **({"tool_use_id": work.tool_use_id} if work.tool_use_id else {}),
            **({"usage": work.usage} if has_usage else {}),
        )

    def _updated(self, task_id: str, patch: Line) -> Line:
        return self._make("system", subtype="task_updated", task_id=task_id, patch=patch)

    def _changed(self) -> Line:
        return self._make("system", subtype="background_tasks_changed", tasks=list(self._alive.values()))


def _summary(event: TaskChanged) -> str:
    code = "" if event.exit_code is None else f" with exit code {event.exit_code}"
    return f"{event.description or event.task_id}: {_ENDS[event.status]}{code}"


def _now_ms() -> int:
    return int(time.time() * 1000)
