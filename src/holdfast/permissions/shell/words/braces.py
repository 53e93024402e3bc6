"""The one reading of braces, as bash has it: `a{b,c}`, `{1..3}`, and `{x}b,c}`, whose first brace closes nothing."""

import re
from typing import Final

MAX_WORDS: Final = 256
"""So many words are made of one; beyond that the text does not tell which."""
_MAX_OPENED: Final = 64
_MAX_WORK: Final = 400_000
_SEQUENCE: Final = re.compile(r"(-?[0-9]{1,18}|[A-Za-z])\.\.(-?[0-9]{1,18}|[A-Za-z])(?:\.\.(-?[0-9]{1,9}))?")
_OPAQUE: Final = frozenset("'\"\\`$(")
_TOKEN: Final = re.compile(r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.|`[^`]*`|\$[{(]|[{},()]""", re.DOTALL)
_COMMA: Final = re.compile(r"(?<!\\),")
"""Where bash sees one it takes `{a..','}` for a list of one, though the comma is quoted."""
_ANY_NUMBER: Final = "[0-9-]*"


class _TooManyWordsError(Exception):
    """Braces that stand for more words than are followed."""


def brace_words(form: str, limit: int = MAX_WORDS, *, ranges_as_patterns: bool = False) -> list[str] | None:
    """Every word that a word becomes by its braces, in the order of bash, quotes and `$…` left as they are.

    Args:
        form: one word as written.
        limit: so many words are made at most; None is given for more.
        ranges_as_patterns: a longer range of numbers is one pattern that matches them all.
    """
    if "{" not in form:
        return [form]
    if form.count("{") > _MAX_OPENED or len(form) * form.count("{") > _MAX_WORK:
        return None
    try:
        return _Braces(limit, ranges_as_patterns=ranges_as_patterns).expand(form)
    except _TooManyWordsError:
        return None


class _Braces:
    """The expansion of one word."""

    __slots__ = ("_limit", "_ranges_as_patterns")

    def __init__(self, limit: int, *, ranges_as_patterns: bool) -> None:
        self._limit = limit
        self._ranges_as_patterns = ranges_as_patterns

    def expand(self, text: str) -> list[str]:
        group = _first_group(text)
        if group is None:
            return [text]
        opened, closed, commas = group
        words = self._inside(text[opened + 1 : closed], [comma - opened - 1 for comma in commas])
        rest = self.expand(text[closed + 1 :])
        count = len(words) * len(rest)
        if count > self._limit or count * len(text) > _MAX_WORK:
            raise _TooManyWordsError
        return [f"{text[:opened]}{word}{tail}" for word in words for tail in rest]

    def _inside(self, inside: str, commas: list[int]) -> list[str]:
        if not commas and _COMMA.search(inside) is None:
            return self._sequence(inside) or [f"{{{inside}}}"]
        found: list[str] = []
        for start, end in zip([-1, *commas], [*commas, len(inside)], strict=True):
            found += self.expand(inside[start + 1 : end])
            if len(found) > self._limit:
                raise _TooManyWordsError
        return found

    def _sequence(self, inside: str) -> list[str]:
        """The members of `1..3` or `a..e..2`; nothing for other text."""
        found = _SEQUENCE.fullmatch(inside)
        if found is None or found[1].isalpha() != found[2].isalpha():
            return []
        letters = found[1].isalpha()
        first, last = (ord(found[1]), ord(found[2])) if letters else (int(found[1]), int(found[2]))
        step = abs(int(found[3] or 1)) or 1
        if abs(last - first) // step >= self._limit:
            if not self._ranges_as_patterns:
                raise _TooManyWordsError
            return [_ANY_NUMBER]
        members = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        if letters:
            return [chr(member) for member in members]
        padded = any(len(one.lstrip("-")) > 1 and one.lstrip("-")[0] == "0" for one in found.group(1, 2))
        width = max(len(found[1]), len(found[2])) if padded else 0
        return [str(member).zfill(width) for member in members]


def _past_opaque(text: str, at: int) -> int:
    """Where a quote, an expansion or a parenthesis ends that starts here; else the same place."""
    if text[at] not in _OPAQUE or _TOKEN.match(text, at) is None:
        return at
    opened = 0
    for token in _TOKEN.finditer(text, at):
        sign = token.group()
        if sign in ("${", "$(", "(") or (sign == "{" and opened):
            opened += 1
        elif sign in ("}", ")"):
            opened -= 1
        if opened <= 0:
            return token.end()
    return len(text)


def _first_group(text: str) -> tuple[int, int, list[int]] | None:
    """The first braces that bash takes for some: where they open and close, and their commas."""
    at = 0
    while at < len(text):
        after = _past_opaque(text, at)
        if after == at and text[at] == "{" and not (at == 0 and text.startswith("{}")):
            group = _closed(text, at)
            if group is not None:
                return (at, *group)
        at = max(after, at + 1)
    return None


def _closed(text: str, opened: int) -> tuple[int, list[int]] | None:
    """Where the brace that opens here closes: not before a comma or two dots were seen in it."""
    at, depth, commas, dots = opened + 1, 0, list[int](), False
    while at < len(text):
        after, letter = _past_opaque(text, at), text[at]
        if after > at:
            at = after
            continue
        if letter == "{":
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
        elif letter == "}" and (commas or dots):
            return at, commas
        elif letter == "," and not depth:
            commas.append(at)
        elif letter == "." and not depth and text.startswith("..", at) and text[at + 2 : at + 3] != "}":
            dots = True
        at += 1
    return None
