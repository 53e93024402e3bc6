"""The built-in tools as models read them, without loading one: rendered when the program was built.

`scripts/generate_docs.py` writes `offered.json` from the tools themselves, and `make check` says when it is stale. An
entry is copied as the bytes it has there, so that the list is the one that the full pool renders.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from holdfast.registry.deferral import SEARCH, SearchMode, wants_search
from holdfast.registry.names import PRESETS, chosen_names

if TYPE_CHECKING:
    from holdfast.models import Wire
    from holdfast.permissions import PermissionContext

__all__ = ["FILE", "Offered", "Rendered", "offered", "rendered"]

FILE = os.path.join(os.path.dirname(__file__), "offered.json")


class Rendered(msgspec.Struct):
    """One tool, ready for each wire."""

    names: tuple[str, ...]
    """Its name, then the older ones."""
    needs_background: bool
    """Not offered where nothing runs in the background."""
    is_rare: bool
    """Told by its name only, where ToolSearch is offered."""
    anthropic: tuple[msgspec.Raw, msgspec.Raw]
    """Without and with work in the background."""
    openai: tuple[msgspec.Raw, msgspec.Raw]


def rendered() -> list[Rendered]:
    """Every built-in tool."""
    with open(FILE, "rb") as file:
        return msgspec.json.decode(file.read(), type=list[Rendered])


class Offered(msgspec.Struct, frozen=True):
    """The tools of a session."""

    names: frozenset[str]
    tools: bytes
    waiting: tuple[str, ...] = ()
    """Those of them that are told by name only."""


def offered(
    wire: "Wire",
    context: "PermissionContext",
    *,
    background: bool,
    simple: bool = False,
    only: Iterable[str] | None = None,
    search: SearchMode,
) -> Offered:
    """The tools that a session offers: those of `registry.tools_for`, in its order."""
    wanted = PRESETS["minimal"] if simple else None
    named = chosen_names(only)
    has_search = wants_search(search, only, simple=simple)
    kept = [
        tool
        for tool in rendered()
        if (wanted is None or tool.names[0] in wanted)
        and (has_search or tool.names[0] != SEARCH)
        and (named is None or not named.isdisjoint(tool.names))
        and (background or not tool.needs_background)
        and context.denies_whole(tool.names) is None
    ]
    searches = any(tool.names[0] == SEARCH for tool in kept)
    told = [tool for tool in kept if not (searches and tool.is_rare)]
    entries = [bytes((tool.anthropic if wire == "anthropic" else tool.openai)[background]) for tool in told]
    return Offered(
        frozenset(tool.names[0] for tool in kept),
        b"[%b]" % b",".join(entries),
        tuple(tool.names[0] for tool in kept if searches and tool.is_rare),
    )
