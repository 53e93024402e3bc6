"""What one command hands to another: all that a wrapper starts, and names that arrive at run time.

`npx eslint 'a b' src/*.ts` runs eslint. Programs that a runner starts may run others in turn, so rules that forbid look
at every word and every text; but that a file name is no known command says nothing about what runs.
`echo /proc/self/environ | xargs cat` reads what `cat` does not name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.programs.wrappers import MAX_WORDS, Inner
from holdfast.permissions.shell.words.devices import path_refusal, special_read_refusal
from holdfast.permissions.shell.words.parts import Cwds, Part, Redirect
from holdfast.permissions.shell.words.quoting import QUOTES, ansi_c, home, known_literal
from holdfast.permissions.shell.words.values import Values
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from holdfast.permissions.shell.text.emit import Emitter


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


_SPECIAL: Final = re.compile(r"proc|environ\b|dev(?!/null)|\s\"?'?/(?:[\s\"';|)]|$)")
_PATTERN: Final = frozenset("*?[{")
_SPELLED: Final = re.compile(r"\\(?:0*[1-7][0-7]|[xuU][0-9A-Fa-f])")
"""A character that `printf '/pr\\157c'` writes by its number."""
_LONG_OCTAL: Final = re.compile(r"\\0(?=[0-7]{3})")
_WRITERS: Final = having("prints-words")
_INSIDE: Final = re.compile(
    r"(?:[^\w.~/$}\\-]|\\(?:[abefnrtv]|[0-7]{1,3}|x[0-9A-Fa-f]{1,2}))(/+(?:dev|proc)/[^\s\\\"':;,|&()<>]*)"
)
"""The name of a device or of a process within a longer text, as `printf 'a\\n/dev/sda'` has it."""
_TAIL: Final = re.compile(r"/(?:dev|proc)/[^\s\"'`;|&()<>]*")
"""What stands behind an expansion: nobody knows how far up `$HOME/../../proc/self/environ` starts."""
_OWN: Final = ("$HOME", "${HOME}", "$PWD", "${PWD}", "~")
_LISTING: Final = having("lists")


def may_be_special(command: str) -> bool:
    """Whether the text holds something without which nothing is the name of a device or of a process."""
    if ("/" in command and not _PATTERN.isdisjoint(command)) or _SPECIAL.search(command) is not None:
        return True
    bare = command.translate(QUOTES)  # `/pr''oc` is a name too
    return bare != command and (_SPECIAL.search(bare) is not None or _SPELLED.search(command) is not None)


def passed_on(parts: "Sequence[Part]", inputs: "Sequence[str]") -> str:
    """Why a device or the environment of a process may be read by a name that arrives at run time, or ""."""
    for part in parts:
        for word in _leading_out(part):
            reason = special_read_refusal(word, recursive=part.name in _LISTING)
            if reason is not None:
                return f"{reason}, and its name is passed on"
        reason = _held_inside(part)
        if reason is not None:
            return f"{reason}, and its name is passed on"
    for given in inputs:
        for text in given.split():
            reason = path_refusal(text.translate(QUOTES))  # xargs removes quotes too
            if reason is not None:
                return f"{reason}, and its name is passed on"
    return ""


def named_by_values(parts: "Sequence[Part]", values: "Mapping[str, Sequence[str]]") -> str:
    """Why a device or the environment of a process is read by a name that the text itself puts together, or ""."""
    known = Values(values, home() or "~", None)
    for part in parts:
        for word, form in zip(part.words or (), part.texts, strict=False):
            if word.static or "$" not in form:
                continue
            for spelling in known.spellings(form, static=False):
                reason = path_refusal(spelling.text)
                if reason is not None and not spelling.guessed:
                    return reason
    return "more names are put together than can be followed" if known.exhausted else ""


def _held_inside(part: "Part") -> str | None:
    """Why one of several names in a single word is not to be read, or None."""
    if part.name in _WRITERS and any(map(_spells, part.texts)):
        return "it spells the name of a device or of a process by numbers"
    for at, form in enumerate(part.texts[1:], start=1):
        unknown = part.words is not None and not part.words[at].static
        if unknown and "environ" in form and form.translate(QUOTES).endswith("/environ"):
            return "a file 'environ' in a directory known only at run time may be the environment of a process"
        if "dev/" not in form and "proc/" not in form:
            continue
        word = None if part.words is None else part.words[at]
        named = _INSIDE.findall(form if word is None else word.text)
        if word is not None and not word.static and word.text[:1] != "/":
            named += _behind_expansion(form.replace('"', ""))
        for name in named:
            reason = path_refusal(name)
            if reason is not None:
                return reason
    return None


def _spells(form: str) -> bool:
    """Whether characters given by their numbers make such a name."""
    if "\\" not in form or not _SPELLED.search(form):
        return False
    written = ansi_c(_LONG_OCTAL.sub("\\\\", form))
    return written is None or re.search("dev/|proc/", written) is not None


def _behind_expansion(form: str) -> "Iterator[str]":
    """Give what a word may name if its expansion leads to the root, or to nothing."""
    for name in _TAIL.findall(form):
        # Many people have a `dev` of their own; only a way up, or a variable that may be empty, leads to the other.
        if ".." in form or name.startswith("/proc/") or (name.count("/") == 2 and not form.startswith(_OWN)):
            yield name


def _leading_out(part: "Part") -> "list[Word]":
    """Give the arguments that may name something outside of the directory the command runs in.

    They are given without quotes: xargs removes those that the shell leaves.
    """
    words = list(map(known_literal, part.texts[1:])) if part.words is None else part.words[1:]
    bare = [word._replace(text=word.text.translate(QUOTES)) for word in words]
    return [word for word in bare if word.text[:1] == "/" or ".." in word.text]
