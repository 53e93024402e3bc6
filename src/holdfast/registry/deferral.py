"""Which tools a model is told by name only, until ToolSearch loads them. The tools that are told first never change."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.registry.names import chosen_names

if TYPE_CHECKING:
    from holdfast.contract import Tool

__all__ = ["SEARCH", "Deferral", "SearchMode", "named", "search_mode", "told_by_name", "wants_search"]

SEARCH = "ToolSearch"
"""The tool that loads others; where it is not offered, nothing waits."""
_DEFAULT_PERCENT = 10.0
_TOLD_NAMES = 400


class SearchMode(msgspec.Struct, frozen=True):
    """What `ENABLE_TOOL_SEARCH` says."""

    kind: Literal["on", "auto", "off"] = "on"
    percent: float = _DEFAULT_PERCENT
    """`auto`: tools are deferred once the schemas of those that could be cost more than this part of the context."""


def search_mode(environ: Mapping[str, str]) -> SearchMode:
    """Read the variable; what makes no sense is as if it were not set."""
    value = environ.get("ENABLE_TOOL_SEARCH", "").strip().lower()
    if value in ("false", "0", "off", "no"):
        return SearchMode("off")
    if value.startswith("auto"):
        _, _, number = value.partition(":")
        percent = float(number) if number.replace(".", "", 1).isdecimal() else _DEFAULT_PERCENT
        return SearchMode("auto", min(percent, 100.0))
    return SearchMode("on")


def wants_search(mode: SearchMode, chosen: Iterable[str] | None, *, simple: bool = False) -> bool:
    """Whether the built-in tools of a session hold ToolSearch; `chosen`: the tools that were named, none means all."""
    names = chosen_names(chosen)
    return mode.kind != "off" and not simple and (names is None or SEARCH in names)


def told_by_name(names: Sequence[str]) -> str:
    """What the model is told of the tools that wait; empty without any."""
    if not names:
        return ""
    return (
        "# Tools that are told by name only\n\nLoad what you need of these with ToolSearch before you call it:\n"
        + named(names)
    )


def named(names: Sequence[str]) -> str:
    """The names, one a line, as far as they are told."""
    more = f"\n… and {len(names) - _TOLD_NAMES} more, which ToolSearch finds" if len(names) > _TOLD_NAMES else ""
    return "\n".join(names[:_TOLD_NAMES]) + more


class Deferral:
    """Who is deferred. Built-ins are chosen once, at the start; of remote tools all that do not ask to be loaded."""

    def __init__(self, builtins: Iterable[str], *, remote: bool = True) -> None:
        """Take the names of the built-in tools that wait.

        Args:
            builtins: Chosen at the start of the session, and never changed.
            remote: Remote tools wait too.
        """
        self._builtins = frozenset(builtins)
        self._remote = remote
        self._loaded: dict[str, None] = {}

    @property
    def loaded(self) -> tuple[str, ...]:
        """Those that were asked for, in that order."""
        return tuple(self._loaded)

    def waits(self, tool: "Tool") -> bool:
        """The tool is told by its name only."""
        return tool.name not in self._loaded and self.is_deferred(tool)

    def is_deferred(self, tool: "Tool") -> bool:
        """The tool was not among those told first."""
        if tool.mcp_info is not None:
            return self._remote and not tool.always_load
        return tool.name in self._builtins

    def offered(self, tools: "Sequence[Tool]") -> "list[Tool]":
        """The tools whose schemas are told: the first ones as ever, then those that were asked for."""
        first = [tool for tool in tools if not self.is_deferred(tool)]
        by_name = {tool.name: tool for tool in tools}
        asked = [by_name[name] for name in self._loaded if name in by_name]
        return [*first, *(tool for tool in asked if self.is_deferred(tool))]

    def load(self, names: Iterable[str]) -> bool:
        """Tell these from now on; True when that changes anything."""
        before = len(self._loaded)
        self._loaded.update(dict.fromkeys(names))  # one that is told anyway stays where it is, see `offered`
        return len(self._loaded) > before
