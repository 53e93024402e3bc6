"""Permission updates as hosts write them (`updatedPermissions`), and which of them can count at all."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, cast

from holdfast.contract import DirectoryUpdate, ModeUpdate, PermissionUpdate, RuleUpdate, UsageError
from holdfast.permissions.rules.grammar import Rule

__all__ = ["DESTINATIONS", "read_updates"]

Behavior = Literal["allow", "ask", "deny"]
Refuse = Callable[[str], None]
_RULES = ("addRules", "replaceRules", "removeRules")
DESTINATIONS = ("session", "localSettings", "projectSettings", "userSettings", "cliArg")
_DIRECTORIES = ("addDirectories", "removeDirectories")


def read_updates(given: Any, refuse: Refuse) -> Iterator[PermissionUpdate]:
    """The updates that can count; `refuse` is told, in words, about each that cannot."""
    if given is None:
        return
    if not isinstance(given, list):
        refuse(f"permission updates are a list, got {given!r}")
        return
    for item in cast("list[Any]", given):
        update = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        kind, destination = update.get("type"), update.get("destination")
        destination = "session" if destination is None else destination
        if destination not in DESTINATIONS:
            refuse(f"{destination!r} is not a destination; known are {', '.join(DESTINATIONS)}")
            continue
        if kind in _RULES:
            yield from _rule_update(kind, update, refuse)
        elif kind == "setMode":
            yield from _mode_update(update, destination, refuse)
        elif kind in _DIRECTORIES:
            yield from _directory_update(kind, update, destination, refuse)
        else:
            refuse(f"{kind!r} is not a kind of permission update")


def _rule_update(kind: str, update: dict[str, Any], refuse: Refuse) -> Iterator[RuleUpdate]:
    behavior, given = update.get("behavior"), update.get("rules")
    if behavior not in ("allow", "ask", "deny") or not isinstance(given, list):
        refuse(f"{kind} needs a list of rules and the behavior allow, ask or deny, got {behavior!r}")
        return
    if kind == "removeRules" and behavior != "allow":
        refuse(f"rules that {behavior} are never taken away")
        return
    rules = tuple(_rules(cast("list[Any]", given), behavior, refuse))
    replaces = kind == "replaceRules" and behavior == "allow"  # a host takes no refusal away
    if rules or replaces:
        destination = str(update.get("destination") or "session")
        yield RuleUpdate(behavior, rules, destination, replaces, kind == "removeRules")


def _rules(given: list[Any], behavior: Behavior, refuse: Refuse) -> Iterator[str]:
    for item in given:
        rule = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        name, content = str(rule.get("toolName") or ""), rule.get("ruleContent")
        text = name if content is None else f"{name}({content})"
        try:
            Rule.parse(behavior, text)
        except UsageError as error:
            refuse(str(error))
        else:
            yield text


def _mode_update(update: dict[str, Any], destination: str, refuse: Refuse) -> Iterator[ModeUpdate]:
    mode = update.get("mode")
    if isinstance(mode, str):
        yield ModeUpdate(mode, destination)
    else:
        refuse(f"setMode needs a mode, got {mode!r}")


def _directory_update(kind: str, update: dict[str, Any], destination: str, refuse: Refuse) -> Iterator[DirectoryUpdate]:
    given = update.get("directories")
    directories = cast("list[Any]", given) if isinstance(given, list) else []
    if directories and all(isinstance(directory, str) for directory in directories):
        yield DirectoryUpdate(tuple(directories), kind == "removeDirectories", destination)
    else:
        refuse(f"{kind} needs a list of directories, got {given!r}")
