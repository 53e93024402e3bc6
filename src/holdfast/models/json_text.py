"""JSON as servers really write it: with halves of characters that a strict decoder refuses."""

import json
from typing import Any, TypeVar, cast

import msgspec

__all__ = ["decode_loosely"]

_T = TypeVar("_T")


def decode_loosely(data: bytes, kind: type[_T]) -> _T:
    """A value whose texts may have lone surrogates (one half in this piece, the other in the next) as U+FFFD.

    For what the strict decoder refused; raises `ValueError` where it is no JSON at all.
    """
    try:
        value: Any = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return msgspec.convert(_whole(value), kind)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_whole(item) for item in cast("list[Any]", value)]
    return value
