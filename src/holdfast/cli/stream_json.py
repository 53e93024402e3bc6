"""The lines of `--output-format json` and `stream-json`, in the shapes that programs around agents already read."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.cli.partials import RawEvents
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallFinished,
    CallProgressed,
    ContextCompacted,
    Event,
    HookSpoke,
    RequestRetried,
    ResultsSent,
    RunEnded,
    SideQuestionAnswered,
    TaskChanged,
    to_builtins,
)

__all__ = ["SessionFacts", "StreamJson", "new_uuid", "result_object", "usage_object"]

_SUBTYPES = frozenset(
    {
        "success",
        "error_max_turns",
        "error_max_budget_usd",
        "error_max_structured_output_retries",
        "error_during_execution",
    }
)
_NO_ERRORS = frozenset({"success", "stopped_by_hook", "tool_deferred"})
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
_MODEL_USAGE = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}

Line = dict[str, Any]


class SessionFacts(NamedTuple):
    """What the first line tells about a session."""

    session_id: str
    cwd: str
    model: str
    permission_mode: str
    tools: Sequence[str]
    key_source: str = "none"
    """Which environment variable the key came from."""
    mcp_servers: Sequence[Mapping[str, str]] = ()
    agents: Sequence[str] = ()
    skills: Sequence[str] = ()
    slash_commands: Sequence[str] = ()


def new_uuid() -> str:
    """A random UUID; the module of that name would cost more than this whole file."""
    digits = os.urandom(16).hex()
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}-{digits[20:]}"
    )


def usage_object(usage: Mapping[str, int]) -> dict[str, int]:
    """Token counts under the names that programs know."""
    return {theirs: int(usage.get(ours, 0)) for ours, theirs in _USAGE.items()}


class StreamJson:
    """Turns the events of a session into lines. One for each session: it sums up what each model has used."""

    def __init__(self, facts: SessionFacts, *, has_partials: bool = False) -> None:
        self._facts = facts
        self._partials = RawEvents(facts.model) if has_partials else None
        self._replies: dict[str, CallFinished] = {}
        self._model_usage: dict[str, dict[str, Any]] = {}

    def init(self) -> Line:
        """The first line."""
        facts = self._facts
        return {
            "type": "system",
            "subtype": "init",
            "cwd": facts.cwd,
            "session_id": facts.session_id,
            "tools": list(facts.tools),
            "mcp_servers": list(facts.mcp_servers),
            "model": facts.model,
            "permissionMode": facts.permission_mode,
            "slash_commands": list(facts.slash_commands),
            "agents": list(facts.agents),
            "skills": list(facts.skills),
            "plugins": [],
            "apiKeySource": facts.key_source,
            "output_style": "default",
            "uuid": new_uuid(),
        }

    def lines(self, event: Event) -> Iterator[Line]:
        """The lines an event becomes; most become none."""
        if self._partials is not None:
            for raw in self._partials.take(event):
                yield self._line("stream_event", event=raw, parent_tool_use_id=None)
        if isinstance(event, CallFinished):
            self._replies[event.tool_use_id] = event
        elif isinstance(event, AssistantReplied):
            self._count(event)
            yield from self._assistant_lines(event)
        elif isinstance(event, ResultsSent):
            yield from self._user_lines(event)
        elif isinstance(event, SideQuestionAnswered):
            self._count(event)
        elif isinstance(event, RunEnded):
            yield self.result(event)
        elif isinstance(event, AgentTold):
            yield from self._child_lines(event)
        else:
            yield from self._system_lines(event)

    def result(self, ended: RunEnded) -> Line:
        """The last line of a run, and all of `--output-format json`."""
        return result_object(ended, session_id=self._facts.session_id, model_usage=self._model_usage)

    def count_only(self, event: Event) -> None:
        """Take note of what a model has used, without any line."""
        told = event.event if isinstance(event, AgentTold) else event
        if isinstance(told, AssistantReplied | SideQuestionAnswered):
            self._count(told)

    def _child_lines(self, told: AgentTold) -> Iterator[Line]:
        """The messages of an agent that a call has started; each line names that call."""
        event = told.event
        about: Line = {
            "parent_tool_use_id": told.parent_tool_use_id,
            "agent_id": told.agent_id,
            "agent_type": told.agent_type,
            "subagent_type": told.agent_type,
            "query_chain_id": told.chain_id,
            "query_depth": told.depth,
        }
        if isinstance(event, SideQuestionAnswered):
            self._count(event)
        elif isinstance(event, AssistantReplied):
            self._count(event)
            id_ = event.message_id or f"msg_{new_uuid()}"
            for index, block in enumerate(event.content):
                reason = event.stop_reason if index == len(event.content) - 1 else ""
                yield self._line(
                    "assistant", message=_assistant_message(event, id_, block, stop_reason=reason), **about
                )
        elif isinstance(event, ResultsSent):
            for block in event.content:
                yield self._line("user", message={"role": "user", "content": [block]}, **about)
        elif isinstance(event, CallProgressed):
            yield self._line("tool_progress", **_progress_fields(event), **about)

    def _line(self, kind: str, **fields: Any) -> Line:
        return {"type": kind, **fields, "session_id": self._facts.session_id, "uuid": new_uuid()}

    def _assistant_lines(self, event: AssistantReplied) -> Iterator[Line]:
        """One line for each block, all with the id and the usage of the message: programs count each id once."""
        # With partials, the message has the id that its `message_start` told.
        id_ = (self._partials.message_id if self._partials else "") or event.message_id or f"msg_{new_uuid()}"
        last = len(event.content) - 1
        for index, block in enumerate(event.content):
            message = _assistant_message(event, id_, block, stop_reason=event.stop_reason if index == last else "")
            yield self._line("assistant", message=message, parent_tool_use_id=None)

    def _user_lines(self, event: ResultsSent) -> Iterator[Line]:
        """One line for each result, with the data that programs read; what else was said comes after them."""
        others: list[dict[str, Any]] = []
        for block in event.content:
            if block.get("type") != "tool_result":
                others.append(block)
                continue
            reply = self._replies.pop(str(block.get("tool_use_id")), None)
            yield self._line(
                "user",
                message={"role": "user", "content": [block]},
                parent_tool_use_id=None,
                **({} if reply is None else _about(reply)),
            )
        self._replies.clear()
        if others:
            message = {"role": "user", "content": others}
            yield self._line("user", message=message, parent_tool_use_id=None, isSynthetic=True)

    def _system_lines(self, event: Event) -> Iterator[Line]:
        if isinstance(event, ContextCompacted):
            about = {"trigger": event.trigger, "pre_tokens": event.tokens_before, "post_tokens": event.tokens_after}
            yield self._line("system", subtype="compact_boundary", compact_metadata=about)
        elif isinstance(event, RequestRetried):
            yield self._line(
                "system",
                subtype="api_retry",
                attempt=event.attempt,
                retry_delay_ms=round(event.delay_s * 1000),
                error=event.reason,
                error_kind=event.kind,
            )
        elif isinstance(event, CallProgressed):
            yield self._line("tool_progress", **_progress_fields(event), parent_tool_use_id=None)
        elif isinstance(event, TaskChanged):
            task = {key: value for key, value in to_builtins(event).items() if key != "type"}
            yield self._line("system", subtype="task_changed", **task)
        elif isinstance(event, HookSpoke):
            yield self._line("system", subtype="hook_message", hook_event=event.event, content=event.text)

    def _count(self, event: AssistantReplied | SideQuestionAnswered) -> None:
        known = self._model_usage.setdefault(
            event.model, dict.fromkeys(_MODEL_USAGE.values(), 0) | {"webSearchRequests": 0, "costUSD": 0.0}
        )
        for ours, theirs in _MODEL_USAGE.items():
            known[theirs] += int(event.usage.get(ours, 0))
        known["costUSD"] += event.cost_usd or 0.0


def result_object(ended: RunEnded, *, session_id: str, model_usage: Mapping[str, Any]) -> Line:
    """How a run went, as one object."""
    is_error = ended.outcome not in _NO_ERRORS
    found: Line = {
        "type": "result",
        "subtype": _subtype(ended.outcome),
        "is_error": is_error,
        "duration_ms": round(ended.duration_ms),
        "duration_api_ms": round(ended.model_ms),
        "num_turns": ended.turns,
        "result": ended.text or ended.error,
        "stop_reason": ended.stop_reason or None,
        "session_id": session_id,
        "total_cost_usd": ended.cost_usd or 0.0,
        "usage": usage_object(ended.usage),
        "modelUsage": dict(model_usage),
        "permission_denials": [dict(denial) for denial in ended.denials],
        "uuid": new_uuid(),
    }
    if is_error:
        found["outcome"] = ended.outcome
        found["errors"] = [ended.error or ended.outcome.replace("_", " ")]
    elif ended.outcome == "stopped_by_hook":
        found["outcome"] = ended.outcome
    if ended.structured_output is not None:
        found["structured_output"] = ended.structured_output
    if ended.deferred is not None:
        found["deferred_tool_use"] = ended.deferred
    return found


def _subtype(outcome: str) -> str:
    if outcome in _NO_ERRORS:
        return "success"
    return outcome if outcome in _SUBTYPES else "error_during_execution"


def _assistant_message(event: AssistantReplied, id_: str, block: Line, *, stop_reason: str) -> Line:
    return {
        "id": id_,
        "type": "message",
        "role": "assistant",
        "model": event.model,
        "content": [block],
        "stop_reason": stop_reason or None,
        "stop_sequence": None,
        "usage": usage_object(event.usage),
    }


def _progress_fields(event: CallProgressed) -> Line:
    return {
        "tool_use_id": event.tool_use_id,
        "tool_name": event.name,
        "elapsed_time_seconds": round(event.elapsed_s, 3),
    }


def _about(reply: CallFinished) -> Line:
    """What programs read of a result: the tool's data, else the text as the model has it; and which error it is."""
    found: Line = {"tool_use_result": reply.content if reply.data is None else reply.data}
    return found if reply.error_code is None else {**found, "error_code": reply.error_code}
