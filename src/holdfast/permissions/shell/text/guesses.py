"""Everything that a wrapper starts; words that are most likely arguments are read as commands all the same.

`npx eslint 'a b' src/*.ts` runs eslint. Programs that a runner starts may run others in turn, so rules that forbid look
at every word and every text; but that a file name is no known command says nothing about what runs.
"""

from typing import TYPE_CHECKING, TypeAlias

from holdfast.permissions.shell.programs.wrappers import MAX_WORDS, Inner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.text.emit import Emitter
    from holdfast.permissions.shell.words.parts import Cwds, Redirect
    from holdfast.permissions.shell.words.word import Word

Begun: TypeAlias = "dict[tuple[tuple[Word, ...] | str, Cwds, bool], bool]"
"""Words and texts that were looked at, from where, and with more words to come; True for those that were guesses."""


class Guesses:
    """What was found in words that are most likely arguments.

    Numbers of parts, redirects, why they are unclear, and texts that are no shell text, or none that can be read.
    """

    __slots__ = ("doubts", "parts", "redirects", "unread")

    def __init__(self) -> None:
        self.parts: set[int] = set()
        self.redirects: list[Redirect] = []
        self.doubts: list[str] = []
        self.unread: list[str] = []


def start_each(emitter: "Emitter", inner: Inner, texts: "Sequence[str]", source: str, argv: "tuple[Word, ...]") -> None:
    """Judge every command and every text that a wrapper starts; behind a runner, every later word may be started."""
    if inner.doubt:
        emitter.doubt(inner.doubt)
        emitter.guess_scripts(texts)
    if inner.others and len(argv) > MAX_WORDS:
        emitter.stop("too many words of which one may be a command")
    if not inner.others or _is_new(emitter, inner.argv, more=inner.more):
        emitter.start_words(inner.argv, argv, texts, source, more=inner.more)
    if inner.guessed:
        _guess(emitter, inner, texts, source, argv)
    else:
        _read(emitter, inner, texts, source, argv)
    if inner.reads_stdin and emitter.stdin_texts:
        for script in tuple(emitter.stdin_texts):
            emitter.reparse(script)


def _read(emitter: "Emitter", inner: Inner, texts: "Sequence[str]", source: str, argv: "tuple[Word, ...]") -> None:
    for command in inner.others:
        if _is_new(emitter, command, more=inner.more):
            emitter.start_words(command, argv, texts, source, more=inner.more)
    if inner.scripts:
        emitter.give_arguments(texts[2:])
    for script in inner.scripts:
        if not inner.others or _is_new(emitter, script, more=inner.more):
            emitter.reparse(script)


def _is_new(emitter: "Emitter", command: "tuple[Word, ...] | str", *, more: bool) -> bool:
    """Whether what any word may begin was not looked at yet: wrappers in wrappers share their words.

    What was looked at as a guess is looked at again where it is none.
    """
    begun, guessing = emitter.begun, emitter.guessing
    assert begun is not None
    known, key = len(begun), (command, emitter.cwds, more)
    guessed = begun.setdefault(key, guessing)
    if guessed and not guessing:
        begun[key] = False
        return True
    return len(begun) > known


def _guess(emitter: "Emitter", inner: Inner, texts: "Sequence[str]", source: str, argv: "tuple[Word, ...]") -> None:
    """Read guesses; nothing in them moves the shell, sets its variables, writes for it or is a doubt."""
    found = emitter.guesses = emitter.guesses or Guesses()
    before, emitter.guessing = emitter.guessing, True
    cwds, ok, fail, lost = emitter.cwds, emitter.ok, emitter.fail, emitter.lost
    parts, moved, assigned = len(emitter.parts), len(emitter.cd_targets), len(emitter.assigned)
    redirected = len(emitter.redirections)
    _read(emitter, inner, texts, source, argv)
    emitter.guessing = before
    emitter.cwds, emitter.ok, emitter.fail, emitter.lost = cwds, ok, fail, lost
    found.parts.update(range(parts, len(emitter.parts)))
    found.redirects += emitter.redirections[redirected:]
    del emitter.cd_targets[moved:], emitter.assigned[assigned:], emitter.redirections[redirected:]
