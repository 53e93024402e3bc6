"""Lists of plain commands, read without the grammar: `cd src && grep -rn 'a b' . 2>/dev/null | head -5; ls`.

Much of what models run is this simple. What is found is, field by field, what the walk of the syntax tree finds, with
the one oddity of that tree: a redirect behind a command belongs to all of the statement up to there.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.text.redirects import USUAL_REDIRECTS
from holdfast.permissions.shell.text.surroundings import START
from holdfast.permissions.shell.words.quoting import certain_texts
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from holdfast.permissions.shell.text.emit import Emitter
    from holdfast.permissions.shell.words.parts import Cwds, Redirect

_MAX_CHARS: Final = 1_000
_MAX_COMMANDS: Final = 64
_COMMAND: Final = re.compile(
    r"""([A-Za-z./][A-Za-z0-9_./+-]*(?![^ |;&])"""
    r"""(?:[A-Za-z_./:=@%+,^ -]+(?![A-Za-z_./:=@%+,^ -])|[0-9]+(?![0-9>])|(?<=[A-Za-z0-9^])~|'[^']*'|"[^"$`\\]*")*)"""
    r"((?:(?<= )2>(?: ?/dev/null|&1)(?![^ ;|&]) ?)*)(\|\|?|&&|;|\Z) ?"
)
"""One command, its redirects and what joins it to the next."""
_REDIRECT: Final = re.compile(r"2> ?[^ ]+")
_NOT_COMMANDS: Final = names(
    "if then else elif fi do done case esac while until for select in function coproc time"
    " declare typeset export readonly local unset unsetenv"
)
"""Words that begin something else than a simple command, for the shell or for the grammar."""


class PlainCommand(NamedTuple):
    """One command of a list.

    Attributes:
        joint: what joins it to the one before: "|", "||", "&&", ";", or "" for the first.
        start: where it starts in the text; `end`: where it ends, with its redirects.
        source: the text as written, without redirects.
        texts: its words with quotes removed.
        redirects: the usual ones, as written.
    """

    joint: str
    start: int
    end: int
    source: str
    texts: list[str]
    redirects: list[str]


def plain_commands(text: str) -> list[PlainCommand] | None:
    """Cut a text into commands whose every word is certain, or None when there is anything else in it."""
    if len(text) > _MAX_CHARS or not (text.isascii() and text.isprintable()) or " =" in text:
        return None
    found: list[PlainCommand] = []
    joint, at, stage, longest = "", 0, 0, 0
    while True:
        piece = _COMMAND.match(text, at)
        if piece is None or len(found) == _MAX_COMMANDS:
            return None
        words, redirects, following = piece.groups()
        source = words.rstrip(" ")
        texts = certain_texts(source) if "'" in source or '"' in source else source.split()
        if not texts or texts[0] in _NOT_COMMANDS:
            return None
        stage = stage + 1 if joint == "|" else 1
        longest = max(stage, longest) if joint != ";" else 1
        end = at + len(source)
        if redirects:
            if texts[-1] == "-" or longest > 2 or "<" in text:  # there the grammar goes its own ways
                return None
            end = piece.end(2) - (redirects[-1] == " ")
        found.append(PlainCommand(joint, at, end, source, texts, _REDIRECT.findall(redirects) if redirects else []))
        if not following:
            return found
        joint, at = following, piece.end()


class PlainList:
    """Hands the commands of a list to the emitter, with what they may know of each other."""

    __slots__ = ("_and", "_begin", "_emitter", "_fail", "_inner", "_ok", "_start")

    def __init__(self, emitter: "Emitter") -> None:
        self._emitter = emitter
        self._statement(0)

    def _statement(self, start: int) -> None:
        emitter = self._emitter
        self._start, self._begin, self._inner = start, emitter.cwds, emitter.cwds
        self._ok: Cwds = START
        self._fail: Cwds = START
        self._and: bool | None = None  # how the pipeline that is being read is joined to what stands before it

    def read(self, commands: list[PlainCommand]) -> None:
        """Judge every command."""
        emitter = self._emitter
        for command in commands:
            if command.joint:
                self._join(command)
            emitter.ok = emitter.fail = emitter.cwds
            if not command.redirects:
                emitter.start_plain(command.texts, command.source)
            elif command.start == self._start:
                redirects = self._redirects(command)
                emitter.start_plain(command.texts, emitter.view[command.start : command.end], tuple(redirects))
            else:
                emitter.start_plain(command.texts, command.source)
                self._redirect_all(command)
        self._end_of_list()
        emitter.cwds = emitter.merge(emitter.ok, emitter.fail)
        emitter.settle()

    def _join(self, command: PlainCommand) -> None:
        emitter = self._emitter
        if command.joint == "|":  # each side runs in its own shell
            emitter.cwds = self._inner
            emitter.piped = True
            return
        self._end_of_list()
        if command.joint == ";":
            emitter.cwds = emitter.merge(emitter.ok, emitter.fail)
            self._statement(command.start)
        else:
            self._and = command.joint == "&&"
            emitter.cwds = self._inner = self._ok if self._and else self._fail

    def _end_of_list(self) -> None:
        """End the pipeline that is being read, and note how all up to it may have ended."""
        emitter = self._emitter
        if emitter.piped:
            emitter.cwds, emitter.piped = self._inner, False
            emitter.settle()
        if self._and is None:
            self._ok, self._fail = emitter.ok, emitter.fail
        elif self._and:
            self._ok, self._fail = emitter.ok, emitter.merge(self._fail, emitter.fail)
        else:
            self._ok, self._fail = emitter.merge(self._ok, emitter.ok), emitter.fail
        emitter.ok, emitter.fail = self._ok, self._fail

    def _redirect_all(self, command: PlainCommand) -> None:
        """Note redirects that belong to all of the statement up to here, which is one whole from here on."""
        emitter = self._emitter
        self._end_of_list()
        emitter.bare_redirects(emitter.view[self._start : command.end], self._redirects(command))
        self._and = None
        self._inner = emitter.merge(self._begin, emitter.merge(emitter.ok, emitter.fail))

    def _redirects(self, command: PlainCommand) -> "list[Redirect]":
        emitter = self._emitter
        found = [USUAL_REDIRECTS[text] for text in command.redirects]
        if emitter.cwds is not START:
            found = [redirect._replace(cwds=emitter.cwds) for redirect in found]
        emitter.redirections += found
        return found
