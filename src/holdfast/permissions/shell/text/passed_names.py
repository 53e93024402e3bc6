"""Names that one command hands to another: `echo /proc/self/environ | xargs cat` reads what `cat` does not name."""

import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.words.quoting import ansi_c, home, known_literal
from holdfast.permissions.shell.words.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.permissions.shell.words.parts import Part
    from holdfast.permissions.shell.words.word import Word

_SPECIAL: Final = re.compile(r"proc|environ\b|dev(?!/null)|\s\"?'?/(?:[\s\"';|)]|$)")
_PATTERN: Final = frozenset("*?[{")
_QUOTING: Final = str.maketrans("", "", "'\"\\")
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
    bare = command.translate(_QUOTING)  # `/pr''oc` is a name too
    return bare != command and (_SPECIAL.search(bare) is not None or _SPELLED.search(command) is not None)


def passed_on(parts: "Sequence[Part]", inputs: "Sequence[str]") -> str:
    """Why a device or the environment of a process may be read by a name that arrives at run time, or "".

    Args:
        parts: commands, of which at least one reads files whose names the text does not tell.
        inputs: what the text itself gives to standard input.
    """
    for part in parts:
        for word in _leading_out(part):
            from holdfast.permissions.shell.programs.devices import special_read_refusal  # noqa: PLC0415 - heavy

            reason = special_read_refusal(word, recursive=part.name in _LISTING)
            if reason is not None:
                return f"{reason}, and its name is passed on"
        reason = _held_inside(part)
        if reason is not None:
            return f"{reason}, and its name is passed on"
    for given in inputs:
        from holdfast.permissions.shell.programs.devices import path_refusal  # noqa: PLC0415 - heavy

        for text in given.split():
            reason = path_refusal(text.translate(_QUOTING))  # xargs removes quotes too
            if reason is not None:
                return f"{reason}, and its name is passed on"
    return ""


def named_by_values(parts: "Sequence[Part]", values: "Mapping[str, Sequence[str]]") -> str:
    """Why a device or the environment of a process is read by a name that the text itself puts together, or ""."""
    from holdfast.permissions.shell.programs.devices import path_refusal  # noqa: PLC0415 - heavy

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
        if unknown and "environ" in form and form.translate(_QUOTING).endswith("/environ"):
            return "a file 'environ' in a directory known only at run time may be the environment of a process"
        if "dev/" not in form and "proc/" not in form:
            continue
        from holdfast.permissions.shell.programs.devices import path_refusal  # noqa: PLC0415 - heavy

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
    bare = [word._replace(text=word.text.translate(_QUOTING)) for word in words]
    return [word for word in bare if word.text[:1] == "/" or ".." in word.text]
