"""What a user's answer may change about the rights of a session besides its rules, and how hosts write it.

What is doubtful is refused.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, cast

from holdfast.contract import DirectoryUpdate, ModeUpdate, PermissionUpdate, RuleUpdate, UsageError
from holdfast.contract.names import MODES, as_mode
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import is_inside
from holdfast.permissions.protected import is_secret, protected_by
from holdfast.permissions.rules.grammar import Rule
from holdfast.settings.layout import is_above_home

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


_SYSTEM: Final = re.compile(
    r"/(?:etc|usr|bin|sbin|lib[^/]*|boot|run|root|var(?!/tmp/)|System|Library|Windows)(?:/|\Z)|/(?:home|Users)/"
)


class Updated(NamedTuple):
    """The context to go on with, and what did not count."""

    context: PermissionContext
    refused: tuple[str, ...] = ()
    counted: ModeUpdate | DirectoryUpdate | None = None
    """What of the update counts, to be kept where it says."""


def update_rights(
    context: PermissionContext, update: ModeUpdate | DirectoryUpdate, *, may_bypass: bool = False
) -> Updated:
    """Apply an update of an answer as far as it may count.

    No rule is touched, so whatever a rule denies or asks about stays denied and asked about.

    Args:
        context: The rights as they are.
        update: What the answer wants.
        may_bypass: The user made the mode `bypassPermissions` available when the session began.
    """
    if isinstance(update, ModeUpdate):
        try:
            return Updated(change_mode(context, update.mode, may_bypass=may_bypass), counted=update)
        except UsageError as error:
            return Updated(context, (str(error),))
    if update.removes:
        changed = _without(context, update.directories)
        is_kept = update.destination not in ("session", "cliArg")  # then it may be in the file although not here
        return changed._replace(counted=update, refused=() if is_kept else changed.refused)
    changed = _with(context, update.directories)
    said = set(changed.refused)
    good = tuple(one for one in update.directories if not any(repr(one) in reason for reason in said))
    return changed._replace(counted=update._replace(directories=good) if good else None)


def change_mode(context: PermissionContext, mode: str, *, may_bypass: bool) -> PermissionContext:
    """The same rights in another mode.

    Raises:
        UsageError: There is no such mode, the settings forbid it, or it lifts every question and the user did not
            begin the session with it.
    """
    if as_mode(mode) is None:
        raise UsageError(f"there is no permission mode {mode!r}; use one of {', '.join(MODES)}")
    changed = context.with_mode(mode)
    if changed.effective_mode != changed.mode:
        raise UsageError(f"the settings forbid the permission mode {mode!r}")
    if changed.mode == "bypassPermissions" and not may_bypass:
        raise UsageError(
            f"the permission mode {mode!r} is entered only where the session began with it; start with "
            "--dangerously-skip-permissions, or set it in the user settings"
        )
    return changed


def _with(context: PermissionContext, directories: Iterable[str]) -> Updated:
    added = dict.fromkeys(context.added_directories)
    refused: list[str] = []
    for directory in directories:
        found = context.disk.look(directory, "/", home=context.home)
        reason = why_not_inside(directory, found.names, context) or found.refusal
        if not reason and not found.is_dir:
            reason = "it is not a directory"
        if reason:
            refused.append(f"the directory {directory!r} is not added: {reason}")
        else:
            added[tuple(dict.fromkeys((found.given, found.target)))] = None
    if len(added) == len(context.added_directories):
        return Updated(context, tuple(refused))
    return Updated(context.with_options(added_directories=tuple(added)), tuple(refused))


def why_not_inside(directory: str, names: tuple[str, ...], context: PermissionContext) -> str:
    """Why a directory is never taken for one to work in; empty when it may be."""
    if not directory.startswith("/"):
        return "give its whole path, from the root"
    home = context.disk.real(context.home)
    if any(is_above_home(name.casefold(), place.casefold()) for name in names for place in (home, context.home)):
        return "everything of this user would be inside"
    if protected_by(names) is not None or any(is_inside(name, context.roots.governing) for name in names):
        return "what governs the agent or its tools lies there"
    if any(_SYSTEM.match(name) and not is_inside(name, (home, context.home)) for name in names):
        return "the system or somebody else lives there"
    return "it holds secrets" if is_secret(f"{name}/any" for name in names) else ""


def _without(context: PermissionContext, directories: Iterable[str]) -> Updated:
    kept = list(context.added_directories)
    refused: list[str] = []
    for directory in directories:
        forms = {directory.rstrip("/"), *context.forms_of(directory)} if directory.startswith("/") else {directory}
        left = [known for known in kept if forms.isdisjoint(known)]
        if len(left) == len(kept):
            refused.append(f"the directory {directory!r} is not taken away: no answer has added it")
        kept = left
    if len(kept) == len(context.added_directories):
        return Updated(context, tuple(refused))
    return Updated(context.with_options(added_directories=tuple(kept)), tuple(refused))
