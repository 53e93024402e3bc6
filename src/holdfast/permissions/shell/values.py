"""Values that a command itself gives to its variables, and what a word becomes with them."""

import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.roads import alternatives
from holdfast.permissions.shell.words import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.permissions.shell.parts import Part

_MAX_SPELLINGS: Final = 20_000
_MAX_DEPTH: Final = 4
_EXPANSION: Final = re.compile(
    r"\$\{(?P<braced>[A-Za-z_]\w*|[@*0-9<])(?P<rest>[^}]*)\}|\$(?P<bare>[A-Za-z_]\w*|[@*0-9#?!$-])"
    r"|\$\((?P<command>[^()]*)\)|`(?P<old>[^`]*)`"
)
_DEFAULT: Final = re.compile(r":?[-=+](.*)\Z", re.DOTALL)
_TELLS: Final = re.compile(r"\s*(?:echo|printf)(?:\s+-[neE]+|\s+--)*\s+([^|;&<>]*)\Z")
_QUOTES: Final = str.maketrans("", "", "'\"\\")
_HERE: Final = frozenset({"pwd"})


STDIN: Final = "<"
"""Under this name stands what a command reads from its input."""
PERHAPS_EMPTY: Final = "$_"
FROM_STDIN: Final = "${<}"
POSITIONS: Final = ("@", "*", *"123456789")
NARROWING: Final = names("-name -iname -path -ipath -regex -iregex -type -mtime -mmin -size -newer -empty -user -perm")
"""Tests with which `find` gives only some of what it finds."""


_PASSING: Final = names("tr sort uniq cat tee")
_FINDERS: Final = frozenset({"fd", "fdfind"})
_NAMING: Final = names("-l --files --files-with-matches -rl -lr -Rl -lR -il -rli -ril -irl ls-files")
SOMETHING: Final = "_"
"""Stands for names that are certainly below the directory they were looked for in."""


def teller_of(parts: "Sequence[Part]", number: int) -> "Part | None":
    """The command whose names reach the input of this one, by way of commands that hand them on."""
    while number > 0 and parts[number].piped:
        number -= 1
        if parts[number].name not in _PASSING:
            return parts[number]
    return None


def tells_below(part: "Part") -> bool:
    """Whether a command prints nothing but names of files below where it looks."""
    return part.name in _FINDERS or (part.name in ("git", "grep", "rg") and not _NAMING.isdisjoint(part.texts))


class Target(NamedTuple):
    """A place that a command names, as written."""

    form: str
    static: bool
    narrowed: bool = False
    """Only some of what is below it."""


def printed_by(part: "Part") -> "Iterator[Target]":
    """The names that a command prints for the next one to take, as far as they are told."""
    name = part.name
    if name not in ("echo", "printf", "find", "ls"):
        return
    narrowed, some = name == "find" and not NARROWING.isdisjoint(part.texts), False
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        if word.text.startswith("-"):
            if name == "find":
                break
            continue
        some = True
        known = word.text if word.static else form
        for piece in known.split() if word.static and name in ("echo", "printf") else [known]:
            yield Target(f"{piece}/*" if name == "ls" else piece, word.static, narrowed)
    if not some and name in ("ls", "find"):
        yield Target("*" if name == "ls" else ".", static=True, narrowed=narrowed)


class Spelling(NamedTuple):
    """One text that a word may become; `guessed` when an expansion in it was taken to be empty."""

    text: str
    guessed: bool


class Values:
    """What variables may hold, by name: every value that the text gives them, wherever it does.

    Args:
        known: forms as written, by variable.
        home: what `~` and `$HOME` stand for.
        cwd: what `$PWD` stands for.
    """

    __slots__ = ("_cwd", "_home", "_known", "_left", "exhausted")

    def __init__(self, known: "Mapping[str, Sequence[str]]", home: str, cwd: str | None) -> None:
        self._known, self._home, self._cwd = known, home, cwd
        self._left = _MAX_SPELLINGS
        self.exhausted = False
        """Whether there were more texts than are followed."""

    def spellings(self, form: str, *, static: bool) -> list[Spelling]:
        """Every text a word may become, as far as the command tells."""
        if static:
            return [Spelling(form, guessed=False)]
        return [Spelling(self._at_home(text.translate(_QUOTES)), guessed) for text, guessed in self._expand(form, 0)]

    def _at_home(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            return self._home + text[1:]
        return "/" if text.startswith("~") else text

    def _expand(self, form: str, depth: int) -> list[Spelling]:
        found = [Spelling("", guessed=False)]
        position = 0
        for expansion in _EXPANSION.finditer(form):
            literal = form[position : expansion.start()]
            position = expansion.end()
            options = self._options(expansion, depth)
            self._left -= len(found) * len(options)
            if self._left < 0:
                self.exhausted = True
                break
            found = [
                Spelling(text + literal + more, guessed or also) for text, guessed in found for more, also in options
            ]
        rest = form[position:]
        return [Spelling(text + rest, guessed) for text, guessed in found]

    def _options(self, expansion: "re.Match[str]", depth: int) -> list[Spelling]:
        name = expansion["braced"] or expansion["bare"]
        command = expansion["command"] or expansion["old"]
        rest = expansion["rest"] or ""
        if depth >= _MAX_DEPTH or self.exhausted:
            return [Spelling("", guessed=True)]
        if command is not None:
            return self._printed(command, depth)
        if name == "HOME":
            return [Spelling(self._home, guessed=False)]
        if name in ("PWD", "OLDPWD"):
            return [Spelling(self._cwd or ".", guessed=False)]
        forms = [one for form in self._known.get(name or "", ()) for one in _alternatives(form)]
        found = [spelling for form in forms for spelling in self._expand(form, depth + 1)]
        default = _DEFAULT.match(rest)
        if default is not None:
            found += self._expand(default[1], depth + 1)
        elif rest.startswith((":?", "?")):
            found = found or [Spelling("_", guessed=False)]  # the shell stops where it would be empty
        elif rest and not rest.startswith("["):  # an operator changes the value
            found = [*found, *[Spelling(posixpath.dirname(text), guessed) for text, guessed in found]]
            found.append(Spelling("", guessed=True))
        return found or [Spelling("", guessed=True)]

    def _printed(self, command: str, depth: int) -> list[Spelling]:
        """What a substitution prints, when that is plain."""
        if command.strip() in _HERE:
            return [Spelling(self._cwd or ".", guessed=False)]
        told = _TELLS.match(command)
        if told is None:
            return [Spelling("", guessed=True)]
        return [spelling for word in told[1].split() for spelling in self._expand(word, depth + 1)]


def _alternatives(form: str) -> list[str]:
    return alternatives(form) if "{" in form and "${" not in form else [form]
