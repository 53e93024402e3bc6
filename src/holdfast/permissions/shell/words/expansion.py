"""What the shell makes of a word: braces, the home directory, quotes and wildcards; and what it tells unexpanded.

Quotes are minded: what stands in them has no meaning to the shell. Where a set of characters cannot be followed
exactly (`[[:alpha:]]`), it counts as any character.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.permissions.rules.path_patterns import plain_patterns, search_scope
from holdfast.permissions.shell.words.parts import Cwds, Part
from holdfast.permissions.shell.words.patterns import WILD, brace_words
from holdfast.permissions.shell.words.quoting import QUOTES, known_literal
from holdfast.permissions.shell.words.word import Word

_MAX_CHARS: Final = 1_024
_SPECIAL: Final = frozenset("*?[]{},~!^-")
_SHIELD: Final = 0xD800
"""Quoted characters stand shifted by this while a word is read: no text holds such a half of a character."""
_SHIELDED: Final = re.compile("[\ud800-\ud87f]")
_ESCAPED: Final = '$`"\\'
_BRACKET: Final = re.compile(r"\[(?=([!^]?\]?(?:\[[:.=][^\]]*\]|[^\]])*))\1\]")
_ODD_SET: Final = re.compile(r"\[[:.=]|[\ud800-\ud87f]")
_HOME: Final = ("${HOME}", "$HOME")
_EXPANDS: Final = ("$", "`", "<(", ">(")
_NOTHING: Final = "x"


class Spread(NamedTuple):
    """What one word becomes."""

    names: tuple[str, ...] = ()
    """Words that are certain."""
    patterns: tuple[str, ...] = ()
    """Words that the shell compares with files, in the syntax of `fnmatch`."""
    untold: bool = False
    """There are too many, or it starts in a directory that the text does not tell."""


_UNTOLD: Final = Spread(untold=True)


def spread(form: str, home: str) -> Spread:
    """Read a word as written, without expansions by `$`: braces, then the home directory, then quotes and wildcards."""
    words = brace_words(form) if len(form) <= _MAX_CHARS and not _SHIELDED.search(form) else None
    if words is None:
        return _UNTOLD
    names: dict[str, None] = {}
    patterns: dict[str, None] = {}
    for word in words:
        placed = _from_home(_shielded(word), home)
        if placed is None:
            return _UNTOLD
        if WILD.isdisjoint(placed):
            names[_plain(placed)] = None
        else:
            patterns["/".join(map(_segment, placed.split("/")))] = None
    return Spread(tuple(names), tuple(patterns))


def _shielded(form: str) -> str:
    """The word without its quotes; what was quoted is shielded."""
    found: list[str] = []
    quote, at = "", 0
    while at < len(form):
        char = form[at]
        at += 1
        if char == "\\" and quote != "'" and (not quote or form[at : at + 1] in _ESCAPED):
            found.append(_shield(form[at : at + 1]))
            at += 1
        elif char == quote:
            quote = ""
        elif quote:
            found.append(_shield(char))
        elif char in "'\"":
            quote = char
        else:
            found.append(char)
    return "".join(found)


def _shield(char: str) -> str:
    return chr(_SHIELD + ord(char)) if char in _SPECIAL else char


def _plain(text: str) -> str:
    return _SHIELDED.sub(lambda found: chr(ord(found[0]) - _SHIELD), text)


def _from_home(word: str, home: str) -> str | None:
    """The word with `~` and `~+` in its place; None for the home of somebody else and earlier directories."""
    if not word.startswith("~"):
        return word
    whose, slash, rest = word[1:].partition("/")
    if whose == "":
        return home.rstrip("/") + slash + rest
    return (rest or ".") if whose == "+" else None


def _segment(text: str) -> str:
    """One component of a path in the syntax of `fnmatch`; a set that it reads otherwise becomes any character."""
    if WILD.isdisjoint(text):
        plain = _plain(text)
        return plain if WILD.isdisjoint(plain) else "".join(f"[{char}]" if char in WILD else char for char in plain)
    closed = text.rfind("]") + 1  # behind that no set ends, and looking for one would take long
    return _SHIELDED.sub(_as_set, _BRACKET.sub(_set, text[:closed]) + text[closed:])


def _set(found: "re.Match[str]") -> str:
    return "?" if _ODD_SET.search(found[0], 1) else found[0].replace("[^", "[!", 1)


def _as_set(found: "re.Match[str]") -> str:
    char = chr(ord(found[0]) - _SHIELD)
    return f"[{char}]" if char in WILD else char


class Told(NamedTuple):
    """What is certain about the files behind a word."""

    directories: tuple[str, ...] = ()
    """Where they lie, when that is not simply below the working directory."""
    samples: tuple[str, ...] = ()
    """Names a pattern would match, for deny and ask rules."""
    unknown: bool = False
    """The word may name anything at all."""


_ANYTHING: Final = Told(unknown=True)


def dynamic_words(part: "Part") -> list[Told]:
    """What each argument that the shell still expands tells."""
    forms = part.exact.split("\x1f")
    if len(forms) != len(part.argv):
        return [_ANYTHING]
    return [told_by(form) for form, word in zip(forms[1:], part.argv[1:], strict=True) if not word.static]


def literal_words(words: "tuple[Word, ...] | None", texts: "Sequence[str]") -> "list[Word]":
    """The arguments of a part; a file pattern stands for itself, since whatever it becomes fits it."""
    if words is None:
        return [known_literal(text) for text in texts[1:]]
    if len(words) != len(texts):
        return list(words[1:])
    return [
        word if word.static or any(mark in text for mark in _EXPANDS) else known_literal(text)
        for word, text in zip(words[1:], texts[1:], strict=True)
    ]


def told_by(form: str) -> Told:
    """Read a word as it is written, for what it tells before it is expanded."""
    text = form.translate(QUOTES)
    for name in _HOME:
        if text == name or text.startswith(name + "/"):
            text = "~" + text[len(name) :]
    if text.startswith("-"):
        return Told(unknown=any(mark in text for mark in _EXPANDS))
    cut = min((at for at in (text.find(mark) for mark in _EXPANDS) if at >= 0), default=-1)
    if cut >= 0:
        known = text[:cut].rpartition("/")[0]
        return Told((known,) if known.startswith(("/", "~", "..")) else (), unknown=True)
    scope = search_scope("Glob", {"pattern": text})
    samples = tuple(name for name in scope.samples if name != _NOTHING)
    bases = scope.bases or ((text,) if text.startswith("~") else ())
    return Told(bases, samples)


def is_expanded(form: str) -> bool:
    """Whether a word as written holds an expansion other than by braces and wildcards."""
    return any(mark in form for mark in _EXPANDS)


def placed(paths: "Iterable[str]", cwds: "Cwds") -> "Iterator[str]":
    """Paths as seen from every directory the command may run in; an unknown one counts as the current."""
    for path in paths:
        for directory in cwds or ("",):
            yield path if path.startswith("/") or not directory else f"{directory}/{path}"


def patterns_of(part: "Part") -> "Iterator[str]":
    """The file patterns among the arguments, without braces; words with other expansions tell none."""
    for form, word in zip(part.texts, part.argv, strict=False):
        if not word.static and not is_expanded(form):
            yield from plain_patterns(form.translate(QUOTES))
