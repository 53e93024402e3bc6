"""Regular expressions as JavaScript reads them, for Python.

Python reads most such expressions alike. What it would read differently is translated where that is sure, and refused
where it is not: a pattern that silently means something else is worse than none.
"""

import re

__all__ = ["compile_javascript"]

_MAX_CHARS = 1_000
# Python's own: possessive and atomic forms, comments, conditions, flags in the middle, its spelling of names, limits
# without a lower one; what repeats a word boundary is an error there.
_FOREIGN = re.compile(r"\(\?(?:P|#|>|\(|[aiLmsux]+[):-]|-)|[*+?}]\+|\\[AZz]|\{,|\\[bB][*+?{]")
_CLASS = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_PIECE = re.compile(
    r"\\(?:u\{[^}]*\}|u.{0,4}|x.{0,2}|c.?|[pP]\{[^}]*\}|k<[^>]*>|.)|\(\?<(?![=!])|--|[\[\]$^.&|~]", re.DOTALL
)
_REPEATED_GROUP = re.compile(r"[*+}]\)+[*+{]")


def compile_javascript(text: str) -> re.Pattern[str]:
    """The pattern that means here what the text means in JavaScript.

    Raises:
        ValueError: It is no regular expression, cannot be translated for sure, or may take for ever.
    """
    if len(text) > _MAX_CHARS:
        raise ValueError(f"it has {len(text):,} characters; at most {_MAX_CHARS:,} are read")
    if (foreign := _FOREIGN.search(text)) is not None:
        raise ValueError(f"it is not a JavaScript pattern: {foreign[0]!r} means something else there")
    if _REPEATED_GROUP.search(text) is not None:
        raise ValueError("it repeats a group that repeats itself, which can take for ever; write it simpler")
    try:
        return re.compile(_Translation(text).done())
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from error


class _Translation:
    """One pattern on its way from JavaScript to Python."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._in_class = False

    def done(self) -> str:
        return _PIECE.sub(self._piece, self._text)

    def _piece(self, found: re.Match[str]) -> str:
        piece = found[0]
        if piece[0] == "\\":
            return self._escape(piece)
        if piece == "(?<":
            return piece if self._in_class else "(?P<"
        if piece == "[":
            return self._open(found)
        if self._in_class and piece == "--":
            raise ValueError("it has '--' in a set of characters; write the hyphen last")
        if self._in_class:
            self._in_class = piece != "]"
            return rf"\{piece}" if piece in "&|~" else piece  # doubled they may mean something to Python one day
        return {"]": r"\]", "$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}.get(piece, piece)

    def _open(self, found: re.Match[str]) -> str:
        if self._in_class:
            return r"\["  # Python would warn of a set in a set
        rest = self._text[found.end() :]
        if rest.startswith(("]", "^]")):
            raise ValueError("it has an empty set of characters; name some")
        self._in_class = True
        return "["

    def _escape(self, piece: str) -> str:
        kind = piece[1:2]
        if kind in _CLASS:
            return _CLASS[kind] if self._in_class else f"[{_CLASS[kind]}]"
        if kind in ("D", "W", "S") and not self._in_class:
            return f"[^{_CLASS[kind.lower()]}]"
        if kind in ("b", "B") and not self._in_class:
            return rf"(?a:\{kind})"
        if kind == "k":
            return f"(?P={piece[3:-1]})"
        if kind == "/" or not kind.isalnum():
            return re.escape(kind)
        if (kind == "x" and len(piece) == 4) or (kind == "u" and len(piece) == 6) or kind in "tnvfrb0123456789":
            return piece
        raise ValueError(f"it has {piece!r}, which is not supported; spell it out")
