"""Lines about what happens beside the conversation: background tasks, hooks, and whether the session works or waits."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.contract.names import AGENT_TASKS
from holdfast.events import HookRan, HookStarted, TaskChanged

__all__ = ["TaskLines", "hook_line"]

Line = dict[str, Any]
MakeLine = Callable[..., Line]
_ENDS = {"completed": "completed", "failed": "failed", "killed": "stopped"}
_HOOK_OUTCOMES = {"failed": "error", "cancelled": "cancelled"}


class TaskLines:
    """What hosts are told of background tasks: each start, each change, each end, and which are alive."""

    def __init__(self, make: MakeLine) -> None:
        self._make = make
        self._alive: dict[str, Line] = {}

    @property
    def has_agents(self) -> bool:
        """An agent works in the background; its end is told to the model."""
        return any(task["task_type"] in AGENT_TASKS for task in self._alive.values())

    def lines(self, event: TaskChanged) -> Iterator[Line]:
        """The lines that a change becomes."""
        about = {"tool_use_id": event.tool_use_id} if event.tool_use_id else {}
        task = {"task_id": event.task_id, "task_type": event.task_type, "description": event.description}
        if event.status not in _ENDS:
            is_new = event.task_id not in self._alive
            self._alive[event.task_id] = task
            if is_new:
                yield self._make("system", subtype="task_started", **task, is_backgrounded=True, **about)
                yield self._changed()
            else:
                yield self._updated(event.task_id, {"status": event.status})
            return
        was_alive = self._alive.pop(event.task_id, None) is not None
        if not was_alive:
            return
        yield self._updated(event.task_id, {"status": event.status})
        yield self._make(
            "system",
            subtype="task_notification",
            task_id=event.task_id,
            status=_ENDS[event.status],
            output_file=event.output_file or "",
            summary=_summary(event),
            **about,
        )
        yield self._changed()

    def _updated(self, task_id: str, patch: Line) -> Line:
        return self._make("system", subtype="task_updated", task_id=task_id, patch=patch)

    def _changed(self) -> Line:
        return self._make("system", subtype="background_tasks_changed", tasks=list(self._alive.values()))


def _summary(event: TaskChanged) -> str:
    code = "" if event.exit_code is None else f" with exit code {event.exit_code}"
    return f"{event.description or event.task_id}: {_ENDS[event.status]}{code}"


def hook_line(make: MakeLine, event: HookStarted | HookRan) -> Line:
    """A hook that begins to work, or has answered."""
    name = f"{event.event}:{event.label}" if event.label else event.event
    about: Mapping[str, str] = {"hook_id": event.hook_id, "hook_name": name, "hook_event": event.event}
    if isinstance(event, HookStarted):
        return make("system", subtype="hook_started", **about)
    return make(
        "system",
        subtype="hook_response",
        **about,
        output=event.reason,
        stdout="",
        stderr="",
        outcome=_HOOK_OUTCOMES.get(event.outcome, "success"),
    )
