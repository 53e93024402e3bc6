"""Lines about what happens beside the words: retries, compaction, refusals, modes, hooks, long calls."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.cli.task_lines import TaskLines
from holdfast.events import (
    CallFinished,
    CallProgressed,
    ContextChanged,
    ContextCompacted,
    ContextCompacting,
    Event,
    HookRan,
    HookSpoke,
    HookStarted,
    ModelRequested,
    PermissionDecided,
    RequestRetried,
    TaskChanged,
)

__all__ = ["API_ERRORS", "StateLines", "progress_fields"]

Line = dict[str, Any]
MakeLine = Callable[..., Line]
_HOOK_OUTCOMES = {"failed": "error", "cancelled": "cancelled"}
_BY_THE_HOST = "ask"
"""The layer of an answer: whoever gave it need not be told of it."""
API_ERRORS = {
    "auth": "authentication_failed",
    "quota": "billing_error",
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "server": "server_error",
    "connection": "server_error",
    "timeout": "server_error",
    "broken_stream": "server_error",
    "invalid_request": "invalid_request",
    "context_overflow": "invalid_request",
}
"""Our kinds of failure, as programs know them."""


class StateLines:
    """Turns events into `system` and `tool_progress` lines; most become none."""

    def __init__(self, make: MakeLine, *, has_hooks: bool, has_requests: bool) -> None:
        """`has_hooks`: also each hook that was heard; `has_requests`: also each request to the model."""
        self._make = make
        self._has_hooks = has_hooks
        self._has_requests = has_requests
        self._refused: dict[str, PermissionDecided] = {}
        self._is_compacting = False
        self.tasks = TaskLines(make)
        """Which tasks work in the background."""
        self._makers: Mapping[type[Event], Callable[[Any], Iterator[Line]]] = {
            ModelRequested: self._requested,
            ContextCompacting: self._compacting,
            ContextCompacted: self._compacted,
            RequestRetried: self._retried,
            CallProgressed: self._progressed,
            PermissionDecided: self._decided,
            CallFinished: self._finished,
            ContextChanged: self._changed,
            TaskChanged: self.tasks.lines,
            HookStarted: self._hook,
            HookRan: self._hook,
            HookSpoke: self._spoke,
        }

    def status(self, state: str | None, **more: Any) -> Line:
        """What the session does beside answering."""
        return self._make("system", subtype="status", status=state, **more)

    def lines(self, event: Event) -> Iterator[Line]:
        """The lines that an event of the session itself becomes."""
        made = self._makers.get(type(event))
        if made is not None:
            yield from made(event)

    def _requested(self, event: ModelRequested) -> Iterator[Line]:
        del event
        if self._has_requests:
            yield self.status("requesting")

    def _compacting(self, event: ContextCompacting) -> Iterator[Line]:
        del event
        self._is_compacting = True
        yield self.status("compacting")

    def _compacted(self, event: ContextCompacted) -> Iterator[Line]:
        yield from self.compaction_ended()
        about = {"trigger": event.trigger, "pre_tokens": event.tokens_before, "post_tokens": event.tokens_after}
        yield self._make("system", subtype="compact_boundary", compact_metadata=about)

    def compaction_ended(self, error: str = "") -> Iterator[Line]:
        """The history is shorter, or is as it was; nothing where nothing was begun."""
        if self._is_compacting:
            self._is_compacting = False
            failed = {"compact_result": "failed", "compact_error": error}
            yield self.status(None, **(failed if error else {"compact_result": "success"}))

    def _retried(self, event: RequestRetried) -> Iterator[Line]:
        yield self._make(
            "system",
            subtype="api_retry",
            attempt=event.attempt,
            max_retries=event.most,
            retry_delay_ms=round(event.delay_s * 1000),
            error_status=event.status,
            error=API_ERRORS.get(event.kind, "unknown"),
            error_kind=event.kind,
            message=event.reason,
        )

    def _progressed(self, event: CallProgressed) -> Iterator[Line]:
        yield self._make("tool_progress", **progress_fields(event), parent_tool_use_id=None)

    def _decided(self, event: PermissionDecided) -> Iterator[Line]:
        if event.behavior == "deny" and event.decision.layer != _BY_THE_HOST:
            self._refused[event.tool_use_id] = event
        return iter(())

    def _finished(self, event: CallFinished) -> Iterator[Line]:
        yield from self.tasks.finished(event)
        refused = self._refused.pop(event.tool_use_id, None)
        if refused is None or event.outcome != "denied":
            return
        decision = refused.decision
        yield self._make(
            "system",
            subtype="permission_denied",
            tool_name=event.name,
            tool_use_id=event.tool_use_id,
            decision_reason_type="rule" if decision.rule is not None else decision.layer,
            decision_reason=decision.reason,
            message=event.content if isinstance(event.content, str) else decision.reason,
        )

    def _changed(self, event: ContextChanged) -> Iterator[Line]:
        if event.change == "ModeChanged":
            yield self.status(None, permissionMode=event.value["mode"])

    def _hook(self, event: HookStarted | HookRan) -> Iterator[Line]:
        if self._has_hooks:
            yield _hook_line(self._make, event)

    def _spoke(self, event: HookSpoke) -> Iterator[Line]:
        level = "warning" if event.is_warning else "notice"
        yield self._make("system", subtype="informational", content=event.text, level=level, hook_event=event.event)


def progress_fields(event: CallProgressed) -> Line:
    """How a call that takes its time goes on."""
    return {
        "tool_use_id": event.tool_use_id,
        "tool_name": event.name,
        "elapsed_time_seconds": round(event.elapsed_s, 3),
    }


def _hook_line(make: MakeLine, event: HookStarted | HookRan) -> Line:
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
