"""A call as the permission layers see it, and what it would touch once its paths are resolved."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.contract import Effects, RuleSubject
from holdfast.permissions.paths import PathFacts
from holdfast.permissions.rules.path_patterns import search_roads
from holdfast.permissions.web import WebRefusal, WebTarget, check_url

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext

__all__ = ["CallFacts", "Sight", "look", "normalised", "places_of", "with_places"]


class CallFacts(NamedTuple):
    """One normalised call."""

    tool: str
    """The canonical name."""
    names: tuple[str, ...]
    """The canonical name and every alias; a deny or ask rule on any of them holds."""
    input: Mapping[str, Any]
    cwd: str
    read_only: bool
    effects: Effects
    subject: RuleSubject
    session_state: bool = False
    requires_interaction: bool = False
    passthrough: bool = False
    """The tool has no opinion of its own: without a rule it is asked about."""
    sandboxed: bool = False
    """A shell call that will run in the sandbox."""
    holds_files: Callable[[], bool] | None = None
    """Asks whether that sandbox itself keeps every rule about files."""
    server: str | None = None
    """The MCP server's name as rules spell it."""
    classifier_input: str | None = None
    """What a classifier may see; none means that `auto` asks."""
    sight: "Sight | None" = None
    """The paths and addresses, where they were resolved beforehand (see `normalised`)."""


class Sight(NamedTuple):
    """What a call would touch, resolved."""

    reads: tuple[PathFacts, ...] = ()
    writes: tuple[PathFacts, ...] = ()
    covered: tuple[PathFacts, ...] = ()
    """Further names that a search would open; only deny and ask rules look at them."""
    web: WebTarget | WebRefusal | None = None
    changed: tuple[PathFacts, ...] = ()
    """Further names that a command may change; only deny and ask rules look at them."""


_NOTHING = Sight()


def normalised(call: CallFacts, context: "PermissionContext") -> CallFacts:
    """The call with its paths resolved: what touches the disk is done, the decision is pure."""
    return call._replace(sight=look(call, context))


def with_places(call: CallFacts, context: "PermissionContext") -> CallFacts:
    """The call with its paths resolved, where it is the call and not a shell that opens them."""
    return call if call.subject.kind == "command" else CallFacts(*call[:-1], look(call, context))


def places_of(call: CallFacts, context: "PermissionContext") -> tuple[PathFacts, ...]:
    """Where every path that a call declares leads: as it was found before, or for a command, now."""
    sight = call.sight
    if sight is None:
        return _resolved(dict.fromkeys((*call.effects.reads, *call.effects.writes)), call, context)
    return (*sight.reads, *sight.writes, *sight.covered)


def look(call: CallFacts, context: "PermissionContext") -> Sight:
    """Resolve the paths and addresses of a call."""
    if call.sight is not None:
        return call.sight
    effects, subject = call.effects, call.subject
    kind = subject.kind
    if kind == "name" and not (effects.reads or effects.writes):
        return _NOTHING
    if kind == "domain":
        return Sight(web=check_url(subject.value))
    reads = dict.fromkeys(effects.reads)
    writes = dict.fromkeys(effects.writes)
    covered: tuple[str, ...] = ()
    if kind == "read_path":
        if subject.value:
            reads[subject.value] = None
        roads = search_roads(call.tool, call.input)
        if not reads:
            reads[call.cwd] = None
        base = next(iter(reads))
        reads.update(dict.fromkeys(_below(base, road) for road in roads.bases))
        covered = tuple(_below(base, road) for road in roads.witnesses)
    elif kind == "edit_path" and subject.value:
        writes[subject.value] = None
    return Sight(_resolved(reads, call, context), _resolved(writes, call, context), _resolved(covered, call, context))


def _below(base: str, road: str) -> str:
    return road if road.startswith(("/", "~")) else f"{base}/{road}"


def _resolved(paths: Iterable[str], call: CallFacts, context: "PermissionContext") -> tuple[PathFacts, ...]:
    disk, home, cwd = context.disk, context.home, call.cwd
    return tuple([disk.look(path, cwd, home=home) for path in paths])
