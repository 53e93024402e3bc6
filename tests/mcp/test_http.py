"""Servers behind an address: both eras, streams, refusals."""

import asyncio
import json
import os
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast.mcp.wire import McpError
from holdfast.settings.hook_items import mcp_server_hash
from holdfast.settings.mcp_servers import ServerEntry

ECHO = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}


class Handler(BaseHTTPRequestHandler):
    """A server as the tests want it; `kind` says how it behaves."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        del code, size

    def do_GET(self) -> None:
        self.answer(405, b"", "text/plain")

    def do_DELETE(self) -> None:
        self.host.seen.append(("DELETE", dict(self.headers)))
        self.answer(200, b"", "text/plain")

    @property
    def host(self) -> "Host":
        assert isinstance(self.server, Host)
        return self.server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.host.seen.append((body.get("method", ""), {key.lower(): value for key, value in self.headers.items()}))
        kind, method = self.host.kind, body.get("method")
        if kind == "login" or (kind == "token" and self.headers.get("x-token") != self.host.token):
            self.answer(401, b"who are you", "text/plain")
        elif kind == "moved":
            self.send_response(302)
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()
        elif "id" not in body:
            self.answer(202, b"", "text/plain")
        else:
            result = self.result(method, body)
            said: dict[str, Any] = {"jsonrpc": "2.0", "id": body["id"]}
            said |= {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
            self.say(json.dumps(said).encode(), is_initialize=method == "initialize")

    def result(self, method: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if method == "server/discover" and self.host.kind == "modern":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
        if method == "initialize" and self.host.kind != "modern":
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}}
        if method == "tools/list":
            return {"tools": [ECHO]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": body["params"]["arguments"]["text"]}]}
        return None

    def say(self, data: bytes, *, is_initialize: bool) -> None:
        extra = {"mcp-session-id": "s1"} if is_initialize else {}
        if self.host.kind == "stream":
            event = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
            self.answer(200, event + b"id: 1\ndata: " + data + b"\n\n", "text/event-stream", extra)
        else:
            self.answer(200, data, "application/json", extra)

    def answer(self, status: int, body: bytes, kind: str, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **(extra or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Host(ThreadingHTTPServer):
    """The server and what it has seen."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kind = "plain"
        self.token = "first"
        self.seen: list[tuple[str, dict[str, str]]] = []

    def entry(self, **more: Any) -> ServerEntry:
        return ServerEntry("web", {"type": "http", "url": f"http://127.0.0.1:{self.server_port}/mcp", **more}, "user")


@pytest.fixture
def host() -> Generator[Host]:
    found = Host()
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join(10)


@pytest.mark.parametrize("kind", ["plain", "stream", "modern"])
async def test_a_tool_behind_an_address_answers_in_every_way_a_server_may_speak(
    kit: Any, host: Host, kind: str
) -> None:
    host.kind = kind
    async with kit.hub(host.entry(headers={"X-Token": "${TOKEN_OF_TEST:-t}"})) as hub:
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__web__echo", {"text": "hello"})
        assert (reply.content, reply.is_error) == ("hello", False)
    sent = dict(host.seen)["tools/call"]
    assert sent["x-token"] == "t"
    assert sent["mcp-protocol-version"] == ("2026-07-28" if kind == "modern" else "2025-06-18")
    assert (sent.get("mcp-name"), sent.get("mcp-session-id")) == (("echo", None) if kind == "modern" else (None, "s1"))
    assert ("DELETE" in dict(host.seen)) == (kind != "modern")


@pytest.mark.parametrize(("kind", "said"), [("login", "wants a login"), ("moved", "not followed")])
async def test_what_a_server_refuses_is_told_in_words(kit: Any, host: Host, kind: str, said: str) -> None:
    host.kind = kind
    async with kit.hub(host.entry()) as hub:
        with pytest.raises(McpError, match=said):
            await asyncio.wait_for(hub.servers["web"].ensure(), 30)
        assert hub.servers["web"].state == ("needs-auth" if kind == "login" else "failed")


async def test_an_address_where_nobody_listens_is_told_in_words(kit: Any) -> None:
    entry = ServerEntry("web", {"url": "http://127.0.0.1:9/mcp"}, "user")
    async with kit.hub(entry) as hub:
        with pytest.raises(McpError, match="cannot be reached"):
            await asyncio.wait_for(hub.servers["web"].ensure(), 30)


async def test_resources_are_listed_and_read_and_bytes_go_to_a_file(kit: Any, tmp_path: Any) -> None:
    from holdfast.engine import Executor  # noqa: PLC0415 - only here
    from holdfast.mcp.resources import resource_tools  # noqa: PLC0415 - only here

    def save(data: bytes, media_type: str) -> str:
        (tmp_path / "blob").write_bytes(data)
        return f"{tmp_path}/blob"

    async with kit.hub(kit.entry("plain"), save_blob=save) as hub:
        await hub.servers["scene"].ensure()
        executor = Executor(resource_tools(hub), permission_mode="bypassPermissions", resources=())
        listed = await kit.call(executor, "mcp__listResources")
        assert listed.data == [{"uri": "note://one", "name": "one", "mimeType": "text/plain", "server": "scene"}]
        read = await kit.call(executor, "ReadMcpResourceTool", {"server": "scene", "uri": "note://one"})
        assert [sorted(part) for part in read.data["contents"]] == [
            ["mimeType", "text", "uri"],
            ["blobSavedTo", "mimeType", "uri"],
        ]
        assert (tmp_path / "blob").read_bytes() == b"PK\x03\x04"


async def test_a_program_prints_the_headers_and_is_asked_again_when_they_are_refused(
    kit: Any, host: Host, tmp_path: Path
) -> None:
    host.kind = "token"
    (tmp_path / "token").write_text("first")
    helper = """printf '{"X-Token": "%s"}' "$(cat token)"; echo "$HOLDFAST_MCP_SERVER_NAME" >> asked"""
    async with kit.hub(host.entry(headersHelper=helper)) as hub:
        executor = await kit.connected(hub)
        assert (await kit.call(executor, "mcp__web__echo", {"text": "one"})).content == "one"
        host.token = "second"
        (tmp_path / "token").write_text("second")
        assert (await kit.call(executor, "mcp__web__echo", {"text": "two"})).content == "two"
        host.token = "third"
        refused = await kit.call(executor, "mcp__web__echo", {"text": "three"})
        assert "refuses what its headersHelper prints" in str(refused.content)
    assert (tmp_path / "asked").read_text() == "web\n" * 3


async def test_the_time_in_which_a_new_header_is_found_is_not_the_servers(kit: Any, host: Host, tmp_path: Path) -> None:
    host.kind = "token"
    (tmp_path / "token").write_text("first")
    os.mkfifo(tmp_path / "gate")
    helper = """test -e slow && cat gate; printf '{"x-token": "%s"}' "$(cat token)" """
    async with kit.hub(host.entry(headersHelper=helper, timeout=200)) as hub:
        executor = await kit.connected(hub)
        host.token = "second"
        (tmp_path / "token").write_text("second")
        (tmp_path / "slow").touch()
        executor.add({"type": "tool_use", "id": "1", "name": "mcp__web__echo", "input": {"text": "late"}})
        with await asyncio.to_thread(open, tmp_path / "gate", "w"):  # the program waits, and so does the call
            loop = asyncio.get_running_loop()
            over = loop.create_future()
            loop.call_later(0.4, over.set_result, None)
            await over
        async with asyncio.timeout(30):
            (reply,) = [event async for event in executor.results()]
        assert reply.content == "late"


@pytest.mark.parametrize("helper", ["echo no json", "echo '[1]'", "echo '{\"a\": 1}'", "echo broken >&2; exit 3"])
async def test_a_program_that_prints_something_else_is_told(kit: Any, host: Host, helper: str) -> None:
    async with kit.hub(host.entry(headersHelper=helper)) as hub:
        with pytest.raises(McpError, match="did not print a JSON object of strings"):
            await hub.servers["web"].ensure()


def test_a_folders_program_for_headers_is_approved_as_it_is(tmp_path: Path) -> None:
    config = {"type": "http", "url": "https://x.example/mcp", "headersHelper": "./token.sh --fresh"}
    helper = tmp_path / "token.sh"
    helper.write_text("echo 1")
    before = mcp_server_hash("x", config, root=str(tmp_path))
    assert mcp_server_hash("x", config, root=str(tmp_path)) == before
    helper.write_text("echo 2")
    assert mcp_server_hash("x", config, root=str(tmp_path)) != before
    helper.write_text("echo 1")
    changed = {**config, "headersHelper": "./token.sh"}
    assert mcp_server_hash("x", changed, root=str(tmp_path)) != before
