"""Run all hooks that fit an event side by side, and make one word of what they say.

Deny beats defer beats ask beats allow. A gate that fails waves nothing through.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from holdfast.events import Event, HookRan, HookStarted
from holdfast.hooks.answers import HookAnswer, HookBehavior, HookFailed
from holdfast.hooks.gate import Hook, Hooks, OnFailure
from holdfast.hooks.inputs import HookInput

__all__ = ["Verdict", "hear"]

_log = logging.getLogger(__name__)
_MAX_REASON_CHARS = 2_000
_STRICTNESS: dict[str, int] = {"allow": 0, "ask": 1, "defer": 2, "deny": 3}


class Verdict(msgspec.Struct):
    """What all hooks said together."""

    behavior: HookBehavior | None = None
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    allows_updated: bool = False
    """Who changed the input allows it so; the others have seen it as it came."""
    contexts: list[str] = msgspec.field(default_factory=list[str])
    stop: str | None = None
    """The run ends, and why."""
    messages: list[str] = msgspec.field(default_factory=list[str])
    """For the user."""
    updated_output: Any = None
    updates: tuple[Any, ...] = ()
    interrupts: bool = False
    retry: bool = False
    more: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    warnings: list[str] = msgspec.field(default_factory=list[str])

    @property
    def blocks(self) -> bool:
        """What the event is about must not happen."""
        return self.behavior == "deny"


async def hear(
    hooks: Sequence[Hook], event: HookInput, among: Hooks, *, emit: Callable[[Event], None] | None = None
) -> Verdict:
    """Ask these hooks, all at once and each with the same record; returns when all have answered."""
    among.spend(hooks)
    if len(hooks) == 1:
        heard = [await _ask(hooks[0], event, emit)]
    else:
        heard = await asyncio.gather(*(_ask(hook, event, emit) for hook in hooks))
    verdict = Verdict()
    for hook, answer in zip(hooks, heard, strict=True):
        if isinstance(answer, HookFailed):
            answer = _of_failure(hook, event, answer, among.on_gate_failure)  # noqa: PLW2901 - what it amounts to
        if answer.behavior == "allow" and not hook.may_allow:
            answer = answer._replace(behavior=None, updates=())  # noqa: PLW2901 - the same
        _add(verdict, hook, answer)
    if verdict.behavior == "allow" and verdict.updated_input is not None and not verdict.allows_updated:
        verdict.behavior, verdict.reason, verdict.updates = None, "", ()
        verdict.warnings.append("a hook changed the input that another one allowed, so that yes is ignored")
    return verdict


async def _ask(hook: Hook, event: HookInput, emit: Callable[[Event], None] | None) -> HookAnswer | HookFailed:
    began_s = perf_counter()
    answer: HookAnswer | HookFailed | None = None
    id_, about = os.urandom(4).hex(), str(getattr(event, "tool_use_id", ""))
    if emit is not None:
        emit(HookStarted(event.event_name, hook.label, hook.origin, id_, hook.status, about))
    try:
        answer = await _answer(hook, event)
    finally:
        if emit is not None:
            outcome, reason = _outcome(answer)
            took_ms = (perf_counter() - began_s) * 1000
            emit(HookRan(event.event_name, hook.label, hook.origin, outcome, reason, took_ms, about, id_))
    assert answer is not None
    return answer


async def _answer(hook: Hook, event: HookInput) -> HookAnswer | HookFailed:
    limit_s = type(event).timeout_s if hook.timeout_s is None else hook.timeout_s
    try:
        async with asyncio.timeout(limit_s):
            return _checked(await hook.run(event))
    except HookFailed as error:
        return error
    except TimeoutError:
        return HookFailed(f"it took longer than {limit_s:g} s")
    except Exception as error:  # noqa: BLE001 - the user's code: whatever it raises, the call is not waved through
        _log.warning("a %s hook failed", event.event_name, exc_info=error)
        return HookFailed(f"{error!r}")


def _outcome(answer: HookAnswer | HookFailed | None) -> tuple[str, str]:
    if answer is None:
        return "cancelled", ""
    if isinstance(answer, HookFailed):
        return "failed", str(answer)[:_MAX_REASON_CHARS]
    return answer.behavior or "ok", answer.reason[:_MAX_REASON_CHARS]


def _checked(said: Any) -> HookAnswer:
    """A function may answer anything; what is no answer must not pass for one."""
    if said is None:
        return HookAnswer()
    if not isinstance(said, HookAnswer):
        raise HookFailed(f"it answered {said!r}, which is not a HookAnswer")
    if said.behavior is not None and said.behavior not in _STRICTNESS:
        raise HookFailed(f"it answered {said.behavior!r}, which is not a known answer")
    return said


def _of_failure(hook: Hook, event: HookInput, error: HookFailed, setting: OnFailure | None) -> HookAnswer:
    """A gate that fails can at best be asked about; an exit code is only said, as existing hooks expect."""
    name = hook.label or "a function"
    reason = f"a {event.event_name} hook failed ({name}): {error}"
    policy = hook.on_failure
    if policy is None and event.is_gate:
        policy = setting if setting in ("deny", "ignore") else "ignore" if error.is_soft else "ask"
    if policy is None and event.must_succeed:
        policy = "deny"
    if policy in (None, "ignore") or (policy == "ask" and not event.is_gate):
        said = error.answer or HookAnswer()
        return said._replace(warnings=(*said.warnings, reason))
    return HookAnswer(policy, reason, warnings=(reason,))


def _add(verdict: Verdict, hook: Hook, answer: HookAnswer) -> None:
    behavior = answer.behavior
    if behavior is not None and (verdict.behavior is None or _STRICTNESS[behavior] > _STRICTNESS[verdict.behavior]):
        verdict.behavior = behavior
        verdict.reason = answer.reason or f"a hook said so ({hook.label})" if hook.label else answer.reason
        verdict.interrupts = answer.interrupts
    if answer.updated_input is not None and behavior != "deny":
        if verdict.updated_input is not None and verdict.updated_input != answer.updated_input:
            verdict.warnings.append("several hooks changed the input; the last one in the configuration wins")
        verdict.updated_input = answer.updated_input
        verdict.allows_updated = behavior == "allow"
    if answer.additional_context:
        verdict.contexts.append(answer.additional_context)
    if answer.stops and verdict.stop is None:
        verdict.stop = answer.stop_reason or "a hook ended the run"
    if answer.system_message:
        verdict.messages.append(answer.system_message)
    if answer.updated_output is not None:
        verdict.updated_output = answer.updated_output
    if behavior == "allow":
        verdict.updates += answer.updates
    verdict.retry = verdict.retry or answer.retry
    verdict.more.update(answer.more)
    verdict.warnings += answer.warnings
