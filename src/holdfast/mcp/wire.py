"""JSON-RPC as MCP speaks it: bytes in, bytes out, nothing else. What comes in is never trusted to be well formed."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from holdfast.contract import HoldfastError

__all__ = [
    "BOM",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOTHING",
    "PARSE_ERROR",
    "UNSUPPORTED_VERSION",
    "Incoming",
    "McpError",
    "RpcError",
    "error_bytes",
    "id_in",
    "notification_bytes",
    "read_line",
    "read_value",
    "request_bytes",
    "result_bytes",
]

INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022
BOM = b"\xef\xbb\xbf"
"""Some programs begin what they write with it."""
_HALVES = re.compile(
    rb"(?<!\\)((?:\\\\){0,32})\\u(?:([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""Backslashes that stand for themselves, and then a whole letter of two halves (the second group) or a lone half."""
_MOST_HALVES = 100_000
"""In one message; one with more is nothing that people wrote, and mending it would hold up everything else."""
_UNKNOWN_LETTER = rb"\ufffd"
_ID = re.compile(rb'"id"\s*:\s*(?:([0-9]{1,15})|"([0-9]{1,15})")')


NOTHING = msgspec.Raw()
"""A part that is not there."""


class McpError(HoldfastError):
    """A server could not be reached, or did not answer as it must; the text says which one and what to do."""


class RpcError(McpError):
    """A server answered a request with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ErrorObject(msgspec.Struct, frozen=True):
    """What is wrong, as the peer says it."""

    code: int | float = 0
    message: str = ""
    data: msgspec.Raw = NOTHING


class Incoming(msgspec.Struct, frozen=True):
    """One message from the peer: a request, a notification or an answer."""

    id: int | str | float | None = None
    method: str | None = None
    params: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: ErrorObject | None = None

    @property
    def key(self) -> int | None:
        """The number of our request that this answers: we count, and some servers send the number as text."""
        found = self.id
        if isinstance(found, str):
            return int(found) if found.isascii() and found.isdigit() and len(found) < 16 else None
        if isinstance(found, float):
            return int(found) if found.is_integer() else None
        return found


_one = msgspec.json.Decoder(Incoming)
_many = msgspec.json.Decoder(list[Incoming])
_encode = msgspec.json.Encoder().encode


def read_line(line: bytes) -> list[Incoming]:
    """The messages of one line: one, or several in a list.

    Raises:
        ValueError: It is no message.
    """
    try:
        try:
            return _decoded(line)
        except msgspec.DecodeError:
            if (mended := _with_whole_letters(line)) == line:
                raise
            return _decoded(mended)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _decoded(line: bytes) -> list[Incoming]:
    return _many.decode(line) if line.lstrip()[:1] == b"[" else [_one.decode(line)]


def _with_whole_letters(line: bytes) -> bytes:
    """The same where halves of letters stand for letters: Python writes file names so that are no text."""
    return _HALVES.sub(lambda found: found[0] if found[2] else found[1] + _UNKNOWN_LETTER, line, _MOST_HALVES)


def id_in(text: bytes) -> int | None:
    """The id that a broken message carries, if one can be seen: so that the one who waits for it can be told."""
    found = _ID.search(text)
    return None if found is None else int(found[1] or found[2])


def read_value(raw: msgspec.Raw) -> Any:
    """The value as plain JSON; what is not there is an empty object."""
    if not raw:
        return {}
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise McpError(f"the server's answer cannot be read: {error}") from error


def read_object(raw: msgspec.Raw) -> dict[str, Any]:
    """The same where only an object makes sense; anything else reads as an empty one."""
    value = read_value(raw)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def request_bytes(key: int, method: str, params: Mapping[str, Any] | None) -> bytes:
    """A request as one line, without its end."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": key, "method": method}
    if params is not None:
        message["params"] = params
    return _encode(message)


def notification_bytes(method: str, params: Mapping[str, Any] | None) -> bytes:
    """A notification: nobody answers."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return _encode(message)


def result_bytes(key: object, result: object) -> bytes:
    """The answer to a request of the peer."""
    return _encode({"jsonrpc": "2.0", "id": key, "result": result})


def error_bytes(key: object, code: int, message: str, data: object = None) -> bytes:
    """The answer that it cannot be done."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return _encode({"jsonrpc": "2.0", "id": key, "error": error})
