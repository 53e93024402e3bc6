"""The user's own gates and reactions: which hooks there are, and which of them fit an event."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from holdfast.contract.names import RETIRED
from holdfast.hooks.answers import HookAnswer
from holdfast.hooks.inputs import ToolHookInput
from holdfast.hooks.matcher import NameTest, compile_matcher

__all__ = ["NO_HOOKS", "ON_FAILURE", "Hook", "HookCall", "Hooks", "OnFailure"]

HookCall = ToolHookInput
"""What a hook around a call is told."""
OnFailure = Literal["ask", "deny", "ignore"]
ON_FAILURE: Final[Mapping[str, OnFailure]] = {
    "block": "deny", "deny": "deny", "ask": "ask", "continue": "ignore", "ignore": "ignore",
}  # fmt: skip
"""What `onFailure` of a hook may say."""
_OF_ONE_CALL = frozenset({"PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"})
_TOOL_EVENTS = frozenset({*_OF_ONE_CALL, "PostToolBatch"})


class Hook(NamedTuple):
    """One gate or reaction: when, for what, and what to run."""

    event: str
    run: Callable[[Any], Awaitable[HookAnswer | None]]
    """Gets the event's record (see `holdfast.hooks.inputs`)."""
    matcher: str | None = "*"
    condition: str | None = None
    """A permission rule: only calls that it speaks of are told. About anything but one call such a hook never runs."""
    on_failure: OnFailure | None = None
    """What a failure means; None: what the settings say."""
    timeout_s: float | None = None
    """Longer than this is a failure; None: as long as its event gives."""
    label: str = ""
    """For people: what is run."""
    origin: str = ""
    """Where it was configured."""
    identity: str = ""
    """Hooks of the same identity run once for one event."""
    once: bool = False
    """It runs for the first fitting event only."""
    failed: str = ""
    """Why this gate cannot run, so that it fails at every call that it would watch; empty for one that can."""
    status: str = ""
    """What people may be shown while it works."""
    may_allow: bool = True
    """Its yes counts. That of a hook which comes with an agent does not: it would be more than its starter may."""
    problem: str = ""
    """Why it would not start as things were when it was read; empty for one that would, or where that is unknown."""


class Hooks:
    """All hooks of a session. Which ones fit is worked out once per event and name."""

    __slots__ = ("_compiled", "_events", "_known", "_spent", "on_gate_failure", "warnings")

    def __init__(
        self, hooks: Iterable[Hook] = (), *, on_gate_failure: OnFailure | None = None, warnings: Iterable[str] = ()
    ) -> None:
        """Take the hooks in the order of their configuration.

        Args:
            hooks: What there is.
            on_gate_failure: The setting `hooks.onGateFailure`, where it is set.
            warnings: What of the configuration does not count, in words.
        """
        self._compiled: list[tuple[Hook, NameTest]] = []
        idle: list[str] = []
        for hook in hooks:
            if hook.condition is None or hook.event in _OF_ONE_CALL:
                self._compiled.append((hook, compile_matcher(hook.matcher)))
            else:
                where = f"{hook.origin}: " if hook.origin else ""
                idle.append(f"{where}{hook.event}: `if` is for events about one call, so the hook never runs")
        self._events = frozenset(hook.event for hook, _ in self._compiled)
        self._known: dict[tuple[str, str], tuple[Hook, ...]] = {}
        self._spent: set[Hook] = set()
        self.on_gate_failure: OnFailure | None = on_gate_failure
        self.warnings = (*warnings, *idle)

    def __iter__(self) -> Iterator[Hook]:
        return iter([hook for hook, _ in self._compiled])

    def __len__(self) -> int:
        return len(self._compiled)

    def has(self, event: str) -> bool:
        """Some hook is about this event."""
        return event in self._events

    def hears(self, names: tuple[str, ...]) -> bool:
        """Some hook is about calls of this tool."""
        return any(self.fitting(event, names) for event in _TOOL_EVENTS)

    def before(self, names: tuple[str, ...]) -> tuple[Hook, ...]:
        """The gates to ask before a tool runs; `names` starts with the canonical one."""
        return self.fitting("PreToolUse", names) if "PreToolUse" in self._events else ()

    def fitting(self, event: str, names: tuple[str, ...]) -> tuple[Hook, ...]:
        """The hooks about this event and any of these names, without repetitions, in their order."""
        if event not in self._events:
            return ()
        found = self._known.get((event, names[0]))
        if found is None:
            if event in _TOOL_EVENTS:
                names = (*names, *(old for old, today in RETIRED.items() if today == names[0]))
            unique: dict[object, Hook] = {}
            for hook, fits in self._compiled:
                if hook.event == event and hook not in self._spent and fits(names):
                    unique.setdefault(hook.identity or object(), hook)
            found = tuple(unique.values())
            if event in _TOOL_EVENTS:  # as many as there are tools; other subjects are free text
                self._known[event, names[0]] = found
        return found

    def with_more(self, hooks: Iterable[Hook]) -> "Hooks":
        """These and more behind them; what has run once has run."""
        made = Hooks((*self, *hooks), on_gate_failure=self.on_gate_failure, warnings=self.warnings)
        made._spent.update(self._spent)
        return made

    def spend(self, hooks: Iterable[Hook]) -> None:
        """These have begun: what runs once does not run again."""
        spent = [hook for hook in hooks if hook.once]
        if spent:
            self._spent.update(spent)
            self._known.clear()


NO_HOOKS = Hooks()
