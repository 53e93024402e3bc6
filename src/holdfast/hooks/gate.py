"""The user's own gates around a call: functions asked before it runs and told after it ran."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from holdfast.events import CallFinished
from holdfast.hooks.matcher import NameTest, compile_matcher

__all__ = ["Hook", "HookAnswer", "HookCall", "Hooks"]


class HookCall(NamedTuple):
    """What a hook sees of a call."""

    tool_use_id: str
    tool: str
    input: Mapping[str, Any]
    cwd: str
    result: CallFinished | None = None
    """Set for hooks that run afterwards."""


class HookAnswer(NamedTuple):
    """What a hook says. Nothing said changes nothing; no answer ever lowers a deny."""

    behavior: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    """Replaces the whole input; it is parsed, validated and checked again."""
    additional_context: str = ""


class Hook(NamedTuple):
    """One gate: when, for which tools, and what to run."""

    event: Literal["PreToolUse", "PostToolUse"]
    run: Callable[[HookCall], Awaitable[HookAnswer | None]]
    matcher: str = "*"


class Hooks:
    """All hooks of a session. Which ones fit a tool is worked out once per tool name."""

    __slots__ = ("_after", "_before", "_compiled")

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        self._compiled: list[tuple[Hook, NameTest]] = [(hook, compile_matcher(hook.matcher)) for hook in hooks]
        self._before: dict[str, tuple[Hook, ...]] = {}
        self._after: dict[str, tuple[Hook, ...]] = {}

    def before(self, names: tuple[str, ...]) -> tuple[Hook, ...]:
        """The gates to ask before a tool runs; `names` starts with the canonical one."""
        found = self._before.get(names[0])
        return self._fitting("PreToolUse", names, self._before) if found is None else found

    def after(self, names: tuple[str, ...]) -> tuple[Hook, ...]:
        """The hooks to tell after a tool ran."""
        found = self._after.get(names[0])
        return self._fitting("PostToolUse", names, self._after) if found is None else found

    def _fitting(self, event: str, names: tuple[str, ...], known: dict[str, tuple[Hook, ...]]) -> tuple[Hook, ...]:
        fitting = tuple(hook for hook, fits in self._compiled if hook.event == event and fits(names))
        known[names[0]] = fitting
        return fitting
