"""The bytes of a plain request are those of the protocol; what is not plain is left to it."""

import asyncio
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.host.http_errors import HttpError
from holdfast.host.http_protocol import Protocol
from holdfast.host.http_request import Head, plain_bytes
from holdfast.host.http_wire import Wire


def by_protocol(head: Head, body: bytes) -> bytes:
    async def asked() -> bytes:
        return Protocol(Wire()).ask(head, body)

    return asyncio.run(asked())


ODD = st.text(st.characters(max_codepoint=0x17F), max_size=12)
NAMES = st.sampled_from(["x-api-key", "accept", "Accept", "connection", "te", "content-type", "a b", "x_y", ""]) | ODD
VALUES = st.sampled_from(["application/json", "two words", " led", "tab\there", "line\r\nx: y", "", "é"]) | ODD


@given(
    st.sampled_from(["GET", "POST", "PUT", "HEAD", "CONNECT", "get", "P ST"]),
    st.sampled_from(["/", "/v1/messages?beta=true", "/a b", "", "/é", "http://h/x"]) | ODD,
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.binary(max_size=40),
    st.sampled_from([None, "right", "0", "7", "x"]),
)
def test_plain_bytes_are_the_bytes_of_the_protocol(
    method: str, target: str, given_headers: dict[str, str], body: bytes, length: str | None
) -> None:
    headers = {"host": "h:1", **given_headers}
    if length is not None:
        headers["content-length"] = str(len(body)) if length == "right" else length
    head = Head(method, target, headers)
    plain = plain_bytes(head, body)
    if plain is not None:
        assert plain == by_protocol(head, body)


def test_what_a_model_is_sent_is_plain() -> None:
    headers = {"host": "127.0.0.1:9", "accept": "text/event-stream", "content-length": "2", "x-api-key": "k-1_2"}
    head = Head("POST", "/v1/messages", headers)
    assert plain_bytes(head, b"{}") == by_protocol(head, b"{}")


@pytest.mark.parametrize(
    "head",
    [
        Head("POST", "/", {"host": "h", "x": "a\r\nb: c"}),
        Head("POST", "/a b", {"host": "h"}),
        Head("POST", "/", {"host": "h", "a b": "c"}),
    ],
    ids=["a line in a value", "a space in the target", "a space in a name"],
)
def test_what_would_smuggle_lines_is_never_plain_and_refused(head: Head) -> None:
    assert plain_bytes(head, b"") is None
    with pytest.raises(HttpError):
        by_protocol(head, b"")


SENDS = """
import asyncio, os, socket, sys
from holdfast.host.http import HttpClient, Request
from holdfast.host.http_wire import Wire
def write(wire, data):
    print(data.split(b"\\r\\n")[0].decode(), "h11" in sys.modules, flush=True)
    os._exit(0)
Wire.write = write
server = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{server.getsockname()[1]}/v1/messages"
asyncio.run(HttpClient({}).send(Request("POST", url, {"x-api-key": "k"}, b"{}")))
"""


def test_the_bytes_of_a_first_request_leave_before_the_library_of_the_protocol_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", SENDS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "POST /v1/messages HTTP/1.1 False\n"
