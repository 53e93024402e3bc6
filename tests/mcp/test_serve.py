"""Our tools for other programs: what a client gets, who is asked, and what ends a call."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.app import Options
from holdfast.app.serve import served
from holdfast.mcp.serve.guard import keep_token
from holdfast.mcp.serve.peer import Outgoing, Peer
from holdfast.mcp.wire import read_line

MODERN_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
CAN_ASK: dict[str, Any] = {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


class RawClient:
    """A client that sees every message."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self.seen: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._count = 0

    def take(self, out: Outgoing) -> None:
        self.seen.append(msgspec.json.decode(out.data))
        self._news.set()

    def send(self, message: dict[str, Any]) -> None:
        assert self.peer is not None
        for part in read_line(msgspec.json.encode({"jsonrpc": "2.0", **message})):
            self.peer.take(part)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._count += 1
        self.send({"id": self._count, "method": method, "params": params or {}})
        return self._count

    async def until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(30):
            while True:
                for message in self.seen:
                    if fits(message):
                        self.seen.remove(message)
                        return message
                self._news.clear()
                await self._news.wait()

    async def answer(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        id_ = self.ask(method, params)
        return await self.reply_to(id_)

    async def reply_to(self, id_: int) -> dict[str, Any]:
        return await self.until(lambda message: message.get("id") == id_ and "method" not in message)

    async def greet(self, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}, "clientInfo": {"name": "t"}}
        found = await self.answer("initialize", params)
        self.send({"method": "notifications/initialized"})
        return found["result"]

    async def call(self, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        return await self.answer("tools/call", {"name": name, "arguments": arguments, **more})


@asynccontextmanager
async def client(place: Path, approver: str | None = None, **options: Any) -> AsyncGenerator[RawClient]:
    raw = RawClient()
    async with served(Options(cwd=str(place), **options), approver=approver) as session:
        raw.peer = Peer(session.service, raw.take)
        try:
            yield raw
        finally:
            await asyncio.wait_for(raw.peer.close(), 30)


async def test_a_client_of_either_era_lists_and_calls_our_tools(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with client(tmp_path, tools=("Read", "Bash")) as raw:
        greeting = await raw.greet()
        assert greeting["protocolVersion"] == "2025-11-25"
        assert greeting["serverInfo"]["name"] == "holdfast"
        older = (await raw.answer("tools/list"))["result"]
        assert [tool["name"] for tool in older["tools"]] == ["Bash", "Read"]
        assert older["tools"][1]["annotations"]["readOnlyHint"] is True
        assert "$schema" not in older["tools"][1]["inputSchema"]
        reply = (await raw.call("Read", {"file_path": str(tmp_path / "a.txt")}))["result"]
        assert "one" in reply["content"][0]["text"]
        assert reply["isError"] is False
        newer = (await raw.answer("tools/list", {"_meta": MODERN_META}))["result"]
        assert newer["tools"] == older["tools"]
        assert (newer["resultType"], newer["cacheScope"]) == ("complete", "private")
        found = (await raw.answer("server/discover", {"_meta": MODERN_META}))["result"]
        assert "2026-07-28" in found["supportedVersions"]


async def test_what_makes_no_sense_is_answered_as_an_error(tmp_path: Path) -> None:
    async with client(tmp_path, tools=("Read",)) as raw:
        assert (await raw.answer("tools/list"))["error"]["code"] == -32600
        assert (await raw.answer("ping"))["result"] == {}
        await raw.greet()
        assert (await raw.call("Nope", {}))["error"]["code"] == -32602
        assert (await raw.answer("tools/call", {"name": 3}))["error"]["code"] == -32602
        assert (await raw.answer("tools/call", {"name": "Read", "arguments": [1]}))["error"]["code"] == -32602
        assert (await raw.answer("no/such"))["error"]["code"] == -32601
        assert (await raw.call("Read", {"file_path": 7}))["result"]["isError"] is True
        other = {**MODERN_META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        assert (await raw.answer("tools/list", {"_meta": other}))["error"]["code"] == -32022


async def test_without_anybody_to_ask_the_refusal_says_what_would_help(tmp_path: Path) -> None:
    async with client(tmp_path) as raw:
        await raw.greet()
        reply = (await raw.call("Bash", {"command": "touch made"}))["result"]
        assert reply["isError"] is True
        assert "--approver" in reply["content"][0]["text"]
        assert "the user refused" not in reply["content"][0]["text"]
        assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("answer", "is_made"),
    [
        ({"action": "accept", "content": {"decision": "allow once"}}, True),
        ({"action": "accept", "content": {"decision": "refuse", "reason": "use the other file"}}, False),
        ({"action": "accept", "content": {"decision": "yes please"}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({}, False),
    ],
)
async def test_an_older_client_is_asked_while_its_call_waits(
    tmp_path: Path, answer: dict[str, Any], is_made: bool
) -> None:
    async with client(tmp_path) as raw:
        await raw.greet({"elicitation": {"form": {}}})
        id_ = raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "touch made"}})
        question = await raw.until(lambda message: message.get("method") == "elicitation/create")
        assert "touch made" in question["params"]["message"]
        raw.send({"id": question["id"], "result": answer})
        reply = (await raw.until(lambda message: message.get("id") == id_ and "method" not in message))["result"]
        assert (tmp_path / "made").exists() is is_made
        assert reply["isError"] is not is_made
        if "content" in answer and "reason" in answer["content"]:
            assert "use the other file" in reply["content"][0]["text"]


async def test_allow_in_this_session_is_not_asked_again(tmp_path: Path) -> None:
    async with client(tmp_path) as raw:
        await raw.greet({"elicitation": {}})
        id_ = raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "touch one"}})
        question = await raw.until(lambda message: message.get("method") == "elicitation/create")
        raw.send(
            {"id": question["id"], "result": {"action": "accept", "content": {"decision": "allow in this session"}}}
        )
        await raw.until(lambda message: message.get("id") == id_)
        assert (await raw.call("Bash", {"command": "touch two"}))["result"]["isError"] is False


async def test_a_newer_client_answers_by_asking_again_and_each_state_serves_once(tmp_path: Path) -> None:
    call = {"name": "Bash", "arguments": {"command": "touch made"}, "_meta": CAN_ASK}
    async with client(tmp_path) as raw:
        first = (await raw.answer("tools/call", call))["result"]
        assert first["resultType"] == "input_required"
        assert not (tmp_path / "made").exists()
        again = {**call, "requestState": first["requestState"]}
        second = (await raw.answer("tools/call", again))["result"]  # without an answer it is asked again
        assert second["resultType"] == "input_required"
        yes = {"permission": {"action": "accept", "content": {"decision": "allow once"}}}
        other = {**call, "arguments": {"command": "touch other"}, "requestState": second["requestState"]}
        assert (await raw.answer("tools/call", {**other, "inputResponses": yes}))["error"]["code"] == -32602
        assert (await raw.answer("tools/call", {**again, "inputResponses": yes}))["error"]["code"] == -32602
        third = (await raw.answer("tools/call", call))["result"]
        done = {**call, "requestState": third["requestState"], "inputResponses": yes}
        assert (await raw.answer("tools/call", done))["result"]["isError"] is False
        assert (await raw.answer("tools/call", done))["error"]["code"] == -32602
        assert [path.name for path in tmp_path.iterdir()] == ["made"]


def approver(place: Path, text: str) -> str:
    program = place / "approver.py"
    program.write_text(f"import json, sys\nasked = json.load(sys.stdin)\n{text}\n")
    return f"{sys.executable} {program}"


@pytest.mark.parametrize(
    ("text", "is_made"),
    [
        (
            (
                "ok = asked['tool_input']['command'] == 'touch made'\n"
                "ok = ok and asked['hook_event_name'] == 'PermissionRequest'\n"
                "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PermissionRequest', "
                "'decision': {'behavior': 'allow' if ok else 'deny'}}}))"
            ),
            True,
        ),
        ("print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PermissionRequest'}}))", False),
        ("print('yes')", False),
        ("sys.exit(2)", False),
        ("sys.exit(1)", False),
    ],
)
async def test_an_approver_program_is_asked_when_the_client_cannot(tmp_path: Path, text: str, is_made: bool) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with client(work, approver(tmp_path, text)) as raw:
        await raw.greet()
        reply = (await raw.call("Bash", {"command": "touch made"}))["result"]
        assert reply["isError"] is not is_made
        assert (work / "made").exists() is is_made


async def test_a_quick_call_is_answered_before_a_slow_one_and_a_cancelled_one_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    os.mkfifo(tmp_path / "gate")
    async with client(tmp_path, permission_mode="bypassPermissions") as raw:
        await raw.greet()
        slow = raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "cat gate"}})
        quick = await raw.call("Read", {"file_path": str(tmp_path / "a.txt")})
        assert quick["result"]["isError"] is False
        raw.send({"method": "notifications/cancelled", "params": {"requestId": slow}})
        after = await raw.call("Bash", {"command": "echo free"})  # it waits until the other one has ended
        assert after["result"]["content"][0]["text"] == "free"
        assert not any(message.get("id") == slow for message in raw.seen)


async def test_a_failed_command_stops_no_other_call(tmp_path: Path) -> None:
    async with client(tmp_path, permission_mode="bypassPermissions") as raw:
        await raw.greet()
        bad = raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "false; touch x; false"}})
        good = raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "touch made"}})
        for id_, is_error in ((bad, True), (good, False)):
            reply = await raw.reply_to(id_)
            assert reply["result"]["isError"] is is_error


async def test_progress_is_told_to_who_wants_it(tmp_path: Path) -> None:
    async with client(tmp_path, permission_mode="bypassPermissions") as raw:
        await raw.greet()
        id_ = raw.ask(
            "tools/call",
            {"name": "Bash", "arguments": {"command": "echo begun; sleep 2.6"}, "_meta": {"progressToken": "p"}},
        )
        told = await raw.until(lambda message: message.get("method") == "notifications/progress")
        assert told["params"]["progressToken"] == "p"
        await raw.until(lambda message: message.get("id") == id_)


async def test_a_picture_comes_as_a_picture(tmp_path: Path) -> None:
    from PIL import Image  # noqa: PLC0415 - heavy

    Image.new("RGB", (4, 4), "red").save(tmp_path / "p.png")
    async with client(tmp_path) as raw:
        await raw.greet()
        reply = (await raw.call("Read", {"file_path": str(tmp_path / "p.png")}))["result"]
        assert [part["type"] for part in reply["content"]].count("image") == 1
        assert next(part for part in reply["content"] if part["type"] == "image")["mimeType"].startswith("image/")


async def test_too_many_open_requests_and_a_repeated_id_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    async with client(tmp_path, permission_mode="bypassPermissions") as raw:
        await raw.greet()
        for _ in range(256):
            raw.ask("tools/call", {"name": "Bash", "arguments": {"command": "cat gate"}})
        assert (await raw.answer("tools/list"))["error"]["code"] == -32600
        raw.send({"id": 2, "method": "tools/list"})
        assert (await raw.until(lambda message: message.get("id") == 2))["error"]["code"] == -32600


def test_the_token_is_made_once_and_only_its_user_reads_it(tmp_path: Path) -> None:
    path = str(tmp_path / "token")
    token = keep_token(path)
    assert len(token) >= 43
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert keep_token(path) == token
    assert keep_token(path, renew=True) != token
    os.chmod(path, 0o644)  # others may have read it
    assert keep_token(path) != token
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
