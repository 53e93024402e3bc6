import asyncio
import json
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from holdfast.testing import FakeProvider, FakeTurn, error_turn

TEXT = {"type": "text", "text": "hello"}


async def post(url: str, path: str, body: object) -> bytes:
    """One request by hand: the server is tested without our own client."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = json.dumps(body).encode()
    writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    answer = b""
    while not answer.endswith(b"0\r\n\r\n"):
        piece = await reader.read(65_536)
        if not piece:
            break
        answer += piece
    writer.close()
    await writer.wait_closed()
    return answer


def served(turn: FakeTurn, path: str, body: object) -> bytes:
    async def whole() -> bytes:
        async with FakeProvider([turn]) as provider:
            answer = await post(provider.url, path, body)
            assert [(request.method, request.path, request.json) for request in provider.requests] == [
                ("POST", path, body)
            ]
            return answer

    return asyncio.run(asyncio.wait_for(whole(), 60))


@pytest.mark.parametrize(
    ("path", "body", "parts"),
    [
        ("/v1/messages", {"stream": True}, [b"200 OK", b"event-stream", b"message_start", b"hello", b"message_stop"]),
        ("/v1/messages", {}, [b"application/json", b'"content": [{"type": "text", "text": "hello"}]']),
        ("/v1/chat/completions", {"stream": True}, [b'"content": "hello"', b'"finish_reason": "stop"', b"[DONE]"]),
        ("/v1/chat/completions", {}, [b'"message": {"role": "assistant", "content": "hello"}', b"total_tokens"]),
    ],
)
def test_one_script_speaks_both_wires(path: str, body: object, parts: list[bytes]) -> None:
    answer = served(FakeTurn(blocks=[TEXT]), path, body)
    assert all(part in answer for part in parts)


def test_an_answer_can_be_cut_and_refused() -> None:
    cut = served(FakeTurn(blocks=[TEXT], cut_at=40), "/v1/messages", {"stream": True})
    assert not cut.endswith(b"0\r\n\r\n")
    assert len(cut.partition(b"\r\n\r\n")[2]) < 60
    refused = served(error_turn(429, "rate_limit_error", "slow", retry_after="3"), "/v1/messages", {"stream": True})
    assert refused.startswith(b"HTTP/1.1 429 ")
    assert b"retry-after: 3" in refused


def test_a_script_that_has_ended_says_so() -> None:
    async def whole() -> bytes:
        async with FakeProvider() as provider:
            return await post(provider.url, "/v1/messages", {"stream": True})

    answer = asyncio.run(asyncio.wait_for(whole(), 60))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"no turn 1" in answer


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_it_speaks_https_with_a_certificate(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    options = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    argv = ["openssl", *options.split(), "-keyout", str(key), "-out", str(cert)]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(cert, key)

    async def whole() -> bytes:
        async with FakeProvider([FakeTurn(blocks=[TEXT])], tls=serving) as provider:
            assert provider.url.startswith("https://localhost:")
            port = int(provider.url.rpartition(":")[2])
            trusting = ssl.create_default_context(cafile=str(cert))
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname="localhost")
            writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return answer

    assert asyncio.run(asyncio.wait_for(whole(), 60)).startswith(b"HTTP/1.1 200")
