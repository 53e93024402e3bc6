"""An agent in a session of its own, somewhere else: it asks here before each call, and its words are told here."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from holdfast.app.child import Child
from holdfast.app.remote_calls import OpenCalls, stand_ins
from holdfast.app.remote_place import Line, LocalProcess, RemoteOrder, RemoteTalk
from holdfast.contract import Tool, ToolFailed, ToolUse
from holdfast.contract.roles import AgentReport
from holdfast.events import AssistantReplied, CallFinished, Event, RunEnded
from holdfast.models import Usage
from holdfast.session.errors import SessionError
from holdfast.session.names import check_session_id
from holdfast.settings.sources import CHOOSABLE_SOURCES

if TYPE_CHECKING:
    from holdfast.agent.gates import Gates
    from holdfast.engine import Executor
    from holdfast.models import Model
    from holdfast.session import Journal

__all__ = ["RemoteChild"]

_MAX_STOPS: Final = 8
_SUBAGENT: Final = (
    "Another agent started you for one task and sees nothing but your last message: make it a complete report with the "
    "facts, file paths and results it needs. Do the task itself, do not widen it, and do not speak to the user."
)


class RemoteChild(Child):
    """Its rights are those that any agent of this call would have; the loop and the tools run elsewhere."""

    def tools_of(self, tools: list[Tool]) -> list[Tool]:
        """Stand-ins: the calls are judged here."""
        return stand_ins(tools, self._run_there, hides_files=self._outfit().rights.hides_files)

    async def _work_on(self, model: "Model", parts: AsyncExitStack) -> AgentReport:
        self._calls, self._asked = OpenCalls(), dict[str, tuple[str, Mapping[str, Any]]]()
        self._outgoing: asyncio.Queue[Line] = asyncio.Queue()
        ended: dict[str, Any] = {"outcome": "stopped"}
        executor = self._executor = await self._made_executor(parts)
        journal = self._begin_file(executor)
        parts.callback(self._end_file, journal, ended)
        executor.separate_calls()
        executor.listen(self._on_event)
        parts.push_async_callback(executor.close)
        talk = await LocalProcess(self._parts.board.processes).open(self._order(model, executor))
        parts.push_async_callback(talk.close)
        sending = asyncio.get_running_loop().create_task(self._send_all(talk))
        parts.callback(sending.cancel)
        report = await self._converse(talk, executor, model, journal)
        ended["outcome"] = report.error or "success"
        return report

    def _order(self, model: "Model", executor: "Executor") -> RemoteOrder:
        rights, loop = executor.state.permissions, self._starter.loop
        defined = self.kind.definition
        words = "" if defined is None else self._parts.words(self.kind, executor.state.session) or ""
        return RemoteOrder(
            model=model.name,
            cwd=self._about.cwd,
            tools=tuple(tool.name for tool in executor.pool),
            is_planning=any(bound.effective_mode == "plan" for bound in (rights, *rights.ancestors())),
            sources=tuple(kind.value for kind in CHOOSABLE_SOURCES if kind in self._parts.opened.rights.sources),
            max_turns=self.task.max_turns or (None if defined is None else defined.max_turns),
            max_budget_usd=loop.state.left_to_spend,
            effort=self.task.effort or (None if defined is None else defined.effort) or loop.choices.effort,
            session=self._about.session,
            persists=self._parts.files is not None,
            system=words,
            appended="\n\n".join(filter(None, (_SUBAGENT, self.kind.words, self._parts.more_words))),
        )

    async def _converse(
        self, talk: RemoteTalk, executor: "Executor", model: "Model", journal: "Journal | None"
    ) -> AgentReport:
        """Give it the task, and again whatever hooks want done after its last word."""
        from holdfast.agent.gates import Gates  # noqa: PLC0415 - loaded with the loop that starts it

        gates = Gates(executor.call_hooks)
        heard = await gates.start("startup", model.name)
        notes = [] if heard is None else gates.told(heard)
        prompt = "\n\n".join((self.task.prompt, *notes))
        lines = talk.lines()
        stops = 0
        while True:
            if journal is not None:
                journal.record_message("user", prompt)
            ended = await self._answer(prompt, lines, talk, journal)
            usage = Usage(*(ended.usage[name] for name in Usage.__struct_fields__))
            self._starter.loop.pay(model, usage)
            again = await self._heard_stop(gates, ended, is_again=stops > 0)
            if again is None or stops >= _MAX_STOPS:
                break
            prompt, stops = again, stops + 1
        self._hear(ended)
        error = "" if ended.outcome == "success" else ended.error or f"it ended as {ended.outcome!r}"
        return AgentReport(self.id, ended.text, error, self._told.tool_uses, ended.usage)

    async def _heard_stop(self, gates: "Gates", ended: RunEnded, *, is_again: bool) -> str | None:
        if ended.outcome != "success":
            return None
        heard = await gates.stop(ended.text, list, is_again=is_again)
        return heard.reason if heard is not None and heard.blocks and heard.stop is None else None

    # Lines in.

    async def _answer(self, prompt: str, lines: Any, talk: RemoteTalk, journal: "Journal | None") -> RunEnded:
        began_s = time.monotonic()
        message = {"role": "user", "content": prompt}
        # A model has written it: `/name` and `@name` in it call nothing, as they would in a person's words.
        self._outgoing.put_nowait({"type": "user", "client_composed": True, "message": message})
        async for line in lines:
            kind = line.get("type")
            if kind == "control_request":
                self._take_request(str(line.get("request_id")), line.get("request") or {})
            elif kind == "system" and line.get("subtype") == "init":
                self._about = msgspec.structs.replace(self._about, session=_session_of(line))
            elif kind in ("assistant", "user") and line.get("parent_tool_use_id") is None:
                self._take_message(kind, line.get("message") or {}, journal)
            elif kind == "result":
                return _ended(line, (time.monotonic() - began_s) * 1000)
        raise ToolFailed(f"the remote agent did not finish: {talk.how_it_ended()}")

    def _take_request(self, request_id: str, request: Mapping[str, Any]) -> None:
        executor = self._executor
        if request.get("subtype") != "can_use_tool" or executor is None:
            error = {"subtype": "error", "request_id": request_id, "error": "only can_use_tool is answered here"}
            self._outgoing.put_nowait({"type": "control_response", "response": error})
            return
        given: Any = request.get("input")
        id_, raw = str(request.get("tool_use_id")), cast("Mapping[str, Any]", given if isinstance(given, dict) else {})
        if isinstance(cwd := request.get("cwd"), str) and cwd:
            executor.state.cwd = cwd  # where it is now: its paths mean what they mean there
        self._asked[id_] = request_id, raw
        executor.add(ToolUse(id_, str(request.get("tool_name")), raw))

    def _take_message(self, role: str, message: Mapping[str, Any], journal: "Journal | None") -> None:
        content: Any = message.get("content")
        blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
        if journal is not None and blocks:
            journal.record_message("assistant" if role == "assistant" else "user", blocks)
        if role == "assistant":
            stop = str(message.get("stop_reason") or "")
            self._hear(AssistantReplied(str(message.get("id")), blocks, str(message.get("model")), stop, {}))
        for block in blocks:
            if block.get("type") == "tool_result":
                self._calls.ended(
                    str(block.get("tool_use_id")), _text(block.get("content")), is_error=block.get("is_error") is True
                )

    # Verdicts out.

    async def _run_there(self, id_: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        request_id, raw = self._asked.pop(id_)
        changed = {} if given == raw else {"updatedInput": given}
        end = asyncio.ensure_future(self._calls.end_of(id_))
        self._verdict(request_id, {"behavior": "allow", **changed})
        try:
            return await end
        finally:
            end.cancel()

    def _on_event(self, event: Event) -> None:
        """A call that was refused here is refused there."""
        self._hear(event)
        if type(event) is CallFinished and event.tool_use_id in self._asked:
            request_id, _ = self._asked.pop(event.tool_use_id)
            self._verdict(request_id, {"behavior": "deny", "message": _text(event.content)})

    def _verdict(self, request_id: str, said: Line) -> None:
        response = {"subtype": "success", "request_id": request_id, "response": said}
        self._outgoing.put_nowait({"type": "control_response", "response": response})

    async def _send_all(self, talk: RemoteTalk) -> None:
        try:
            while True:
                await talk.send(await self._outgoing.get())
        except ToolFailed:
            return  # its lines have ended, too, and say why


def _session_of(line: Line) -> str:
    """Which session it is. What it says becomes an argument when it goes on, so nothing else passes for a name."""
    try:
        return check_session_id(str(line.get("session_id") or ""))
    except SessionError:
        return ""


def _ended(line: Line, took_ms: float) -> RunEnded:
    found: Any = line.get("usage")
    usage = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    counts = {
        "input_tokens": _count(usage.get("input_tokens")),
        "output_tokens": _count(usage.get("output_tokens")),
        "cache_read_tokens": _count(usage.get("cache_read_input_tokens")),
        "cache_write_tokens": _count(usage.get("cache_creation_input_tokens")),
    }
    is_fine = line.get("subtype") == "success" and line.get("is_error") is not True
    said = str(line.get("result") or "")
    error = "" if is_fine else said or "; ".join(map(str, line.get("errors") or ())) or str(line.get("subtype"))
    outcome = "success" if is_fine else "error_during_execution"
    turns = _count(line.get("num_turns"))
    return RunEnded(outcome, said if is_fine else "", turns, took_ms, 0.0, counts, error=error)


def _count(value: object) -> int:
    """A number that can be counted: nobody pays less for having said less than nothing."""
    return max(0, value) if type(value) is int else 0


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("dict[str, Any]", block).get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
