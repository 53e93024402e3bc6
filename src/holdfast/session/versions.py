"""Read journals of older formats: each step turns one line of a version into lines of the next.

| version | what it is |
|---|---|
| 0 | bare lines without a header: recorded `holdfast exec` traffic, in and out, in one file |
| 1 | a header, engine events and this room's records, and marks of the time (`at`) |
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from holdfast.session.records import JOURNAL_VERSION

__all__ = ["UPGRADES", "Upgrade", "upgraded"]

Upgrade = Callable[[dict[str, Any]], list[dict[str, Any]]]


def _from_exec_traffic(line: dict[str, Any]) -> list[dict[str, Any]]:
    kind = line.get("type")
    if kind == "tool_use":
        return [
            {
                "type": "call_queued",
                "tool_use_id": line.get("id"),
                "name": line.get("name"),
                "input": line.get("input", {}),
            }
        ]
    if kind == "tool_result":
        return [{"name": "", **line}]
    if kind == "end_turn":
        return [{"type": "turn_ended", "turn": 0}]
    return [line]


UPGRADES: Mapping[int, Upgrade] = {0: _from_exec_traffic}


def upgraded(line: bytes, version: int) -> list[bytes]:
    """One line of an older version as lines of the current one; what is no JSON object stays as it is."""
    try:
        decoded: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return [line]
    if not isinstance(decoded, dict):
        return [line]
    lines: list[dict[str, Any]] = [decoded]
    for step in range(version, JOURNAL_VERSION):
        lines = [new for old in lines for new in UPGRADES[step](old)]
    return [msgspec.json.encode(new) for new in lines]
