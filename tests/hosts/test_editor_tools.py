"""The tools of the editor in whose terminal we run: a WebSocket on this machine, told of in a file of the user's."""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.asyncio.server import ServerConnection, serve

from holdfast.mcp.session import Session
from holdfast.mcp.websocket import WebSocketTransport
from holdfast.mcp.wire import McpError
from holdfast.settings import SettingsRoots
from holdfast.settings.editor import PORT, editor_server

from .conftest import StartHost, call, first, results

TOKEN = "550e8400-e29b-41d4-a716-446655440000"
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("openFile", "getDiagnostics", "executeCode")]


class Editor:
    """Answers as the extensions of editors do, in a thread of its own."""

    def __init__(self) -> None:
        self.port = 0
        self.shown: list[str] = []
        self.called: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._ready, self._end = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)
        self._loop.close()

    async def _serve(self) -> None:
        async with serve(self._talk, "127.0.0.1", 0) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._ready.set()
            await asyncio.wait_for(self._end.wait(), 120)

    async def _talk(self, peer: ServerConnection) -> None:
        assert peer.request is not None
        self.shown.append(peer.request.headers.get("X-Claude-Code-Ide-Authorization", ""))
        async for text in peer:
            asked = json.loads(text)
            if "id" in asked:
                await peer.ping()
                said = {"jsonrpc": "2.0", "id": asked["id"], "result": self._answer(asked)}
                whole = json.dumps(said)
                await peer.send([whole[:7], whole[7:]])  # in pieces, as long messages come

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["method"] == "initialize":
            return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "e"}}
        if asked["method"] == "tools/list":
            return {"tools": TOOLS}
        self.called.append(asked["params"]["name"])
        return {"content": [{"type": "text", "text": "line 3: x is not defined " + "é" * 70_000}]}


@pytest.fixture
def editor() -> Generator[Editor]:
    with Editor() as found:
        yield found


def told(config: Path, port: int, folder: Path, **more: Any) -> Path:
    """The file in which an editor tells of itself."""
    path = config / "ide" / f"{port}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"pid": os.getpid(), "workspaceFolders": [str(folder)], "ideName": "E", "transport": "ws"}
    path.write_text(json.dumps({**about, "authToken": TOKEN, **more}))
    path.chmod(0o600)
    return path


def test_an_editor_offers_its_two_tools_last_and_its_other_tools_not_at_all(
    start: StartHost, place: Path, tmp_path: Path, editor: Editor
) -> None:
    told(tmp_path / "config", editor.port, place)
    names = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), PORT: str(editor.port)}
    host = start("--allowedTools", "mcp__ide__getDiagnostics", **names)
    found = host.say(call("mcp__ide__getDiagnostics"), call("mcp__ide__executeCode", code="1"), "SAY x")
    assert first(found)["tools"][-2:] == ["mcp__ide__executeCode", "mcp__ide__getDiagnostics"]
    assert len([name for name in first(found)["tools"] if name.startswith("mcp__")]) == 2
    assert (editor.shown, editor.called) == ([TOKEN], ["getDiagnostics"])  # the other one needs a yes
    assert "x is not defined" in str(results(found)[0]["content"])


def test_without_an_editor_there_are_no_such_tools(start: StartHost, place: Path, tmp_path: Path) -> None:
    told(tmp_path / "config", 9, place)
    found = start(CLAUDE_CONFIG_DIR=str(tmp_path / "config")).say("SAY x")
    assert not [name for name in first(found)["tools"] if name.startswith("mcp__")]


@pytest.mark.parametrize(
    "more", [{"transport": "sse"}, {"authToken": "a b c d e f"}, {"authToken": 7}, {"workspaceFolders": ["/else"]}]
)
def test_an_editor_that_works_elsewhere_or_is_none_is_left_alone(tmp_path: Path, more: dict[str, Any]) -> None:
    roots = SettingsRoots.from_environment({"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)})
    path = told(tmp_path, 4, tmp_path)
    inside = tmp_path / "inside"
    inside.mkdir()
    assert editor_server(roots, str(inside), {PORT: "4"}) == {"type": "ws-ide", "port": 4, "token": TOKEN}
    assert editor_server(roots, str(inside), {PORT: "4", "CLAUDE_CODE_AUTO_CONNECT_IDE": "false"}) is None
    for port in ("", "x", "0", "70000", "5"):
        assert editor_server(roots, str(inside), {PORT: port}) is None
    path.chmod(0o666)  # anybody could have written it
    assert editor_server(roots, str(inside), {PORT: "4"}) is None
    told(tmp_path, 4, tmp_path, **more)
    assert editor_server(roots, str(inside), {PORT: "4"}) is None


@pytest.mark.parametrize("folders", [7, {"a": 1}, "/", [None, "/\0"], None])
def test_a_file_in_which_an_editor_names_no_folders_is_left_alone(tmp_path: Path, folders: object) -> None:
    roots = SettingsRoots.from_environment({"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)})
    told(tmp_path, 4, tmp_path, workspaceFolders=folders)
    assert editor_server(roots, str(tmp_path), {PORT: "4"}) is None


def test_who_listens_in_an_editors_place_and_says_nothing_keeps_nobody_waiting() -> None:
    async def run() -> None:
        gone = asyncio.Event()

        async def still(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()  # the greeting, and that the other side has gone
            gone.set()
            writer.close()

        async with await asyncio.start_server(still, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(McpError, match="did not answer within"):
                await WebSocketTransport(Session("ide")).open(port, TOKEN, limit_s=0.05)
            async with asyncio.timeout(30):
                await gone.wait()

    asyncio.run(run())


def test_pieces_of_a_message_that_hold_nothing_do_not_add_up_for_ever() -> None:
    async def run() -> str | None:
        session, lost = Session("ide"), asyncio.Event()
        session.on_lost = lambda _why: lost.set()
        transport = WebSocketTransport(session)

        async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            key = next(line[19:] for line in head.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key: "))
            accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            writer.write(b"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            with contextlib.suppress(OSError):
                for _ in range(600):
                    writer.write(b"\x01\x00" * 1_000)
                    await writer.drain()
            writer.close()

        async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
            async with asyncio.timeout(60):
                await transport.open(server.sockets[0].getsockname()[1], TOKEN, limit_s=30)
                await lost.wait()
            await transport.close()
        return session.why_lost

    assert "32 MiB" in str(asyncio.run(run()))
