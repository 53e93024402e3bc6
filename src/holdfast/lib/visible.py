"""Make text from outside safe to look at: what a terminal or an eye could misread is spelled out."""

import unicodedata

# Letters that draw nothing in every common font, though Unicode calls them letters or marks.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5\u2800")
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_OBEYED = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)} | {
    ord(char): f"<U+{ord(char):04X}>" for char in _DIRECTIONS
}
_JSON_OBEYED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *map(ord, _DIRECTIONS))}
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, *, limit_chars: int | None = None) -> str:
    """Return the text with control, invisible and direction characters as escapes, cut with a count when too long."""
    if limit_chars is not None and len(text) > limit_chars:
        return f"{text[:limit_chars].translate(_SHOWN)[:limit_chars]}… ({len(text)} characters)"
    shown = text if text.isascii() and text.isprintable() else text.translate(_SHOWN)
    if limit_chars is None or len(shown) <= limit_chars:
        return shown
    return f"{shown[:limit_chars]}… ({len(text)} characters)"


def json_for_terminal(line: bytes) -> bytes:
    """A line of JSON for a terminal: the same value, with what a terminal or an eye would obey as escapes."""
    if line.isascii() and b"\x7f" not in line:
        return line
    return line.decode("utf-8", "surrogateescape").translate(_JSON_OBEYED).encode("utf-8", "surrogateescape")


def without_controls(text: str) -> str:
    """The text for a terminal: lines, tabs and every script as they are, what a terminal would obey as escapes.

    For prose that people read, where `visible` would take emoji and joined letters apart.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_OBEYED)


def _shown(char: str) -> str:
    if char < "\x7f":
        return char if char >= " " else char.encode("unicode_escape").decode("ascii")
    category = unicodedata.category(char)
    if category in _HIDDEN_CATEGORIES or char in _BLANK_LETTERS or category == "Zs" or _is_variation_selector(char):
        return f"<U+{ord(char):04X}>"
    return char


class _Shown(dict[int, str]):
    """Every character as it is shown; each is judged once."""

    def __missing__(self, code: int) -> str:
        shown = self[code] = _shown(chr(code))
        return shown


_SHOWN = _Shown()


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
