"""One server of a session: connected, asked for its tools, called, and connected again when it is lost."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from holdfast.contract import Tool, ToolContext, ToolFailed, ToolResult
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson, NeedsAuthError
from holdfast.mcp.config import ServerConfig
from holdfast.mcp.connect import Surroundings
from holdfast.mcp.content import CallReply, plain, read_reply, to_content
from holdfast.mcp.elicitation import URL_NEEDED
from holdfast.mcp.handshake import Era, Greeting
from holdfast.mcp.listing import Again, list_all, list_offers, list_tools
from holdfast.mcp.notices import Notices
from holdfast.mcp.opening import in_our_words, opened
from holdfast.mcp.parameter_headers import parameter_headers
from holdfast.mcp.prompts import Prompts
from holdfast.mcp.records import Record
from holdfast.mcp.remote_tool import Listed, RemoteTool
from holdfast.mcp.retrying import Retrying
from holdfast.mcp.session import Limits, Progress, Session
from holdfast.mcp.skills import Skills
from holdfast.mcp.wire import McpError, RpcError, read_object

__all__ = ["Server", "State"]

_log = logging.getLogger(__name__)
State = Literal["pending", "connected", "failed", "needs-auth", "disabled", "closed"]
_MAX_ROUNDS = 10
_LIST_S = 60.0
_MAX_LOGINS = 3


class Told(NamedTuple):
    """Who hears of a server's changes."""

    tools: Callable[["Server"], None]
    notice: Notices


class Server:
    """The life of one server. Its tools reach it by `call_tool`, whatever state it is in."""

    def __init__(self, config: ServerConfig, record: Record, surroundings: Surroundings, told: Told) -> None:
        self.config = config
        self.record = record
        self.state: State = "pending"
        self.detail = ""
        self.greeting: Greeting | None = None
        self.listed: list[Listed] = list(record.tools)
        self.tools: tuple[RemoteTool, ...] = ()
        self.own_tools: tuple[Tool, ...] = ()
        """Tools of ours that belong to it, such as the one to log in."""
        self.quarantined: dict[str, str] = {}
        """Tools that cannot be offered, and why."""
        self._around = surroundings
        self._told = told
        self._session: Session | None = None
        self._retrying = Retrying(self.ensure, self.spawn, is_useless=lambda: self.wants_login)
        self._connecting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.prompts, self.skills = Prompts(self), Skills(self)
        self.offers_listed = asyncio.Event()
        """The prompts and skills of this connection are known, or cannot be."""
        self._again = {
            "notifications/tools/list_changed": Again(self._list_tools),
            "notifications/prompts/list_changed": Again(self._list_offers),
        }

    @property
    def label(self) -> str:
        """The name as rules spell it."""
        return self.config.label

    # Connecting.

    async def ensure(self) -> Session:
        """The connection, made now if there is none.

        Raises:
            McpError: It cannot be made.
        """
        if self._session is not None and self._session.why_lost is None and self.state == "connected":
            return self._session
        if self.state == "disabled":
            raise McpError(f"The MCP server {self.config.name!r} is switched off")
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._connect())
        await asyncio.shield(self._connecting)
        if self._session is None:
            raise McpError(f"The MCP server {self.config.name!r} was lost as soon as it was there: {self.detail}.")
        return self._session

    def start(self) -> None:
        """Connect in the background; a failure is told and tried again later."""
        self._retrying.start()

    async def _connect(self) -> None:
        session, around = None, self._around
        self.state = "pending" if self.state != "closed" else self.state
        try:
            with in_our_words(self.config.name):
                session, self.greeting = await opened(self._new_session, self.config, around, self._era)
                self.record.is_older = not self.greeting.is_modern
                self.record.has_resources = "resources" in self.greeting.capabilities
                self._session = session
                if "tools" in self.greeting.capabilities:
                    self.take(await list_tools(session, Limits(min(_LIST_S, around.startup_s * 2))))
        except BaseException as error:
            self._retrying.failed()
            if session is not None:
                await session.close()
            self._failed(error)
            raise
        self.state, self.detail = "connected", ""
        self._retrying.connected()
        session.is_ready = True
        session.on_lost = self._lost
        if session.why_lost is not None:
            self._lost(session.why_lost)
        if self.greeting.is_modern:
            self._spawn(self._listen(session))
        self._told.tools(self)
        if "prompts" in self.greeting.capabilities or self.skills.is_offered:
            self._spawn(self._list_offers())
        else:
            self.offers_listed.set()

    def _new_session(self) -> Session:
        session = Session(self.config.name)
        session.on_notice, session.on_request = self._notice, self._answer
        session.more_headers = self._more_headers
        return session

    @property
    def _era(self) -> Era:
        if self.config.legacy:
            return "only older"
        return "older" if self.record.is_older else "unknown"

    async def sign_in(self, ask: AskPerson) -> None:
        """Connect, and let a person log in if the server wants that.

        Raises:
            McpError: It is not possible.
        """
        from holdfast.mcp.auth.login import login_of  # noqa: PLC0415 - few servers want a login

        for _ in range(_MAX_LOGINS):
            try:
                await self.ensure()
            except NeedsAuthError as error:
                if error.refused is None:
                    raise
                await login_of(self.config, self._around.credentials, place=self._around.root).renew(error.refused, ask)
            else:
                return
        await self.ensure()

    def _more_headers(self, method: str, params: Mapping[str, Any]) -> Mapping[str, str]:
        if method != "tools/call":
            return {}
        name = params.get("name")
        schema = next((tool.json_schema for tool in self.tools if tool.listed.name == name), None)
        return {} if schema is None else parameter_headers(schema, params["arguments"])

    @property
    def repeats_in_headers(self) -> bool:
        """It may want arguments repeated as headers."""
        return self.config.kind == "http" and not self.record.is_older

    @property
    def wants_login(self) -> bool:
        """Only a person can help."""
        return self.state == "needs-auth"

    def _login_is_over(self, error: McpError) -> None:
        """What we hold was refused in the middle of a session."""
        session, self._session = self._session, None
        if session is not None:
            session.on_lost = None
            self._spawn(session.close())
        self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self._session = None
        if self.state == "closed":
            return
        self.state = "needs-auth" if getattr(error, "needs_auth", False) else "failed"
        self.detail = str(error) or type(error).__name__
        if isinstance(error, McpError):
            self._told.tools(self)
            if self.state == "failed" and self._retrying.is_first_failure:
                self._told.notice(self.detail if self.detail.endswith(".") else f"{self.detail}.")

    def _lost(self, reason: str) -> None:
        session, self._session = self._session, None
        if self.state == "closed":
            return
        self.state, self.detail = "failed", reason
        self._retrying.lost()
        gives_up = " too often; only a call of its tools tries again" if self._retrying.gives_up else ""
        self._told.notice(f"The MCP server {visible(self.config.name)} was lost{gives_up}: {reason}.")
        if session is not None:
            self._spawn(session.close())
        self.start()

    async def _listen(self, session: Session) -> None:
        """Newer servers tell changes only to who asks; a server that does not know that is as good."""
        wanted = {"notifications": {"toolsListChanged": True, "promptsListChanged": True}}
        try:
            await session.request("subscriptions/listen", wanted, Limits(7 * 24 * 3600.0))
        except McpError as error:
            _log.debug("the MCP server %s tells no changes: %s", self.config.name, error)

    async def disconnect(self) -> None:
        """End the connection and everything that waits; a later call connects again."""
        tasks = [task for task in (*self._tasks, self._connecting) if task is not None and not task.done()]
        was, self.state = self.state, "closed"
        session, self._session = self._session, None
        if session is not None:
            session.lost("the connection was closed")  # nobody has to be told that nobody waits any more
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)
        if session is not None:
            await session.close()
        self._connecting = None
        self.state = "pending" if was in ("connected", "pending") else was

    async def switch_off(self) -> None:
        """Offer nothing of it and connect no more, until it is switched on."""
        await self.disconnect()
        self.state, self.detail = "disabled", ""
        self._told.tools(self)

    def switch_on(self) -> None:
        """Offer it again."""
        self.state = "pending"
        self._told.tools(self)
        self.start()

    def hear(self, message: bytes) -> None:
        """A message that its owner brings on its behalf, such as that its tools have changed."""
        if self._session is not None:
            self._session.take(message)

    # Tools.

    def take(self, listed: list[Listed]) -> None:
        """A fresh list from the server: judged against what is pinned, and remembered."""
        before = dict(self.record.changed)
        self.listed = self.record.judge(listed, pinned=self._around.pins)
        self.record.name = self.config.name
        self.record.instructions = self.instructions
        self.keep_record()
        fresh = [name for name, pin in self.record.changed.items() if before.get(name) != pin]
        if fresh:
            names = ", ".join(visible(name, limit_chars=60) for name in fresh[:10])
            self._told.notice(
                f"The MCP server {visible(self.config.name)} has changed these tools since they were first seen, so "
                f"they are off: {names}. Look at them with `holdfast mcp approve {visible(self.config.name)}`."
            )

    def keep_record(self) -> None:
        """Remember what is known for the next time."""
        self._around.keep(self.record, self.config)

    @property
    def instructions(self) -> str:
        """What the server wants a model to know, bounded."""
        said = self.greeting.instructions if self.greeting is not None else self.record.instructions
        return said[:2048]

    def _notice(self, method: str, params: dict[str, Any]) -> None:
        again = self._again.get(method)
        if again is not None:
            again.wanted(self.spawn)
        elif method == "notifications/message":
            _log.debug("the MCP server %s says: %r", self.config.name, str(params.get("data"))[:500])

    async def _list_tools(self) -> None:
        if self._session is None:
            return
        try:
            self.take(await list_tools(self._session, Limits(_LIST_S)))
        except McpError as error:
            _log.info("the tools of the MCP server %s could not be listed again: %s", self.config.name, error)
        else:
            self._told.tools(self)

    @property
    def offers(self) -> str:
        """The prompts and skills that a model may use."""
        return "\n".join(filter(None, (self.prompts.listing(), self.skills.listing())))

    async def _list_offers(self) -> None:
        before = self.offers
        await list_offers((self.prompts, self.skills), self.config.name, self.offers_listed)
        if self.offers != before:
            self._told.tools(self)

    # Calls.

    async def call_tool(self, tool: str, arguments: Mapping[str, Any], ctx: ToolContext) -> ToolResult[Any]:
        """Run a tool there; what goes wrong is a failure in words for the model."""
        if tool in self.record.changed:
            raise ToolFailed(f"The tool {tool!r} has changed on its server and waits for the user's approval.")

        def progressed(done: float, total: float | None, message: str) -> None:
            ctx.progress({"server": self.label, "progress": done, "total": total, "message": message})

        params: dict[str, Any] = {"name": tool, "arguments": dict(arguments)}
        limits = Limits(self.config.timeout_s, self.config.idle_s)
        try:
            reply = await self._call(params, limits, progressed)
        except NeedsAuthError as error:
            self._login_is_over(error)
            raise ToolFailed(f"{error} Or call mcp__{self.label}__authenticate.") from error
        except McpError as error:
            raise ToolFailed(f"{self.label}: {error}") from error
        content = to_content(reply, self._around.save_blob)
        structured, meta = plain(reply.structured), plain(reply.meta)
        passed = {"structuredContent": structured, "_meta": meta} if structured is not None or meta else None
        return ToolResult(structured, content, is_error=reply.is_error is True, mcp_meta=passed)

    async def _call(self, params: dict[str, Any], limits: Limits, progressed: Progress) -> CallReply:
        session = await self.ensure()
        for _ in range(_MAX_ROUNDS):
            try:
                reply = read_reply(await session.request("tools/call", params, limits, progressed))
            except RpcError as error:
                if error.code != URL_NEEDED or not await self._visited(error.data):
                    raise
                continue
            if reply.result_type != "input_required":
                return reply
            params |= await self._inputs(reply.input_requests, reply.request_state)
        raise McpError(f"The MCP server {self.config.name!r} asked more than {_MAX_ROUNDS} times for input")

    async def _visited(self, data: object) -> bool:
        """The user has been to the addresses that a server wants him to visit first."""
        found = cast("dict[str, Any]", data).get("elicitations") if isinstance(data, dict) else None
        listed = cast("list[Any]", found) if isinstance(found, list) else []
        asked = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
        for params in asked[:_MAX_ROUNDS]:
            answer = await self._answer("elicitation/create", {**params, "mode": "url"})
            if answer.get("action") != "accept":
                return False
        return bool(asked)

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Any other request, such as for a resource or a prompt.

        Raises:
            McpError: It failed.
        """
        session = await self.ensure()
        return read_object(await session.request(method, params, Limits(self.config.timeout_s, self.config.idle_s)))

    async def list(self, method: str, key: str) -> list[dict[str, Any]]:
        """Everything of a list that comes in pages: resources, templates, prompts."""
        return await list_all(await self.ensure(), method, key, Limits(_LIST_S))

    async def _inputs(self, raw: msgspec.Raw, state: str | None) -> dict[str, Any]:
        """What a newer server needs before it can go on, answered the same way as an older one's questions."""
        answers: dict[str, Any] = {}
        for key, wanted in read_object(raw).items():
            if isinstance(wanted, dict):
                asked = cast("dict[str, Any]", wanted)
                params = asked.get("params")
                given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
                answers[key] = await self._answer(str(asked.get("method")), given)
        return {"inputResponses": answers, **({} if state is None else {"requestState": state})}

    async def _answer(self, method: str, params: dict[str, Any]) -> Any:
        return await self._around.answer(self.config.name, method, params)

    @property
    def tell(self) -> Notices:
        """Tells a person what he should know."""
        return self._told.notice

    def spawn(self, work: Any) -> "asyncio.Task[None]":
        """Work that ends with the connection at the latest; what it raises is told by itself."""
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _spawn(self, work: Any) -> None:
        self.spawn(work)
