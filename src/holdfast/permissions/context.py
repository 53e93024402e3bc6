"""The permission context: mode and rules, deeply immutable. A change makes a new one."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from holdfast.contract import UsageError

__all__ = ["MODES", "Behavior", "PermissionContext", "PermissionMode", "Rule", "RuleSource"]

PermissionMode = Literal["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"]
Behavior = Literal["allow", "ask", "deny"]
MODES: tuple[PermissionMode, ...] = ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions")


class RuleSource(NamedTuple):
    """Where a rule was written."""

    kind: str = "session"
    path: str | None = None
    line: int | None = None


class Rule(NamedTuple):
    """One rule: a whole tool, or with `content` some of its calls."""

    behavior: Behavior
    tool: str
    content: str | None = None
    source: RuleSource = RuleSource()

    @classmethod
    def parse(cls, behavior: Behavior, text: str, source: RuleSource | None = None) -> "Rule":
        """The rule in `Tool` or `Tool(content)`."""
        tool, opening, rest = text.strip().partition("(")
        if not tool or (opening and not rest.endswith(")")):
            raise UsageError(f"{text!r} is no rule; write Tool or Tool(what)")
        return cls(behavior, tool, rest[:-1] if opening else None, source or RuleSource())

    def to_wire(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"behavior": self.behavior, "rule": self.text, "source": self.source._asdict()}

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return self.tool if self.content is None else f"{self.tool}({self.content})"


class PermissionContext:
    """Mode and rules, indexed by tool name once, so that thousands of rules cost nothing per call."""

    __slots__ = ("_by_tool", "mode", "rules")

    mode: PermissionMode
    rules: tuple[Rule, ...]
    _by_tool: Mapping[str, tuple[Rule, ...]]

    def __init__(self, mode: str = "default", rules: Iterable[Rule] = ()) -> None:
        put = object.__setattr__
        put(self, "mode", _known_mode(mode))
        put(self, "rules", tuple(rules))
        index: dict[str, list[Rule]] = {}
        for rule in self.rules:
            index.setdefault(rule.tool, []).append(rule)
        put(self, "_by_tool", MappingProxyType({tool: tuple(found) for tool, found in index.items()}))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a permission context is immutable; use with_mode or with_rules instead of {name!r}")

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """The rules that name this tool."""
        return self._by_tool.get(tool, ())

    def judges_input(self, names: tuple[str, ...]) -> bool:
        """Some rule for these names looks at the call's input, not only at its name."""
        return any(rule.content is not None for name in names for rule in self.rules_for(name))

    def with_mode(self, mode: str) -> "PermissionContext":
        """The same rules in another mode."""
        return PermissionContext(mode, self.rules)

    def with_rules(self, *rules: Rule) -> "PermissionContext":
        """More rules in the same mode."""
        return PermissionContext(self.mode, (*self.rules, *rules))


def _known_mode(mode: str) -> PermissionMode:
    wanted = "default" if mode == "manual" else mode
    for known in MODES:
        if known == wanted:
            return known
    raise UsageError(f"unknown permission mode {mode!r}; choose one of {', '.join(MODES)}")
