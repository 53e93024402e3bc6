"""What happens in a session, as the updates that an editor is told."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from holdfast.acp.content import text_block
from holdfast.acp.tool_calls import ToolCalls
from holdfast.acp.wire import as_list, as_object
from holdfast.app.call_lines import CallLines
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextCompacted,
    ContextCompacting,
    Event,
    HookSpoke,
    RequestRetried,
    RunEnded,
    TextStreamed,
    ThinkingStreamed,
)

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.contract import Tool

__all__ = ["Updates"]

Fields = dict[str, Any]
_STATUSES = frozenset({"pending", "in_progress", "completed"})


class Updates:
    """Turns events into updates. One for each session: it knows the list of work and what was told last."""

    def __init__(self, agent: "RunningAgent", *, notices: bool, compactions: bool) -> None:
        """`notices` and `compactions`: the editor says that it shows them."""
        self._agent = agent
        self._notices = notices
        self._compactions = compactions
        self._count = 0
        self._work: dict[str, Fields] = {}
        self.mode = agent.mode
        """The mode that the editor knows."""
        self._lines = CallLines(self._tool)
        self.calls = ToolCalls(self._use_of, lambda: agent.cwd)
        self._by_type: dict[type[Event], Callable[[Any], Iterator[Fields]]] = {
            TextStreamed: lambda event: iter([_chunk("agent_message_chunk", event.text)]),
            ThinkingStreamed: lambda event: iter([_chunk("agent_thought_chunk", event.text)] if event.text else []),
            CallQueued: self._queued,
            CallStarted: lambda event: iter([_update(event.tool_use_id, status="in_progress")]),
            CallProgressed: self._progressed,
            CallFinished: self._finished,
            CallDiscarded: self._discarded,
            AssistantReplied: lambda _event: self._usage(),
            RunEnded: lambda _event: self._usage(),
            RequestRetried: self._retried,
            ContextCompacting: self._compacting,
            ContextCompacted: self._compacted,
            HookSpoke: self._hook,
            AgentTold: self._child,
        }

    def of(self, event: Event) -> Iterator[Fields]:
        """The updates that an event becomes; most become none or one."""
        made = self._by_type.get(type(event))
        if made is not None:
            yield from made(event)
        if self._agent.mode != self.mode:
            self.mode = self._agent.mode
            yield {"sessionUpdate": "current_mode_update", "currentModeId": self.mode}

    def _use_of(self, name: str, raw: Any) -> str:
        return self._lines.use(name, as_object(raw))

    def _tool(self, name: str) -> "Tool | None":
        found = self._agent.tools.find(name)
        return None if found is None else found.tool

    # Calls.

    def _queued(self, event: CallQueued) -> Iterator[Fields]:
        yield {"sessionUpdate": "tool_call", **self.calls.begin(event.tool_use_id, event.name, event.input)}

    def _progressed(self, event: CallProgressed) -> Iterator[Fields]:
        if text := self._lines.progress(event.name, event.data):
            content = [{"type": "content", "content": text_block(text)}]
            yield _update(event.tool_use_id, status="in_progress", content=content)

    def _finished(self, event: CallFinished) -> Iterator[Fields]:
        yield {"sessionUpdate": "tool_call_update", **self.calls.finish(event)}
        if not event.is_error and self._takes_work(event):
            entries = [entry for entry in self._work.values() if entry["status"] in _STATUSES]
            yield {"sessionUpdate": "plan", "entries": entries}

    def _discarded(self, event: CallDiscarded) -> Iterator[Fields]:
        self.calls.drop(event.tool_use_id)
        yield _update(event.tool_use_id, status="failed")

    def _child(self, told: AgentTold) -> Iterator[Fields]:
        """The calls of an agent that a call has started; each names that call."""
        event = told.event
        if isinstance(event, CallQueued | CallStarted | CallFinished | CallDiscarded):
            for update in self._by_type[type(event)](event):
                if update["sessionUpdate"] != "plan":
                    yield {**update, "_meta": {"parentToolCallId": told.parent_tool_use_id, "agentId": told.agent_id}}

    # The list of work.

    def _takes_work(self, event: CallFinished) -> bool:
        data = as_object(event.data)
        if event.name == "TodoWrite":
            todos = [as_object(todo) for todo in as_list(data.get("newTodos"))]
            self._work = {str(at): _entry(todo.get("content"), todo.get("status")) for at, todo in enumerate(todos)}
        elif event.name == "TaskCreate":
            task = as_object(data.get("task"))
            self._work[str(task.get("id"))] = _entry(task.get("subject"), "pending")
        elif event.name == "TaskUpdate" and str(data.get("taskId")) in self._work:
            if change := as_object(data.get("statusChange")):
                self._work[str(data["taskId"])]["status"] = str(change.get("to"))
        else:
            return False
        return True

    # What else is to be said.

    def _usage(self) -> Iterator[Fields]:
        agent = self._agent
        update: Fields = {
            "sessionUpdate": "usage_update",
            "used": max(0, agent.context_tokens),
            "size": max(0, agent.model.context_window),
        }
        if agent.cost_usd is not None:
            update["cost"] = {"amount": round(agent.cost_usd, 6), "currency": "USD"}
        yield update

    def _retried(self, event: RequestRetried) -> Iterator[Fields]:
        said = f"Attempt {event.attempt} failed, the next in {event.delay_s:.1f} s"
        yield from self.notice("warning", said, event.reason)

    def _hook(self, event: HookSpoke) -> Iterator[Fields]:
        yield from self.notice("warning" if event.is_warning else "info", f"{event.event} hook", event.text)

    def notice(self, severity: str, title: str, description: str = "") -> Iterator[Fields]:
        """Something that the person should know; a thought where the editor has no notices."""
        if self._notices:
            more = {"description": description} if description else {}
            yield {"sessionUpdate": "notice", "severity": severity, "title": title, **more}
        else:
            yield _chunk("agent_thought_chunk", f"[{title}{f': {description}' if description else ''}]\n")

    def _compacting(self, event: ContextCompacting) -> Iterator[Fields]:
        del event
        self._count += 1
        if self._compactions:
            yield self._compaction("in_progress")

    def _compacted(self, event: ContextCompacted) -> Iterator[Fields]:
        if self._compactions:
            yield {**self._compaction("completed"), "summary": [text_block(event.summary)] if event.summary else None}
        else:
            said = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
            yield from self.notice("info", "The conversation was shortened", said)

    def _compaction(self, status: str) -> Fields:
        return {"sessionUpdate": "compaction_update", "compactionId": f"c{self._count}", "status": status}


def _entry(content: Any, status: Any) -> Fields:
    return {"content": str(content), "priority": "medium", "status": str(status)}


def _chunk(kind: str, text: str) -> Fields:
    return {"sessionUpdate": kind, "content": text_block(text)}


def _update(id_: str, **fields: Any) -> Fields:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id_, **fields}
