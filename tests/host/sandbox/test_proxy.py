"""The way out of the sandbox: who is reached, by which protocol, and what cannot be done with it."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.host.command import Command, Finished
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, Policy, Wall
from holdfast.host.sandbox.door import Doorkeeper
from holdfast.host.sandbox.proxy import Proxy, Refused

LIMIT_S = 60


class Border:
    """Lets one name pass, which leads to this machine."""

    def __init__(self, *names: str, own_http_port: int = 0, own_socks_port: int = 0, private: bool = True) -> None:
        self.names = names
        self.asked: list[tuple[str, int]] = []
        self.private = private
        self.own_http_port, self.own_socks_port = own_http_port, own_socks_port

    def admit(self, host: str, port: int) -> str:
        self.asked.append((host, port))
        if host not in self.names:
            raise Refused(f"not {host!r}")
        return "localhost" if host == "only.example" else host

    def check(self, host: str, address: str) -> None:
        if not self.private:
            raise Refused(f"{host} is {address}")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A web server that says what it was asked."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0)
    body = head + await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body))
    await writer.drain()
    writer.close()


def served(talk: Callable[[int, int], Coroutine[Any, Any, Any]], border: Border, environ: dict[str, str]) -> Any:
    """Talk to a proxy that serves a border, and to a server behind it."""

    async def main() -> Any:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        listener = socket.create_server(("127.0.0.1", 0))
        proxy = Proxy(border, environ)
        await proxy.serve(listener)
        try:
            async with asyncio.timeout(LIMIT_S):
                return await talk(listener.getsockname()[1], server.sockets[0].getsockname()[1])
        finally:
            proxy.close()
            server.close()

    return asyncio.run(main())


def said(border: Border, *pieces: bytes, environ: dict[str, str] | None = None) -> tuple[bytes, int]:
    """What the proxy answers to bytes; `PORT` and `%%` in them are the server's."""

    async def talk(proxy: int, port: int) -> tuple[bytes, int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
        number = str(port).encode()
        for piece in pieces:
            writer.write(piece.replace(b"PORT", number).replace(b"%%", port.to_bytes(2, "big")))
        await writer.drain()
        found = await reader.read(1 << 20)
        while piece := await reader.read(1 << 20):
            found += piece
        writer.close()
        return found, port

    return served(talk, border, environ or {})


GET = b"GET /x HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n"


def test_a_tunnel_leads_to_a_host_that_is_let_pass() -> None:
    border = Border("localhost")
    found, port = said(border, b"CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n" + GET)
    assert found.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert found.endswith(GET)
    assert border.asked == [("localhost", port)]


def test_a_plain_request_is_said_anew_with_the_host_that_was_judged() -> None:
    asked = (
        b"POST http://localhost:PORT/a?b HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\n"
        b"Proxy-Connection: keep-alive\r\nContent-Length: 4\r\n\r\nbody"
    )
    found, port = said(Border("localhost"), asked, b"GET http://localhost:PORT/second HTTP/1.1\r\nHost: x\r\n\r\n")
    assert found.count(b"HTTP/1.1 200 OK") == 1
    assert f"POST /a?b HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 4\r\nConnection: close".encode() in found
    assert found.endswith(b"body")
    assert b"evil" not in found
    assert b"second" not in found


def test_socks_leads_by_name_and_by_address() -> None:
    by_name = b"\x05\x01\x00" + b"\x05\x01\x00\x03\x09localhost%%" + GET
    assert said(Border("localhost"), by_name)[0].startswith(
        b"\x05\x00" + b"\x05\x00\x00\x01" + bytes(6) + b"HTTP/1.1 200"
    )
    by_address = b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01%%" + GET
    assert b"HTTP/1.1 200" in said(Border("127.0.0.1"), by_address)[0]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"CONNECT localhost@evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 403 "),
        (b"CONNECT localhost HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 403 "),
        (b"CONNECT localhost:99999 HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 403 "),
        (b"CONNECT localhost:+80 HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET http://localhost:PORT@evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET http://evil.example?@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET http://evil.example#@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET http://evil.example\\@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET file:///etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 403 "),
        (b"not http\r\n\r\n", b""),
        (b"GET http://localhost/ HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n", b""),
        (b"\x05\x01\x00\x05\x01\x00\x03\x04evil%%", b"\x05\x00\x05\x02\x00"),
        (b"\x05\x01\x00\x05\x01\x00\x03\x0elocalhost\x00evil%%", b"\x05\x00\x05\x02\x00"),
        (b"\x05\x01\x00\x05\x01\x00\x01\x01\x01\x01\x01%%", b"\x05\x00\x05\x02\x00"),
        (b"\x05\x01\x00\x05\x01\x00\x04" + bytes(15) + b"\x01%%", b"\x05\x00\x05\x02\x00"),
        (b"\x05\x01\x00\x05\x02\x00\x03\x09localhost%%", b"\x05\x00\x05\x07\x00"),
        (b"\x05\x01\x00\x05\x03\x00\x03\x09localhost%%", b"\x05\x00\x05\x07\x00"),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x04\x01%%\x7f\x00\x00\x01\x00", b"\x00\x5b"),
    ],
)  # fmt: skip
def test_what_is_odd_or_not_let_pass_is_refused(asked: bytes, answered: bytes) -> None:
    found, _ = said(Border("localhost"), asked)
    assert found.startswith(answered) if answered else found == b""


def test_an_address_is_checked_before_it_is_dialled() -> None:
    border = Border("localhost", private=False)
    assert said(border, b"CONNECT localhost:PORT HTTP/1.1\r\nHost: x\r\n\r\n")[0].startswith(b"HTTP/1.1 403")
    assert said(border, b"GET http://localhost:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n")[0].startswith(b"HTTP/1.1 403")
    assert said(border, b"\x05\x01\x00\x05\x01\x00\x03\x09localhost%%")[0].startswith(b"\x05\x00\x05\x02")


def test_who_cannot_be_reached_is_told() -> None:
    found, _ = said(Border("localhost"), b"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 502 ")


def test_the_users_own_proxy_decides_by_itself() -> None:
    async def talk(proxy: int, port: int) -> bytes:
        del port
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
        writer.write(GET)
        found = await reader.read(4096)
        writer.close()
        return found

    async def own(proxy: int, port: int) -> bytes:
        listener = socket.create_server(("127.0.0.1", 0))
        second = Proxy(Border(own_http_port=port), {})
        await second.serve(listener)
        found = await talk(listener.getsockname()[1], proxy)
        second.close()
        return found

    assert served(own, Border("localhost"), {}).startswith(b"HTTP/1.1 200 OK")


def test_a_proxy_of_this_machine_is_asked_for_what_was_let_pass() -> None:
    """Names are looked up there: this machine may know none."""
    other = Border("far.example")
    first = Border("far.example")

    async def through(proxy: int, port: int) -> tuple[bytes, bytes]:
        listener = socket.create_server(("127.0.0.1", 0))
        upstream = f"http://user:pass@127.0.0.1:{proxy}"
        second = Proxy(first, {"HTTPS_PROXY": upstream, "HTTP_PROXY": upstream})
        await second.serve(listener)
        answers: list[bytes] = []
        for asked in (
            f"CONNECT far.example:{port} HTTP/1.1\r\nHost: x\r\n\r\n",
            f"GET http://far.example:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(asked.encode())
            answers.append(await reader.read(4096))
            writer.close()
        second.close()
        return answers[0], answers[1]

    found = served(through, other, {})
    assert [host for host, _ in first.asked] == [host for host, _ in other.asked] == ["far.example"] * 2
    assert all(answer.startswith(b"HTTP/1.1 502") for answer in found)  # nobody is called so


def run_inside(found: Found, policy: Policy, script: str, cwd: Path) -> Finished:
    async def main() -> Finished:
        wall = Wall(found)
        try:
            async with Processes() as processes:
                command = Command(argv=["/bin/bash", "-c", script], cwd=str(cwd))
                return await asyncio.wait_for(processes.run(wall.wrap(command, policy)), LIMIT_S)
        finally:
            wall.close()

    return asyncio.run(main())


CLIENT = """
import os, socket, urllib.request, urllib.error
port = os.environ["SERVER"]
def get(url):
    try:
        return urllib.request.urlopen(url).status
    except urllib.error.HTTPError as error:
        return error.code
print(get(f"http://only.example:{port}/x"), get("http://evil.example/"))
for address in ("127.0.0.1", "localhost", "only.example"):
    try:
        socket.create_connection((address, int(port)), 5)
        print("around the proxy")
    except OSError as error:
        print(type(error).__name__)
"""


def test_a_command_reaches_what_is_let_pass_and_nothing_around_it(found: Found, policy: Policy, project: Path) -> None:
    async def main() -> Finished:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        wall = Wall(found)
        given = msgspec.structs.replace(policy, border=Border("only.example"))
        (project / "client.py").write_text(CLIENT, encoding="utf-8")
        async with Processes() as processes:
            port = str(server.sockets[0].getsockname()[1])
            command = Command(argv=["python3", "client.py"], cwd=str(project), env={"SERVER": port})
            done = await asyncio.wait_for(processes.run(wall.wrap(command, given)), LIMIT_S)
        wall.close()
        server.close()
        return done

    done = asyncio.run(main())
    assert done.output.stdout.text() == "200 403\nConnectionRefusedError\nConnectionRefusedError\ngaierror\n", (
        done.output.stderr.text()
    )


def test_commands_side_by_side_have_doors_of_their_own(found: Found, policy: Policy, project: Path) -> None:
    async def main() -> list[str]:
        borders = [Border() for _ in range(8)]
        wall = Wall(found)
        asked = "CONNECT h%s:1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
        script = f"exec 3<>/dev/tcp/127.0.0.1/31128; printf '{asked}' $0 >&3; head -c 12 <&3"
        async with Processes() as processes:
            commands = [Command(argv=["/bin/bash", "-c", script, str(number)], cwd=str(project)) for number in range(8)]
            runs = [
                processes.run(wall.wrap(command, msgspec.structs.replace(policy, border=border)))
                for command, border in zip(commands, borders, strict=True)
            ]
            done = await asyncio.wait_for(asyncio.gather(*runs), LIMIT_S)
        wall.close()
        assert [one.output.stdout.text() for one in done] == ["HTTP/1.1 403"] * 8
        return [host for border in borders for host, _ in border.asked]

    assert asyncio.run(main()) == [f"h{number}" for number in range(8)]


def test_a_command_that_cannot_start_is_told_as_such_with_a_door_too(
    found: Found, policy: Policy, project: Path
) -> None:
    given = msgspec.structs.replace(policy, border=Border())
    done = run_inside(found, given, "exec /nowhere/program", project)
    assert done.exit.code == 127
    wrong = found._replace(program="/bin/false")
    assert run_inside(wrong, given, "true", project).exit.code == 1


def test_no_door_is_made_in_the_network_of_this_machine() -> None:
    keeper = Doorkeeper()
    with pytest.raises(OSError, match="no network of its own"):
        keeper.listen_in(os.getpid(), 31128)
    keeper.close()


def test_a_helper_that_was_killed_is_started_again(found: Found, policy: Policy, project: Path) -> None:
    async def main() -> list[int | None]:
        wall = Wall(found)
        given = msgspec.structs.replace(policy, border=Border())
        codes: list[int | None] = []
        async with Processes() as processes:
            for _ in range(2):
                done = await processes.run(wall.wrap(Command(argv=["/bin/true"], cwd=str(project)), given))
                codes.append(done.exit.code)
                keeper = wall._doorkeeper
                assert keeper is not None
                helper = keeper._helper
                assert helper is not None
                helper.kill()
        wall.close()
        return codes

    assert asyncio.run(main()) == [0, 0]


def test_a_helper_that_goes_away_while_it_is_asked_is_replaced(found: Found, policy: Policy, project: Path) -> None:
    async def main() -> list[int | None]:
        wall = Wall(found)
        given = msgspec.structs.replace(policy, border=Border())
        codes: list[int | None] = []
        async with Processes() as processes:
            for _ in range(2):
                done = await processes.run(wall.wrap(Command(argv=["/bin/true"], cwd=str(project)), given))
                codes.append(done.exit.code)
                keeper = wall._doorkeeper
                assert keeper is not None
                assert keeper._line is not None
                keeper._line.close()
                keeper._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                theirs.close()  # it lives, and nobody answers any more
        wall.close()
        return codes

    assert asyncio.run(main()) == [0, 0]
