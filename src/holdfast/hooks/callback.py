"""Hooks that another program answers: it names them by ids, and is told each event over whatever wire it has.

Such a program sends `{"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h1"], "timeout": 60}]}`. Whoever speaks
to it gives a function that carries one event there and its answer back. A wish that cannot be read is an error at once:
a program must not believe that it watches what it does not.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

from holdfast.contract import UsageError
from holdfast.events import to_builtins
from holdfast.hooks.answers import HookAnswer, HookFailed, read_answer
from holdfast.hooks.events import EVENTS
from holdfast.hooks.gate import ON_FAILURE, Hook, OnFailure
from holdfast.hooks.inputs import HookInput
from holdfast.hooks.matcher import compile_matcher

__all__ = ["CallBack", "callback_hooks"]

CallBack = Callable[[str, dict[str, Any], str | None], Awaitable[Any]]
"""Tells an event to a callback (id, event, id of the call) and returns what it answers: an object, or nothing."""
_KNOWN: Final = frozenset({"matcher", "hookCallbackIds", "timeout", "onFailure", "description", "id"})
_LATER: Final = frozenset({"async", "asyncTimeout"})
_DEFAULT_S: Final = 60.0
_ORIGIN: Final = "the host"


def callback_hooks(given: object, call: CallBack) -> tuple[list[Hook], list[str]]:
    """The hooks that a program asks for, and what of its wish does not count.

    Raises:
        UsageError: One of them could never run as it is written.
    """
    if given is None:
        return [], []
    if not isinstance(given, Mapping):
        raise UsageError(f"hooks must be an object of events, got {given!r}")
    hooks: list[Hook] = []
    warnings: list[str] = []
    for event, groups in cast("Mapping[str, Any]", given).items():
        if event not in EVENTS:
            raise UsageError(f"hooks: there is no event {event!r}; known are {', '.join(sorted(EVENTS))}")
        if not isinstance(groups, list | tuple):
            raise UsageError(f"hooks.{event} must be a list of matchers, got {groups!r}")
        if EVENTS[event].awaited == "never" and groups:
            warnings.append(f"{event} never fires here, so its hooks never run")
        for group in cast("Sequence[Any]", groups):
            if not isinstance(group, Mapping):
                raise UsageError(f"hooks.{event} must be a list of matchers, got {group!r}")
            hooks += _of_group(event, cast("Mapping[str, Any]", group), call, warnings)
    return hooks, warnings


def _of_group(event: str, group: Mapping[str, Any], call: CallBack, warnings: list[str]) -> list[Hook]:
    ids, matcher = group.get("hookCallbackIds"), group.get("matcher")
    if not isinstance(ids, list | tuple) or not all(isinstance(one, str) for one in cast("Sequence[Any]", ids)):
        raise UsageError(f"hooks.{event}: hookCallbackIds must be a list of strings, got {ids!r}")
    if matcher is not None and not isinstance(matcher, str):
        raise UsageError(f"hooks.{event}: the matcher must be a string, got {matcher!r}")
    compile_matcher(matcher)
    if unknown := [name for name in group if name not in _KNOWN]:
        warnings.append(f"hooks.{event}: {', '.join(map(repr, unknown))} is unknown and ignored")
    on_failure = _on_failure(event, group.get("onFailure"), warnings)
    timeout_s = _timeout(event, group.get("timeout"))
    return [
        Hook(
            event,
            _Callback(one, call, on_failure),
            matcher,
            on_failure=on_failure,
            timeout_s=timeout_s,
            label=f"callback {one}",
            origin=_ORIGIN,
        )
        for one in cast("Sequence[str]", ids)
    ]


def _timeout(event: str, given: object) -> float:
    if given is None:
        return min(_DEFAULT_S, EVENTS[event].timeout_s)
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise UsageError(f"hooks.{event}: the timeout must be a number of seconds, got {given!r}")
    return float(given)


def _on_failure(event: str, given: object, warnings: list[str]) -> OnFailure | None:
    if given is None:
        return None
    if isinstance(given, str) and given in ON_FAILURE:
        return ON_FAILURE[given]
    warnings.append(f"hooks.{event}: onFailure is {given!r}, which is not known; a failure blocks")
    return "deny"


class _Callback:
    """One callback of the program."""

    def __init__(self, id_: str, call: CallBack, on_failure: OnFailure | None) -> None:
        self._id = id_
        self._call = call
        self._must_decide = on_failure in ("deny", "ask")

    async def __call__(self, event: HookInput) -> HookAnswer | None:
        told = cast("dict[str, Any]", to_builtins(event))
        about: Any = told.get("tool_use_id")
        said = await self._call(self._id, told, about if isinstance(about, str) else None)
        if said is None:
            return None
        if not isinstance(said, Mapping):
            raise HookFailed(f"the callback {self._id!r} answered {type(said).__name__}, which is not an object")
        answer = cast("Mapping[str, Any]", said)
        if answer.get("async") is True:  # it works on beside the call, as a command in the background does
            if event.is_gate and self._must_decide:
                raise HookFailed(
                    f"the callback {self._id!r} wants to answer later, and this is a gate that must decide"
                )
            return None
        return read_answer(type(event), {name: value for name, value in answer.items() if name not in _LATER})
