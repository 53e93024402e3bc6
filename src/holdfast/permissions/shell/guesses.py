"""Words that are most likely arguments, read as commands all the same: for deny and ask rules only.

`npx eslint 'a b' src/*.ts` runs eslint. Programs that a runner starts may run others in turn, so rules that forbid look
at every word and every text; but that a file name is no known command says nothing about what runs.
"""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.wrapper_shapes import GUESSED, Inner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.emit import Emitter
    from holdfast.permissions.shell.parts import Redirect
    from holdfast.permissions.shell.words import Word


class Guesses:
    """What was found in words that are most likely arguments: numbers of parts, redirects, and why they are unclear."""

    __slots__ = ("doubts", "parts", "redirects")

    def __init__(self) -> None:
        self.parts: set[int] = set()
        self.redirects: list[Redirect] = []
        self.doubts: list[str] = []


def spread(emitter: "Emitter", inner: Inner, argv: "tuple[Word, ...]", texts: "Sequence[str]", source: str) -> None:
    """Judge what a wrapper starts; behind a runner, every later word and text may be started too."""
    if not inner.spread:
        emitter.start_words(inner.argv, argv, texts, source, more=inner.more)
        _read(emitter, inner, argv, texts, source)
        return
    read, tail = emitter.spread, emitter.spread[1][-len(argv) :]
    enough = GUESSED if emitter.guessing else inner.spread
    again = read[0] >= enough and tail == argv and not inner.more
    if not again:
        emitter.spread = (inner.spread, argv)
    emitter.start_words(inner.argv, argv, texts, source, more=inner.more)
    if again:  # the runner in front of this one goes through the same words
        return
    if inner.spread == GUESSED:
        _guess(emitter, inner, argv, texts, source)
    else:
        _read(emitter, inner, argv, texts, source)
    emitter.spread = read


def _read(emitter: "Emitter", inner: Inner, argv: "tuple[Word, ...]", texts: "Sequence[str]", source: str) -> None:
    for command in inner.others:
        emitter.start_words(command, argv, texts, source, more=inner.more)
    if inner.scripts:
        emitter.give_arguments(texts[2:])
    for script in inner.scripts:
        emitter.reparse(script)


def _guess(emitter: "Emitter", inner: Inner, argv: "tuple[Word, ...]", texts: "Sequence[str]", source: str) -> None:
    """Read guesses; nothing in them moves the shell, sets its variables, writes for it or is a doubt."""
    found = emitter.guesses = emitter.guesses or Guesses()
    before, emitter.guessing = emitter.guessing, True
    cwds, ok, fail = emitter.cwds, emitter.ok, emitter.fail
    parts, moved, assigned = len(emitter.parts), len(emitter.cd_targets), len(emitter.assigned)
    redirected = len(emitter.redirections)
    _read(emitter, inner, argv, texts, source)
    emitter.guessing = before
    emitter.cwds, emitter.ok, emitter.fail = cwds, ok, fail
    found.parts.update(range(parts, len(emitter.parts)))
    found.redirects += emitter.redirections[redirected:]
    del emitter.cd_targets[moved:], emitter.assigned[assigned:], emitter.redirections[redirected:]
