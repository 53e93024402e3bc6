"""One analysis of shell text, used by permissions, scheduling, plan mode, undo and display."""

import os
import re
import time
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.git_calls import git_subcommand
from holdfast.permissions.shell.programs.handed import handed_pieces
from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.compounds import Script
from holdfast.permissions.shell.text.emit import plain_part
from holdfast.permissions.shell.text.guesses import Guesses
from holdfast.permissions.shell.text.passed_names import may_be_special, named_by_values, passed_on
from holdfast.permissions.shell.text.plain_lists import PlainList, plain_commands
from holdfast.permissions.shell.text.self_check import distrusted, is_sound
from holdfast.permissions.shell.text.surroundings import START
from holdfast.permissions.shell.words.lookalikes import deception
from holdfast.permissions.shell.words.parts import Part, Redirect
from holdfast.permissions.shell.words.quoting import join_lines, rough_pieces
from holdfast.permissions.shell.words.values import MOVED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import TreeCursor

_CACHED: Final = 256
_BUDGET_S: Final = 0.050
_TIMED_CHARS: Final = 1_000  # reading the clock costs as much as a short command
_MAX_SCRIPTS: Final = 64
_PLAIN_CHARS: Final = 120
_PLAIN_COMMAND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(?: [A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,-]*)*\Z")
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NO_GUESSES: Final = Guesses()
_NO_VALUES: Final["Mapping[str, Sequence[str]]"] = MappingProxyType[str, "Sequence[str]"]({})
_COLLAPSIBLE: Final = frozenset({"search", "read", "list"})
_NEUTRAL_KINDS: Final = frozenset({"text", None})
_NEUTRAL_NAMES: Final = having("neutral")
_SHOWS_ONE_FILE: Final = having("shows-file")


class Analysis(NamedTuple):
    """What a shell text would do.

    Attributes:
        command: the text.
        read_only: proven to change nothing, start nothing unknown and talk to nobody.
        reason: why it is not read-only, naming the part; "" when it is.
        parts: every simple command in every nesting.
        parsed: the text was understood whole, with every text that it runs in turn.
        doubt: why hidden code might run, or ""; a doubted text is never allowed by a rule.
        pieces: rough pieces of a doubted text, or of texts that programs are given to run; for deny and ask rules only.
        redirects: every redirect.
        assigned: variables it sets for later commands.
        cd_targets: directories it moves to, "" for one the text does not tell.
        inverted: a `!` turns the exit status around.
        values: what the text itself puts into variables, as written, by name.
        names: the name of every part, as far as the text tells.
        dynamic: some command's name is only known when it runs.
        moves: some command or redirect may be in another directory than the text started in.
        touches: some command names or may open a file (git opens the tracked ones), or there is a redirect.
        guessed: numbers of the parts that are most likely arguments of what a runner starts; for deny and ask rules.
        guessed_redirects: redirects in such arguments.
        unread: such arguments that are not shell text, or none that can be read.
    """

    command: str
    read_only: bool
    reason: str
    parts: tuple[Part, ...]
    parsed: bool
    doubt: str
    pieces: tuple[str, ...]
    redirects: tuple[Redirect, ...]
    assigned: tuple[str, ...]
    cd_targets: tuple[str, ...]
    inverted: bool
    values: "Mapping[str, Sequence[str]]"
    names: tuple[str, ...] = ()
    dynamic: bool = False
    moves: bool = False
    touches: bool = False
    guessed: frozenset[int] = frozenset()
    guessed_redirects: tuple[Redirect, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether rules can be trusted to have seen everything that would run."""
        return not self.doubt

    @property
    def redirect_writes(self) -> tuple[Redirect, ...]:
        """Redirects that write to something other than /dev/null."""
        return tuple(item for item in self.redirects if item.kind == "write" and not item.harmless_write)

    @property
    def effects_reads(self) -> tuple[str, ...]:
        """Files it would read, as far as the text tells."""
        operands = [path for part in self.parts for path in part.reads]
        operands += [item.target.text for item in self.redirects if item.kind == "read" and item.target is not None]
        return tuple(dict.fromkeys(path for path in operands if path))

    @property
    def effects_writes(self) -> tuple[str, ...]:
        """Files it would create, change or remove, as far as the text tells."""
        operands = [path for part in self.parts for path in part.writes]
        operands += [item.target.text for item in self.redirect_writes if item.target is not None]
        return tuple(dict.fromkeys(path for path in operands if path))

    @property
    def reads_unknown(self) -> bool:
        """Whether it also reads files, or runs in directories, that the text does not tell."""
        return any(part.reads_unknown or (part.cwds is None and part.reads) for part in self.parts)

    @property
    def network(self) -> bool:
        """Whether it talks to another machine."""
        return any(part.network for part in self.parts)

    @property
    def process(self) -> bool:
        """Whether it starts programs that are not proven read-only."""
        return any(part.refusal is not None and part.argv for part in self.parts)

    @property
    def kind(self) -> str | None:
        """Say "search", "read" or "list" when the whole command does only that, else None."""
        if not self.read_only:
            return None
        found: set[str | None] = set()
        for part in self.parts:
            if part.hull == "strip" or part.name in _NEUTRAL_NAMES or part.kind in _NEUTRAL_KINDS:
                continue
            if part.kind not in _COLLAPSIBLE:
                return None
            found.add(part.kind)
        return next((kind for kind in ("search", "read", "list") if kind in found), None)

    @property
    def steered_by_files(self) -> bool:
        """Whether files of the project may choose what runs: the program behind a version query, a decompressor."""
        return "tar" in self.names or any(part.kind == "version" for part in self.parts)

    @property
    def uses_git(self) -> bool:
        """Whether git runs: before it runs unasked, its repository's configuration must be looked at."""
        return "git" in self.names

    @property
    def git_operations(self) -> tuple[str, ...]:
        """Operations on repositories it performs, such as "git commit" and "gh pr create"."""
        found: list[str] = []
        for part in self.parts:
            if part.name == "git":
                operation = git_subcommand(part.argv[1:])
                if operation:
                    found.append(f"git {operation}")
            elif part.name in ("gh", "glab") and len(part.argv) > 2:
                found.append(f"{part.name} {part.argv[1].text} {part.argv[2].text}")
        return tuple(dict.fromkeys(found))

    @property
    def first_sleep_s(self) -> float | None:
        """How long the command only sleeps first, when its first statement is a bare `sleep N`."""
        if not self.parts:
            return None
        first = self.parts[0]
        if first.name != "sleep" or len(first.argv) != 2 or first.depth or not first.argv[1].static:
            return None
        text = first.argv[1].text
        unit = _UNITS.get(text[-1:], 1.0)
        number = text[:-1] if text[-1:] in _UNITS else text
        return float(number) * unit if number.replace(".", "", 1).isdecimal() else None

    @property
    def single_file_read(self) -> str | None:
        """The one file the command shows, when that is all it does."""
        if not self.read_only or len(self.parts) != 1:
            return None
        part = self.parts[0]
        if part.name not in _SHOWS_ONE_FILE or part.piped or part.reads_unknown or len(part.reads) != 1:
            return None
        return part.reads[0]

    def exit_meaning(self, code: int) -> str | None:
        """What this exit status says, when it says more than success or failure."""
        last = next((part for part in reversed(self.parts) if part.depth == 0 or part.parent >= 0), None)
        if last is None or self.inverted or not last.argv or code == 0:
            return None
        if last.name in ("test", "["):
            return "the test is false" if code == 1 else None
        from holdfast.permissions.shell.programs.exits import exit_meaning  # noqa: PLC0415 - tables are heavy

        return exit_meaning(last.name, last.argv[1:], code)


class _Found(Script):
    """A walker whose nested scripts share what was found."""

    __slots__ = ("scripts",)

    def __init__(self, view: str, cursor: "TreeCursor", start_cwd: str | None) -> None:
        super().__init__(view, cursor, start_cwd)
        self.scripts = [0]

    def reparse(self, text: str) -> None:
        """Read commands from text that a command hands to a shell."""
        self.scripts[0] += 1
        if self.nested > 8 or self.scripts[0] > _MAX_SCRIPTS or len(text) > g.MAX_CHARS or g.too_costly(text):
            self.stop("too many commands inside each other")
            return
        known, doubts = len(self.variables), len(self.doubts)
        inner = _walker(text, self.start_cwd, self)
        self.forget(known)
        self.guesses = inner.guesses
        if not inner.parsed and self.guessing and self.guesses is not None and len(self.doubts) == doubts:
            self.guesses.unread.append(text)
        elif not inner.parsed:
            self.give_up("a script inside the command cannot be parsed")
        self.stdin_texts += inner.stdin_texts
        self.cd_targets += inner.cd_targets
        self.lost = self.lost or inner.lost
        self.cwds = self.merge(self.cwds, inner.merge(inner.ok, inner.fail))


def _walker(text: str, cwd: str | None, outer: _Found | None = None) -> _Found:
    view, tree = g.tree_of(text)
    root = tree.root_node
    walker = _Found(view, tree.walk(), cwd)
    if outer is not None:
        walker.parts, walker.doubts, walker.refusals = outer.parts, outer.doubts, outer.refusals
        walker.redirections, walker.assigned, walker.variables = outer.redirections, outer.assigned, outer.variables
        walker.cwds, walker.nested, walker.parent = outer.cwds, outer.nested + 1, outer.parent
        walker.values, walker.physical, walker.lost = outer.values, outer.physical, outer.lost
        walker.guesses, walker.guessing = outer.guesses, outer.guessing
        walker.scripts, walker.inside, walker.piped = outer.scripts, outer.inside, outer.piped
    if root.has_error:
        walker.give_up("the shell text cannot be parsed with certainty")
    walker.between(root.end_byte, len(view))
    walker.between(0, root.start_byte)  # the grammar skips `\ ` in front of a name, for bash it is a part of it
    walker.visit(root)
    return walker


def analyse(command: str, *, cwd: str | None = None) -> Analysis:
    """Analyse shell text once; equal texts are remembered.

    Args:
        command: the text exactly as bash would get it.
        cwd: the directory it would start in, so that `cd` to that very directory is known to change nothing.
    """
    home = os.environ.get("HOME") if "~" in command else None
    found = _analyse(command, None, home)
    # The start makes a difference only where something runs after the text has moved: one analysis serves most.
    return found if cwd is None or not found.moves else _analyse(command, cwd, home)


@lru_cache(maxsize=_CACHED)
def _analyse(command: str, cwd: str | None, _home: str | None) -> Analysis:
    try:
        found = _read(command, cwd)
    except Exception as error:  # noqa: BLE001 - the edge of the analysis: what it cannot read is asked about, in words
        return _unparsed(command, f"the analysis failed ({type(error).__name__}: {str(error)[:200]})")
    return found if is_sound(_read) else distrusted(found)


def _read(command: str, cwd: str | None) -> Analysis:
    return read_plain(command) or read_plain_list(command, cwd) or read_by_grammar(command, cwd)


def read_plain(command: str) -> Analysis | None:
    """Read one command of bare words, of which nothing has a meaning to the shell: that needs no parser.

    Most of what models run is this simple. None leaves the text to the parser.
    """
    if len(command) >= _PLAIN_CHARS or not _PLAIN_COMMAND.match(command):
        return None
    part = plain_part(command.split(" "), command)
    if part is None or (part.reads_unknown and part.refusal is None and may_be_special(command)):
        return None
    name, refusal = part.name, part.refusal
    touches = bool(part.reads or part.writes or part.reads_unknown) or name == "git"
    reason, pieces = "", ()
    if refusal is not None:
        reason, pieces = f"{name}: {refusal}", handed_pieces((part,))
    return Analysis(
        command, read_only=not reason, reason=reason, parts=(part,), parsed=True, doubt="", pieces=pieces, redirects=(),
        assigned=(), cd_targets=(), inverted=False, values=_NO_VALUES, names=(name,), touches=touches,
    )  # fmt: skip


def read_plain_list(command: str, cwd: str | None = None) -> Analysis | None:
    """Read a list of commands of certain words, with the usual redirects; None leaves the text to the parser."""
    commands = plain_commands(command)
    if commands is None or g.too_costly(command) is not None:
        return None
    walker = _Found(command, g.grammar().nowhere, cwd)
    PlainList(walker).read(commands)
    return _finish(walker, command)


def read_by_grammar(command: str, cwd: str | None = None) -> Analysis:
    """Read whatever the shell can be given."""
    costly = g.too_costly(command)
    if costly is not None:
        return _unparsed(command, costly)
    g.grammar()
    started = time.thread_time() if len(command) > _TIMED_CHARS else 0.0
    text, doubt = command, ""
    if "\\\n" in command:
        text = join_lines(command)
        if "$\\\n" in command or g.hides_continuation(command):
            doubt = "a line continuation the parser and the shell may read differently"
    try:
        walker = _walker(text, cwd)
        if text is not command and (doubt or not walker.parsed):
            raw = _walker(command, cwd)
            walker.parts.extend(raw.parts)
            walker.redirections.extend((*raw.redirections, *(raw.guesses or _NO_GUESSES).redirects))
    except RecursionError:
        return _unparsed(command, "it is nested too deeply to follow")
    if doubt:
        walker.doubts.insert(0, doubt)
    _limits(walker, command, started)
    return _finish(walker, command)


def _limits(walker: _Found, command: str, started: float) -> None:
    """Apply the limits that turn a verdict into a question."""
    if len(command) > g.MAX_CHARS:
        walker.doubts.insert(0, f"it is {len(command)} characters long")
    elif started and time.thread_time() - started > _BUDGET_S:
        walker.doubts.insert(0, "it took too long to analyse")
    deceptive = deception(command)
    if deceptive is not None:
        walker.doubts.insert(0, deceptive)
    if command.endswith("\\"):
        walker.doubts.append("it ends in a backslash")


def _finish(walker: _Found, command: str) -> Analysis:
    doubts, refusals = walker.doubts, walker.refusals
    reason = doubts[0] if doubts else refusals[0] if refusals else ""
    parts, redirects = tuple(walker.parts), tuple(walker.redirections)
    unknown, dynamic, moves, touches = False, False, False, bool(redirects)
    for part in parts:
        if part.refusal is not None and not reason:
            reason = f"{part.name or part.source[:40]}: {part.refusal}"
        unknown = unknown or part.reads_unknown or part.more
        dynamic = dynamic or (part.words is not None and part.dynamic_name)
        moves = moves or (part.cwds is not START and part.cwds != START)
        touches = touches or bool(part.reads or part.writes or part.reads_unknown) or part.name == "git"
    if unknown and not reason and may_be_special(command):
        reason = passed_on(parts, walker.stdin_texts)
    values = walker.told() if walker.values or walker.stdin_texts else _NO_VALUES
    if unknown and not reason and (len(values) > (MOVED in values) or "$(" in command or "${" in command):
        reason = named_by_values(parts, values)
    for redirect in redirects:
        moves = moves or redirect.cwds != START
    pieces = handed_pieces(parts) if reason else ()
    guesses = walker.guesses or _NO_GUESSES
    if doubts or guesses.doubts:
        pieces = (*rough_pieces(command), *pieces)
    return Analysis(
        command, not reason, reason, parts, walker.parsed, doubts[0] if doubts else "",
        pieces, redirects, tuple(walker.assigned), tuple(walker.cd_targets), walker.inverted,
        values, tuple([part.name for part in parts]), dynamic, moves, touches or bool(guesses.redirects),
        frozenset(guesses.parts), tuple(guesses.redirects), tuple(guesses.unread),
    )  # fmt: skip


def _unparsed(command: str, reason: str) -> Analysis:
    return Analysis(command, False, reason, (), False, reason, rough_pieces(command), (), (), (), False, _NO_VALUES)  # noqa: FBT003 - fields by position
