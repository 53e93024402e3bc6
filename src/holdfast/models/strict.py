"""`strict` in tool lists: some models and addresses refuse a request that says it, so it is left out for them."""

from functools import lru_cache
from typing import Any, cast

import msgspec

from holdfast.events import encode_json

__all__ = ["without_strict"]

_entries = msgspec.json.Decoder(list[msgspec.Raw])
_MARK = b'"strict":true'


@lru_cache(maxsize=4)
def without_strict(tools: bytes) -> bytes:
    """The tool list without it; entries that do not say it keep their bytes."""
    if _MARK not in tools:
        return tools
    return b"[%b]" % b",".join(_plain(bytes(entry)) for entry in _entries.decode(tools))


def _plain(entry: bytes) -> bytes:
    if _MARK not in entry:
        return entry
    found: dict[str, Any] = msgspec.json.decode(entry)
    found.pop("strict", None)
    if isinstance(function := found.get("function"), dict):
        cast("dict[str, Any]", function).pop("strict", None)
    return encode_json(found)
