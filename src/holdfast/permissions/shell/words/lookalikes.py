"""Text that looks like something else: control characters, invisible characters, look-alike letters."""

import re
import unicodedata
from typing import Final, NamedTuple

_INVISIBLE: Final = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffc\u2800\U000110bd\U000110cd\U00013430-\U00013455\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SPACES: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_CONTROL: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_ASCII_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_BAD: Final = re.compile(f"[{_CONTROL}{_INVISIBLE}{_SPACES}]")
_HIDDEN: Final = re.compile(f"[{_CONTROL}{_INVISIBLE}{_SPACES}]|\t")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LOOKALIKE_SCRIPTS: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"})


class Shown(NamedTuple):
    """How a command looks to a person: the escaped text and its real size."""

    text: str
    lines: int
    characters: int
    escaped: int


def deception(text: str) -> str | None:
    """Say which character makes the text look like something else, or None.

    Newline and tab are ordinary. Letters of other scripts are ordinary too, unless one word mixes them with Latin
    letters they can be mistaken for.
    """
    if text.isascii():
        if text.isprintable():
            return None
        found = _ASCII_CONTROL.search(text)
        return None if found is None else f"it holds the control character {_escape(found)}"
    found = _BAD.search(text)
    if found is not None:
        return f"it holds the invisible or control character {_escape(found)}"
    for word in _WORD.findall(text):
        if not word.isascii():
            reason = _mixed(word)
            if reason is not None:
                return reason
    return None


def _mixed(word: str) -> str | None:
    scripts = {unicodedata.name(char, "?").partition(" ")[0] for char in word}
    if "LATIN" in scripts and scripts & _LOOKALIKE_SCRIPTS:
        return f"the word {visible(word)!r} mixes letters that look alike"
    if scripts & {"FULLWIDTH", "MATHEMATICAL"}:
        return f"the word {visible(word)!r} holds letters that look like ASCII"
    return None


def _escape(found: "re.Match[str]") -> str:
    char = found.group()
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"U+{code:04X}"


def visible(text: str) -> str:
    """Write every hidden character as an escape, so that nothing in the text is unseen."""
    shown = _BAD.sub(_escape, text)
    if shown.isascii():
        return shown
    return _WORD.sub(_visible_word, shown)


def _visible_word(found: "re.Match[str]") -> str:
    word = found.group()
    if word.isascii():
        return word
    scripts = {unicodedata.name(char, "?").partition(" ")[0] for char in word}
    if not (("LATIN" in scripts and scripts & _LOOKALIKE_SCRIPTS) or scripts & {"FULLWIDTH", "MATHEMATICAL"}):
        return word
    return "".join(char if char.isascii() else f"<U+{ord(char):04X}>" for char in word)


def show(text: str) -> Shown:
    """Give the escaped text with its line count, its length and how many characters were escaped."""
    return Shown(visible(text), text.count("\n") + 1, len(text), len(_HIDDEN.findall(text)) - text.count("\t"))
