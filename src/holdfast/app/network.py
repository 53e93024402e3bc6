"""Which hosts commands in the sandbox may reach: the domains of the settings, less what rules deny."""

import ipaddress
from collections.abc import Callable, Iterable
from typing import Final

from holdfast.host.sandbox.proxy import Refused
from holdfast.lib.names import show_name
from holdfast.permissions import PermissionContext
from holdfast.permissions.rules.globs import DomainRule, compile_domain
from holdfast.permissions.web import WebRefusal, address_problem, canonical_host, host_problem
from holdfast.settings.sandbox import SandboxSettings

__all__ = ["DomainBorder", "Turned", "unusable_domains"]

_AT_HOME: Final = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
"""Private networks: a host that the user names exactly may be there."""
_METADATA: Final = ipaddress.ip_address("fd00:ec2::254")
_SHOWN_CHARS: Final = 100
_MAX_TOLD: Final = 20


def unusable_domains(wanted: SandboxSettings) -> list[str]:
    """What is wrong with entries of the settings; they count for nothing."""
    given = (*wanted.allowed_domains, *wanted.denied_domains)
    return [problem for text in given if isinstance(problem := compile_domain(text), str)]


class DomainBorder:
    """Judges hosts by the settings and rights of one command, and tells who was turned away."""

    def __init__(self, wanted: SandboxSettings, rights: PermissionContext, tell: Callable[[str], None]) -> None:
        self._allowed = _compiled(wanted.allowed_domains)
        self._denied = _compiled(wanted.denied_domains)
        self._rights = rights
        self._tell = tell
        self.own_http_port = wanted.http_proxy_port
        self.own_socks_port = wanted.socks_proxy_port

    def admit(self, host: str, port: int) -> str:
        """The host as it is to be looked up; what no entry names is refused.

        Raises:
            Refused: It may not be reached.
        """
        del port
        name = canonical_host(host)
        if isinstance(name, WebRefusal):
            raise self._refused(host, name.reason)
        if any(rule.matches(name) for rule in self._denied):
            raise self._refused(name, "sandbox.network.deniedDomains names it")
        for bound in (self._rights, *self._rights.ancestors()):
            if (rule := bound.book.domain("deny", name)) is not None:
                raise self._refused(name, f"the rule {rule.written or f'WebFetch({rule.content})'} denies it")
        if not any(rule.matches(name) for rule in self._allowed):
            raise self._refused(name, "sandbox.network.allowedDomains does not name it")
        # Where another proxy looks names up, no address comes by that could be checked.
        if not self._is_named(name) and (problem := host_problem(name)):
            raise self._refused(name, f"{problem}, and only an entry for exactly this host could allow that")
        return name

    def check(self, host: str, address: str) -> None:
        """Look at an address that the host has: a name that others control must not lead into this machine.

        Raises:
            Refused: It may not be dialled.
        """
        found = ipaddress.ip_address(address)
        problem = address_problem(found)
        if not problem:
            return
        at_home = found != _METADATA and any(found in place for place in _AT_HOME if place.version == found.version)
        is_itself = host == str(found) or (host == "localhost" and found.is_loopback)
        if not (self._is_named(host) and (at_home or is_itself)):
            raise self._refused(host, f"{problem}, and only an entry for exactly this host could allow that")

    def _is_named(self, host: str) -> bool:
        return any(rule.kind == "exact" and rule.host == host for rule in self._allowed)

    def _refused(self, host: str, why: str) -> Refused:
        shown = show_name(host[:_SHOWN_CHARS])
        self._tell(f"{shown} ({why})")
        return Refused(f"The sandbox keeps this command from {shown}: {why}.")


class Turned:
    """Hosts that commands were kept from since somebody asked."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}

    def note(self, text: str) -> None:
        """Remember one."""
        if len(self._told) < _MAX_TOLD:
            self._told[text] = None

    def take(self) -> list[str]:
        """Those since the last time."""
        found = list(self._told)
        self._told.clear()
        return found


def _compiled(texts: Iterable[str]) -> list[DomainRule]:
    return [rule for text in texts if not isinstance(rule := compile_domain(text), str)]
