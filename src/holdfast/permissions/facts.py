"""A call as the permission layers see it, what it would touch, and what a shell command says of itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.contract import Effects, RuleSubject
from holdfast.permissions.paths import PathFacts
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.rules.path_patterns import search_scope
from holdfast.permissions.web import WebRefusal, WebTarget, check_url

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext


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
        scope = search_scope(call.tool, call.input)
        if not reads:
            reads[call.cwd] = None
        base = next(iter(reads))
        reads.update(dict.fromkeys(_below(base, name) for name in scope.bases))
        covered = tuple(_below(base, name) for name in scope.samples)
    elif kind == "edit_path" and subject.value:
        writes[subject.value] = None
    return Sight(_resolved(reads, call, context), _resolved(writes, call, context), _resolved(covered, call, context))


def _below(base: str, name: str) -> str:
    return name if name.startswith(("/", "~")) else f"{base}/{name}"


def _resolved(paths: Iterable[str], call: CallFacts, context: "PermissionContext") -> tuple[PathFacts, ...]:
    disk, home, cwd = context.disk, context.home, call.cwd
    return tuple([disk.look(path, cwd, home=home) for path in paths])


class Risk(NamedTuple):
    """A classifier's word on one call."""

    level: Literal["low", "high"]
    reason: str
    unknown: bool = False
    """High only because nothing is known, not because a danger was seen: only then may a model say otherwise."""


class ShellPart(NamedTuple):
    """One simple command."""

    text: str
    read_only: bool
    reason: str = ""
    """Why it is not read-only."""


class ShellVerdict(NamedTuple):
    """A command, analysed and held against the rules."""

    read_only: bool = False
    denied: Rule | None = None
    asked: Rule | None = None
    allowed: Rule | None = None
    """A rule that covers the whole command, part by part."""
    critical: str = ""
    """Why this removal is asked about in every mode; empty when it is none."""
    doubt: str = ""
    """Why a deny or ask rule may be meant although none is seen; then nothing allows it unasked."""
    doubts_files: bool = False
    """That doubt is about rules for files alone, and about nothing that the files' contents reach in another way."""
    file_command: bool = False
    """Only mkdir, touch, mv and cp of plain paths inside the working directories."""
    risk_of: Callable[[], Risk] | None = None
    """Works out the word of our own classifier; only `auto` mode asks for it."""
    sight: Sight = Sight()
    unlisted: tuple[PathFacts, ...] = ()
    """Reads outside the working directories that no command rule covers."""
    parts_of: Callable[[], tuple[ShellPart, ...]] | None = None
    """Gives the simple commands; only people ask for them."""
    left_open: tuple[str, ...] = ()
    """What the allow rules do not cover."""
    only_looks: bool = False
    """In plan mode: it most likely changes nothing, although that is not proven."""

    @property
    def risk(self) -> Risk:
        """The word of our own classifier."""
        return _NOT_ANALYSED if self.risk_of is None else self.risk_of()

    @property
    def parts(self) -> tuple[ShellPart, ...]:
        """Every simple command."""
        return () if self.parts_of is None else self.parts_of()


_NOT_ANALYSED = Risk("high", "the command was not analysed")
