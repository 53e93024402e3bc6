"""What a hook says, and how its exit code and output are read."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

import msgspec

from holdfast.contract import PermissionUpdate
from holdfast.hooks.inputs import HookInput
from holdfast.lib.spelling import nearest_name

__all__ = ["HookAnswer", "HookBehavior", "HookFailed", "read_answer", "read_output"]

HookBehavior = Literal["allow", "ask", "deny", "defer"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LEGACY = {"approve": "allow", "allow": "allow", "block": "deny", "deny": "deny"}
_DECISIONS = frozenset({"allow", "ask", "deny", "defer"})
_DECIDING = ("permissionDecision", "decision", "behavior", "ok")
"""How gates say what they decide, each in a place of its own."""
_REFUSALS = frozenset({"deny", "block"})
_AGREEMENTS = frozenset({"allow", "approve"})
_DECISION_INSIDE = re.compile(r"""\{\s*"(?:hookSpecificOutput|decision|permissionDecision|continue)"\s*:""")
_TOP = frozenset({
    "continue", "stopReason", "systemMessage", "suppressOutput", "terminalSequence", "decision", "reason",
    "hookSpecificOutput", "ok",
})  # fmt: skip


class HookAnswer(NamedTuple):
    """What a hook says. Nothing said changes nothing; no answer ever lowers a deny."""

    behavior: HookBehavior | None = None
    """For a call: may it happen. For every other event `deny` blocks what the event is about."""
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    """Replaces the whole input; it is parsed, validated and checked again."""
    additional_context: str = ""
    """Told to the model."""
    stops: bool = False
    """The run ends here."""
    stop_reason: str = ""
    system_message: str = ""
    """Shown to the user."""
    updated_output: Any = None
    """The model reads this in place of the call's result."""
    updates: tuple[PermissionUpdate, ...] = ()
    """PermissionRequest: changes of the rights that come with a yes."""
    interrupts: bool = False
    """PermissionRequest: a no that ends the turn."""
    retry: bool = False
    """PermissionDenied: the model may try the call again."""
    more: Mapping[str, Any] = _NOTHING
    """What only one event knows, by its name on the wire."""
    warnings: tuple[str, ...] = ()


class HookFailed(Exception):
    """A hook could not say anything. `is_soft`: it ran to its end and said that it failed."""

    def __init__(self, reason: str, *, is_soft: bool = False, answer: HookAnswer | None = None) -> None:
        """Say why; `answer` is what it said beside, which counts where the failure means nothing more."""
        super().__init__(reason)
        self.is_soft = is_soft
        self.answer = answer


def read_output(event: type[HookInput], code: int, stdout: str, stderr: str, *, is_cut: bool = False) -> HookAnswer:
    """The answer in an exit code and what was written.

    Raises:
        HookFailed: It said nothing that can be relied upon.
    """
    text = stdout.removeprefix("\ufeff").strip()
    if code == 2 or (code != 0 and event.must_succeed):
        return _blocked(event, text, stderr.strip())
    if not text.startswith("{"):
        if code:
            raise _ended(code, stderr)
        return _plain(event, text)
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if code:
            raise HookFailed(f"it ended with exit code {code}", is_soft=True) from error
        cut = " (it wrote more than is read)" if is_cut else ""
        raise HookFailed(f"what it wrote is not valid JSON{cut}: {error}") from error
    answer = read_answer(event, cast("dict[str, Any]", found))
    if code and answer.behavior is None and not answer.stops:
        raise _ended(code, stderr, answer)  # JSON that decides nothing does not make a failure good
    return answer


def _ended(code: int, stderr: str, answer: HookAnswer | None = None) -> HookFailed:
    said = f": {_short(stderr.strip())}" if stderr.strip() else ""
    return HookFailed(f"it ended with exit code {code}{said}", is_soft=True, answer=answer)


def _plain(event: type[HookInput], text: str) -> HookAnswer:
    """Text that does not begin like JSON. A gate's decision behind other text is not read, so that gate has failed."""
    if event.is_gate and "\0" in text:
        raise HookFailed("it wrote something that is not text")
    if event.is_gate and _DECISION_INSIDE.search(text):
        raise HookFailed("it wrote a decision behind other text, where it is not read", is_soft=True)
    if event.__name__ == "WorktreeCreate" and text:
        return HookAnswer(more={"worktreePath": text.splitlines()[-1].strip()})
    return HookAnswer(additional_context=text) if event.plain_is_context and text else HookAnswer()


def _blocked(event: type[HookInput], stdout: str, stderr: str) -> HookAnswer:
    reason = stderr
    if not reason and stdout.startswith("{"):
        try:
            reason = read_answer(event, msgspec.json.decode(stdout)).reason
        except (HookFailed, msgspec.DecodeError, UnicodeError, RecursionError):
            reason = ""
    if event.exit_two == "is ignored":
        return HookAnswer(warnings=("exit code 2 means nothing for this event",))
    if event.exit_two == "shows the user":
        return HookAnswer(system_message=reason)
    if event.exit_two == "tells the model":
        return HookAnswer(additional_context=reason)
    return HookAnswer("deny", reason or "a hook blocked it and gave no reason")


def read_answer(event: type[HookInput], said: Mapping[str, Any]) -> HookAnswer:
    """The answer in a JSON object.

    Raises:
        HookFailed: A field that decides has a value nobody knows, so what was meant is not known.
    """
    try:
        return _answered(event, said)
    except HookFailed as error:
        reason = _refusal(said) if event.is_gate else None
        if reason is None:
            raise
        return HookAnswer("deny", reason or str(error), warnings=(f"its no counts, but {error}",))


def _answered(event: type[HookInput], said: Mapping[str, Any]) -> HookAnswer:
    warnings = [f"it answered with {name!r}, which is not known" for name in said if name not in _TOP]
    specific = said.get("hookSpecificOutput")
    if specific is not None and not isinstance(specific, dict):
        raise HookFailed("its hookSpecificOutput is not an object")
    own = cast("dict[str, Any]", specific or {})
    named = own.get("hookEventName")
    if own and named != event.__name__:
        problem = "names no event (hookEventName)" if named is None else f"is about {named!r}"
        if event.is_gate or named is not None:
            raise HookFailed(f"its hookSpecificOutput {problem}, and this is {event.__name__}")
        warnings.append(f"its hookSpecificOutput {problem}")
    answer = _READERS.get(event.__name__, _of_any)(said, own)
    if event.is_gate and answer.behavior is None:
        _refuse_misplaced(event, said, own)
    if not _goes_on(event, said, warnings):
        answer = answer._replace(stops=True, stop_reason=_text(said, "stopReason"))
    more = {name: value for name, value in own.items() if name not in ("hookEventName", "additionalContext")}
    if "terminalSequence" in said:
        from holdfast.lib.terminal_sequence import harmless_sequence  # noqa: PLC0415 - few answers bring one

        sequence = harmless_sequence(said["terminalSequence"])
        if sequence is None:
            warnings.append("its terminalSequence does more than notify or set a title, and is not sent")
        else:
            more["terminalSequence"] = sequence
    warnings += [f"it answered with {name!r}, which does nothing for {event.__name__}" for name in _idle(event, own)]
    message = _text(said, "systemMessage")
    return answer._replace(system_message=message, more=more, warnings=(*answer.warnings, *warnings))


def _goes_on(event: type[HookInput], said: Mapping[str, Any], warnings: list[str]) -> bool:
    going: Any = said.get("continue")
    if going is None or isinstance(going, bool):
        return going is not False
    if event.is_gate:
        raise HookFailed(f"its continue is {going!r}; true and false are known")
    warnings.append(f"its continue is {going!r}, which is ignored; true and false are known")
    return True


def _idle(event: type[HookInput], own: Mapping[str, Any]) -> list[str]:
    return [name for name in own if name not in event.says and name != "hookEventName"]


def _deciding(*places: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every word that decides, wherever it stands, with what it says."""
    for place in places:
        for name in _DECIDING:
            value: Any = place.get(name)
            yield name, cast("dict[str, Any]", value).get("behavior") if isinstance(value, dict) else value


def _refusal(said: Mapping[str, Any]) -> str | None:
    """Why it refuses, where its no can be heard although it is not written as it should be."""
    places: list[Mapping[str, Any]] = [said]
    for name in ("hookSpecificOutput", "decision", "permissionDecision"):
        places += [cast("dict[str, Any]", place[name]) for place in places if isinstance(place.get(name), dict)]
    if not any(value is False or (isinstance(value, str) and value in _REFUSALS) for _, value in _deciding(*places)):
        return None
    names = ("permissionDecisionReason", "reason", "message")
    return next((text for place in places for name in names if (text := _text(place, name))), "")


def _refuse_misplaced(event: type[HookInput], said: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """A gate that decides where its event has no decision meant something: it has failed, and only a yes is just lost.

    Raises:
        HookFailed: There is such a word, or one that is almost known.
    """
    for name, value in _deciding(own, said):
        if value is not None and value is not True:
            is_yes = isinstance(value, str) and value in _AGREEMENTS
            raise HookFailed(f"its {name} decides nothing for {event.__name__} where it stands", is_soft=is_yes)
    written = [(name, value, _TOP) for name, value in said.items() if name not in _TOP]
    written += [(name, own[name], event.says) for name in _idle(event, own)]
    for name, value, known in written:
        if (meant := nearest_name(name, known)) is not None:
            problem = f"it answered with {name!r}, which is not known (did you mean {meant}?)"
            raise HookFailed(problem, is_soft=not (isinstance(value, str) and value in _REFUSALS))


def _of_any(said: Mapping[str, Any], own: Mapping[str, Any]) -> HookAnswer:
    behavior: HookBehavior | None = None
    decision = said.get("decision")
    if decision is not None:
        if not isinstance(decision, str) or decision not in _LEGACY:
            raise HookFailed(f"its decision is {decision!r}; `block` is the only one")
        behavior = "deny" if _LEGACY[decision] == "deny" else None
    return HookAnswer(behavior, _text(said, "reason"), additional_context=_text(own, "additionalContext"))


def _of_pre_tool_use(said: Mapping[str, Any], own: Mapping[str, Any]) -> HookAnswer:
    decision: Any = own.get("permissionDecision")
    reason = _text(own, "permissionDecisionReason")
    if decision is None and (legacy := said.get("decision")) is not None:
        decision = _LEGACY.get(legacy, legacy) if isinstance(legacy, str) else legacy
        reason = reason or _text(said, "reason")
    if decision is not None and (not isinstance(decision, str) or decision not in _DECISIONS):
        raise HookFailed(f"its permissionDecision is {decision!r}; allow, deny, ask and defer are known")
    updated: Any = own.get("updatedInput")
    if updated is not None and not isinstance(updated, dict):
        raise HookFailed("its updatedInput is not an object")
    return HookAnswer(
        cast("HookBehavior | None", decision),
        reason,
        cast("dict[str, Any] | None", updated),
        _text(own, "additionalContext"),
    )


def _of_permission_request(said: Mapping[str, Any], own: Mapping[str, Any]) -> HookAnswer:
    del said
    decision: Any = own.get("decision")
    if decision is None:
        return HookAnswer()
    if not isinstance(decision, dict) or (known := cast("dict[str, Any]", decision)).get("behavior") not in (
        "allow",
        "deny",
    ):
        raise HookFailed("its decision needs the behavior allow or deny")
    updated: Any = known.get("updatedInput")
    if updated is not None and not isinstance(updated, dict):
        raise HookFailed("its updatedInput is not an object")
    return HookAnswer(
        known["behavior"],
        _text(known, "message"),
        cast("dict[str, Any] | None", updated),
        updates=_updates(known.get("updatedPermissions"), warnings := []),
        interrupts=known.get("interrupt") is True,
        warnings=tuple(warnings),
    )


def _updates(given: Any, warnings: list[str]) -> tuple[PermissionUpdate, ...]:
    if given is None:
        return ()
    from holdfast.permissions.updates import read_updates  # noqa: PLC0415 - few answers bring one

    return tuple(read_updates(given, lambda why: warnings.append(f"an update of the rights is ignored: {why}")))


def _of_result(said: Mapping[str, Any], own: Mapping[str, Any]) -> HookAnswer:
    answer = _of_any(said, own)
    output: Any = own.get("updatedToolOutput", own.get("updatedMCPToolOutput"))
    return answer._replace(updated_output=output)


def _of_denial(said: Mapping[str, Any], own: Mapping[str, Any]) -> HookAnswer:
    return _of_any(said, own)._replace(retry=own.get("retry") is True)


_READERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], HookAnswer]] = {
    "PreToolUse": _of_pre_tool_use,
    "PermissionRequest": _of_permission_request,
    "PermissionDenied": _of_denial,
    "PostToolUse": _of_result,
    "PostToolUseFailure": _of_result,
}


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else "" if value is None else str(value)


_SPACE = re.compile(r"\s+")


def _short(text: str) -> str:
    one = _SPACE.sub(" ", text)
    return one if len(one) <= 300 else f"{one[:300]}…"
