"""Braces in a shell word: `a{b,c}` and `n{1..3}` as the words that bash makes of them, quotes left as they are."""

import re
from typing import Final

from holdfast.permissions.shell.words.braces import TooManyWordsError, expand_braces

__all__ = ["MAX_WORDS", "brace_words"]

MAX_WORDS: Final = 256
"""So many words are made of one; beyond that the text does not tell which."""
_RANGE: Final = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.(-?[0-9]{1,9}))?\Z")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]{1,9}))?\Z")
_CLOSERS: Final = {"${": "}", "$(": ")"}


def brace_words(form: str) -> list[str] | None:
    """Every word that a word becomes by its braces; None when there are too many to say."""
    try:
        return expand_braces(form, MAX_WORDS, _range, _past_quoted) if "{" in form else [form]
    except TooManyWordsError:
        return None


def _past_quoted(text: str, at: int) -> int:
    """Where text ends that braces do not count in, when such text starts here; else the same place."""
    letter = text[at]
    if letter == "\\":
        return at + 2
    if letter in "'`":
        end = text.find(letter, at + 1)
        return len(text) if end < 0 else end + 1
    if letter == '"':
        at += 1
        while at < len(text) and text[at] != '"':
            at += 2 if text[at] == "\\" else 1
        return at + 1
    closer = _CLOSERS.get(text[at : at + 2])
    if closer is None:
        return at
    end = text.find(closer, at + 2)
    return len(text) if end < 0 else end + 1


def _range(text: str) -> list[str]:
    """The members of `1..3` or `a..e..2`; nothing for other text, and one word too many for a long range."""
    numbers, letters = _RANGE.match(text), _LETTERS.match(text)
    found = numbers or letters
    if found is None:
        return []
    first, last = (int(found[1]), int(found[2])) if numbers else (ord(found[1]), ord(found[2]))
    step = abs(int(found[3] or 1)) or 1
    members = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if not numbers:
        return [chr(member) for member in members]
    padded = any(one.lstrip("-").startswith("0") and len(one.lstrip("-")) > 1 for one in (found[1], found[2]))
    width = max(len(found[1]), len(found[2])) if padded else 0
    return [f"{member:0{width}d}" if width else str(member) for member in members[: MAX_WORDS + 1]]
