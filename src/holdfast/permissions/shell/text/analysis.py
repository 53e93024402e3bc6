"""One analysis of shell text, used by permissions, scheduling, plan mode, undo and display."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.programs.arguments import handed_pieces
from holdfast.permissions.shell.programs.facts import Effects, effects_of
from holdfast.permissions.shell.programs.inspect import exit_meaning
from holdfast.permissions.shell.programs.parsers.git import git_subcommand
from holdfast.permissions.shell.programs.program import family, having
from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.compounds import Script
from holdfast.permissions.shell.text.handed_on import Guesses, may_be_special, named_by_values, passed_on
from holdfast.permissions.shell.text.lists import plain_commands
from holdfast.permissions.shell.text.surroundings import START, Here
from holdfast.permissions.shell.words.lookalikes import deception
from holdfast.permissions.shell.words.parts import Part, Redirect
from holdfast.permissions.shell.words.patterns import brace_words
from holdfast.permissions.shell.words.quoting import join_lines, rough_pieces
from holdfast.permissions.shell.words.values import MOVED

UNSOUND: Final = "the shell analysis gives wrong answers on this Python, so nothing counts as read-only"
_KNOWN: Final = (
    ("ls -la src", True, ("ls",)),
    ("git log --oneline -5 2>/dev/null | head -3; echo 'a; b'", True, ("git", "head", "echo")),
    ("awk '{ print $1, $2 }' x | sort -u", True, ("awk", "sort")),
    ('for f in a b; do wc -l "$f"; done', True, ("wc",)),
    ('echo ${x#a"} "} ; ./evil #"', False, None),
    ("cat x 22>y", False, ("cat",)),
    ("ls | sort | head\nrm x 2>y", False, ("ls", "sort", "head", "rm")),
    ("php -r 'echo 1;'", False, ("php",)),
    ("echo $(rm x)", False, None),
    ("cat <<E\n$(rm x)\nE", False, None),
)
"""Texts, whether each only reads, and which programs it runs where that is certain."""
_NAMES: Final = ((".env", ".e*v", True), (".env", "*x*.env", False), ("abab", "a*b*b", True), ("b", "[!a]", True))
_log = logging.getLogger(__name__)
_sound: bool | None = None


def is_sound(read: "Callable[[str, str | None], Analysis]") -> bool:
    """Whether the known texts get their answers; looked at once, and told once when they do not."""
    global _sound  # noqa: PLW0603 - one look for the whole process
    if _sound is None:
        _sound = _answers(read)
        if not _sound:
            _log.warning("%s; every command is asked about. Install a newer Python.", UNSOUND)
    return _sound


def _answers(read: "Callable[[str, str | None], Analysis]") -> bool:
    try:
        for text, read_only, programs in _KNOWN:
            found = read(text, None)
            if found.read_only is not read_only or (programs is not None and found.names != programs):
                return False
        names = all(fnmatchcase(name, pattern) is fits for name, pattern, fits in _NAMES)
    except Exception:  # noqa: BLE001 - an interpreter that fails here fails elsewhere too: nothing of it is trusted
        return False
    return names and brace_words("{x}b,.env}") == ["x}b", ".env"]


def distrusted(found: "Analysis") -> "Analysis":
    """The same analysis with nothing in it that counts as read-only."""
    parts = tuple([part._replace(refusal=part.refusal or UNSOUND) for part in found.parts])
    return found._replace(read_only=False, reason=found.reason or UNSOUND, parts=parts)


_CACHED: Final = 256
_BUDGET_S: Final = 0.050
_TIMED_CHARS: Final = 1_000  # reading the clock costs as much as a short command
_MAX_SCRIPTS: Final = 64
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NO_GUESSES: Final = Guesses()
_NO_VALUES: Final["Mapping[str, Sequence[str]]"] = MappingProxyType[str, "Sequence[str]"]({})
_COLLAPSIBLE: Final = frozenset({"search", "read", "list"})
_NEUTRAL_KINDS: Final = frozenset({"text", None})
_NEUTRAL_NAMES: Final = having("neutral")
_SHOWS_ONE_FILE: Final = having("shows-file")


class _Reading(NamedTuple):
    """What was read in a shell text.

    Attributes:
        command: the text.
        read_only: proven to change nothing, start nothing unknown and talk to nobody.
        reason: why it is not read-only, naming the part; "" when it is.
        parts: every simple command in every nesting.
        parsed: the text was understood whole, with every text that it runs in turn.
        doubt: why hidden code might run, or ""; a doubted text is never allowed by a rule.
        pieces: rough pieces of a doubted text, or of texts that programs are given to run; for deny and ask rules only.
        redirects: every redirect.
        assigned: variables it sets for later commands; not those that steer nothing and that it uses itself.
        cd_targets: directories it moves to, "" for one the text does not tell.
        inverted: a `!` turns the exit status around.
        values: what the text itself puts into variables, as written, by name.
        dynamic: some command's name is only known when it runs.
        moves: some command or redirect may be in another directory than the text started in.
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
    dynamic: bool = False
    moves: bool = False
    guessed: frozenset[int] = frozenset()
    guessed_redirects: tuple[Redirect, ...] = ()
    unread: tuple[str, ...] = ()


class Analysis(_Reading):
    """What a shell text would do."""

    @property
    def only_commands(self) -> bool:
        """Whether what its commands do is the only reason why it does more than read."""
        first = next((part for part in self.parts if part.refusal is not None), None)
        return first is not None and self.reason == f"{first.name or first.source[:40]}: {first.refusal}"

    @property
    def redirect_writes(self) -> tuple[Redirect, ...]:
        """Redirects that write to something other than /dev/null."""
        return tuple(item for item in self.redirects if item.kind == "write" and not item.harmless_write)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every part, as far as the text tells."""
        return tuple([part.name for part in self.parts])

    @cached_property
    def effects(self) -> Effects:
        """What it does: the one value that rules, guards, modes, scheduling and faces go by."""
        return effects_of(self.parts, (*self.redirects, *self.guessed_redirects))

    @property
    def kind(self) -> str | None:
        """Say "search", "read" or "list" when the whole command does only that, else None."""
        if not self.read_only:
            return None
        found: set[str | None] = set()
        for part in self.parts:
            if part.cover == "strip" or part.name in _NEUTRAL_NAMES or part.kind in _NEUTRAL_KINDS:
                continue
            if part.kind not in _COLLAPSIBLE:
                return None
            found.add(part.kind)
        return next((kind for kind in ("search", "read", "list") if kind in found), None)

    @property
    def steered_by_files(self) -> bool:
        """Whether files of the project may choose what runs: the program behind a version query, a decompressor."""
        return any(part.kind == "version" or family(part.name) == "tar" for part in self.parts)

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
        return exit_meaning(last.name, last.argv[1:], code)


class _Walker(Script):
    """A walker that also reads the scripts which a text hands to a shell."""

    def __init__(self, view: str, start_cwd: str | None) -> None:
        super().__init__(view, start_cwd)
        self.scripts = [0]

    def read(self, text: str) -> None:
        """Read a whole text."""
        self.view, tree = g.tree_of(text)
        root = tree.root_node
        if root.has_error:
            self.give_up("the shell text cannot be parsed with certainty")
        self.between(root.end_byte, len(self.view))
        self.between(0, root.start_byte)  # the grammar skips `\ ` in front of a name, for bash it is a part of it
        self.visit(root)

    def reparse(self, text: str) -> None:
        """Read commands from text that a command hands to a shell: what they set and where they go is known here."""
        self.scripts[0] += 1
        if self.nested > 8 or self.scripts[0] > _MAX_SCRIPTS or len(text) > g.MAX_CHARS or g.too_costly(text):
            self.stop("too many commands inside each other")
            return
        known, doubts = len(self.variables), len(self.doubts)
        inner = copy(self)
        inner.depth, inner.nested, inner.begun = 0, self.nested + 1, None
        inner.ok = inner.fail = START
        inner.stdin_texts, inner.cd_targets, inner.defined = [], [], set()
        inner.inverted, inner.parsed = False, True
        inner.read(text)
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


def analyse(command: str, *, cwd: str | None = None, here: Here | None = None) -> Analysis:
    """Analyse shell text once; equal texts are remembered.

    Args:
        command: the text exactly as bash would get it.
        cwd: the directory it would start in, so that `cd` to that very directory is known to change nothing.
        here: what was looked up on the disk (see reach/known_here.py); without it the text alone decides.
    """
    home = os.environ.get("HOME") if "~" in command else None
    found = _analyse(command, None, home, here)
    # The start makes a difference only where something runs after the text has moved: one analysis serves most.
    return found if cwd is None or not found.moves else _analyse(command, cwd, home, here)


@lru_cache(maxsize=_CACHED)
def _analyse(command: str, cwd: str | None, _home: str | None, here: Here | None) -> Analysis:
    try:
        found = _read(command, cwd) if here is None else read_by_grammar(command, cwd, here)
    except Exception as error:  # noqa: BLE001 - the edge of the analysis: what it cannot read is asked about, in words
        return _unparsed(command, f"the analysis failed ({type(error).__name__}: {str(error)[:200]})")
    return found if is_sound(_read) else distrusted(found)


def _read(command: str, cwd: str | None) -> Analysis:
    return read_plain_list(command, cwd) or read_by_grammar(command, cwd)


def read_plain_list(command: str, cwd: str | None = None) -> Analysis | None:
    """Read a list of commands of certain words, with the usual redirects; None leaves the text to the parser."""
    commands = plain_commands(command)
    if commands is None or g.too_costly(command) is not None:
        return None
    walker = _Walker(command, cwd)
    walker.plain_list(commands)
    return _finish(walker, command)


def read_by_grammar(command: str, cwd: str | None = None, here: Here | None = None) -> Analysis:
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
        walker = _Walker(text, cwd)
        walker.here = here
        walker.read(text)
        if text is not command and (doubt or not walker.parsed):
            raw = _Walker(command, cwd)
            raw.read(command)
            walker.parts.extend(raw.parts)
            walker.redirections.extend((*raw.redirections, *(raw.guesses or _NO_GUESSES).redirects))
    except RecursionError:
        return _unparsed(command, "it is nested too deeply to follow")
    if doubt:
        walker.doubts.insert(0, doubt)
    _limits(walker, command, started)
    return _finish(walker, command)


def _limits(walker: _Walker, command: str, started: float) -> None:
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


def _finish(walker: _Walker, command: str) -> Analysis:
    doubts, refusals = walker.doubts, walker.refusals
    reason = doubts[0] if doubts else refusals[0] if refusals else ""
    parts, redirects = tuple(walker.parts), tuple(walker.redirections)
    unknown, dynamic, moves = False, False, False
    for part in parts:
        if part.refusal is not None and not reason:
            reason = f"{part.name or part.source[:40]}: {part.refusal}"
        unknown = unknown or part.reads_unknown or part.more
        dynamic = dynamic or (part.words is not None and part.dynamic_name)
        moves = moves or (part.cwds is not START and part.cwds != START)
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
        values, dynamic, moves, frozenset(guesses.parts), tuple(guesses.redirects), tuple(guesses.unread),
    )  # fmt: skip


def _unparsed(command: str, reason: str) -> Analysis:
    return Analysis(command, False, reason, (), False, reason, rough_pieces(command), (), (), (), False, _NO_VALUES)  # noqa: FBT003 - fields by position
