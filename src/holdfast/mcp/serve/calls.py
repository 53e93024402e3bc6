"""Our tools as a client sees them, and its calls on their way through the executor: one call, one answer.

Calls of all clients share one session: one directory, one memory of the files that were read, one set of rights.
"""

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from holdfast.contract import Answer, PromptFacts, Question, Tool, ToolUse
from holdfast.events import CallFinished, CallProgressed
from holdfast.lib.visible import visible
from holdfast.mcp.serve.forms import ask_form, read_form
from holdfast.mcp.serve.peer import Exchange
from holdfast.mcp.wire import INVALID_PARAMS, McpError, RpcError

if TYPE_CHECKING:
    from holdfast.engine import Executor
    from holdfast.mcp.serve.approver import Approver

__all__ = ["ToolCalls"]

_log = logging.getLogger(__name__)
_PARKED_S = 600.0
_MAX_PARKED = 100
_KEY = "permission"
_MESSAGE_CHARS = 200


class _Running:
    """One call in the executor, and who waits for it."""

    def __init__(self, exchange: Exchange, answered: "_Parked | None" = None, said: Mapping[str, Any] | None = None):
        self.exchange = exchange
        self.news: asyncio.Queue[CallFinished | Question] = asyncio.Queue()
        self.answered = answered
        """A question that the client has answered in advance, because it asks for the second time."""
        self.said = said or {}


class _Parked(NamedTuple):
    """A question that went out with a result. Nothing waits for its answer: the call is made anew with it."""

    tool: str
    arguments: Mapping[str, Any]
    question: Question
    since: float

    def is_about(self, question: Question) -> bool:
        """The same question, put again."""
        asked = self.question
        return (asked.tool, asked.input, asked.reason) == (question.tool, question.input, question.reason)


class ToolCalls:
    """The tools of one session for any number of clients. It is the session's asker, too."""

    def __init__(self) -> None:
        self.approver: Approver | None = None
        """The program that answers questions when a client cannot put them to a person."""
        self._executor: Executor | None = None
        self._running: dict[str, _Running] = {}
        self._parked: dict[str, _Parked] = {}
        self._count = 0
        self._has_calls = asyncio.Event()
        self._listed: tuple[object, list[dict[str, Any]]] | None = None

    def use(self, executor: "Executor") -> None:
        """Take the executor that runs the calls."""
        self._executor = executor
        executor.separate_calls()

    @property
    def _engine(self) -> "Executor":
        assert self._executor is not None
        return self._executor

    async def read_replies(self) -> None:
        """Hand replies and progress to those who wait, for ever.

        Raises:
            Fatal: A hook or tool ended the whole run.
        """
        while True:
            await self._has_calls.wait()
            self._has_calls.clear()
            async for event in self._engine.results():
                running = self._running.get(event.tool_use_id)
                if running is None:
                    continue
                if isinstance(event, CallFinished):
                    del self._running[event.tool_use_id]
                    running.news.put_nowait(event)
                else:
                    running.exchange.progress(event.elapsed_s, _progress_text(event))
            self._engine.end_turn()  # nothing runs: settings that changed count from now on

    # Requests.

    async def list(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        """The tools, in the order of the pool."""
        del exchange, params
        tools = tuple(self._engine.pool)
        if self._listed is None or self._listed[0] != tools:
            facts = self._engine.state.session.prompt
            self._listed = (tools, [_listed(tool, facts) for tool in tools])
        return {"tools": self._listed[1]}

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool of another server: only those may want arguments in headers."""
        found = self._engine.pool.find(name)
        return None if found is None or found.tool.mcp_info is None else found.tool.json_schema

    async def call(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        """Run a tool, or go on with a call whose question the client has answered."""
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "tools/call needs the name of a tool")
        if arguments is not None and not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        given = cast("dict[str, Any]", arguments or {})
        answered: _Parked | None = None
        said: Any = None
        if "requestState" in params and exchange.client.is_modern:
            answered = self._unparked(params["requestState"], name, given)
            responses = params.get("inputResponses")
            said = cast("dict[str, Any]", responses).get(_KEY) if isinstance(responses, dict) else None
            if not isinstance(said, dict):  # nothing was answered: it is asked again
                return self._ask_by_result(name, given, answered.question)
        return await self._run(name, given, _Running(exchange, answered, cast("dict[str, Any] | None", said)))

    async def _run(self, name: str, arguments: Mapping[str, Any], running: _Running) -> dict[str, Any]:
        engine = self._engine
        if engine.pool.find(name) is None:
            raise RpcError(INVALID_PARAMS, engine.pool.missing(name))
        self._count += 1
        id_ = f"mcp-{self._count}-{os.urandom(4).hex()}"
        self._running[id_] = running
        engine.add(ToolUse(id_, name, arguments))
        self._has_calls.set()
        try:
            news = await running.news.get()
        except asyncio.CancelledError:
            engine.stop(id_)
            raise
        if isinstance(news, Question):
            engine.stop(id_)
            return self._ask_by_result(name, arguments, news)
        return _result(news)

    # Questions.

    async def ask(self, question: Question) -> Answer:
        """Put a question to the client's person, else to the approver program, else say how it could be answered."""
        running = self._running.get(question.tool_use_id)
        client = None if running is None else running.exchange.client
        if running is not None and client is not None and client.can_elicit:
            running.exchange.progress(0.0, "waiting for an answer about this call")
            if not client.is_modern:
                return await self._ask_now(running, question)
            if running.answered is not None and running.answered.is_about(question):
                return read_form(running.said, question)
            running.news.put_nowait(question)
            await asyncio.get_running_loop().create_future()  # the call is withdrawn now, see `_run`
        if self.approver is not None:
            return await self.approver.ask(question)
        return Answer(message=_nobody(question), by_nobody=True)

    async def _ask_now(self, running: _Running, question: Question) -> Answer:
        try:
            said = await running.exchange.ask("elicitation/create", ask_form(question))
        except McpError as error:
            return Answer(message=f"the question could not be put to the user: {error}", by_nobody=True)
        return read_form(said, question)

    def _ask_by_result(self, name: str, arguments: Mapping[str, Any], question: Question) -> dict[str, Any]:
        """The result that asks: the client makes the call again, with the answer and this state."""
        state = os.urandom(18).hex()
        now = time.monotonic()
        kept = [(key, parked) for key, parked in self._parked.items() if now - parked.since < _PARKED_S]
        self._parked = dict(kept[1 - _MAX_PARKED :])
        self._parked[state] = _Parked(name, arguments, question, now)
        wanted = {_KEY: {"method": "elicitation/create", "params": ask_form(question)}}
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": state}

    def _unparked(self, state: object, name: str, arguments: Mapping[str, Any]) -> _Parked:
        """The question behind a state; each serves once, for a while, and only for the call it came with."""
        parked = self._parked.pop(str(state), None)
        is_known = parked is not None and time.monotonic() - parked.since < _PARKED_S
        if parked is None or not is_known or (parked.tool, parked.arguments) != (name, arguments):
            raise RpcError(INVALID_PARAMS, "this requestState belongs to no open question; make the call without it")
        return parked


def _listed(tool: Tool, facts: PromptFacts) -> dict[str, Any]:
    hints = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive or not tool.read_only,
        "openWorldHint": tool.name.startswith(("Web", "mcp__", "Bash")),
    }
    schema = {name: value for name, value in tool.arguments.schema(facts).items() if name != "$schema"}
    return {"name": tool.name, "description": tool.prompt(facts), "inputSchema": schema, "annotations": hints}


def _result(reply: CallFinished) -> dict[str, Any]:
    content = reply.content
    blocks: Sequence[Mapping[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    meta = {"holdfast/outcome": reply.outcome, "holdfast/durationMs": round(reply.duration_ms, 3)}
    return {"content": [_block(block) for block in blocks], "isError": reply.is_error, "_meta": meta}


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    kind, source = block.get("type"), block.get("source")
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    if isinstance(source, dict) and cast("dict[str, Any]", source).get("type") == "base64":
        data, media_type = cast("dict[str, str]", source)["data"], cast("dict[str, str]", source)["media_type"]
        if kind == "image":
            return {"type": "image", "data": data, "mimeType": media_type}
        uri = f"holdfast:{kind}/{os.urandom(4).hex()}"
        return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": data}}
    return {"type": "text", "text": f"[{kind}]"}


def _progress_text(event: CallProgressed) -> str:
    data = event.data
    if isinstance(data, dict):
        known = cast("dict[str, Any]", data)
        lines = str(known.get("message") or known.get("output") or "").strip().splitlines()
        return visible(lines[-1], limit_chars=_MESSAGE_CHARS) if lines else ""
    return visible(str(data), limit_chars=_MESSAGE_CHARS)


def _nobody(question: Question) -> str:
    rule = question.suggestions[0] if question.suggestions else question.tool
    return (
        "nobody can be asked here: this MCP client does not support elicitation, and no approver program is set. "
        f"Start the server with --allowed-tools {rule!r} or with --approver PROGRAM, or use a client that can ask"
    )
