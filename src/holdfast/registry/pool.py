"""Layer 3: the tools of one session. Built-ins first and sorted, so that the cached prefix never changes."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from holdfast.contract import NO_FACTS, Alias, ArgumentsInvalid, PromptFacts, Tool
from holdfast.lib.spelling import did_you_mean
from holdfast.registry.deferral import Deferral
from holdfast.registry.names import RESERVED, is_reserved
from holdfast.registry.projection import Provider, project_bytes, tool_list_bytes

__all__ = ["Found", "Pool", "apply_call_name", "assemble"]

_log = logging.getLogger(__name__)
_name_of = attrgetter("name")


class Found(NamedTuple):
    """A tool and the name it was called by."""

    tool: Tool
    defaults: Mapping[str, Any] | None = None
    """What calling by an older name implies."""
    plain: bool = True
    """The input is taken as it is: no older names to translate."""


class Pool:
    """The tools a model can call, in the order they are offered. Tools that arrive later are appended."""

    __slots__ = ("_by_name", "_found", "_gone", "_order", "_rendered", "_waiting", "aliases", "deferral")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._order: list[Tool] = []
        self._by_name: dict[str, Tool] = {}
        self._found: dict[str, Found] = {}
        self._gone: dict[str, str] = {}
        self.aliases: Mapping[str, str] = {}
        """Names that whoever runs the session gives to tools; each stands for one tool, and no alias for another."""
        self.deferral: Deferral | None = None
        """Which tools are told by name only until the model asks for them."""
        self._waiting: list[Tool] | None = None
        self._rendered: dict[tuple[Provider, PromptFacts], bytes] = {}
        self._put(tuple(tools))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def find(self, name: str) -> Found | None:
        """The tool with this name or older name."""
        if self.aliases:
            name = self.aliases.get(name, name)
        found = self._found.get(name)
        if found is None and name in self._by_name and name not in self._gone:
            found = self._found[name] = _found(self._by_name[name], name)
        return found

    def append(self, tools: Iterable[Tool]) -> None:
        """Add tools that arrived mid-session, behind all others; a name that is taken keeps its tool."""
        for tool in sorted(tools, key=_name_of):
            if tool.name not in self._by_name and not (tool.mcp_info and is_reserved(tool.name)):
                self._put((tool,))

    def replace(
        self, server: str, tools: Iterable[Tool], *, gone: str = "its server does not offer it any more"
    ) -> None:
        """The tools of one remote server as they are now.

        Who says the same stays where it is, so that the list a provider has cached stays the same bytes. Changed and
        new tools come behind all others. Who is gone stays in the list until `forget_gone`, but cannot be called.
        """
        self._waiting = None
        fresh = {tool.name: tool for tool in tools if not is_reserved(tool.name)}
        old = {tool.name: tool for tool in self._order if tool.mcp_info and tool.mcp_info.server == server}
        for name, tool in old.items():
            now = fresh.get(name)
            if now is None:
                self._gone[name] = gone
                self._found.pop(name, None)
            elif now is tool or project_bytes(now) == project_bytes(tool):
                self._gone.pop(name, None)
                self._swap(tool, now)
                del fresh[name]
        changed = [tool for name, tool in old.items() if name in fresh]
        if changed:
            self._drop(changed)
        self.append(fresh.values())

    def forget_gone(self) -> None:
        """Take out what is gone; when the conversation was shortened, no earlier call speaks of it any more."""
        if self._gone:
            self._drop([tool for tool in self._order if tool.name in self._gone])

    def _swap(self, old: Tool, new: Tool) -> None:
        """Another object that reads the same."""
        if old is not new:
            self._order[self._order.index(old)] = new
            self._by_name[new.name] = new
            self._found.pop(new.name, None)

    def _drop(self, tools: Sequence[Tool]) -> None:
        names = {tool.name for tool in tools}
        self._order = [tool for tool in self._order if tool.name not in names]
        for name in names:
            self._by_name.pop(name, None)
            self._found.pop(name, None)
            self._gone.pop(name, None)
        self._rendered.clear()

    def run_by_provider(self) -> list[Tool]:
        """The tools that the provider could run on its own side."""
        return [tool for tool in self._order if tool.run_by_provider is not None and tool.name not in self._gone]

    def to_bytes(self, provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> bytes:
        """The tool list as the provider wants it, rendered once until a tool is added."""
        rendered = self._rendered.get((provider, facts))
        if rendered is None:
            offered = self._order if self.deferral is None else self.deferral.offered(self._order)
            rendered = self._rendered[provider, facts] = tool_list_bytes(offered, provider, facts)
        return rendered

    def deferred(self) -> list[Tool]:
        """The tools that were told by name only, loaded since or not; the same list until one of them changes."""
        if self._waiting is None:
            callable_now = [tool for tool in self._order if tool.name not in self._gone]
            self._waiting = [] if self.deferral is None else list(filter(self.deferral.is_deferred, callable_now))
        return self._waiting

    def load(self, names: Iterable[str]) -> list[str]:
        """Offer deferred tools from now on, behind all others; returns those that exist."""
        found = [name for name in names if name in self._by_name and name not in self._gone]
        if self.deferral is not None and self.deferral.load(found):
            self._rendered.clear()
        return found

    def how_to_load(self, tool: Tool) -> str:
        """What to do before a tool is called whose arguments the model was not told; empty for others."""
        waits = self.deferral is not None and self.deferral.waits(tool)
        return f"Its arguments were not loaded: call ToolSearch with select:{tool.name} first. " if waits else ""

    def missing(self, name: str) -> str:
        """Why a name finds nothing, in words for the model."""
        if name in self._gone:
            return f"The tool {name!r} cannot be called now: {self._gone[name]}. Use another way."
        if is_reserved(name):
            return f"The tool {name!r} is not available in this session. Use one of: {self._names()}."
        meant = did_you_mean(name, self._by_name)
        return f"There is no tool named {name!r}.{meant} Use one of: {self._names()}."

    def _names(self) -> str:
        names = [tool.name for tool in self._order]
        shown = ", ".join(names[:40])
        return shown + (f" and {len(names) - 40} more" if len(names) > 40 else "") if names else "none is loaded"

    def _put(self, tools: Sequence[Tool]) -> None:
        # Whole-list steps, no call per tool: a thousand tools are put together anew each turn.
        names = [tool.offered_names for tool in tools]
        self._rendered.clear()
        self._waiting = None
        self._order += tools
        by_name = self._by_name
        by_name.update([(known[0], tool) for known, tool in zip(names, tools, strict=True)])
        if sum(map(len, names)) > len(names):
            for known, tool in zip(names, tools, strict=True):
                for older in known[1:]:
                    by_name.setdefault(older, tool)


def assemble(builtins: Iterable[Tool], mcp_tools: Iterable[Tool] = (), own_tools: Iterable[Tool] = ()) -> Pool:
    """Built-ins sorted by name, then remote tools sorted by name.

    A Python tool passed under a built-in's name replaces it with a warning; a remote tool never does.
    """
    by_name = {tool.name: tool for tool in builtins}
    own = list(own_tools)
    own_names = [tool.name for tool in own]
    if len(set(own_names)) != len(own) or not by_name.keys().isdisjoint(own_names):
        _warn_of_replaced(by_name, own_names)
    by_name.update(zip(own_names, own, strict=True))
    local = [by_name[name] for name in sorted(by_name)]
    remote_tools = list(mcp_tools)
    if not remote_tools:
        return Pool(local)
    taken = RESERVED.union(*[tool.names for tool in local])
    remote = {tool.name: tool for tool in reversed(remote_tools)}  # the first of a name counts
    if not taken.isdisjoint(remote):
        for tool in remote_tools:
            if tool.name in taken:
                _log.warning("the remote tool %s is left out: a built-in has that name", tool.name)
                remote.pop(tool.name, None)
    return Pool([*local, *[remote[name] for name in sorted(remote)]])


def _warn_of_replaced(taken: Iterable[str], names: Iterable[str]) -> None:
    seen = set(taken)
    for name in names:
        if name in seen:
            _log.warning("the tool %s replaces the built-in of that name", name)
        seen.add(name)


def apply_call_name(found: Found, raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input with old argument names replaced and an alias's defaults filled in."""
    if found.plain:
        return raw
    current = dict(raw)
    for old, new in found.tool.renamed_arguments.items():
        if old in current:
            if new in current:
                raise ArgumentsInvalid(f"{old!r} is the old name of {new!r}: send only {new!r}")
            current[new] = current.pop(old)
    return {**(found.defaults or {}), **current}


def _found(tool: Tool, name: str) -> Found:
    defaults = next((alias.defaults for alias in tool.aliases if isinstance(alias, Alias) and alias.name == name), None)
    return Found(tool, defaults, plain=not tool.renamed_arguments and not defaults)
