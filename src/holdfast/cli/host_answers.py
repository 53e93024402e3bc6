"""A program's answer to a permission question: both spellings are read, and what cannot be meant is a refusal."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, cast

from holdfast.cli.options import tell
from holdfast.contract import Answer, UsageError
from holdfast.permissions.updates import DESTINATIONS, read_updates

__all__ = ["HostAnswer", "read_behavior", "read_host_answer", "read_tool_answer"]

Line = dict[str, Any]
_SPELLINGS = {
    "updated_input": "updatedInput",
    "updated_permissions": "updatedPermissions",
    "tool_use_id": "toolUseID",
    "toolUseId": "toolUseID",
    "input": "updatedInput",
    "reason": "message",
}
_KEYS = frozenset({"behavior", "allow", "updatedInput", "updatedPermissions", "message", "interrupt", "toolUseID"})
_KNOWN = sorted({*_KEYS, *_SPELLINGS, "decisionClassification", "decision_classification"})
_NEAR = 0.75


class HostAnswer(NamedTuple):
    """What a program said."""

    answer: Answer
    interrupts: bool = False
    """A no that also ends the run."""


def read_host_answer(
    said: Line, notice: Callable[[str], None], refuse: Callable[[str], None] | None = None
) -> HostAnswer:
    """The answer in an object; `notice` hears of keys that mean nothing here, `refuse` of updates that cannot count.

    Raises:
        UsageError: It is no answer, or may mean something else than it says, so that it counts as a no.
    """
    found = _spelled(said, notice)
    behavior = read_behavior(found)
    updated = found.get("updatedInput")
    if updated is not None and not isinstance(updated, dict):
        raise UsageError(f"updatedInput must be a JSON object, got {updated!r}")
    updates = found.get("updatedPermissions")
    _check_destinations(updates)
    interrupt = found.get("interrupt")
    if interrupt is not None and not isinstance(interrupt, bool):
        raise UsageError(f"interrupt must be true or false, got {interrupt!r}")
    answer = Answer(
        behavior,
        cast("Line | None", updated),
        str(found.get("message") or ""),
        updates=tuple(read_updates(updates, refuse or (lambda why: notice(f"a permission update is ignored: {why}")))),
    )
    return HostAnswer(answer, interrupts=behavior == "deny" and interrupt is True)


def read_tool_answer(text: str) -> tuple[Answer, bool]:
    """What a tool says that decides questions: the same as JSON text; whether its no also ends the run.

    Raises:
        UsageError: It is no answer.
    """
    from holdfast.cli.arguments import to_object  # noqa: PLC0415 - few sessions have such a tool

    said = read_host_answer(to_object(text), tell)
    return said.answer, said.interrupts


def _spelled(said: Line, notice: Callable[[str], None]) -> Line:
    """The answer with one spelling for each key."""
    found: Line = {}
    for key, value in said.items():
        name = _SPELLINGS.get(key, key)
        if name not in _KEYS:
            _judge(key, notice)
        elif name in found and found[name] != value:
            raise UsageError(f"the answer says {name!r} twice, and not the same")
        else:
            found[name] = value
    return found


def _judge(key: str, notice: Callable[[str], None]) -> None:
    """A key that nobody knows is said; one that looks like a known one may be a correction that would be lost."""
    if key in _KNOWN:
        return
    from difflib import get_close_matches  # noqa: PLC0415 - only for a key that is none

    plain = {known.replace("_", "").lower(): known for known in _KNOWN}
    near = get_close_matches(key.replace("_", "").replace("-", "").lower(), list(plain), n=1, cutoff=_NEAR)
    if near:
        raise UsageError(f"the answer has the key {key!r}; write {plain[near[0]]!r} if that is meant")
    notice(f"the key {key!r} of a permission answer has no effect here")


def read_behavior(found: Line) -> Literal["allow", "deny"]:
    """The yes or no of an answer, in either way to write it.

    Raises:
        UsageError: It says neither, or both.
    """
    behavior, allow = found.get("behavior"), found.get("allow")
    if allow is not None:
        if not isinstance(allow, bool):
            raise UsageError(f"allow must be true or false, got {allow!r}")
        meant = "allow" if allow else "deny"
        if behavior not in (None, meant):
            raise UsageError(f"the answer says both behavior {behavior!r} and allow {allow!r}")
        behavior = meant
    if behavior not in ("allow", "deny"):
        raise UsageError(f"behavior must be 'allow' or 'deny', got {behavior!r}")
    return behavior


def _check_destinations(updates: Any) -> None:
    for update in cast("list[Any]", updates) if isinstance(updates, list) else ():
        where: Any = cast("Line", update).get("destination") if isinstance(update, dict) else None
        if where is not None and where not in DESTINATIONS:
            raise UsageError(f"{where!r} is not a destination; known are {', '.join(DESTINATIONS)}")
