"""Hooks that another program answers: it names them by ids, and is told each event over whatever wire it has.

Such a program sends `{"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h1"], "timeout": 60}]}`. Whoever speaks
to it gives a function that carries one event there and its answer back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from holdfast.contract import UsageError
from holdfast.events import to_builtins
from holdfast.hooks.answers import HookAnswer, HookFailed, read_answer
from holdfast.hooks.events import EVENTS
from holdfast.hooks.gate import Hook, OnFailure
from holdfast.hooks.inputs import HookInput
from holdfast.hooks.matcher import compile_matcher

__all__ = ["CallBack", "callback_hooks"]

CallBack = Callable[[str, dict[str, Any], str | None], Awaitable[Any]]
"""Tells an event to a callback (id, event, id of the call) and returns what it answers: an object, or nothing."""
_ON_FAILURE: Final[Mapping[str, OnFailure]] = {
    "block": "deny", "deny": "deny", "ask": "ask", "continue": "ignore", "ignore": "ignore",
}  # fmt: skip
_KNOWN: Final = frozenset({"matcher", "hookCallbackIds", "timeout", "onFailure", "description", "id"})
_DEFAULT_S: Final = 60.0
ORIGIN: Final = "the host"


def callback_hooks(given: object, call: CallBack) -> tuple[list[Hook], list[str]]:
    """The hooks that a program asks for, and what of its wish does not count.

    A gate whose wish cannot be read stays and fails, so that what it should have watched is not waved through.

    Raises:
        UsageError: It is no object of lists.
    """
    if given is None:
        return [], []
    if not isinstance(given, Mapping):
        raise UsageError(f"hooks are {type(given).__name__}; give an object of events")
    hooks: list[Hook] = []
    warnings: list[str] = []
    for event, groups in cast("Mapping[str, Any]", given).items():
        if event not in EVENTS:
            warnings.append(f"there is no event {event!r}; its hooks are left out")
            continue
        if not isinstance(groups, list | tuple):
            raise UsageError(f"the hooks of {event} are {type(groups).__name__}; give a list")
        if EVENTS[event].awaited == "never":
            warnings.append(f"{event} never fires here, so its hooks never run")
        for group in cast("Sequence[Any]", groups):
            hooks += _of_group(event, group, call, warnings)
    return hooks, warnings


def _of_group(event: str, group: Any, call: CallBack, warnings: list[str]) -> Iterator[Hook]:
    raw: Mapping[str, Any] = cast("Mapping[str, Any]", group) if isinstance(group, Mapping) else {}
    try:
        yield from _read(event, raw, call)
    except UsageError as error:
        warnings.append(f"{event}: {error}")
        if EVENTS[event].is_gate:
            yield _failed_gate(event, raw, str(error))
    unknown = [name for name in raw if name not in _KNOWN]
    if unknown:
        warnings.append(f"{event}: {', '.join(map(repr, unknown))} is not known and not looked at")


def _read(event: str, raw: Mapping[str, Any], call: CallBack) -> list[Hook]:
    ids, matcher, timeout_s = raw.get("hookCallbackIds"), raw.get("matcher"), raw.get("timeout")
    if not isinstance(ids, list | tuple) or not all(isinstance(one, str) for one in cast("Sequence[Any]", ids)):
        raise UsageError(f"hookCallbackIds are {ids!r}; give a list of texts")
    if matcher is not None and not isinstance(matcher, str):
        raise UsageError(f"the matcher is {matcher!r}; give a text")
    compile_matcher(matcher)
    if timeout_s is None:
        timeout_s = min(_DEFAULT_S, EVENTS[event].timeout_s)
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s > 0:
        raise UsageError(f"the timeout is {timeout_s!r}; give a number of seconds")
    policy = raw.get("onFailure")
    if policy is not None and policy not in _ON_FAILURE:
        raise UsageError(f"onFailure is {policy!r}; block, ask and continue are known")
    on_failure = None if policy is None else _ON_FAILURE[policy]
    return [
        Hook(
            event,
            _Callback(one, call, float(timeout_s)),
            matcher,
            on_failure=on_failure,
            label=f"callback {one}",
            origin=ORIGIN,
        )
        for one in cast("Sequence[str]", ids)
    ]


def _failed_gate(event: str, raw: Mapping[str, Any], reason: str) -> Hook:
    async def fails(told: HookInput) -> HookAnswer | None:
        del told
        raise HookFailed(reason)

    matcher: Any = raw.get("matcher")
    try:
        compile_matcher(matcher if isinstance(matcher, str) else None)
    except UsageError:
        matcher = None  # nobody knows which calls it should have watched
    policy = _ON_FAILURE.get(str(raw.get("onFailure")))
    shown = matcher if isinstance(matcher, str) else None
    return Hook(event, fails, shown, on_failure=policy, label="callback", origin=ORIGIN, failed=reason)


class _Callback:
    """One callback of the program."""

    def __init__(self, id_: str, call: CallBack, timeout_s: float) -> None:
        self._id = id_
        self._call = call
        self._timeout_s = timeout_s

    async def __call__(self, event: HookInput) -> HookAnswer | None:
        told = cast("dict[str, Any]", to_builtins(event))
        about: Any = told.get("tool_use_id")
        try:
            async with asyncio.timeout(self._timeout_s):
                said = await self._call(self._id, told, about if isinstance(about, str) else None)
        except TimeoutError:
            raise HookFailed(f"the callback {self._id!r} gave no answer within {self._timeout_s:g} s") from None
        if said is None:
            return None
        if not isinstance(said, Mapping):
            raise HookFailed(f"the callback {self._id!r} answered {type(said).__name__}, which is no object")
        answer = cast("Mapping[str, Any]", said)
        if answer.get("async") is True:
            if event.is_gate:
                raise HookFailed(f"the callback {self._id!r} wants to answer later, and this is a gate")
            return None
        return read_answer(type(event), {name: value for name, value in answer.items() if name != "async"})
