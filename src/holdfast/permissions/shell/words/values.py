"""Values that a command itself gives to its variables, and what a word becomes with them."""

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.permissions.shell.words.patterns import brace_words, is_wild, matches_text
from holdfast.permissions.shell.words.quoting import QUOTES

_MAX_CHARS: Final = 512
_CUT: Final = re.compile(r"(%%?|##?)(.*)", re.DOTALL)
_SLICE: Final = re.compile(r":\s*(-?[0-9]{1,9})(?::\s*(-?[0-9]{1,9}))?")
_REPLACE: Final = re.compile(r"/([/#%]?)([^/]+)(?:/(.*))?", re.DOTALL)
_UNCERTAIN: Final = frozenset("$`'\"\\")


def applied(value: str, operator: str) -> str | None:
    """Give what is left of a value behind `%`, `#`, `/` or `:` and their kin; None when that is not certain."""
    if len(value) > _MAX_CHARS or len(operator) > _MAX_CHARS or not _UNCERTAIN.isdisjoint(operator):
        return None
    cut = _CUT.fullmatch(operator)
    if cut is not None:
        return _without(value, cut[1], cut[2])
    part = _SLICE.fullmatch(operator)
    if part is not None:
        start = int(part[1])
        rest = value[start:] if start >= 0 or -start <= len(value) else ""
        return rest if part[2] is None else rest[: int(part[2])]
    swap = _REPLACE.fullmatch(operator)
    if swap is None or is_wild(swap[2]):
        return None
    where, old, new = swap[1], swap[2], swap[3] or ""
    if where in ("#", "%"):
        fits = value.startswith(old) if where == "#" else value.endswith(old)
        short = value.removeprefix(old) if where == "#" else value.removesuffix(old)
        return (new + short if where == "#" else short + new) if fits else value
    return value.replace(old, new) if where else value.replace(old, new, 1)


def _without(value: str, operator: str, pattern: str) -> str:
    """Cut off the shortest or longest end or beginning that a pattern matches."""
    ends = operator[0] == "%"
    places = range(len(value) + 1)
    shortest = len(operator) == 1
    for at in reversed(places) if ends == shortest else places:
        if matches_text(pattern, value[at:] if ends else value[:at]):
            return value[:at] if ends else value[at:]
    return value


_MAX_SPELLINGS: Final = 20_000
_MAX_WORDS: Final = 1_024
_MAX_DEPTH: Final = 24
_MAX_TURNS: Final = 4  # of a variable whose value is put together of its own earlier values
_DEAR: Final = 4  # braces and operators are as much work as that many spellings
_COMMAND: Final = "("
_ROOTED: Final = frozenset({"PATH", "SHELL"})
"""Variables of which everybody knows that they begin with a slash: `${SHELL:0:1}`."""
_EXPANSION: Final = re.compile(
    r"\$\{(?P<braced>[A-Za-z_]\w*|[@*0-9<])(?P<rest>[^}]*)\}|\$(?P<bare>[A-Za-z_]\w*|[@*0-9#?!$-])"
    r"|\$\((?P<command>[^()]*)\)|`(?P<old>[^`]*)`"
)
_DEFAULT: Final = re.compile(r":?[-=+](.*)\Z", re.DOTALL)
_TELLS: Final = re.compile(r"\s*(?:echo|printf)(?:\s+-[neE]+|\s+--)*\s+([^|;&<>]*)\Z")
_HERE: Final = re.compile(
    r"(?:builtin |command )?(?:/usr)?(?:/bin/)?pwd(?: -[LP])?|git rev-parse --show-(?:toplevel|cdup)"
)
_HISTORY: Final = re.compile(r"git rev-parse --(?:absolute-)?git-(?:common-)?dir")
_NAMING_PLACE: Final = re.compile(r"(dirname|realpath|readlink)(?: -[a-z]+)*(?! -[a-z])(?: --)? +([^\s|;&<>]+)")
_MOVING: Final = re.compile(r"cd(?: --)? +([^\s|;&<>]+) *(?:&&|;) *pwd(?: -[LP])?")


STDIN: Final = "<"
"""Under this name stands what a command reads from its input."""
MOVED: Final = ">"
"""Under this name stand the directories that the text moves to and that are not told by plain words."""
PERHAPS_EMPTY: Final = "$_"
FROM_STDIN: Final = "${<}"
POSITIONS: Final = ("@", "*", *"123456789")
SOMETHING: Final = "_"
"""Stands for names that are certainly below the directory they were looked for in."""


class Spelling(NamedTuple):
    """One text that a word may become; `guessed` when an expansion in it was taken to be empty."""

    text: str
    guessed: bool


class Values:
    """What variables may hold, by name: every value that the text gives them, wherever it does."""

    __slots__ = ("_cwd", "_home", "_known", "_left", "exhausted")

    def __init__(self, known: "Mapping[str, Sequence[str]]", home: str, cwd: str | None) -> None:
        self._known, self._home, self._cwd = known, home, cwd
        self._left = _MAX_SPELLINGS
        self.exhausted = False
        """Whether there were more texts than are followed."""

    def spellings(self, form: str, *, static: bool) -> list[Spelling]:
        """Every text a word may become, as far as the command tells."""
        if static:
            return [Spelling(text, guessed=False) for text in self._elsewhere(form)]
        found: list[Spelling] = []
        for word in self._words(form):
            for text, guessed in self._expand(word, ()):
                found += [Spelling(one, guessed) for one in self._at_home(text.translate(QUOTES))]
        return found

    def _words(self, form: str) -> list[str]:
        """The words that braces make of one; nothing is followed where there are too many."""
        found = brace_words(form, _MAX_WORDS, ranges_as_patterns=True)
        self._left -= _DEAR * (len(found) - 1) if found else 0
        self.exhausted = self.exhausted or found is None or self._left < 0
        return found or []

    def _at_home(self, text: str) -> list[str]:
        if text == "~" or text.startswith("~/"):
            return self._elsewhere(self._home + text[1:])
        return ["/"] if text.startswith("~") else [text]

    def _elsewhere(self, text: str) -> list[str]:
        """A path with the user's home in it, and what it is when the text itself says that home is elsewhere."""
        homes = self._known.get("HOME", ()) if text.startswith(self._home) else ()
        return [text, *(home + text[len(self._home) :] for home in homes if "$" not in home)]

    def _expand(self, form: str, chain: tuple[str, ...]) -> list[Spelling]:
        found = [Spelling("", guessed=False)]
        position = 0
        for expansion in _EXPANSION.finditer(form):
            literal = form[position : expansion.start()]
            position = expansion.end()
            options = self._options(expansion, chain)
            self._left -= len(found) * len(options)
            if self._left < 0:
                self.exhausted = True
                break
            found = [
                Spelling(text + literal + more, guessed or also) for text, guessed in found for more, also in options
            ]
        rest = form[position:]
        found = [Spelling(text + rest, guessed) for text, guessed in found]
        if position and rest.startswith((")", '"')) and any("$(" in text for text, _ in found):
            return [deeper for text, guessed in found for deeper in self._deeper(text, chain, guessed=guessed)]
        return found

    def _deeper(self, text: str, chain: tuple[str, ...], *, guessed: bool) -> list[Spelling]:
        """Expand a substitution that stood around another one."""
        if self._too_deep(chain):
            return [Spelling("", guessed=True)]
        return [Spelling(one, guessed or also) for one, also in self._expand(text, (*chain, _COMMAND))]

    def _too_deep(self, chain: tuple[str, ...]) -> bool:
        """Whether values are put together of more values than are followed."""
        self.exhausted = self.exhausted or len(chain) >= _MAX_DEPTH
        return self.exhausted

    def _options(self, expansion: "re.Match[str]", chain: tuple[str, ...]) -> list[Spelling]:
        name = expansion["braced"] or expansion["bare"] or ""
        command = expansion["command"] or expansion["old"]
        rest = expansion["rest"] or ""
        if self._too_deep(chain) or chain.count(name) >= _MAX_TURNS:
            return [Spelling("", guessed=True)]
        if command is not None:
            return self._printed(command, (*chain, _COMMAND))
        inner = (*chain, name)
        given = {"HOME": self._home, "PWD": self._cwd or ".", "OLDPWD": self._cwd or "."}.get(name)
        if given is None and rest and name in _ROOTED:
            given = os.environ.get(name, "/bin")
        forms = [one for form in self._known.get(name, ()) for one in self._words(form)]
        found = [Spelling(given, guessed=False)] if given is not None else []
        found += [spelling for form in forms for spelling in self._expand(form, inner)]
        default = _DEFAULT.match(rest)
        if default is not None:
            found += self._expand(default[1], inner)
        elif rest.startswith((":?", "?")):
            found = found or [Spelling("_", guessed=False)]  # the shell stops where it would be empty
        elif rest and not rest.startswith("["):  # an operator changes the value
            self._left -= _DEAR * len(found)
            found = _changed(found, rest, certain=given is not None)
        return found or [Spelling("", guessed=True)]

    def _printed(self, command: str, chain: tuple[str, ...]) -> list[Spelling]:
        """What a substitution prints, when that is plain."""
        plain = " ".join(command.split()).replace(" 2>/dev/null", "")
        if _HERE.fullmatch(plain):
            return [Spelling(self._cwd or ".", guessed=False)]
        if _HISTORY.fullmatch(plain):
            return [Spelling(posixpath.join(self._cwd or ".", ".git"), guessed=False)]
        placed = _NAMING_PLACE.fullmatch(plain) or _MOVING.fullmatch(plain)
        if placed is not None:
            climb = placed[1] == "dirname"
            found = [
                one
                for text, _ in self._expand(placed[placed.lastindex or 1], chain)
                for one in self._at_home(text.translate(QUOTES))
            ]
            return [Spelling(_parent(text) if climb else text, guessed=False) for text in found]
        told = _TELLS.match(command)
        if told is None:
            return [Spelling("", guessed=True)]
        return [spelling for word in told[1].split() for spelling in self._expand(word, chain)]


def _parent(path: str) -> str:
    return posixpath.dirname(path.rstrip("/")) or ("/" if path.startswith("/") else ".")


def _changed(found: list[Spelling], operator: str, *, certain: bool) -> list[Spelling]:
    """What an operator makes of values; of those that are not `certain` anything may be left."""
    exact = [(applied(text, operator), guessed) for text, guessed in found]
    known = [Spelling(text, guessed) for text, guessed in exact if text is not None]
    if certain and len(known) == len(found):
        return known
    shorter = [Spelling(posixpath.dirname(text), guessed) for text, guessed in found]
    return [*found, *shorter, *known, Spelling("", guessed=True)]
