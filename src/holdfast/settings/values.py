"""Take the typed values out of the merged sources."""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, cast

import msgspec

from holdfast.contract.names import PermissionMode, as_mode
from holdfast.lib.positions import Array, Node, Object, Scalar
from holdfast.settings.broken_hooks import broken_gates, unapproved_gates
from holdfast.settings.documents import Document
from holdfast.settings.merge import FrozenJson, Layer, Merged, freeze, texts
from holdfast.settings.model import (
    Behavior,
    DirectoryEntry,
    EnvEntry,
    EnvScrub,
    GateFailure,
    HookEntry,
    Origin,
    Problem,
    RuleEntry,
    Settings,
    SiblingErrors,
)
from holdfast.settings.project_view import FolderView
from holdfast.settings.schema import HOOK_EVENTS, every
from holdfast.settings.sources import SourceKind

_EMPTY: Mapping[str, FrozenJson] = MappingProxyType({})
_T = TypeVar("_T")


class Extraction(msgspec.Struct, frozen=True):
    """What the values are taken from: documents as written, layers as judged, and the merge."""

    documents: list[Document]
    layers: list[Layer]
    merged: Merged
    cwd: str
    home: str
    folder_hooks_off: bool
    views: list[FolderView | None]
    """What was cut from a folder's documents; None for the user's own."""


def assemble(given: Extraction, settings: Settings) -> Settings:
    """Fill in all typed values of the settings."""
    get = given.merged.get
    bypass_disabled = _disabled_at(given.documents, "disableBypassPermissionsMode") is not None
    auto_disabled = _disabled_at(given.documents, "disableAutoMode") is not None
    mode, problems = _mode(given)
    return msgspec.structs.replace(
        settings,
        rules=tuple(_rules(given)),
        directories=tuple(_directories(given)),
        default_mode=mode,
        bypass_disabled=bypass_disabled,
        auto_disabled=auto_disabled,
        managed_rules_only=get("allowManagedPermissionRulesOnly") is True,
        hooks=tuple(_hooks(given, trusted=settings.trusted)),
        gate_failure=_typed(get("hooks.onGateFailure"), GateFailure, "ask"),
        env=tuple(_env(given.layers)),
        env_scrub=_typed(get("env.scrub"), EnvScrub, "credentials"),
        sandbox=_mapping(get("sandbox")),
        mcp_enabled=_names(get("enabledMcpjsonServers")),
        mcp_disabled=_names(get("disabledMcpjsonServers")),
        mcp_enable_all=get("enableAllProjectMcpServers") is True,
        plugins=_mapping(get("enabledPlugins")),
        sibling_errors=_typed(get("tools.siblingErrors"), SiblingErrors, "cancel-dependents"),
        task_list="todo" if get("tools.taskList") == "todo" else "tasks",
        shell_functions=get("shell.functions") is True,
        classifier_model=_typed(get("classifier.model"), str, None) or None,
        telemetry=get("telemetry"),
        problems=(*settings.problems, *problems),
    )


def _typed(value: FrozenJson, kind: object, default: _T) -> _T:
    """Return a value that the schema check has already restricted to the type."""
    return default if value is None else cast("_T", msgspec.convert(value, kind))


def _mapping(value: FrozenJson) -> Mapping[str, FrozenJson]:
    return value if isinstance(value, Mapping) else _EMPTY


def _names(value: FrozenJson) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, tuple) else ()


def _permissions(root: Object) -> list[Object]:
    return [node for node in every(root, "permissions") if isinstance(node, Object)]


def _disabled_at(documents: list[Document], key: str) -> Origin | None:
    """Where a mode is switched off: any source may do it, none can switch it on again."""
    for document in documents:
        for permissions in _permissions(document.root):
            for node in every(permissions, key):
                return Origin(document.kind, document.path, node.line or None)
    return None


def _mode(given: Extraction) -> tuple[PermissionMode, list[Problem]]:
    value = given.merged.get("permissions.defaultMode")
    mode = as_mode(value) or "default"
    switch = {"bypassPermissions": "disableBypassPermissionsMode", "auto": "disableAutoMode"}.get(mode)
    off = None if switch is None else _disabled_at(given.documents, switch)
    if off is None:
        return mode, []
    origin = given.merged.origins["permissions", "defaultMode"][-1]
    message = f"the mode {mode} is switched off by {switch} ({off}), so the mode is default"
    return "default", [Problem(message, origin.source, origin.path, origin.line)]


def _rules(given: Extraction) -> Iterator[RuleEntry]:
    """Yield deny and ask rules of every source as written (repeated keys too), allow rules of what counts."""
    managed_only = given.merged.get("allowManagedPermissionRulesOnly") is True
    for document, layer in zip(given.documents, given.layers, strict=True):
        for permissions in _permissions(document.root):
            yield from _entries(document, permissions, "deny")
            yield from _entries(document, permissions, "ask")
        if managed_only and document.kind is not SourceKind.POLICY:
            continue
        if isinstance(permissions := layer.root.members.get("permissions"), Object):
            yield from _entries(document, permissions, "allow")


def _entries(document: Document, permissions: Object, behavior: Behavior) -> Iterator[RuleEntry]:
    nodes = every(permissions, behavior) if behavior != "allow" else [permissions.members.get(behavior)]
    for node in nodes:
        for item in texts(node):
            yield RuleEntry(behavior, str(item.value), document.kind, document.path, item.line or None, document.anchor)


def _directories(given: Extraction) -> Iterator[DirectoryEntry]:
    seen: set[str] = set()
    for document, layer in zip(given.documents, given.layers, strict=True):
        permissions = layer.root.members.get("permissions")
        if not isinstance(permissions, Object):
            continue
        base = document.folder if document.kind is SourceKind.PROJECT else given.cwd
        for item in texts(permissions.members.get("additionalDirectories")):
            text = str(item.value)
            home = text == "~" or text.startswith("~/")
            place = os.path.normpath(given.home + text[1:] if home else os.path.join(base, text))
            if text and place not in seen:
                seen.add(place)
                yield DirectoryEntry(place, text, layer.origin(item))


def _hooks(given: Extraction, *, trusted: bool) -> Iterator[HookEntry]:
    for document, layer, view in zip(given.documents, given.layers, given.views, strict=True):
        hooks = layer.root.members.get("hooks")
        if trusted and layer.kind.is_folder and not _hooks_are_off(given, layer):
            yield from broken_gates(document.root, layer, document.folder)
            yield from unapproved_gates(view, layer, document.folder)
        if not isinstance(hooks, Object) or _hooks_are_off(given, layer):
            continue
        for event, groups in hooks.members.items():
            if event in HOOK_EVENTS and isinstance(groups, Array):
                yield from _handlers(layer, event, groups, folder=document.folder if layer.kind.is_folder else None)


def _hooks_are_off(given: Extraction, layer: Layer) -> bool:
    """Policy switches everything off; the user everything but policy's hooks; a folder only what a folder brings."""
    if layer.kind is SourceKind.POLICY:
        return _switched(given, {SourceKind.POLICY})
    if given.merged.get("allowManagedHooksOnly") is True or _switched(given, None):
        return True
    return layer.kind.is_folder and given.folder_hooks_off


def _switched(given: Extraction, kinds: set[SourceKind] | None) -> bool:
    value: Node | None = None
    for layer in given.layers:
        found = layer.root.members.get("disableAllHooks")
        if found is not None and not layer.kind.is_folder and (kinds is None or layer.kind in kinds):
            value = found
    return isinstance(value, Scalar) and value.value is True


def _handlers(layer: Layer, event: str, groups: Array, *, folder: str | None) -> Iterator[HookEntry]:
    for group in groups.items:
        if not isinstance(group, Object) or not isinstance(handlers := group.members.get("hooks"), Array):
            continue
        matcher = group.members.get("matcher")
        pattern = str(matcher.value) if isinstance(matcher, Scalar) else None
        for handler in handlers.items:
            if isinstance(handler, Object):
                raw = _mapping(freeze(handler.plain()))
                yield HookEntry(event, pattern, raw, layer.origin(handler), folder)


def _env(layers: list[Layer]) -> Iterator[EnvEntry]:
    found: dict[str, EnvEntry] = {}
    for layer in layers:
        env = layer.root.members.get("env")
        for name, node in env.members.items() if isinstance(env, Object) else ():
            if not isinstance(node, Scalar) or not name or "=" in name or "\0" in name + str(node.value):
                continue
            text = ("true" if node.value else "false") if isinstance(node.value, bool) else str(node.value)
            # A folder's value for a variable the user also sets never replaces the user's own.
            if not (layer.kind.is_folder and name in found and not found[name].children_only):
                found[name] = EnvEntry(name, text, layer.origin(node), children_only=layer.kind.is_folder)
    yield from found.values()
