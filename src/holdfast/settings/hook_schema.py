"""The form of `hooks` in a settings file.

A gate that cannot be read stops the start where the user or the policy wrote it. In a folder's file it counts as one
that failed, and every other hook that cannot be read is off, so that one entry never voids the rest of the file.
"""

from typing import Final, Protocol

from holdfast.lib.positions import Array, Node, Object, Scalar
from holdfast.lib.spelling import nearest_name
from holdfast.lib.visible import visible
from holdfast.settings.errors import SettingsError
from holdfast.settings.schema import GATE_EVENTS, HOOK_EVENTS

__all__ = ["check_hooks"]

_GROUP_FIELDS: Final = frozenset({"matcher", "hooks", "description", "id", "name"})


class Check(Protocol):
    """What one file is checked by."""

    @property
    def is_folder(self) -> bool:
        """A folder brings it."""
        ...

    def fail(self, key: str, node: Node, expected: str) -> SettingsError:
        """What to raise about a value."""
        ...

    def note(self, message: str, node: Node) -> None:
        """Say that something does not count."""
        ...


def check_hooks(check: Check, key: str, node: Node) -> None:
    """Look at the hooks of one file.

    Raises:
        SettingsError: It is no object, or a gate of the user's or the policy's own cannot be read.
    """
    if not isinstance(node, Object):
        raise check.fail(key, node, "an object")
    for event, groups in node.members.items():
        if event not in HOOK_EVENTS:
            shown = visible(repr(event), limit_chars=60)
            meant = _meant(event, HOOK_EVENTS)
            check.note(f"hooks has the event {shown}, which is not known and is skipped{meant}", groups)
            continue
        try:
            _check_groups(check, event, f"{key}.{event}", groups)
        except SettingsError as error:
            if not check.is_folder and event in GATE_EVENTS:
                raise
            # The rest of the file counts. A gate of a folder that cannot be read counts as one that failed.
            check.note(error.reason, Scalar(None, 0, 0, error.line or groups.line))


def _check_groups(check: Check, event: str, key: str, node: Node) -> None:
    if not isinstance(node, Array):
        raise check.fail(key, node, "a list")
    for group in node.items:
        if not isinstance(group, Object):
            raise check.fail(key, group, "a list of objects")
        for name, value in group.members.items():
            if name not in _GROUP_FIELDS:
                shown = visible(repr(name), limit_chars=60)
                meant = _meant(name, _GROUP_FIELDS)
                check.note(f"{key} has {shown} beside its hooks, which is unknown and ignored{meant}", value)
        if (matcher := group.members.get("matcher")) is not None:
            _check_matcher(check, event, f"{key}.matcher", matcher)
        handlers = group.members.get("hooks")
        if not isinstance(handlers, Array):
            raise check.fail(f"{key}.hooks", handlers or group, "a list of handlers")
        for handler in handlers.items:
            _check_handler(check, event, f"{key}.hooks", handler)


def _check_matcher(check: Check, event: str, key: str, node: Node) -> None:
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise check.fail(key, node, "a text")
    text = node.value.strip()
    if text in ("", "*") or check.is_folder or event not in GATE_EVENTS:
        return  # what else is wrong with it is told when the hooks are made
    from holdfast.lib.javascript_regex import compile_javascript  # noqa: PLC0415 - few settings have gates

    try:
        compile_javascript(text)
    except ValueError as error:
        raise check.fail(key, node, f"a list of names or a JavaScript pattern ({error})") from error


def _check_handler(check: Check, event: str, key: str, node: Node) -> None:
    if not isinstance(node, Object):
        raise check.fail(key, node, "a list of objects")
    if check.is_folder or event not in GATE_EVENTS:
        return  # as above
    kind = node.members.get("type")
    if not (isinstance(kind, Scalar) and isinstance(kind.value, str)):
        raise check.fail(f"{key}.type", kind or node, 'a text, such as "command"')
    command = node.members.get("command")
    if kind.value == "command" and not (
        isinstance(command, Scalar) and isinstance(command.value, str) and command.value.strip()
    ):
        raise check.fail(f"{key}.command", command or node, "a command")


def _meant(name: str, known: frozenset[str]) -> str:
    near = nearest_name(name, sorted(known))
    return "" if near is None else f" (did you mean {near}?)"
