"""Addresses that hang, loop, move and lie, and those of earlier years."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.mcp.event_stream import EventReader, ServerEvent
from holdfast.mcp.wire import McpError
from holdfast.settings.mcp_servers import ServerEntry

INIT: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}}
ECHO = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
JSON, EVENTS = b"application/json", b"text/event-stream"


def whole(body: bytes, kind: bytes = JSON, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n%b\r\n%b" % (status, kind, len(body), more, body)


def stream(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body


class Place:
    """A server on the loopback that answers in one way; `seen` are the first lines of requests."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.seen: list[str] = []
        self.to_stream: asyncio.Queue[bytes] = asyncio.Queue()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                named = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
                body = await reader.readexactly(int(named.get("content-length", "0")))
                verb, path, _ = lines[0].split(" ")
                self.seen.append(f"{verb} {path}")
                await self.answer(verb, path, json.loads(body) if body else {}, writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def answer(self, verb: str, path: str, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if self.kind.startswith("older"):
            await self.older(verb, path, message, writer)
        elif self.kind.startswith("moved") and path != "/there/":
            place = {"moved": b"/there/", "moved-out": b"http://127.0.0.1:9/there/", "moved-loop": path.encode() + b"x"}
            found = place.get(self.kind, b"http://[bad")
            writer.write(whole(b"", status=b"308 Moved", more=b"location: %b\r\n" % found))
        elif verb != "POST":
            writer.write(whole(b"", status=b"405 No"))
        elif "id" not in message:
            if self.kind == "takes-none":
                await asyncio.get_running_loop().create_future()
            writer.write(whole(b"", status=b"202 Accepted"))
        else:
            self.reply(message, writer)

    async def older(self, verb: str, path: str, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """The transport of 2024: a stream at one address, messages to another."""
        if verb == "GET" and path == "/mcp":
            target = {"older-away": b"https://evil.example/x", "older-bad": b"http://[x"}.get(self.kind, b"/messages")
            writer.write(stream(b"event: endpoint\ndata: %b\n\n" % target))
            await writer.drain()
            while True:
                writer.write(b"data: %b\n\n" % await self.to_stream.get())
                await writer.drain()
        elif path == "/messages" and self.kind == "older-moved":
            writer.write(whole(b"", status=b"307 Moved", more=b"location: /messages/\r\n"))
        elif path.startswith("/messages"):
            writer.write(whole(b"", status=b"202 Accepted"))
            if "id" in message:
                self.to_stream.put_nowait(self.said(message))
        else:
            writer.write(whole(b"", status=b"405 No"))

    def said(self, message: dict[str, Any]) -> bytes:
        results: dict[str, Any] = {"initialize": INIT, "tools/list": {"tools": [ECHO]}}
        results["tools/call"] = {"content": [{"type": "text", "text": "fine"}]}
        result = results.get(message["method"])
        more: dict[str, Any] = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], **more}).encode()

    def reply(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        data = self.said(message)
        if message["method"] == "tools/call" and self.kind in ODD:
            writer.write(ODD[self.kind](data))
            if self.kind not in ("comments", "two"):
                writer.close()
        else:
            writer.write(whole(data))


ODD: dict[str, Callable[[bytes], bytes]] = {
    "returns": lambda data: stream(b"\xef\xbb\xbfid: 1\revent: message\rdata: " + data + b"\r\r"),
    "id-with-a-return": lambda data: stream(b"id: 1\rx-evil: yes\n\n" + b"data: " + data + b"\n\n"),
    "two": lambda data: whole(b"[" + data + b"]"),
    "cut": lambda data: stream(b"data: " + data + b"\n"),
    "endless-head": lambda data: b"HTTP/1.1 200 OK\r\n" + b"x-a: y\r\n" * 200_000,
    "bad-length": lambda data: b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: -5\r\n\r\n{}",
    "two-lengths": lambda data: b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 30\r\n\r\nabc",
    "old": lambda data: b"hello\n",
    "page": lambda data: whole(b"<html>", b"text/html"),
    "nothing": lambda data: whole(b"", status=b"202 Accepted"),
    "large-event": lambda data: stream(b"data: " + b"z" * (33 << 20)),
    "again": lambda data: stream(b"id: 1\nretry: 0\ndata: \n\n"),
}
FINE = ("returns", "id-with-a-return", "two")


@asynccontextmanager
async def at(kind: str) -> AsyncGenerator[tuple[Place, ServerEntry]]:
    place = Place(kind)
    server = await asyncio.start_server(place.meet, "127.0.0.1", 0)
    config = {"type": "http", "url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", "timeout": 30_000}
    try:
        yield place, ServerEntry("web", config, "user")
    finally:
        server.close()


@pytest.mark.parametrize("kind", ODD)
async def test_an_odd_answer_is_one_reply(kit: Any, kind: str) -> None:
    async with at(kind) as (_, entry), kit.hub(entry) as hub:
        executor = await kit.connected(hub)
        for _ in range(2):
            reply = await kit.call(executor, "mcp__web__echo")
            assert reply.is_error == (kind not in FINE)
            assert ("fine" in str(reply.content)) == (kind in FINE), reply.content


async def test_a_server_that_never_answers_a_notification_does_not_hold_us_up(kit: Any) -> None:
    async with at("takes-none") as (_, entry), kit.hub(entry, startup_s=0.2) as hub:
        with pytest.raises(McpError, match="did not take notifications/initialized"):
            await asyncio.wait_for(hub.servers["web"].ensure(), 30)


async def test_a_redirect_to_the_same_server_is_followed_once_and_for_all(kit: Any) -> None:
    async with at("moved") as (place, entry), kit.hub(entry) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__web__echo")
        assert reply.content == "fine"
    assert place.seen[:2] == ["POST /mcp", "POST /there/"]
    assert set(place.seen[2:]) == {"POST /there/", "GET /there/"}


@pytest.mark.parametrize(("kind", "asked"), [("moved-out", 1), ("moved-loop", 4), ("moved-badly", 1)])
async def test_any_other_redirect_is_told(kit: Any, kind: str, asked: int) -> None:
    async with at(kind) as (place, entry), kit.hub(entry) as hub:
        with pytest.raises(McpError, match="not followed"):
            await asyncio.wait_for(hub.servers["web"].ensure(), 30)
        assert len([one for one in place.seen if one.startswith("POST")]) >= asked


@pytest.mark.parametrize("kind", ["older", "older-moved"])
@pytest.mark.parametrize("given", ["http", "sse"])
async def test_a_server_of_the_older_transport_is_found_whatever_the_entry_says(
    kit: Any, kind: str, given: str
) -> None:
    async with at(kind) as (_, entry), kit.hub(entry._replace(config={**entry.config, "type": given})) as hub:
        assert (await kit.call(await kit.connected(hub), "mcp__web__echo")).content == "fine"


@pytest.mark.parametrize("kind", ["older-away", "older-bad"])
async def test_an_older_server_cannot_send_our_messages_elsewhere(kit: Any, kind: str) -> None:
    async with at(kind) as (place, entry):
        async with kit.hub(entry._replace(config={**entry.config, "type": "sse"})) as hub:
            with pytest.raises(McpError, match="another server"):
                await asyncio.wait_for(hub.servers["web"].ensure(), 30)
        assert set(place.seen) == {"GET /mcp"}


async def test_an_address_without_either_transport_is_told_as_what_it_answered(kit: Any) -> None:
    async with at("older") as (_, entry):
        elsewhere = {**entry.config, "url": str(entry.config["url"]).replace("/mcp", "/nothing")}
        async with kit.hub(entry._replace(config=elsewhere)) as hub:
            with pytest.raises(McpError, match="HTTP 405"):
                await asyncio.wait_for(hub.servers["web"].ensure(), 30)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_events_are_the_same_whatever_ends_their_lines_and_wherever_they_are_cut(end: bytes, size: int) -> None:
    lines = [b"\xef\xbb\xbf: a word", b"event: endpoint", b"data: one", b"data: two", b"id: 7", b"", b"", b"retry: 50"]
    text = end.join([*lines, b"data:three", b"", b""])
    pieces = [text[:3], *(text[at : at + size] for at in range(3, len(text), size))]
    reader = EventReader(1000)
    found = [event for piece in pieces for event in reader.feed(piece)]
    assert found == [ServerEvent("endpoint", b"one\ntwo", "7"), ServerEvent("message", b"three", "", 50)]
