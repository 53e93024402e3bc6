"""JSON as servers really write it: with halves of characters that a strict decoder refuses."""

import re
from typing import Any, Final, TypeVar, cast

import msgspec

__all__ = ["decode_loosely", "nested_too_deeply"]

_MAX_DEPTH: Final = 500
_BRACKETS: Final = re.compile(rb"[\[{]+|[\]}]+")

_T = TypeVar("_T")


def decode_loosely(data: bytes, kind: type[_T]) -> _T:
    """A value whose texts may have lone surrogates (one half in this piece, the other in the next) as U+FFFD.

    For what the strict decoder refused; raises `ValueError` where it is no JSON at all.
    """
    import json  # noqa: PLC0415 - only for what msgspec refuses

    try:
        value: Any = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return msgspec.convert(_whole(value), kind)


def nested_too_deeply(data: bytes) -> bool:
    """Whether values lie deeper in each other than we follow: how deep a decoder goes differs between Pythons."""
    if data.count(b"{") + data.count(b"[") <= _MAX_DEPTH:
        return False
    outside_texts = data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2]
    depth = 0
    for run in _BRACKETS.finditer(b"".join(outside_texts)):
        depth += len(run[0]) if run[0][:1] in (b"{", b"[") else -len(run[0])
        if depth > _MAX_DEPTH:
            return True
    return False


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_whole(item) for item in cast("list[Any]", value)]
    return value
