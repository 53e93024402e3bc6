"""A skill's text for one use: arguments and places filled in, the commands that stand in it told apart.

Commands are found before anything is filled in, and what is filled in is not looked at again: an argument can neither
bring a command nor name another argument.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.lib.injections import Injection

__all__ = ["Part", "expand", "split_arguments"]

_VARIABLE: Final = re.compile(r"\$\{(?:CLAUDE|HOLDFAST)_([A-Z_]+)\}")
_PLACEHOLDER: Final = re.compile(
    r"\$\{(?:CLAUDE|HOLDFAST)_(?P<variable>[A-Z_]+)\}"
    r"|\$ARGUMENTS\[(?P<index>\d{1,3})\]|\$(?P<all>ARGUMENTS)\b|\$(?P<number>\d{1,2})(?!\d)|\$(?P<name>[A-Za-z_]\w*)"
)


class Part(NamedTuple):
    """A piece of the text, or a command whose output stands in its place."""

    text: str
    is_command: bool = False


def expand(
    body: str,
    injections: Sequence[Injection] = (),
    *,
    arguments: str = "",
    names: Sequence[str] = (),
    variables: Mapping[str, str],
    is_command: bool,
) -> list[Part]:
    """The parts of a text in their order.

    `$ARGUMENTS`, `$ARGUMENTS[N]`, `$N` (from 0) and `$name` are replaced in commands, and in skills that are called
    with arguments: elsewhere a `$1` is a piece of shell code. Arguments without a place in the text stand at its end.

    Args:
        body: The text.
        injections: The commands in it.
        arguments: What stands behind the name.
        names: What the arguments are called, in order.
        variables: Values of `${CLAUDE_…}`, such as `SKILL_DIR`; others stay as they are.
        is_command: It comes from `commands/`.
    """
    filled = _Filled(arguments, names, variables, takes_arguments=is_command or bool(arguments.strip()))
    parts: list[Part] = []
    at = 0
    for one in injections:
        parts += [Part(filled(body[at : one.start])), Part(filled(one.command), is_command=True)]
        at = one.end
    parts.append(Part(filled(body[at:])))
    if arguments.strip() and not filled.used:
        parts.append(Part(f"\n\nARGUMENTS: {arguments.strip()}"))
    return [part for part in parts if part.text]


def split_arguments(text: str) -> list[str]:
    """The words of what was given, quotes around what belongs together."""
    try:
        return shlex.split(text, posix=True)
    except ValueError:  # a single apostrophe is no quote
        return text.split()


class _Filled:
    """Fills placeholders in, and knows whether an argument found its place."""

    def __init__(self, text: str, names: Iterable[str], variables: Mapping[str, str], *, takes_arguments: bool) -> None:
        self.used = False
        self._text = text.strip()
        self._variables = variables
        self._words = split_arguments(text) if text.strip() else []
        self._places = {name: place for place, name in enumerate(names)}
        self._pattern = _PLACEHOLDER if takes_arguments else _VARIABLE

    def __call__(self, text: str) -> str:
        return self._pattern.sub(self._value, text) if "$" in text else text

    def _value(self, match: "re.Match[str]") -> str:
        if self._pattern is _VARIABLE or match["variable"]:
            name = match[1] if self._pattern is _VARIABLE else match["variable"]
            return self._variables.get(name, match[0])
        if match["all"]:
            self.used = True
            return self._text
        place = match["index"] or match["number"]
        number = int(place) if place else self._places.get(match["name"])
        if number is None or (match["number"] and not self._words):
            return match[0]
        if number >= len(self._words):
            return ""  # what was given is not told by it
        self.used = True
        return self._words[number]
