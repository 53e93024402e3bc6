"""What is known before anything runs: of one simple command, and of a whole text."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.permissions.shell.programs.program import roles_of
from holdfast.permissions.shell.words.expansion import placed
from holdfast.permissions.shell.words.parts import Part, Redirect


class CommandFacts(NamedTuple):
    """The verdict on one external program with its arguments.

    Attributes:
        refusal: why this is not proven read-only, or None when it is.
        reads: files and directories the command reads, as written.
        writes: files and directories the command creates, changes or removes, as written.
        network: the command talks to another machine or asks a name server.
        kind: a word for display: read, search, list, text, system, git, version, wrapper; and for commands that
            change something: edit, remove, package, network, run, process, privilege, git-write.
        reads_unknown: the command also reads files whose names are not known from the text.
    """

    refusal: str | None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: bool = False
    kind: str | None = None
    reads_unknown: bool = False


class Effects(NamedTuple):
    """What a text does, as far as it tells: made once, and the same for every rule, guard, mode and face.

    Attributes:
        reads: files and directories it reads, as seen from where the text starts.
        writes: those it creates, changes or removes.
        deletes: of those, what a command that removes is given.
        runs: its programs that are not proven to only read.
        network: it talks to another machine or asks a name server.
        classes: the roles of its programs, by their entries: `privilege`, `deletes`, `fetches`, …
        unknown: it also reads files, or runs in directories, that the text does not tell.
        touches: something in it names or may open a file (git opens the tracked ones), or there is a redirect.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    deletes: tuple[str, ...]
    runs: tuple[str, ...]
    network: bool
    classes: frozenset[str]
    unknown: bool
    touches: bool


def effects_of(parts: "Iterable[Part]", redirects: "Sequence[Redirect]") -> Effects:
    """Put together what the commands and redirects of a text do."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    deletes: dict[str, None] = {}
    runs: list[str] = []
    classes: set[str] = set()
    network, unknown, touches = False, False, bool(redirects)
    for part in parts:
        reads.update(dict.fromkeys(placed(part.reads, part.cwds)))
        written = dict.fromkeys(placed(part.writes, part.cwds))
        writes.update(written)
        deletes.update(written if part.kind == "remove" else ())
        if part.refusal is not None and part.texts:
            runs.append(part.name)
        classes |= roles_of(part.name)
        network = network or part.network
        unknown = unknown or part.reads_unknown or (part.cwds is None and bool(part.reads))
        touches = touches or bool(part.reads or part.writes or part.reads_unknown) or part.name == "git"
    for redirect in redirects:
        if redirect.target is not None and not redirect.harmless_write:
            names = dict.fromkeys(placed((redirect.target.text,), redirect.cwds))
            reads.update(names if opens_for_reading(redirect) else ())
            writes.update(names if redirect.kind == "write" else ())
    return Effects(
        _named(reads), _named(writes), _named(deletes), tuple(runs), network, frozenset(classes), unknown, touches
    )


def _named(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths; one of which nothing is known lies in the directory itself, or below."""
    return tuple([path or "." for path in paths])


def opens_for_reading(redirect: "Redirect") -> bool:
    """Whether a redirect opens a file for reading, if also for writing."""
    return redirect.kind == "read" or redirect.operator == "<>"
