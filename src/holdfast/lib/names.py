r"""File names for showing: what cannot be printed, or would fake other text, appears as an escape.

The form can be read back: `'caf\xe9.txt'` is the name with the byte E9, whatever encoding was meant. In the quotes a
backslash is doubled, `\xNN` is a byte (or a control character), and `\n`, `\uNNNN` and the like are characters.
"""

import re

__all__ = ["read_name", "read_path", "show_name"]

_ESCAPE = re.compile(r"\\(?:\\|[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def show_name(name: str) -> str:
    """Return a name as it can be shown on one line; unusual names come quoted, with escapes."""
    return _quoted(name) if _needs_quotes(name) else name


def read_name(shown: str) -> str:
    """Return the name that `show_name` shows so; any other text is a name as it stands."""
    found = _unquoted(shown)
    return shown if found is None else found


def read_path(shown: str) -> str:
    """Return the path that a search shows so; one that climbs or starts at a home directory is never shown in quotes.

    So quotes are no second spelling of a path that can be written without them, which a user's hook may look for.
    """
    if shown[:1] != "'":
        return shown
    path = read_name(shown)
    return shown if path[:1] == "~" or ".." in path.split("/") else path


def _needs_quotes(name: str) -> bool:
    return not name.isprintable() or name != name.strip() or _unquoted(name) is not None


def _unquoted(text: str) -> str | None:
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        return None
    name = _ESCAPE.sub(lambda found: _character(found[0][1:]), text[1:-1])
    return name if _needs_quotes(name) and _quoted(name) == text else None


def _character(escape: str) -> str:
    if escape in _LETTERS:
        return _LETTERS[escape]
    number = int(escape[1:], 16)
    if number > 0x10FFFF:
        return ""
    return chr(0xDC00 + number) if escape[0] == "x" and number >= 0x80 else chr(number)


def _quoted(name: str) -> str:
    return "'" + "".join(map(_shown, name)) + "'"


def _shown(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    number = ord(char)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if 0x80 <= number <= 0xFF:  # a character, not that byte
        return f"\\u{number:04x}"
    return char.encode("unicode_escape").decode()
