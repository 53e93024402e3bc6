"""The keys we know, with their types. A known key of a wrong type stops the start; an unknown key is kept and ignored.

`null` means that the key is absent. What is nearly a known key is told, or stops the start (`spelling.py`).

One entry of a list that is not text disables only itself, loudly. Anything else that is wrong could hide a rule or a
gate, so it is an error that names file, line, key and the expected type.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from holdfast.contract.names import MODE_ALIASES, MODES, as_mode
from holdfast.lib.positions import Array, Node, Object, Scalar
from holdfast.lib.spelling import nearest_name
from holdfast.lib.visible import visible
from holdfast.settings.errors import SettingsError
from holdfast.settings.spelling import misspelt_keys

_MAX_ENTRIES = 5_000
_MAX_COUNT = 100_000
BEHAVIORS = ("allow", "ask", "deny")

# Settings with a dot in their name. They are accepted in both spellings, {"tools": {"taskList": …}} and
# {"tools.taskList": …}, and kept under the dotted name, because `env` and `hooks` are otherwise maps of the user's own
# names.
DOTTED = (
    "tools.siblingErrors",
    "tools.taskList",
    "hooks.onGateFailure",
    "hooks.allowPrivateAddresses",
    "env.scrub",
    "shell.functions",
    "classifier.model",
)

GATE_EVENTS = ("PreToolUse", "PermissionRequest")
# fmt: off
HOOK_EVENTS = frozenset({
    "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionDenied",
    "UserPromptSubmit", "UserPromptExpansion", "MessageDisplay", "Notification", "SessionStart", "SessionEnd",
    "Setup", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "TaskCreated", "TaskCompleted",
    "TeammateIdle", "PreCompact", "PostCompact", "InstructionsLoaded", "ConfigChange", "CwdChanged",
    "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult",
    "PreModelSwitch", "PostModelSwitch",
})
# fmt: on


class Flaw(msgspec.Struct, frozen=True):
    """Something in one file that does not count, and why."""

    message: str
    line: int


class _Check(msgspec.Struct):
    path: str | None
    flaws: list[Flaw]
    is_folder: bool = False
    """A folder brings it: one broken hook does not stop the start."""
    strict: bool = False
    """What a program or a command line says must make sense as a whole; nobody maintains it as a file."""

    def fail(self, key: str, node: Node, expected: str) -> SettingsError:
        return SettingsError(
            f"{visible(key, limit_chars=80)} must be {expected}, not {describe(node)}",
            path=self.path,
            line=node.line or None,
            advice="Correct the value or remove the key.",
        )

    def note(self, message: str, node: Node) -> None:
        self.flaws.append(Flaw(message, node.line))


_Rule: TypeAlias = Callable[[_Check, str, Node], None]


def describe(node: Node) -> str:
    """Name the type of a value the way JSON does."""
    if isinstance(node, Object):
        return "an object"
    if isinstance(node, Array):
        return "a list"
    assert isinstance(node, Scalar)
    if node.value is None:
        return "null"
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    return (
        "a number" if isinstance(node.value, int | float) else f"the text {visible(repr(node.value), limit_chars=60)}"
    )


def _string(check: _Check, key: str, node: Node) -> None:
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise check.fail(key, node, "a text")


def _boolean(check: _Check, key: str, node: Node) -> None:
    if not (isinstance(node, Scalar) and isinstance(node.value, bool)):
        raise check.fail(key, node, "true or false")


def _port(check: _Check, key: str, node: Node) -> None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise check.fail(key, node, "a port number from 0 to 65535")


def _count(check: _Check, key: str, node: Node) -> None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_COUNT:
        raise check.fail(key, node, f"a whole number from 1 to {_MAX_COUNT:,}")


def _strings(check: _Check, key: str, node: Node) -> None:
    if not isinstance(node, Array):
        raise check.fail(key, node, "a list of strings")
    if len(node.items) > _MAX_ENTRIES:  # none may be left out, and many more would hold up every start
        raise SettingsError(
            f"{key} has {len(node.items):,} entries; at most {_MAX_ENTRIES:,} are read",
            path=check.path,
            line=node.line or None,
            advice="Say more with fewer: a pattern covers many files.",
        )
    for item in node.items:
        if not (isinstance(item, Scalar) and isinstance(item.value, str)):
            check.note(f"an entry of {key} is {describe(item)}, not a string, and is ignored", item)


def _string_or_strings(check: _Check, key: str, node: Node) -> None:
    if isinstance(node, Array):
        _strings(check, key, node)
    elif not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise check.fail(key, node, "a string or a list of strings")


def _object(check: _Check, key: str, node: Node) -> None:
    if not isinstance(node, Object):
        raise check.fail(key, node, "an object")


def _flag_or_object(check: _Check, key: str, node: Node) -> None:
    if not (isinstance(node, Object) or (isinstance(node, Scalar) and isinstance(node.value, bool))):
        raise check.fail(key, node, "true, false or an object")


def _mode(check: _Check, key: str, node: Node) -> None:
    """A mode of another program, or of a later version, is no reason not to start: without it every change is asked."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and not check.strict:
        if as_mode(node.value) is None:
            near = nearest_name(node.value, MODES)
            meant = "" if near is None else f" (did you mean {near}?)"
            check.note(f"{key} is {describe(node)}, which is not a mode{meant}; the mode is default", node)
        return
    _one_of(*MODES, *MODE_ALIASES)(check, key, node)


def _text_or_object(check: _Check, key: str, node: Node) -> None:
    if isinstance(node, Object):
        return
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise check.fail(key, node, "a string or an object")


def _one_of(*choices: str) -> _Rule:
    def rule(check: _Check, key: str, node: Node) -> None:
        if not (isinstance(node, Scalar) and node.value in choices):
            raise check.fail(key, node, "one of " + ", ".join(f'"{choice}"' for choice in choices))

    return rule


def _fields(**rules: _Rule) -> _Rule:
    def rule(check: _Check, key: str, node: Node) -> None:
        if not isinstance(node, Object):
            raise check.fail(key, node, "an object")
        for name, inner in rules.items():
            for found in every(node, name):
                inner(check, f"{key}.{name}", found)

    return rule


def every(node: Object, name: str) -> list[Node]:
    """Return all values of a key, repeated ones included: a repeated key must not be a way around a check."""
    found = [earlier for key, earlier in node.shadowed if key == name]
    return [*found, node.members[name]] if name in node.members else found


def _env(check: _Check, key: str, node: Node) -> None:
    if not isinstance(node, Object):
        raise check.fail(key, node, "an object")
    for name, value in node.members.items():
        if not isinstance(value, Scalar) or value.value is None:
            raise check.fail(f"{key}.{name}", value, "a text")
        if not name or "=" in name or "\0" in name or "\0" in str(value.value):
            check.note(f"the environment variable {visible(repr(name), limit_chars=60)} cannot be set", value)


def _hooks(check: _Check, key: str, node: Node) -> None:
    from holdfast.settings.hook_schema import check_hooks  # noqa: PLC0415 - most files have none

    check_hooks(check, key, node)


_SANDBOX = _fields(
    enabled=_boolean,
    failIfUnavailable=_boolean,
    autoAllowBashIfSandboxed=_boolean,
    excludedCommands=_strings,
    allowUnsandboxedCommands=_boolean,
    enableWeakerNestedSandbox=_boolean,
    enableWeakerLandlockSandbox=_boolean,
    ignoreViolations=_object,
    bwrapPath=_string,
    caches=_strings,
    alsoConfine=_strings,
    filesystem=_fields(allowWrite=_strings, denyWrite=_strings, denyRead=_strings, allowRead=_strings),
    network=_fields(
        allowedDomains=_strings,
        deniedDomains=_strings,
        allowUnixSockets=_strings,
        allowAllUnixSockets=_boolean,
        allowLocalBinding=_boolean,
        httpProxyPort=_port,
        socksProxyPort=_port,
    ),
)

_WEB = _fields(search=_text_or_object, model=_string, robots=_boolean, proxy=_string)

KNOWN: dict[str, _Rule] = {
    "permissions": _fields(
        allow=_strings,
        ask=_strings,
        deny=_strings,
        additionalDirectories=_strings,
        defaultMode=_mode,
        disableBypassPermissionsMode=_one_of("disable"),
        disableAutoMode=_one_of("disable"),
    ),
    "hooks": _hooks,
    "env": _env,
    "disableAllHooks": _boolean,
    "allowManagedHooksOnly": _boolean,
    "allowManagedPermissionRulesOnly": _boolean,
    "enabledPlugins": _object,
    "enabledMcpjsonServers": _strings,
    "disabledMcpjsonServers": _strings,
    "enableAllProjectMcpServers": _boolean,
    "sandbox": _SANDBOX,
    "model": _string,
    "fallbackModel": _string_or_strings,
    "availableModels": _strings,
    "modelOptions": _object,
    "telemetry": _flag_or_object,
    "tools.siblingErrors": _one_of("cancel-dependents", "cancel-all", "independent"),
    "tools.taskList": _one_of("tasks", "todo"),
    "hooks.onGateFailure": _one_of("ask", "deny", "ignore"),
    "hooks.allowPrivateAddresses": _boolean,
    "env.scrub": _one_of("credentials", "allowlist", "none"),
    "shell.functions": _boolean,
    "classifier.model": _string,
    "web": _WEB,
    "globLimits": _fields(maxResults=_count),
    "agents": _fields(maxRunning=_count, maxDepth=_count),
    "tasks": _fields(maxRunning=_count),
    "transcripts": _fields(mirror=_boolean),
}
_SCRUB_WORDS = ("credentials", "allowlist", "none")


def normalised(root: Object) -> Object:
    """Return the root without nulls, with the dotted settings under their dotted names, wherever they were written."""
    root = without_nulls(root)
    members = dict(root.members)
    for key in DOTTED:
        section, name = key.split(".")
        parent = members.get(section)
        if not isinstance(parent, Object) or name not in parent.members:
            continue
        inner = parent.members[name]
        if key == "env.scrub" and not (isinstance(inner, Scalar) and inner.value in _SCRUB_WORDS):
            continue  # a variable that happens to be called scrub
        members[section] = _without(parent, name)
        members.setdefault(key, inner)
    other = root.only(members)
    other.shadowed = root.shadowed
    return other


def without_nulls(node: Object) -> Object:
    """Return the object without the keys whose value is null, at any depth: they are absent."""
    members = {key: _cleared(inner) for key, inner in node.members.items() if not _is_null(inner)}
    other = node.only(members)
    other.shadowed = [(key, _cleared(inner)) for key, inner in node.shadowed if not _is_null(inner)]
    return other


def _cleared(node: Node) -> Node:
    if isinstance(node, Object):
        return without_nulls(node)
    if isinstance(node, Array) and any(isinstance(item, Object) for item in node.items):
        return Array([_cleared(item) for item in node.items], node.start, node.end, node.line)
    return node


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _without(parent: Object, name: str) -> Object:
    other = parent.only({key: node for key, node in parent.members.items() if key != name})
    other.shadowed = parent.shadowed
    return other


def check(root: Object, *, path: str | None, strict: bool = False, is_folder: bool = False) -> list[Flaw]:
    """Check all known keys of a normalised file; return what does not count.

    Args:
        root: The source.
        path: How errors name it.
        strict: It is no file that others wrote, so an unknown mode is an error, too.
        is_folder: A folder brings it, so a broken hook is noted and does not stop the start.

    Raises:
        SettingsError: A known key has a wrong type or value, or a misspelt one would hide a rule or a gate.
    """
    checker = _Check(path, [], is_folder, strict)
    for key, rule in KNOWN.items():
        for node in every(root, key):
            rule(checker, key, node)
    for found in misspelt_keys(root, tuple(KNOWN)):
        if found.hides_a_gate:
            advice = "What stands there would not hold, so nothing is started: correct the key or remove it."
            raise SettingsError(found.text, path=path, line=found.node.line or None, advice=advice)
        checker.note(found.text, found.node)
    _note_repeated(checker, root, "")
    return checker.flaws


def _note_repeated(checker: _Check, node: Node, where: str) -> None:
    if isinstance(node, Object):
        for key, earlier in node.shadowed:
            name = visible(f"{where}{key}", limit_chars=80)
            checker.note(f"{name} is written twice; only the last one is used (deny and ask rules of all do)", earlier)
        for key, inner in node.members.items():
            _note_repeated(checker, inner, f"{where}{key}.")
    elif isinstance(node, Array):
        for inner in node.items:
            if not isinstance(inner, Scalar):
                _note_repeated(checker, inner, where)
