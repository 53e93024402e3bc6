"""The lines of `--output-format json` and `stream-json`, in the shapes that programs around agents already read."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.app.choose_model import key_source
from holdfast.app.commands import command_names
from holdfast.cli.partials import RawEvents
from holdfast.cli.result_line import (
    API_ERRORS,
    bare_model,
    is_api_failure,
    model_limits,
    result_object,
    usage_object,
)
from holdfast.cli.state_lines import TaskLines, hook_line
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallFinished,
    CallProgressed,
    CallStarted,
    ContextCompacted,
    Event,
    HookRan,
    HookSpoke,
    HookStarted,
    ModelRequested,
    RequestRetried,
    ResultsSent,
    RunEnded,
    SideQuestionAnswered,
    TaskChanged,
)
from holdfast.lib.uuids import new_uuid, part_uuid

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["COMPATIBLE_VERSION", "SessionFacts", "StreamJson", "facts_of", "output_style", "tell_mirrored"]

_MODEL_USAGE = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}

Line = dict[str, Any]
COMPATIBLE_VERSION = "2.1.248"
"""Which version of the protocol's first speaker hosts may take us for."""
_CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1")


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
    output_style: str = "default"
    plugins: Sequence[Mapping[str, str]] = ()


class StreamJson:
    """Turns the events of a session into lines. One for each session: it sums up what each model has used."""

    def __init__(
        self,
        facts: SessionFacts,
        *,
        has_partials: bool = False,
        has_hooks: bool = False,
        has_agent_text: bool = False,
    ) -> None:
        """Begin with what is known of the session; the others are lines that not every reader wants."""
        self._facts = facts
        self._has_agent_text = has_agent_text
        self._partials = RawEvents(facts.model) if has_partials else None
        self._has_hooks = has_hooks
        self._replies: dict[str, CallFinished] = {}
        self.running: dict[str, None] = {}
        """The calls that run now, by their ids."""
        self._model_usage: dict[str, dict[str, Any]] = {}
        self._windows: dict[str, int] = {}
        self._cost_usd = 0.0
        self._is_calling = False
        self._asked: Mapping[str, Any] = {}
        self.tasks = TaskLines(self._line)
        """Which tasks work in the background."""

    def init(self, agent: "RunningAgent | None" = None) -> Line:
        """The first line of a run, as the session is now."""
        facts = self._facts
        if agent is not None:
            self._windows[bare_model(agent.model.name)] = agent.model.context_window
            facts = facts._replace(
                cwd=agent.cwd,
                model=agent.model.name,
                permission_mode=agent.mode,
                tools=[tool.name for tool in agent.tools if agent.tools.find(tool.name) is not None],
                mcp_servers=agent.server_states,
            )
        return {
            "type": "system",
            "subtype": "init",
            "cwd": facts.cwd,
            "session_id": facts.session_id,
            "tools": list(facts.tools),
            "mcp_servers": list(facts.mcp_servers),
            "model": bare_model(facts.model),
            "permissionMode": facts.permission_mode,
            "slash_commands": list(facts.slash_commands),
            "agents": list(facts.agents),
            "skills": list(facts.skills),
            "plugins": list(facts.plugins),
            "apiKeySource": facts.key_source,
            "output_style": facts.output_style,
            "claude_code_version": COMPATIBLE_VERSION,
            "capabilities": list(_CAPABILITIES),
            "uuid": new_uuid(),
        }

    def replayed(self, content: str | list[dict[str, Any]], sent: Mapping[str, Any]) -> Line:
        """A prompt as it was sent, for hosts that want to know when it counts."""
        message = {"role": "user", "content": content}
        origin = {"origin": sent["origin"]} if "origin" in sent else {}
        line = self._line("user", message=message, parent_tool_use_id=None, isReplay=True, **origin)
        return {**line, "uuid": str(sent.get("uuid") or line["uuid"])}

    def begin(self, sent: Mapping[str, Any]) -> None:
        """A run for this prompt begins: its lines say which one they answer."""
        self._asked = sent
        self._is_calling = False

    def reset(self, session_id: str, sent: Mapping[str, Any]) -> Line:
        """The conversation begins anew, as another session: the last line of this one."""
        return self._line(
            "conversation_reset",
            new_conversation_id=session_id,
            trigger="clear",
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **({"user_message_uuid": sent["uuid"]} if "uuid" in sent else {}),
        )

    def state(self, state: str) -> Line:
        """Whether the session works, waits for an answer of the host, or for the next prompt."""
        return self._line("system", subtype="session_state_changed", state=state)

    def lines(self, event: Event) -> Iterator[Line]:
        """The lines an event becomes; most become none."""
        if self._partials is not None:
            for raw in self._partials.take(event):
                yield self._line("stream_event", event=raw, parent_tool_use_id=None, **self._answers())
        if isinstance(event, CallStarted | CallFinished):
            self._note_call(event)
        elif isinstance(event, AssistantReplied):
            self._count(event)
            self._is_calling = event.stop_reason == "tool_use"
            yield from self._assistant_lines(event)
        elif isinstance(event, ResultsSent):
            yield from self._user_lines(event)
        elif isinstance(event, SideQuestionAnswered):
            self._count(event)
        elif isinstance(event, RunEnded):
            if is_api_failure(event):
                yield self._api_failure(event)
            yield self.result(event)
        elif isinstance(event, AgentTold):
            yield from self._child_lines(event)
        else:
            yield from self._system_lines(event)

    def _note_call(self, event: CallStarted | CallFinished) -> None:
        if isinstance(event, CallStarted):
            self.running[event.tool_use_id] = None
        else:
            self.running.pop(event.tool_use_id, None)
            self._replies[event.tool_use_id] = event

    def result(self, ended: RunEnded) -> Line:
        """The last line of a run, and all of `--output-format json`."""
        self._cost_usd += ended.cost_usd or 0.0
        for name, counted in self._model_usage.items():
            counted.update(model_limits(name, self._windows), costUSD=round(counted["costUSD"], 6))
        found = result_object(
            ended,
            session_id=self._facts.session_id,
            model_usage=self._model_usage,
            cost_usd=self._cost_usd,
            was_calling=self._is_calling,
        )
        if "origin" in self._asked:
            found["origin"] = self._asked["origin"]
        return {**found, **self._answers()}

    def _api_failure(self, ended: RunEnded) -> Line:
        """What went wrong, as a message that programs show like any other."""
        message = {
            "id": f"msg_{new_uuid()}",
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": ended.error}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": usage_object({}),
        }
        error = API_ERRORS.get(ended.error_kind, "unknown")
        return self._line("assistant", message=message, parent_tool_use_id=None, error=error)

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
                if block.get("type") != "tool_use" and not self._has_agent_text:
                    continue
                reason = event.stop_reason if index == len(event.content) - 1 else ""
                yield self._line(
                    "assistant", message=_assistant_message(event, id_, block, stop_reason=reason), **about
                )
        elif isinstance(event, ResultsSent):
            for block in event.content:
                if block.get("type") == "tool_result" or self._has_agent_text:
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
            line = self._line("assistant", message=message, parent_tool_use_id=None, **self._answers())
            yield _named(line, event.uuid, index)

    def _answers(self) -> Line:
        """Which prompt is being answered."""
        uuid = self._asked.get("uuid")
        return {"user_message_uuid": uuid} if isinstance(uuid, str) else {}

    def _user_lines(self, event: ResultsSent) -> Iterator[Line]:
        """One line for each result, with the data that programs read; what else was said comes after them."""
        others: list[dict[str, Any]] = []
        for index, block in enumerate(event.content):
            if block.get("type") != "tool_result":
                others.append(block)
                continue
            reply = self._replies.pop(str(block.get("tool_use_id")), None)
            line = self._line(
                "user",
                message={"role": "user", "content": [block]},
                parent_tool_use_id=None,
                **({} if reply is None else _about(reply)),
            )
            yield _named(line, event.uuid, index)
        self._replies.clear()
        if others:
            message = {"role": "user", "content": others}
            yield self._line("user", message=message, parent_tool_use_id=None, isSynthetic=True)

    def _system_lines(self, event: Event) -> Iterator[Line]:
        if isinstance(event, ModelRequested):
            self._is_calling = False
        elif isinstance(event, ContextCompacted):
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
            yield from self.tasks.lines(event)
        elif isinstance(event, (HookStarted, HookRan)):
            if self._has_hooks:
                yield hook_line(self._line, event)
        elif isinstance(event, HookSpoke):
            yield self._line("system", subtype="hook_message", hook_event=event.event, content=event.text)

    def _count(self, event: AssistantReplied | SideQuestionAnswered) -> None:
        known = self._model_usage.setdefault(
            bare_model(event.model), dict.fromkeys(_MODEL_USAGE.values(), 0) | {"webSearchRequests": 0, "costUSD": 0.0}
        )
        for ours, theirs in _MODEL_USAGE.items():
            known[theirs] += int(event.usage.get(ours, 0))
        known["costUSD"] += event.cost_usd or 0.0


def facts_of(agent: "RunningAgent") -> SessionFacts:
    """What is known of a session at its start."""
    return SessionFacts(
        session_id=agent.session_id,
        cwd=agent.cwd,
        model=agent.model.name,
        permission_mode=agent.mode,
        tools=[tool.name for tool in agent.tools],
        key_source=key_source(agent.model.name, os.environ),
        mcp_servers=agent.server_states,
        agents=agent.agent_types,
        skills=agent.definitions.skill_names(),
        slash_commands=command_names(agent),
        output_style=output_style(agent),
        plugins=[{"name": one.name, "path": one.root} for one in agent.rights.plugins],
    )


def output_style(agent: "RunningAgent") -> str:
    """What the settings call the way of speaking; this version has one."""
    found = agent.rights.settings.get("outputStyle")
    return found if isinstance(found, str) and found else "default"


def tell_mirrored(write: Callable[[Line], None], path: str, entries: list[Line]) -> None:
    """Say what was added to the copy of the session, each entry by itself: together they may be too long for a line."""
    for entry in entries:
        write({"type": "transcript_mirror", "filePath": path, "entries": [entry]})


def _named(line: Line, uuid: str, index: int) -> Line:
    """A line about a part of a message that the journal has: the same name here, there and in a transcript."""
    return {**line, "uuid": part_uuid(uuid, index)} if uuid else line


def _assistant_message(event: AssistantReplied, id_: str, block: Line, *, stop_reason: str) -> Line:
    return {
        "id": id_,
        "type": "message",
        "role": "assistant",
        "model": bare_model(event.model),
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
