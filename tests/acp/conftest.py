"""An editor in the same process: it speaks the protocol with our server, and every line is checked by the schema."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp.schema as published
import pytest

from holdfast.acp.server import AgentServer
from holdfast.app.options import AgentOptions, Options

Fields = dict[str, Any]
Reply = Callable[[Fields], Any]
_ANSWERS = {
    "initialize": published.InitializeResponse,
    "session/new": published.NewSessionResponse,
    "session/load": published.LoadSessionResponse,
    "session/resume": published.ResumeSessionResponse,
    "session/list": published.ListSessionsResponse,
    "session/close": published.CloseSessionResponse,
    "session/prompt": published.PromptResponse,
    "session/set_mode": published.SetSessionModeResponse,
    "session/set_config_option": published.SetSessionConfigOptionResponse,
}
_ASKED = {
    "session/request_permission": published.RequestPermissionRequest,
    "fs/read_text_file": published.ReadTextFileRequest,
    "terminal/create": published.CreateTerminalRequest,
    "terminal/output": published.TerminalOutputRequest,
    "terminal/wait_for_exit": published.WaitForTerminalExitRequest,
    "terminal/kill": published.KillTerminalRequest,
    "terminal/release": published.ReleaseTerminalRequest,
}


class RequestFailedError(Exception):
    """Our server answered with an error."""

    def __init__(self, error: Fields) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Editor:
    """Sends requests, keeps the updates and answers questions by `replies`."""

    def __init__(self, options: Options, model: str, replies: Mapping[str, Reply]) -> None:
        self.server = AgentServer(self._take, lambda: (options, AgentOptions(model=model)))
        self.updates: list[Fields] = []
        self.asked: list[Fields] = []
        self.errors: list[Fields] = []
        self.on_update: Callable[[Fields], None] = lambda _update: None
        self._replies = replies
        self._replying: set[asyncio.Future[Any]] = set()
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}

    def send(self, **message: Any) -> None:
        self.server.peer.take(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def request(self, method: str, **params: Any) -> Any:
        return await asyncio.wait_for(self.start(method, **params), 60)

    def start(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        id_ = len(self._waiting)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = method, waiting
        self.send(id=id_, method=method, params=params)
        return waiting

    async def open(self, cwd: Path, *, capabilities: Fields | None = None, servers: list[Fields] | None = None) -> str:
        """A new session."""
        await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        return (await self.request("session/new", cwd=str(cwd), mcpServers=servers or []))["sessionId"]

    async def say(self, session: str, text: str) -> Fields:
        return await self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def told(self, kind: str) -> list[Fields]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def said(self) -> str:
        return "".join(update["content"]["text"] for update in self.told("agent_message_chunk"))

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert b"\n" not in line
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            self._asked(message)
        elif message["method"] == "session/update":
            published.SessionNotification.model_validate(message["params"])
            self.updates.append(message["params"]["update"])
            self.on_update(message["params"]["update"])
        else:
            assert message["method"] == "$/cancel_request"

    def _answered(self, message: Fields) -> None:
        if message["id"] is None:
            self.errors.append(message["error"])
            return
        method, waiting = self._waiting[message["id"]]
        if "error" in message:
            published.Error.model_validate(message["error"])
            waiting.set_exception(RequestFailedError(message["error"]))
        else:
            _ANSWERS[method].model_validate(message["result"])
            waiting.set_result(message["result"])

    def _asked(self, message: Fields) -> None:
        method, params = message["method"], message["params"]
        if method in _ASKED:
            _ASKED[method].model_validate(params)
        self.asked.append({"method": method, **params})
        reply = self._replies.get(method)
        if reply is None:
            self.send(id=message["id"], error={"code": -32601, "message": "not here"})
            return
        answer = reply(params)
        if isinstance(answer, Awaitable):
            task = asyncio.ensure_future(cast("Awaitable[Any]", answer))
            self._replying.add(task)
            task.add_done_callback(lambda done: self._replied(message["id"], done))
        elif answer is not None:
            self.send(id=message["id"], result=answer)

    def _replied(self, id_: Any, done: "asyncio.Future[Any]") -> None:
        self._replying.discard(done)
        if not done.cancelled() and done.exception() is None:
            self.send(id=id_, result=done.result())


Opener = Callable[..., AbstractAsyncContextManager[Editor]]


def choosing(*wanted: str) -> Reply:
    """Chooses the first option whose id or kind is wanted."""

    def choose(params: Fields) -> Fields:
        for word in wanted:
            for option in params["options"]:
                if word in (option["optionId"], option["kind"]):
                    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return {"outcome": {"outcome": "cancelled"}}

    return choose


@pytest.fixture
def editor(tmp_path: Path) -> Opener:
    """Makes an editor around a scripted model; leaving it ends all sessions."""

    @asynccontextmanager
    async def opened(turns: list[Any], *, options: Options | None = None, **replies: Reply) -> AsyncGenerator[Editor]:
        script = tmp_path / "script.json"
        script.write_text(json.dumps(turns), encoding="utf-8")
        named = {name.replace("__", "/"): reply for name, reply in replies.items()}
        made = Editor(options or Options(), f"scripted:{script}", named)
        try:
            yield made
        finally:
            await asyncio.wait_for(made.server.close(), 60)

    return opened


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
