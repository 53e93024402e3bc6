"""Logins to servers behind an address, against the authorization server of the SDK of the protocol's authors."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from holdfast.host.http import HttpClient, Request
from holdfast.host.web_server import Responder, WebRequest, WebServer
from holdfast.mcp.auth.badge import AskPerson, NeedsAuthError
from holdfast.mcp.auth.callback import Callback
from holdfast.mcp.auth.credentials import Credentials, CredentialStore
from holdfast.mcp.auth.login import Login
from holdfast.mcp.auth.network import addresses_for
from holdfast.settings.mcp_servers import ServerEntry
from holdfast.testing.started import started

pytest.importorskip("mcp", reason="the SDK is part of the development set: run `make setup`")
SCRIPT = Path(__file__).parents[1] / "data" / "mcp" / "login_server.py"


class LoginServer:
    """The server, and what a test does to it from outside."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._base = f"http://127.0.0.1:{port}"

    def forget(self, what: str = "access") -> int:
        """Make what it gave worthless; returns how many clients have registered so far."""
        with urllib.request.urlopen(f"{self._base}/forget?what={what}", timeout=20) as answer:
            return int(json.load(answer)["registered"])

    def entry(self, **config: Any) -> ServerEntry:
        return ServerEntry("web", {"type": "http", "url": self.url, **config}, "user")


@pytest.fixture(scope="module")
def login_server() -> Generator[LoginServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = LoginServer(port)
    argv = [sys.executable, str(SCRIPT), str(port)]
    with started(argv, limit_s=600, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while True:
            try:
                server.forget()
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, "the server did not start"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)
        yield server
        process.kill()


async def browser(url: str, give: Callable[[str], bool]) -> None:
    """The user's browser: it opens the page and follows to where it is sent."""
    del give
    client = HttpClient({})
    try:
        for _ in range(5):
            async with client.exchange(Request("GET", url)) as response:
                await response.read_all(100_000)
                if "location" not in response.headers:
                    assert response.status == 200
                    return
                url = response.headers["location"]
    finally:
        await client.close()


def by_browser(server: str) -> AskPerson:
    del server
    return browser


async def nobody(url: str, give: Callable[[str], bool]) -> None:
    raise AssertionError("nobody should be asked")


def store(place: Path) -> CredentialStore:
    return CredentialStore(str(place / "logins"), "file")


async def test_a_login_is_had_once_kept_for_the_user_alone_and_used_again(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:
        with pytest.raises(NeedsAuthError, match="holdfast mcp login web"):
            await hub.servers["web"].ensure()
        assert [tool.name for tool in hub.tools()] == ["mcp__web__authenticate"]
        await hub.servers["web"].sign_in(browser)
        assert [tool.name for tool in hub.tools()] == ["mcp__web__secret"]
        reply = await kit.call(await kit.connected(hub), "mcp__web__secret")
        assert reply.content == "the secret"
    (kept,) = (tmp_path / "logins").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:
        await hub.servers["web"].sign_in(nobody)
        assert (await kit.call(await kit.connected(hub), "mcp__web__secret")).content == "the secret"


async def test_a_token_that_is_over_is_renewed_in_the_middle_of_a_session_without_anybody(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:
        await hub.servers["web"].sign_in(browser)
        executor = await kit.connected(hub)
        login_server.forget()
        assert (await kit.call(executor, "mcp__web__secret")).content == "the secret"
    login_server.forget()
    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:  # and at the next start
        assert (await kit.call(await kit.connected(hub), "mcp__web__secret")).content == "the secret"


async def test_a_login_that_is_over_is_one_error_that_says_what_to_do_and_the_second_login_needs_no_registration(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:
        await hub.servers["web"].sign_in(browser)
        executor = await kit.connected(hub)
        registered = login_server.forget("all")
        reply = await kit.call(executor, "mcp__web__secret")
        assert reply.is_error
        assert "mcp__web__authenticate" in str(reply.content)
        assert "mcp__web__authenticate" in [tool.name for tool in hub.tools()]
        await hub.servers["web"].sign_in(browser)
        assert (await kit.call(executor, "mcp__web__secret")).content == "the secret"
        assert login_server.forget() == registered


async def test_a_person_who_can_be_asked_logs_in_while_the_call_waits(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    async with kit.hub(login_server.entry(), credentials=store(tmp_path), ask_login=by_browser) as hub:
        await hub.servers["web"].sign_in(browser)
        executor = await kit.connected(hub)
        login_server.forget("all")
        assert (await kit.call(executor, "mcp__web__secret")).content == "the secret"


async def test_the_tool_to_log_in_tells_the_address_and_the_real_tools_come_when_the_user_is_done(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    from holdfast.engine import Executor  # noqa: PLC0415 - with the tools as they are now

    async with kit.hub(login_server.entry(), credentials=store(tmp_path)) as hub:
        server = hub.servers["web"]
        with pytest.raises(NeedsAuthError):
            await server.ensure()
        executor = Executor(hub.tools(), permission_mode="bypassPermissions", resources=())
        reply = await kit.call(executor, "mcp__web__authenticate")
        assert reply.data["status"] == "auth_url"
        assert reply.data["authUrl"].startswith(login_server.url.removesuffix("/mcp"))
        again = await kit.call(executor, "mcp__web__authenticate")
        assert again.data["authUrl"] == reply.data["authUrl"]
        await browser(reply.data["authUrl"], lambda address: False)
        async with asyncio.timeout(30):
            await kit.until(lambda: server.state == "connected")
        assert [tool.name for tool in hub.tools()] == ["mcp__web__secret"]
        silent = await kit.call(executor, "mcp__web__authenticate")
        assert (silent.data["status"], "authUrl" in silent.data) == ("auth_url", False)


async def test_a_header_of_the_configuration_that_is_refused_is_said_and_no_login_begins(
    kit: Any, login_server: LoginServer, tmp_path: Path
) -> None:
    entry = login_server.entry(headers={"Authorization": "Bearer wrong"})
    async with kit.hub(entry, credentials=store(tmp_path)) as hub:
        server = hub.servers["web"]
        with pytest.raises(Exception, match="refuses the header"):
            await server.ensure()
        assert server.state == "failed"
        assert hub.tools() == []


async def test_a_server_without_a_way_to_log_in_says_that_and_what_helps(kit: Any, tmp_path: Path) -> None:
    from holdfast.engine import Executor  # noqa: PLC0415 - with the tools as they are now

    async def refuse(request: WebRequest, responder: Responder) -> None:
        await responder.whole(401 if request.target == "/mcp" else 404)

    web = WebServer(refuse, max_body_bytes=100_000)
    port = await web.start("127.0.0.1", 0)
    entry = ServerEntry("web", {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}, "user")
    try:
        async with kit.hub(entry, credentials=store(tmp_path)) as hub:
            with pytest.raises(NeedsAuthError):
                await hub.servers["web"].ensure()
            executor = Executor(hub.tools(), permission_mode="bypassPermissions", resources=())
            reply = await kit.call(executor, "mcp__web__authenticate")
            assert reply.data["status"] == "unsupported"
            assert "--client-id" in reply.data["message"]
            assert "authUrl" not in reply.data
    finally:
        await web.close()


async def test_only_the_answer_to_this_login_counts() -> None:
    callback = Callback()
    uri = await callback.start()
    try:
        callback.expect("https://login.example/authorize?state=mine")
        assert not callback.give(f"{uri}?code=1&state=other")
        assert not callback.give(f"{uri}?state=mine")
        assert callback.give(f"{uri}?code=2&state=mine&iss=x")
        assert not callback.give(f"{uri}?code=3&state=mine")
        returned = await asyncio.wait_for(callback.wait(), 30)
        assert (returned.code, returned.iss) == ("2", "x")
    finally:
        await callback.close()


async def test_what_is_pasted_may_be_anything() -> None:
    callback = Callback()
    callback.expect("https://login.example/authorize?state=mine")
    assert not callback.give("http://[broken")
    assert not callback.give("\0")
    await callback.close()


async def test_a_token_that_is_said_to_last_for_ever_is_kept_all_the_same(tmp_path: Path) -> None:
    flow = pytest.importorskip("holdfast.mcp.auth.flow")
    kept = store(tmp_path)
    login = Login("s", "https://host.example/mcp", {}, kept, "key")
    await flow._Memory(login).set_tokens(flow.OAuthToken(access_token="t", expires_in=10**400))
    assert store(tmp_path).load("key").access_token == "t"
    assert not store(tmp_path).load("key").is_over


async def test_a_refusal_at_the_login_page_is_told() -> None:
    callback = Callback()
    uri = await callback.start()
    client = HttpClient({})
    try:
        callback.expect("https://login.example/authorize?state=mine")
        async with client.exchange(Request("GET", f"{uri}?error=access_denied&state=mine")) as response:
            assert response.status == 200
        with pytest.raises(Exception, match="access_denied"):
            await asyncio.wait_for(callback.wait(), 30)
        async with client.exchange(Request("GET", uri, {"host": "evil.example"})) as response:
            assert response.status == 404
    finally:
        await client.close()
        await callback.close()


async def test_a_server_on_the_web_cannot_lead_a_login_into_our_own_net() -> None:
    public = addresses_for("https://93.184.216.34/mcp")
    assert await public("93.184.216.34", 443)
    for inside in ("127.0.0.1", "169.254.169.254", "10.0.0.1"):
        with pytest.raises(Exception, match="not a public address"):
            await public(inside, 80)
    assert await addresses_for("http://127.0.0.1:1/mcp")("127.0.0.1", 80)


def test_logins_go_to_the_key_ring_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyring.py").write_text(
        "held = {}\n"
        "def get_password(service, name): return held.get((service, name))\n"
        "def set_password(service, name, text): held[service, name] = text\n"
        "def delete_password(service, name): del held[service, name]\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    ring = CredentialStore(str(tmp_path / "logins"))
    ring.save("key", Credentials(token={"access_token": "t"}))
    assert not (tmp_path / "logins").exists()
    again = CredentialStore(str(tmp_path / "logins"))
    assert again.load("key").access_token == "t"
    assert again.forget("key")
    assert not CredentialStore(str(tmp_path / "logins")).load("key").access_token
    sys.modules.pop("keyring", None)


def test_a_file_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    kept = CredentialStore(str(tmp_path / "logins"), "file")
    kept.save("key", Credentials(token={"access_token": "t"}))
    os.chmod(tmp_path / "logins" / "key.json", 0o666)
    assert CredentialStore(str(tmp_path / "logins"), "file").load("key").access_token == ""
    (tmp_path / "logins" / "other.json").write_text("{")
    assert CredentialStore(str(tmp_path / "logins"), "file").load("other").access_token == ""


def cli(place: Path, *words: str) -> "AbstractContextManager[subprocess.Popen[bytes]]":
    environ = {**os.environ, "HOME": str(place), "XDG_STATE_HOME": str(place / "state")}
    argv = [sys.executable, "-m", "holdfast", "mcp", *words]
    pipe = subprocess.PIPE
    return started(argv, cwd=place, env=environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)


def said(place: Path, *words: str) -> tuple[int, str, str]:
    with cli(place, *words) as process:
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()


def test_the_command_line_logs_in_and_out(login_server: LoginServer, tmp_path: Path) -> None:
    assert said(tmp_path, "add", "web", login_server.url)[0] == 0
    with cli(tmp_path, "login", "web") as entering:
        assert entering.stdout is not None
        url = next(line.strip().decode() for line in entering.stdout if line.strip().startswith(b"http"))
        asyncio.run(asyncio.wait_for(browser(url, lambda address: False), 30))
        out, err = entering.communicate(timeout=60)
        assert b"You are logged in; web offers 1 tools." in out, err
    assert said(tmp_path, "call", "web", "secret")[1] == "the secret\n"
    assert "forgotten" in said(tmp_path, "logout", "web")[1]
    code, _, err = said(tmp_path, "call", "web", "secret")
    assert code
    assert "holdfast mcp login web" in err
