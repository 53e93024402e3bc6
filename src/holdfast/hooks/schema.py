"""From configured entries to hooks: each field checked, what does not count said, and a broken gate kept as one."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from holdfast.contract import UsageError
from holdfast.hooks.answers import HookAnswer, HookFailed
from holdfast.hooks.command import CommandHandler, CommandRunner
from holdfast.hooks.doubts import doubts_about_condition, doubts_about_matcher
from holdfast.hooks.events import EVENTS
from holdfast.hooks.gate import ON_FAILURE, Hook, Hooks, OnFailure
from holdfast.hooks.inputs import HookInput
from holdfast.hooks.matcher import NameTest, compile_matcher
from holdfast.settings.model import HookEntry

__all__ = ["Handlers", "Runner", "hook_of", "hooks_of"]

_TYPES = ("command", "http", "prompt", "agent", "mcp_tool")
_FIELDS: dict[str, frozenset[str]] = {
    "command": frozenset({
        "command", "args", "async", "asyncRewake", "rewakeMessage", "rewakeSummary", "shell", "commandWindows",
    }),
    "http": frozenset({"url", "headers", "allowedEnvVars"}),
    "prompt": frozenset({"prompt", "model"}),
    "agent": frozenset({"prompt", "model"}),
    "mcp_tool": frozenset({"server", "tool", "input"}),
}  # fmt: skip
_REQUIRED = {"http": ("url",), "prompt": ("prompt",), "agent": ("prompt",), "mcp_tool": ("server", "tool")}
_COMMON = frozenset({"type", "if", "timeout", "statusMessage", "once", "onFailure", "description", "id", "name"})
_LONG_S = 3_600.0
_ENDING_S = 60.0
"""A runner bounds itself; one that has not come to an end so long after its limit is cut off."""
_DEFAULT_TIMEOUTS_S = {"prompt": 30.0, "agent": 60.0}


class Runner(Protocol):
    """Runs handlers of one type."""

    async def run(self, handler: Mapping[str, Any], event: HookInput, timeout_s: float | None) -> HookAnswer | None:
        """Run a handler, given as it was configured."""
        ...


class Handlers(msgspec.Struct):
    """Who runs which type of handler. A type that nobody runs is said and off; as a gate it has failed."""

    command: CommandRunner
    others: Mapping[str, Callable[[HookEntry], Runner]]
    approved: Callable[[], frozenset[str]] = frozenset
    """The hashes that the user approved, now."""


def hooks_of(entries: tuple[HookEntry, ...], handlers: Handlers, *, on_gate_failure: OnFailure | None = None) -> Hooks:
    """All hooks of the settings, with what of them does not count."""
    warnings: list[str] = []
    hooks = [hook for entry in entries if (hook := hook_of(entry, handlers, warnings)) is not None]
    return Hooks(hooks, on_gate_failure=on_gate_failure, warnings=warnings)


def hook_of(entry: HookEntry, handlers: Handlers, warnings: list[str]) -> Hook | None:
    """One hook, or None for one that is off; a gate that is broken stays, and fails at every call it would match."""
    reader = _Reader(entry, handlers, warnings)
    try:
        return reader.hook()
    except UsageError as error:
        return reader.broken(str(error))


class _Reader:
    """One entry, and what is wrong with it."""

    def __init__(self, entry: HookEntry, handlers: Handlers, warnings: list[str]) -> None:
        self._entry = entry
        self._raw = entry.handler
        self._handlers = handlers
        self._warnings = warnings

    def warn(self, message: str) -> None:
        self._warnings.append(f"{self._entry.origin}: {self._entry.event}: {message}")

    def hook(self) -> Hook | None:
        entry, raw = self._entry, self._raw
        if entry.broken:
            raise UsageError(entry.broken)
        self._note_doubts(compile_matcher(entry.matcher))
        kind = raw.get("type")
        if kind not in _TYPES:
            raise UsageError(f"the handler's type is {kind!r}; {', '.join(_TYPES)} are known")
        if EVENTS[entry.event].awaited in ("never", "later"):
            self.warn("this event never fires here, so the hook never runs")
        self._note_fields(str(kind))
        timeout_s = self._timeout(str(kind))
        handler = self._command_handler(timeout_s) if kind == "command" else None
        run = self._other(str(kind), timeout_s) if handler is None else self._command(handler)
        problem = "" if handler is None else self._handlers.command.problem(handler)
        if problem:
            self.warn(f"it cannot start as things are: {problem}")
        return Hook(
            entry.event,
            run,
            entry.matcher,
            condition=self._text("if") or None,
            on_failure=self._on_failure(),
            timeout_s=(timeout_s or EVENTS[entry.event].timeout_s) + _ENDING_S,
            label=_label(raw),
            origin=str(entry.origin),
            identity=_identity(entry),
            once=self._once(),
            status=self._text("statusMessage"),
            problem=problem,
        )

    def broken(self, reason: str) -> Hook | None:
        entry = self._entry
        if not EVENTS[entry.event].is_gate:
            self.warn(f"the hook is off: {reason}")
            return None
        self.warn(f"the gate does not run and is treated as failed: {reason}")

        async def fails(event: HookInput) -> HookAnswer | None:
            del event
            raise HookFailed(reason)

        try:
            compile_matcher(entry.matcher)
            matcher = entry.matcher
        except UsageError:
            matcher = None  # nobody knows which calls it should have watched
        policy = ON_FAILURE.get(str(self._raw.get("onFailure")))
        return Hook(
            entry.event,
            fails,
            matcher,
            on_failure=policy,
            label=_label(self._raw),
            origin=str(entry.origin),
            failed=reason,
        )

    def _note_doubts(self, fits: NameTest) -> None:
        """Say what is odd about it, which makes it hear too little or too much."""
        matcher, condition = self._entry.matcher or "", self._text("if")
        if matcher.strip() not in ("", "*") and EVENTS[self._entry.event].matched_by == "tool_name":
            for doubt in doubts_about_matcher(matcher, fits):
                self.warn(doubt)
        for doubt in doubts_about_condition(condition) if condition else ():
            self.warn(doubt)

    def _note_fields(self, kind: str) -> None:
        unknown = [name for name in self._raw if name not in _FIELDS[kind] and name not in _COMMON]
        if unknown:
            self.warn(f"the handler has {', '.join(map(repr, unknown))}, which is unknown and ignored")

    def _timeout(self, kind: str) -> float | None:
        value: Any = self._raw.get("timeout")
        if value is None:
            return _DEFAULT_TIMEOUTS_S.get(kind)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(f"its timeout is {value!r}; give a number of seconds")
        if value > _LONG_S:
            self.warn(f"the timeout of {value:g} s is over an hour; timeouts are in seconds, not milliseconds")
        return float(value)

    def _once(self) -> bool:
        if self._raw.get("once") is not True:
            return False
        if not self._entry.is_of_skill:  # a gate that looks at one call only would wave the next one through
            self.warn("`once` works in skills only; the hook runs each time")
        return self._entry.is_of_skill

    def _on_failure(self) -> OnFailure | None:
        value = self._raw.get("onFailure")
        if value is None:
            return None
        if not isinstance(value, str) or value not in ON_FAILURE:
            raise UsageError(f"its onFailure is {value!r}; block, ask and continue are known")
        return ON_FAILURE[value]

    def _text(self, name: str, *, required: bool = False) -> str:
        value = self._raw.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value.strip()):
            raise UsageError(f"its {name} is {value!r}; give a string")
        return value

    def _command_handler(self, timeout_s: float | None) -> CommandHandler:
        args: Any = self._raw.get("args")
        if args is not None and (not isinstance(args, tuple) or not all(isinstance(word, str) for word in args)):  # pyright: ignore[reportUnknownVariableType]
            raise UsageError(f"its args are {args!r}; give a list of strings")
        shell = self._text("shell") or "bash"
        if shell not in ("bash", "powershell"):
            raise UsageError(f"its shell is {shell!r}; bash and powershell are known")
        entry, approved = self._entry, self._handlers.approved
        return CommandHandler(
            self._text("command", required=True),
            cast("tuple[str, ...] | None", args),
            shell,
            timeout_s,
            is_async=self._raw.get("async") is True,
            rewakes=self._raw.get("asyncRewake") is True,
            rewake_message=self._text("rewakeMessage"),
            rewake_summary=self._text("rewakeSummary"),
            is_as_approved=None if entry.folder is None else lambda: entry.is_as_approved(approved()),
            is_own=entry.folder is None,
            may_leave=lambda: entry.may_leave_sandbox(approved()),
        )

    def _command(self, handler: CommandHandler) -> Callable[[HookInput], Any]:
        entry = self._entry
        if EVENTS[entry.event].is_gate and (handler.is_async or handler.rewakes):
            if self._on_failure() in ("deny", "ask"):
                raise UsageError(
                    "it runs in the background, where it cannot decide, and its onFailure wants a decision"
                )
            self.warn("it runs in the background, so it decides nothing")
        return lambda event: self._handlers.command.run(handler, event)

    def _other(self, kind: str, timeout_s: float | None) -> Callable[[HookInput], Any]:
        make = self._handlers.others.get(kind)
        if make is None:
            raise UsageError(f"handlers of the type {kind!r} are not supported here yet")
        for required in _REQUIRED[kind]:
            self._text(required, required=True)
        runner, raw = make(self._entry), self._raw
        return lambda event: runner.run(raw, event, timeout_s)


def _label(raw: Mapping[str, Any]) -> str:
    if raw.get("type") == "mcp_tool":
        return f"{raw.get('server')}: {raw.get('tool')}"
    for name in ("command", "url", "prompt"):
        value = raw.get(name)
        if isinstance(value, str):
            args: Any = raw.get("args")
            more = " ".join(map(str, args)) if isinstance(args, tuple) else ""  # pyright: ignore[reportUnknownArgumentType]
            return f"{value} {more}".strip()
    return str(raw.get("type", "a hook without a readable form"))


def _identity(entry: HookEntry) -> str:
    """Handlers that are the same in every word run once, whichever groups and files they stand in."""
    plain = msgspec.to_builtins(dict(entry.handler), enc_hook=dict)
    return f"{entry.folder}\n{msgspec.json.encode(plain, order='deterministic').decode()}"
