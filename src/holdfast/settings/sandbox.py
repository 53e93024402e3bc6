"""The setting `sandbox`, read into one record."""

import os
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from holdfast.settings.model import FrozenJson, Settings
from holdfast.settings.sources import SourceKind

__all__ = ["SandboxSettings", "sandbox_of"]


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants of the sandbox; every path is absolute."""

    enabled: bool = False
    is_required: bool = False
    """The machine's policy switched it on: nothing runs without it."""
    fail_if_unavailable: bool = False
    auto_allow: bool = True
    allows_outside: bool = True
    """A call may ask to run outside."""
    excluded: tuple[str, ...] = ()
    """Commands that run outside, as patterns of Bash rules."""
    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    all_sockets: bool = False
    http_proxy_port: int = 0
    socks_proxy_port: int = 0
    is_nested: bool = False
    may_be_weak: bool = False
    """Where bubblewrap cannot start, the weaker wall of Landlock alone will do."""
    ignored_violations: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """For commands that hold a text (`*`: for all), paths whose refusal is not worth telling."""
    bwrap_path: str | None = None
    caches: tuple[str, ...] = ()
    """Programs whose caches may be written, such as `npm`."""
    also: frozenset[str] = frozenset()
    """What else of the user's own is confined: `hooks`, `servers`."""


def sandbox_of(settings: Settings) -> SandboxSettings:
    """Read the setting; a key that is not there has its default."""
    given = settings.sandbox
    files, network = _mapping(given.get("filesystem")), _mapping(given.get("network"))
    where = settings.where("sandbox.enabled")
    enabled = given.get("enabled") is True
    return SandboxSettings(
        enabled=enabled,
        is_required=enabled and where is not None and where.source is SourceKind.POLICY,
        fail_if_unavailable=given.get("failIfUnavailable") is True,
        auto_allow=given.get("autoAllowBashIfSandboxed") is not False,
        allows_outside=given.get("allowUnsandboxedCommands") is not False,
        excluded=_texts(given.get("excludedCommands")),
        allow_write=_texts(files.get("allowWrite")),
        deny_write=_texts(files.get("denyWrite")),
        deny_read=_texts(files.get("denyRead")),
        allow_read=_texts(files.get("allowRead")),
        allowed_domains=_texts(network.get("allowedDomains")),
        denied_domains=_texts(network.get("deniedDomains")),
        sockets=tuple(
            os.path.join(settings.cwd, os.path.expanduser(path)) for path in _texts(network.get("allowUnixSockets"))
        ),
        all_sockets=network.get("allowAllUnixSockets") is True,
        http_proxy_port=_number(network.get("httpProxyPort")),
        socks_proxy_port=_number(network.get("socksProxyPort")),
        is_nested=given.get("enableWeakerNestedSandbox") is True,
        may_be_weak=given.get("enableWeakerLandlockSandbox") is True,
        ignored_violations={key: _texts(value) for key, value in _mapping(given.get("ignoreViolations")).items()},
        bwrap_path=_text(given.get("bwrapPath")),
        caches=_texts(given.get("caches")),
        also=frozenset(_texts(given.get("alsoConfine"))),
    )


def _mapping(value: FrozenJson) -> Mapping[str, FrozenJson]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: FrozenJson) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, tuple) else ()


def _text(value: FrozenJson) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: FrozenJson) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
