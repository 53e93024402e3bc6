"""What a folder's own settings may do, before and after the user trusts the folder.

A folder's files (`project` and `local`) may come from anybody. What counts, by law L7 and incidents 32-37 of the study:

- Always: deny and ask rules, `disable…Mode`, `disabledMcpjsonServers`, sandbox tightening, `hooks.onGateFailure: deny`,
  `env.scrub: allowlist`.
- Before trust also the allow rules that the user saved there by an "always": their hashes are in the user's own state.
- After trust: allow rules, additional directories, model choice, display and tool settings.
- After trust, once this very content is approved: hooks, enabled plugins, sandbox loosening by lists or by auto-allow,
  environment variables, which then reach child processes only.
- The permission mode, after trust: the project may choose one at least as strict as the user's own; the local file also
  `acceptEdits` and `auto`, once approved.
- Never: bypass, environment for ourselves, endpoints, certificates, binaries, proxies, telemetry,
  `enabledMcpjsonServers` (approval by name), switching the sandbox off, keys we do not know.

A folder that only switches the sandbox on does not thereby get its auto-allow: that would turn questions into
permissions. `disableAllHooks` of a folder switches off the folder's hooks, not the user's gates.
"""

import os
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from holdfast.contract.names import BY_STRICTNESS, PermissionMode, as_mode
from holdfast.lib.positions import Array, Node, Object, Scalar
from holdfast.settings.documents import Document
from holdfast.settings.hook_items import hook_hash, item_hash, note_if_not_pinned
from holdfast.settings.layout import reaches_above
from holdfast.settings.merge import canonical, freeze
from holdfast.settings.schema import GATE_EVENTS, HOOK_EVENTS
from holdfast.settings.sources import SourceKind
from holdfast.settings.steering import is_steering_variable

Needs: TypeAlias = Literal["nothing", "trust", "approval", "refused"]


class TrustView(msgspec.Struct, frozen=True):
    """What the user has said about a folder."""

    trusted: bool = False
    approved: frozenset[str] = frozenset()
    """Hashes of the items that may act."""
    kept: frozenset[str] = frozenset()
    """Hashes of the allow rules that the user saved here (`kept_rule_hash`); they count before trust, too."""


UNTRUSTED = TrustView()


class FolderItem(msgspec.Struct, frozen=True):
    """One thing that a folder brings along."""

    kind: str
    """What it is, in a word or two: `allow rule`, `hook`, `environment variable`, …"""
    text: str
    """The thing itself, as written. Not safe to display; `trust_question` escapes it."""
    path: str
    line: int
    needs: Needs
    hash: str
    """Identity of the content of an item that needs approval: another content is another item."""
    counts: bool = False
    """Whether it is in force now."""


class FolderView(msgspec.Struct, frozen=True):
    """The part of a folder's settings that counts, and everything it brings."""

    root: Object
    items: tuple[FolderItem, ...]
    disables_hooks: bool = False
    unapproved_gates: tuple[tuple[str, str | None, Node], ...] = ()


def project_view(document: Document, trust: TrustView, *, user_mode: PermissionMode = "default") -> FolderView:
    """Cut a folder's settings down to what may count.

    Args:
        document: A document of the project or local kind.
        trust: What the user said about the folder that brings it.
        user_mode: The mode that holds without the folder; a project may only choose a stricter one.
    """
    gate = _Gate(document, trust, user_mode)
    members: dict[str, Node] = {}
    for key, node in document.root.members.items():
        kept = _HANDLERS.get(key, _never)(gate, key, node)
        if kept is not None:
            members[key] = kept
    switch = document.root.members.get("disableAllHooks")
    off = isinstance(switch, Scalar) and switch.value is True
    return FolderView(document.root.only(members), tuple(gate.items), off, tuple(gate.gates))


class _Gate:
    """Decides item by item and remembers what was offered."""

    def __init__(self, document: Document, trust: TrustView, user_mode: PermissionMode) -> None:
        self.path = document.path or ""
        self.folder = document.folder
        self.local = document.kind is SourceKind.LOCAL
        self.trust = trust
        self.user_mode = user_mode
        self.items: list[FolderItem] = []
        self.gates: list[tuple[str, str | None, Node]] = []

    def offer(self, kind: str, text: str, node: Node, *, needs: Needs, identity: str = "") -> bool:
        """Record an item and say whether it counts."""
        # Only what is approved one by one needs an identity; thousands of rules must not cost thousands of hashes.
        if needs == "approval":
            identity = identity or item_hash(kind, text)
        counts = {
            "nothing": True,
            "trust": self.trust.trusted,
            "approval": self.trust.trusted and identity in self.trust.approved,
            "refused": False,
        }[needs]
        self.items.append(FolderItem(kind, text, self.path, node.line, needs, identity, counts))
        return counts


_Handler: TypeAlias = Callable[[_Gate, str, Node], Node | None]


def _shown(node: Node) -> str:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node.value
    return canonical(node.plain()).decode()


def _never(gate: _Gate, key: str, node: Node) -> None:
    gate.offer("setting", f"{key} = {_shown(node)}", node, needs="refused")


def _always(gate: _Gate, key: str, node: Node) -> Node:
    gate.offer("setting", f"{key} = {_shown(node)}", node, needs="nothing")
    return node


def _if_trusted(gate: _Gate, key: str, node: Node) -> Node | None:
    return node if gate.offer("setting", f"{key} = {_shown(node)}", node, needs="trust") else None


def _only(value: str) -> _Handler:
    """Keep a setting only in the position that makes things stricter."""

    def handler(gate: _Gate, key: str, node: Node) -> Node | None:
        stricter = isinstance(node, Scalar) and node.value == value
        return _always(gate, key, node) if stricter else _never(gate, key, node)

    return handler


def _each(kind: str, needs: Needs) -> _Handler:
    """Offer the entries of a list one by one."""

    def handler(gate: _Gate, key: str, node: Node) -> Node | None:
        del key
        if not isinstance(node, Array):
            return None
        kept = [item for item in node.items if gate.offer(kind, _shown(item), item, needs=needs)]
        return Array(kept, node.start, node.end, node.line) if kept else None

    return handler


def _directories(gate: _Gate, key: str, node: Node) -> Node | None:
    """Offer directories; a folder never brings `/`, the home directory or what lies above itself, trusted or not."""
    del key
    if not isinstance(node, Array):
        return None
    kept = [
        item
        for item in node.items
        if gate.offer(
            "additional directory",
            _shown(item),
            item,
            needs="refused" if reaches_above(_shown(item), gate.folder) else "trust",
        )
    ]
    return Array(kept, node.start, node.end, node.line) if kept else None


def kept_rule_hash(rule: str, path: str) -> str:
    """Return what is remembered of an allow rule that the user saved: its text and the file it stands in."""
    return item_hash("kept rule", rule, os.fsencode(path).hex())


def _allow(gate: _Gate, key: str, node: Node) -> Node | None:
    """Offer allow rules: they wait for trust, but for those that this user saved in this file of this folder."""
    if gate.trust.trusted or not gate.trust.kept or not isinstance(node, Array):
        return _each("allow rule", "trust")(gate, key, node)
    kept = [item for item in node.items if gate.offer("allow rule", _shown(item), item, needs=_needs(gate, item))]
    return Array(kept, node.start, node.end, node.line) if kept else None


def _needs(gate: _Gate, rule: Node) -> Needs:
    return "nothing" if kept_rule_hash(_shown(rule), gate.path) in gate.trust.kept else "trust"


def _object_of(handlers: dict[str, _Handler]) -> _Handler:
    def handler(gate: _Gate, key: str, node: Node) -> Node | None:
        if not isinstance(node, Object):
            return None
        kept: dict[str, Node] = {}
        for name, inner in node.members.items():
            result = handlers.get(name, _never)(gate, f"{key}.{name}", inner)
            if result is not None:
                kept[name] = result
        return node.only(kept) if kept else None

    return handler


def _mode(gate: _Gate, key: str, node: Node) -> Node | None:
    del key
    mode = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    needs: Needs
    known = as_mode(mode) or BY_STRICTNESS[-1]
    if BY_STRICTNESS.index(known) <= BY_STRICTNESS.index(gate.user_mode):
        needs = "trust"
    else:
        needs = "approval" if gate.local and known in {"default", "acceptEdits", "auto"} else "refused"
    return node if gate.offer("permission mode", mode, node, needs=needs) else None


def _hooks(gate: _Gate, key: str, node: Node) -> Node | None:
    del key
    if not isinstance(node, Object):
        return None
    events: dict[str, Node] = {}
    for event, groups in node.members.items():
        if event not in HOOK_EVENTS or not isinstance(groups, Array):
            continue
        kept = [found for group in groups.items if (found := _hook_group(gate, event, group)) is not None]
        if kept:
            events[event] = Array(kept, groups.start, groups.end, groups.line)
    return node.only(events) if events else None


def _hook_group(gate: _Gate, event: str, group: Node) -> Node | None:
    if not isinstance(group, Object) or not isinstance(handlers := group.members.get("hooks"), Array):
        return None
    matcher = group.members.get("matcher")
    pattern = str(matcher.value) if isinstance(matcher, Scalar) else None
    kept: list[Node] = []
    for handler in handlers.items:
        raw = _mapping(handler)
        text = f"{event}({pattern or '*'}): {hook_text(handler)}{note_if_not_pinned(raw, gate.folder)}"
        identity = hook_hash(event, pattern, raw, root=gate.folder)
        if gate.offer("hook", text, handler, needs="approval", identity=identity):
            kept.append(handler)
        elif event in GATE_EVENTS and gate.trust.trusted and gate.trust.approved:
            gate.gates.append((event, pattern, handler))
    if not kept:
        return None
    return group.only({**group.members, "hooks": Array(kept, handlers.start, handlers.end, handlers.line)})


def _mapping(node: Node) -> Mapping[str, object]:
    value = freeze(node.plain())
    return value if isinstance(value, Mapping) else {}


def hook_text(handler: Node) -> str:
    """Say what a hook handler would do: its command, address or prompt, else the whole of it."""
    if isinstance(handler, Object):
        says_more = not {"args", "headers", "allowedEnvVars"}.isdisjoint(handler.members)
        for name in ("command", "url", "prompt"):
            value = handler.members.get(name)
            if isinstance(value, Scalar) and isinstance(value.value, str) and not says_more:
                return value.value
    return _shown(handler)


def _env(gate: _Gate, key: str, node: Node) -> Node | None:
    del key
    if not isinstance(node, Object):
        return None
    kept: dict[str, Node] = {}
    for name, value in node.members.items():
        needs: Needs = "refused" if is_steering_variable(name) else "approval"
        shown = _shown(value)
        if gate.offer("environment variable", f"{name}={shown}", value, needs=needs):
            kept[name] = value
    return node.only(kept) if kept else None


def _plugins(gate: _Gate, key: str, node: Node) -> Node | None:
    del key
    if not isinstance(node, Object):
        return None
    kept: dict[str, Node] = {}
    for name, value in node.members.items():
        off = isinstance(value, Scalar) and value.value is False
        needs: Needs = "nothing" if off else "approval"
        if gate.offer("plugin", f"{name} = {_shown(value)}", value, needs=needs):
            kept[name] = value
    return node.only(kept) if kept else None


def _flag(*, tight: bool, loose: Needs) -> _Handler:
    """Keep a switch in its tight position always, in its loose one when what it needs is there."""

    def handler(gate: _Gate, key: str, node: Node) -> Node | None:
        value = node.value if isinstance(node, Scalar) else None
        needs: Needs = "nothing" if value is tight else loose
        return node if gate.offer("sandbox", f"{key} = {_shown(node)}", node, needs=needs) else None

    return handler


_SANDBOX = _object_of(
    {
        "enabled": _flag(tight=True, loose="refused"),
        "failIfUnavailable": _flag(tight=True, loose="refused"),
        "autoAllowBashIfSandboxed": _flag(tight=False, loose="approval"),
        "allowUnsandboxedCommands": _flag(tight=False, loose="refused"),
        "excludedCommands": _each("command outside the sandbox", "approval"),
        "filesystem": _object_of(
            {
                "denyWrite": _each("sandbox write denial", "nothing"),
                "denyRead": _each("sandbox read denial", "nothing"),
                "allowWrite": _each("sandbox write permission", "approval"),
                "allowRead": _each("sandbox read permission", "approval"),
            }
        ),
        "network": _object_of(
            {
                "deniedDomains": _each("sandbox domain denial", "nothing"),
                "allowedDomains": _each("sandbox domain permission", "approval"),
                "allowUnixSockets": _each("sandbox socket permission", "approval"),
                "allowLocalBinding": _flag(tight=False, loose="approval"),
            }
        ),
    }
)


def _sandbox(gate: _Gate, key: str, node: Node) -> Node | None:
    kept = _SANDBOX(gate, key, node)
    if not (isinstance(node, Object) and isinstance(kept, Object) and "enabled" in kept.members):
        return kept
    if "autoAllowBashIfSandboxed" in node.members:
        implied = False
    else:
        implied = gate.offer("sandbox", f"{key}.autoAllowBashIfSandboxed = true", node, needs="approval")
    if not implied:
        kept.members.setdefault("autoAllowBashIfSandboxed", Scalar(value=False, line=kept.line))
    return kept


def _ignored(gate: _Gate, key: str, node: Node) -> None:
    """Drop a key that means nothing to anybody but an editor."""
    del gate, key, node


def _own_hooks_off(gate: _Gate, key: str, node: Node) -> None:
    gate.offer("setting", f"{key} = {_shown(node)}", node, needs="nothing")  # project_view reads it itself


_HANDLERS: dict[str, _Handler] = {
    "permissions": _object_of(
        {
            "deny": _each("deny rule", "nothing"),
            "ask": _each("ask rule", "nothing"),
            "allow": _allow,
            "additionalDirectories": _directories,
            "defaultMode": _mode,
            "disableBypassPermissionsMode": _always,
            "disableAutoMode": _always,
        }
    ),
    "$schema": _ignored,
    "hooks": _hooks,
    "hooks.onGateFailure": _only("deny"),
    "hooks.allowPrivateAddresses": _never,
    "disableAllHooks": _own_hooks_off,
    "env": _env,
    "env.scrub": _only("allowlist"),
    "shell.functions": _never,
    "classifier.model": _never,
    "disabledMcpjsonServers": _each("disabled MCP server", "nothing"),
    "enabledPlugins": _plugins,
    "sandbox": _sandbox,
    "model": _if_trusted,
    "fallbackModel": _if_trusted,
    "availableModels": _if_trusted,
    "outputStyle": _always,  # a name only: the words that it stands for are not the folder's
    "language": _if_trusted,
    "effortLevel": _if_trusted,
    "respectGitignore": _if_trusted,
    "includeCoAuthoredBy": _if_trusted,
    "attribution": _if_trusted,
    "claudeMdExcludes": _if_trusted,
    **dict.fromkeys(("tools.siblingErrors", "tools.taskList", "globLimits", "agents", "tasks"), _if_trusted),
}
