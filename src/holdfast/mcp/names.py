"""Names of remote tools that every provider takes: `mcp__server__tool`, safe, bounded and unique."""

import hashlib
import re
from collections.abc import Iterable

__all__ = ["PREFIX", "safe_part", "tool_names"]

PREFIX = "mcp__"
_MAX_CHARS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MAX_SERVER_CHARS = 40


def safe_part(name: str) -> str:
    """A server's name as rules spell it: letters, digits, `_` and `-`, and never two `_` in a row."""
    safe = re.sub(r"_{2,}", "_", _UNSAFE.sub("_", name)).strip("_") or "server"
    return safe if len(safe) <= _MAX_SERVER_CHARS else f"{safe[: _MAX_SERVER_CHARS - 9]}-{_mark(name)}"


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The full name for each of a server's own tool names; where two would be the same, each gets a mark of its own."""
    names = list(dict.fromkeys(tools))
    plain = {name: f"{PREFIX}{server}__{_UNSAFE.sub('_', name) or '_'}" for name in names}
    often: dict[str, int] = {}
    for full in plain.values():
        often[full] = often.get(full, 0) + 1
    return {name: _unique(full, name, clashes=often[full] > 1) for name, full in plain.items()}


def _unique(full: str, name: str, *, clashes: bool) -> str:
    if not clashes and len(full) <= _MAX_CHARS:
        return full
    return f"{full[: _MAX_CHARS - 9]}-{_mark(name)}"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
