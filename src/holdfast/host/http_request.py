"""The head of a request, and the bytes of one that is plain: those leave before the protocol is loaded."""

from collections.abc import Mapping

import msgspec

__all__ = ["Head", "plain_bytes"]

_PLAIN_METHODS = frozenset({"GET", "POST"})
_STEERING = frozenset({"connection", "expect", "te", "trailer", "transfer-encoding", "upgrade"})
"""Headers that say how the protocol goes on."""


class Head(msgspec.Struct, frozen=True):
    """What a request asks for."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case, `host` first."""


def plain_bytes(head: Head, body: bytes) -> bytes | None:
    """The bytes of a request in which nothing is odd; None: the protocol has to say whether and how it can be sent.

    They are the same bytes that the protocol makes; a test holds both equal.
    """
    headers = head.headers
    length = headers.get("content-length")
    is_plain = (
        head.method in _PLAIN_METHODS
        and next(iter(headers), None) == "host"
        and _STEERING.isdisjoint(headers)
        and (length == str(len(body)) if body or length is not None else True)
        and _is_plain(head.target)
        and " " not in head.target
        and all(_is_name(name) and _is_plain(value) for name, value in headers.items())
    )
    if not is_plain:
        return None
    lines = [f"{head.method} {head.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def _is_plain(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and text == text.strip()


def _is_name(text: str) -> bool:
    return text.isascii() and text.replace("-", "").isalnum() and text == text.lower()
