"""MCP servers that an editor brings: which of them the user has said may always start, each as it was then."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.settings.hook_items import item_hash

if TYPE_CHECKING:
    from holdfast.mcp.records import Records

__all__ = ["is_remembered", "remember"]

_KEY_CHARS = 40


def is_remembered(name: str, config: Mapping[str, object]) -> bool:
    """The user has said that this server, with exactly this configuration, may always start."""
    identity = _identity(name, config)
    return _records().load(identity[:_KEY_CHARS]).pins.get("configuration") == identity


def remember(name: str, config: Mapping[str, object]) -> None:
    """Keep that the user said so."""
    identity = _identity(name, config)
    records = _records()
    record = records.load(identity[:_KEY_CHARS])
    record.name, record.pins = name, {"configuration": identity}
    records.save(identity[:_KEY_CHARS], record)


def _identity(name: str, config: Mapping[str, object]) -> str:
    return item_hash("editor's MCP server", name, dict(config))


def _records() -> "Records":
    from holdfast.mcp.records import Records  # noqa: PLC0415 - only with servers
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - the same

    return Records(os.path.join(user_directories().state, "mcp"))
