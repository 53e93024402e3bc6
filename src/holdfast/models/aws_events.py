"""The binary event stream of Amazon (`application/vnd.amazon.eventstream`), cut into events like any other."""

import binascii
from struct import Struct

import msgspec

from holdfast.models.sse import EventTooLarge, ServerEvent

__all__ = ["AwsEventSplitter"]

_PRELUDE = Struct(">III")
"""Length of the whole, length of the headers, checksum of these two."""
_CHECKSUM = Struct(">I")
_FIXED_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How long a header's value is, by its type; the others tell their length."""
_STRING, _BYTES = 7, 6


class _Payload(msgspec.Struct):
    bytes: str = ""
    message: str = ""


class AwsEventSplitter:
    """Feed it the bytes of a stream; it gives the events that are complete.

    A chunk's payload holds an event of the model in base64, which becomes the data. An exception becomes an event whose
    data is an error as the other wires tell it.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        """Begin before the first byte."""
        self._max_bytes = max_event_bytes
        self._held = bytearray()

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes.

        Raises:
            EventTooLarge: One has more bytes than are taken, or the bytes are no event stream.
        """
        self._held += piece
        events: list[ServerEvent] = []
        while len(self._held) >= _PRELUDE.size:
            length, head_length, checksum = _PRELUDE.unpack_from(self._held)
            if binascii.crc32(self._held[:8]) != checksum:
                raise EventTooLarge("the bytes are not an event stream")
            if length > self._max_bytes or head_length > length - 16:
                raise EventTooLarge(f"an event has more than {self._max_bytes} bytes")
            if len(self._held) < length:
                break
            message = bytes(self._held[:length])
            del self._held[:length]
            if binascii.crc32(message[:-4]) != _CHECKSUM.unpack(message[-4:])[0]:
                raise EventTooLarge("an event was changed on its way")
            head_end = _PRELUDE.size + head_length
            events += _event(_headers(message[_PRELUDE.size : head_end]), message[head_end:-4])
        return events

    def finish(self) -> list[ServerEvent]:
        """What is left when the stream ends: half an event says nothing."""
        return []


def _event(headers: dict[str, str], payload: bytes) -> list[ServerEvent]:
    kind = headers.get(":message-type", "event")
    try:
        told = msgspec.json.decode(payload or b"{}", type=_Payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = _Payload()
    if kind != "event":
        name = headers.get(":exception-type") or headers.get(":error-code") or "unknown"
        words = told.message or headers.get(":error-message") or name
        return [ServerEvent(b"error", _error(name, words))]
    if not told.bytes:
        return []
    try:
        data = binascii.a2b_base64(told.bytes)
    except binascii.Error as error:
        raise EventTooLarge(f"an event holds no base64 ({error})") from error
    return [ServerEvent(headers.get(":event-type", "").encode(), data)]


_KNOWN_ERRORS = {
    "throttlingexception": "rate_limit_error",
    "servicequotaexceededexception": "rate_limit_error",
    "modelnotreadyexception": "overloaded_error",
    "serviceunavailableexception": "overloaded_error",
    "modeltimeoutexception": "timeout_error",
    "modelstreamerrorexception": "server_error",
    "internalserverexception": "server_error",
    "validationexception": "invalid_request_error",
    "accessdeniedexception": "permission_error",
}


def _error(name: str, words: str) -> bytes:
    """The error in the words of the Messages API."""
    kind = _KNOWN_ERRORS.get(name.lower(), "server_error")
    return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": words}})


def _headers(data: bytes) -> dict[str, str]:
    """The headers that are texts; others are passed over."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        end = at + 1 + data[at]
        name, kind = data[at + 1 : end].decode("utf-8", "replace"), data[end] if end < len(data) else -1
        at = end + 1
        if kind in (_STRING, _BYTES):
            length = int.from_bytes(data[at : at + 2], "big")
            if kind == _STRING:
                found[name] = data[at + 2 : at + 2 + length].decode("utf-8", "replace")
            at += 2 + length
        elif kind in _FIXED_BYTES:
            at += _FIXED_BYTES[kind]
        else:
            raise EventTooLarge("a header of an event makes no sense")
    return found
