"""Keys that were meant to be another key: misspelt, in other capitals, with dots, or at the wrong place.

A key that is not known is kept and ignored, because others read the same files. One that is nearly a known key is a
mistake: where it would hide a rule or a gate it stops the start, elsewhere it is told.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from holdfast.lib.positions import Node, Object
from holdfast.lib.spelling import nearest_name
from holdfast.lib.visible import visible

__all__ = ["Misspelt", "misspelt_keys"]

# Sections whose keys are all ours to know, so that an unknown one is told in any case.
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "permissions": (
        "allow",
        "ask",
        "deny",
        "additionalDirectories",
        "defaultMode",
        "disableBypassPermissionsMode",
        "disableAutoMode",
    ),
    "sandbox": (
        "enabled",
        "failIfUnavailable",
        "autoAllowBashIfSandboxed",
        "excludedCommands",
        "allowUnsandboxedCommands",
        "enableWeakerLandlockSandbox",
        "enableWeakerNestedSandbox",
        "ignoreViolations",
        "bwrapPath",
        "caches",
        "alsoConfine",
        "filesystem",
        "network",
    ),
    "sandbox.filesystem": ("allowWrite", "denyWrite", "denyRead", "allowRead"),
    "sandbox.network": (
        "allowedDomains",
        "deniedDomains",
        "allowUnixSockets",
        "allowAllUnixSockets",
        "allowLocalBinding",
        "httpProxyPort",
        "socksProxyPort",
    ),
}
_LOOSENS: Final = frozenset(
    {
        "permissions.allow",
        "permissions.additionalDirectories",
        "sandbox.autoAllowBashIfSandboxed",
        "sandbox.excludedCommands",
        "sandbox.filesystem.allowWrite",
        "sandbox.filesystem.allowRead",
        "sandbox.network.allowedDomains",
        "sandbox.network.allowUnixSockets",
        "sandbox.network.allowAllUnixSockets",
        "sandbox.enableWeakerLandlockSandbox",
        "sandbox.enableWeakerNestedSandbox",
        "sandbox.ignoreViolations",
        "sandbox.bwrapPath",
        "sandbox.caches",
        "sandbox.network.allowLocalBinding",
        "sandbox.network.httpProxyPort",
        "sandbox.network.socksProxyPort",
    }
)
_GATES: Final = frozenset(
    {
        "permissions",
        "sandbox",
        "hooks",
        "hooks.onGateFailure",
        "env.scrub",
        "disabledMcpjsonServers",
        "allowManagedHooksOnly",
        "allowManagedPermissionRulesOnly",
        *(f"{section}.{name}" for section, names in SECTIONS.items() for name in names),
    }
) - {*_LOOSENS, "permissions.defaultMode"}


class Misspelt(msgspec.Struct, frozen=True):
    """A key that does not count."""

    key: str
    node: Node
    meant: str | None
    """The known key, dotted; none when nothing is like it."""
    hides_a_gate: bool

    @property
    def text(self) -> str:
        """What is wrong, and what to write."""
        name = visible(repr(self.key), limit_chars=80)
        if self.meant is None:
            return f"the key {name} is not known here and is ignored"
        section, _, inner = self.meant.rpartition(".")
        written = f'"{inner}" inside "{section}"' if section in SECTIONS else f'"{self.meant}"'
        return f"the key {name} is ignored (did you mean {written}?)"


def misspelt_keys(root: Object, known: Sequence[str]) -> Iterator[Misspelt]:
    """Yield what looks like a mistake among the keys of a normalised file; `known` are those of the top level."""
    yield from _top_level(root, known)
    for section, names in SECTIONS.items():
        for place in _sections(root, section):
            for key, node in _members(place):
                if key not in names:
                    near = nearest_name(key, names)
                    meant = None if near is None else f"{section}.{near}"
                    yield Misspelt(f"{section}.{key}", node, meant, meant in _GATES)


def _top_level(root: Object, known: Sequence[str]) -> Iterator[Misspelt]:
    inner = {name: f"{section}.{name}" for section in ("permissions", "sandbox") for name in SECTIONS[section]}
    dotted = {f"{section}.{name}" for section, names in SECTIONS.items() for name in names}
    own = [name for name in known if "." not in name]
    sections = {name.partition(".")[0] for name in known}
    for key, node in _members(root):
        if key in known or key in sections:
            continue
        meant = next((name for name in (*known, *sorted(dotted)) if name.lower() == key.lower()), None)
        meant = meant or inner.get(key)
        if meant is None:
            meant = nearest_name(key, [*known, *sorted(dotted)] if "." in key else own)
        if meant is not None:
            yield Misspelt(key, node, meant, meant in _GATES)


def _sections(root: Object, section: str) -> list[Object]:
    found = [root]
    for name in section.split("."):
        found = [node for place in found for key, node in _members(place) if key == name and isinstance(node, Object)]
    return found


def _members(place: Object) -> list[tuple[str, Node]]:
    """Every key with its value, repeated ones included."""
    return [*place.shadowed, *place.members.items()]
