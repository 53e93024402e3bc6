"""The HTTP channel against servers of a few lines: every way to answer, and every way to fail."""

import asyncio
import gzip
import shutil
import ssl
import subprocess
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.host.http import HttpClient, HttpError, Request

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Log:
    def __init__(self, url: str = "") -> None:
        self.url = url
        self.heads: list[bytes] = []
        self.connections = 0
        self.connected = asyncio.Event()


@asynccontextmanager
async def server(*answers: bytes, tls: ssl.SSLContext | None = None, ends: bool = True) -> AsyncGenerator[Log]:
    """Gives one answer to each request, and hangs up behind the last of them."""
    log = Log()
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        log.connections += 1
        log.connected.set()
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                log.heads.append(head)
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
                if length:
                    await reader.readexactly(int(length[0].split(b":")[1]))
                writer.write(left.pop(0))
                await writer.drain()
            if not ends:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    log.url = f"http{'s' if tls else ''}://localhost:{listening.sockets[0].getsockname()[1]}"
    try:
        yield log
    finally:
        listening.close()
        await asyncio.wait_for(listening.wait_closed(), 30)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await work()

    asyncio.run(bounded())


async def ask(client: HttpClient, request: Request, limit_bytes: int = 1_000_000) -> tuple[int, bytes]:
    async with client.exchange(request) as response:
        return response.status, await response.read_all(limit_bytes)


def test_requests_share_a_connection_and_say_what_the_protocol_needs() -> None:
    async def work() -> None:
        async with server(OK, OK) as log:
            client = HttpClient({})
            assert await ask(client, Request("POST", f"{log.url}/a b?q=1", {"X-Own": "1"}, b"body")) == (200, b"ok")
            assert await ask(client, Request("GET", log.url)) == (200, b"ok")
            await client.close()
        assert log.connections == 1
        assert log.heads[0].startswith(b"POST /a%20b?q=1 HTTP/1.1\r\n")
        assert b"content-length: 4" in log.heads[0].lower()
        assert b"accept-encoding: identity" in log.heads[0].lower()
        assert b"content-length" not in log.heads[1].lower()

    run(work)


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async def work() -> None:
        closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
        async with server(closing, OK) as log:
            client = HttpClient({})
            for _ in range(2):
                assert await ask(client, Request("GET", log.url)) == (200, b"ok")
            await client.close()
        assert log.connections == 2

    run(work)


def test_an_expected_connection_is_open_when_its_request_comes() -> None:
    async def work() -> None:
        async with server(OK) as log:
            client = HttpClient({})
            client.expect(log.url)
            await asyncio.wait_for(log.connected.wait(), 30)
            assert await ask(client, Request("GET", f"{log.url}/x")) == (200, b"ok")
            await client.close()
        assert log.connections == 1

    run(work)


def test_an_expected_connection_that_nobody_uses_is_closed_and_one_that_fails_is_told_by_the_request() -> None:
    async def work() -> None:
        async with server(OK, ends=False) as log:
            client = HttpClient({})
            client.expect(log.url)
            await client.close()
            url = log.url
        client = HttpClient({})
        client.expect(url)
        await asyncio.sleep(0)
        with pytest.raises(HttpError, match="refused") as caught:
            await client.send(Request("GET", url))
        assert caught.value.kind == "unreachable"
        await client.close()

    run(work)


def test_pieces_arrive_as_they_come() -> None:
    async def work() -> None:
        chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        async with server(chunked + b"3\r\none\r\n", ends=False) as log:
            client = HttpClient({})
            async with client.exchange(Request("GET", log.url)) as response:
                assert await response.read() == b"one"
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await response.read()
            await client.close()

    run(work)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzip.compress(b"x" * 300_000)), ("deflate", zlib.compress(b"x" * 300_000)), ("identity", b"x" * 300_000)],
)
def test_a_body_that_comes_packed_is_unpacked_step_by_step(encoding: str, packed: bytes) -> None:
    async def work() -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(packed)}\r\n\r\n".encode()
        async with server(head + packed, head + packed) as log:
            client = HttpClient({})
            assert await ask(client, Request("GET", log.url)) == (200, b"x" * 300_000)
            with pytest.raises(HttpError, match="more than 1000 bytes") as caught:
                await ask(client, Request("GET", log.url, max_body_bytes=1_000))
            assert caught.value.kind == "too_large"
            await client.close()

    run(work)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", "complete message body"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\nok", "packed as 'br'"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10\r\n\r\n\x1f\x8b\x08" + b"\0" * 7, "broke"),
        (b"SSH-2.0-OpenSSH\r\n", "hung up without an answer"),
        (b"", "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000, "."),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "UPGRADE"),
    ],
)
def test_an_answer_that_is_none_is_told(answer: bytes, words: str) -> None:
    async def work() -> None:
        async with server(answer) as log:
            client = HttpClient({})
            with pytest.raises(HttpError, match=words) as caught:
                await ask(client, Request("GET", log.url))
            assert caught.value.kind == "cut"
            await client.close()

    run(work)


def test_silence_is_told_and_an_early_answer_to_a_large_body_is_read() -> None:
    async def work() -> None:
        async with server(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", ends=False) as log:
            client = HttpClient({})
            with pytest.raises(HttpError, match=r"nothing came for 0\.05 s") as caught:
                await ask(client, Request("GET", log.url, idle_timeout_s=0.05))
            assert caught.value.kind == "silent"
            await client.close()

    run(work)


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", "ftp://x/"),
        Request("GET", "http:///x"),
        Request("GET", "http://h:99999/"),
        Request("GET", "http://127.0.0.1:1", {"a b": "1"}),
        Request("GET", "http://127.0.0.1:1", {"x": "1\r\ny: 2"}),
    ],
)
def test_what_cannot_be_sent_is_refused(request_: Request) -> None:
    async def work() -> None:
        client = HttpClient({})
        with pytest.raises(HttpError) as caught:
            await client.send(request_)
        assert caught.value.kind in {"invalid", "unreachable"}
        await client.close()

    run(work)


def test_a_proxy_is_told_the_whole_address_and_the_login() -> None:
    async def work() -> None:
        async with server(OK) as log:
            environ = {"http_proxy": log.url.replace("http://", "http://me:p%40ss@")}
            client = HttpClient(environ)
            assert await ask(client, Request("GET", "http://example.test/x?y")) == (200, b"ok")
            await client.close()
        assert log.heads[0].startswith(b"GET http://example.test/x?y HTTP/1.1\r\n")
        assert b"proxy-authorization: Basic bWU6cEBzcw==" in log.heads[0]

    run(work)


def test_a_proxy_that_refuses_or_cannot_be_spoken_to_is_told_without_its_login() -> None:
    async def work() -> None:
        async with server(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as log:
            client = HttpClient({"https_proxy": log.url})
            with pytest.raises(HttpError, match="407"):
                await client.send(Request("GET", "https://example.test/"))
            await client.close()
        assert log.heads[0].startswith(b"CONNECT example.test:443 HTTP/1.1\r\n")
        client = HttpClient({"https_proxy": "socks5://me:secret@127.0.0.1:1"})
        with pytest.raises(HttpError, match="socks5://127") as caught:
            await client.send(Request("GET", "https://example.test/"))
        assert "secret" not in str(caught.value)
        await client.close()

    run(work)


def test_a_caller_decides_which_addresses_a_name_may_lead_to() -> None:
    async def work() -> None:
        asked: list[str] = []

        async def only_here(host: str, port: int) -> list[str]:
            asked.append(host)
            if host == "forbidden.test":
                raise HttpError("that is not for us", "invalid")
            return ["127.0.0.1"]

        async with server(OK) as log:
            client = HttpClient({}, addresses=only_here)
            port = log.url.rpartition(":")[2]
            assert await ask(client, Request("GET", f"http://allowed.test:{port}/")) == (200, b"ok")
            with pytest.raises(HttpError, match="not for us"):
                await client.send(Request("GET", "http://forbidden.test/"))
            await client.close()
        assert asked == ["allowed.test", "forbidden.test"]

    run(work)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    place = tmp_path_factory.mktemp("tls")
    cert, key = place / "cert.pem", place / "key.pem"
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,DNS:elsewhere.test", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(["openssl", "req", *options.split(), *names], check=True, capture_output=True, timeout=20)
    return cert, key


def _serving(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_a_certificate_is_checked_and_so_is_the_name_on_it(certificate: tuple[Path, Path]) -> None:
    async def work() -> None:
        async with server(OK, OK, OK, tls=_serving(certificate)) as log:
            client = HttpClient({})
            with pytest.raises(HttpError, match="not trusted") as caught:
                await client.send(Request("GET", log.url))
            assert caught.value.kind == "unreachable"
            await client.close()
            client = HttpClient({"SSL_CERT_FILE": str(certificate[0])})
            assert await ask(client, Request("GET", log.url)) == (200, b"ok")
            assert await ask(client, Request("GET", log.url)) == (200, b"ok")
            with pytest.raises(HttpError, match="not trusted"):
                await client.send(Request("GET", log.url.replace("localhost", "127.0.0.1")))
            await client.close()
        assert not any(b"127.0.0.1" in head for head in log.heads)

    run(work)


def test_a_tunnel_leads_through_a_proxy_and_the_server_behind_it_is_checked(certificate: tuple[Path, Path]) -> None:
    async def work() -> None:
        asked: list[bytes] = []
        async with server(OK, tls=_serving(certificate)) as behind:
            port = int(behind.url.rpartition(":")[2])

            async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                while not reader.at_eof() and (data := await reader.read(65_536)):
                    writer.write(data)
                writer.close()

            async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                asked.append(await reader.readuntil(b"\r\n\r\n"))
                there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                ways = (pass_on(reader, there_writer), pass_on(there_reader, writer))
                await asyncio.gather(*ways, return_exceptions=True)

            listening = await asyncio.start_server(proxy, "127.0.0.1", 0)
            place = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            environ = {"https_proxy": place, "SSL_CERT_FILE": str(certificate[0])}
            client = HttpClient(environ)
            assert await ask(client, Request("GET", f"https://elsewhere.test:{port}/")) == (200, b"ok")
            with pytest.raises(HttpError, match="not trusted"):
                await client.send(Request("GET", f"https://another.test:{port}/"))
            await client.close()
            listening.close()
            await asyncio.wait_for(listening.wait_closed(), 30)
        assert [head.split(b" HTTP/1.1")[0] for head in asked] == [
            f"CONNECT {name}.test:{port}".encode() for name in ("elsewhere", "another")
        ]

    run(work)


def test_leaving_an_answer_ends_its_connection_at_once() -> None:
    async def work() -> None:
        gone = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n" + b"x" * 1_000_000)
            try:
                await writer.drain()
                await reader.read()
            except ConnectionError:
                pass
            gone.set()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = HttpClient({})
        async with client.exchange(Request("GET", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")):
            pass
        await asyncio.wait_for(gone.wait(), 30)
        await client.close()
        listening.close()
        await asyncio.wait_for(listening.wait_closed(), 30)

    run(work)
