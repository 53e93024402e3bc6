"""The lines of `--output-format json` and `stream-json`, in the shapes that programs around agents already read."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from holdfast.cli.partials import RawEvents
from holdfast.cli.result_line import (
    bare_model,
    is_api_failure,
    model_limits,
    result_object,
    usage_object,
)
from holdfast.cli.session_facts import SessionFacts
from holdfast.cli.state_lines import API_ERRORS, StateLines, progress_fields
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    Event,
    ModelRequested,
    ResultsSent,
    RunEnded,
    SideQuestionAnswered,
    to_builtins,
)
from holdfast.lib.uuids import new_uuid, part_uuid

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["COMPATIBLE_VERSION", "StreamJson", "tell_mirrored"]

_MODEL_USAGE = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}

Line = dict[str, Any]
COMPATIBLE_VERSION = "2.1.248"
"""Which version of the protocol's first speaker hosts may take us for."""
_MOST_UUIDS = 64
_WRITERS = frozenset({"Edit", "Write"})
_CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1")


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
        self._replies: dict[str, CallFinished] = {}
        self.running: dict[str, None] = {}
        """The calls that run now, by their ids."""
        self._model_usage: dict[str, dict[str, Any]] = {}
        self._windows: dict[str, int] = {}
        self._cost_usd = 0.0
        self._took_ms = [0, 0]
        """All runs together, and the requests in them."""
        self._changed_lines = [0, 0]
        """Of files: added, and removed."""
        self._is_calling = False
        self._asked: Mapping[str, Any] = {}
        self._taken: list[str] = []
        """The prompts that this run has taken in, by their uuids."""
        self._results = 0
        self.waiting: Callable[[], int] = lambda: 0
        """How many prompts wait for their turn."""
        self.beside = StateLines(self._line, has_hooks=has_hooks, has_requests=has_partials)
        """What happens beside the words, with the tasks that work in the background."""

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
            **facts.more,
            **self._answers(),
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
        self._taken = []
        self._is_calling = False
        self.takes(sent)

    def takes(self, sent: Mapping[str, Any]) -> None:
        """The run takes in what the host has said: before its beginning, or on the way."""
        if isinstance(uuid := sent.get("uuid"), str):
            self._taken.append(uuid)

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
        self._note(event)
        if isinstance(event, AssistantReplied):
            self._count(event)
            self._is_calling = event.stop_reason == "tool_use"
            yield from self._assistant_lines(event)
        elif isinstance(event, ResultsSent):
            yield from self._user_lines(event)
        elif isinstance(event, SideQuestionAnswered):
            self._count(event)
        elif isinstance(event, RunEnded):
            yield from self.beside.compaction_ended(event.error)
            if is_api_failure(event):
                yield self._api_failure(event)
            yield self.result(event)
        elif isinstance(event, AgentTold):
            yield from self.beside.tasks.told(event)
            yield from self._child_lines(event)
        else:
            yield from self.beside.lines(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, CallQueued):
            self.beside.tasks.note_call(event)
        elif isinstance(event, CallStarted):
            self.running[event.tool_use_id] = None
        elif isinstance(event, CallFinished):
            self.running.pop(event.tool_use_id, None)
            self._replies[event.tool_use_id] = event
            if event.name in _WRITERS:
                self._count_lines(to_builtins(event.data))
        elif isinstance(event, ModelRequested):
            self._is_calling = False

    def result(self, ended: RunEnded) -> Line:
        """The last line of a run, and all of `--output-format json`."""
        self._cost_usd += ended.cost_usd or 0.0
        self._took_ms = [self._took_ms[0] + round(ended.duration_ms), self._took_ms[1] + round(ended.model_ms)]
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
        found |= {"result_index": self._results, "queued_turn_count": self.waiting()}
        self._results += 1
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

    def used(self) -> Line:
        """What the session has used so far."""
        total, requests = self._took_ms
        return {
            "total_cost_usd": round(self._cost_usd, 6),
            "total_duration_ms": total,
            "total_api_duration_ms": requests,
            "total_lines_added": self._changed_lines[0],
            "total_lines_removed": self._changed_lines[1],
            "model_usage": {name: dict(counted) for name, counted in self._model_usage.items()},
        }

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
            yield self._line("tool_progress", **progress_fields(event), **about)

    def _count_lines(self, data: Any) -> None:
        hunks: Any = cast("Line", data).get("structuredPatch") if isinstance(data, dict) else None
        for line in [line for hunk in hunks or () for line in hunk["lines"]]:
            if line.startswith(("+", "-")):
                self._changed_lines["+-".index(line[0])] += 1

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
        if isinstance(uuid, str):
            return {"user_message_uuid": uuid, "user_message_uuids": self._taken[:_MOST_UUIDS]}
        return {"user_message_uuid": self._taken[-1], "user_message_uuids": self._taken} if self._taken else {}

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

    def _count(self, event: AssistantReplied | SideQuestionAnswered) -> None:
        known = self._model_usage.setdefault(
            bare_model(event.model), dict.fromkeys(_MODEL_USAGE.values(), 0) | {"webSearchRequests": 0, "costUSD": 0.0}
        )
        for ours, theirs in _MODEL_USAGE.items():
            known[theirs] += int(event.usage.get(ours, 0))
        known["costUSD"] += event.cost_usd or 0.0


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


def _about(reply: CallFinished) -> Line:
    """What programs read of a result: the tool's data, else the text as the model has it; and which error it is."""
    found: Line = {"tool_use_result": reply.content if reply.data is None else reply.data}
    return found if reply.error_code is None else {**found, "error_code": reply.error_code}
