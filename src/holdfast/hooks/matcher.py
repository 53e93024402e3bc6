"""Which events a hook is about: a plain list of names matches exactly, anything else is a JavaScript pattern.

Python reads most such expressions alike. What it would read differently is translated where that is sure, and refused
loudly where it is not: a gate that silently watches something else is worse than none.
"""

import re
from collections.abc import Callable, Sequence

from holdfast.contract import UsageError

__all__ = ["NameTest", "compile_matcher", "javascript_pattern"]

NameTest = Callable[[Sequence[str]], bool]
_PLAIN = re.compile(r"[A-Za-z0-9_\- ,|]*")
_MAX_CHARS = 1_000
_MAX_NAME_CHARS = 1_000
# Python's own: possessive and atomic forms, comments, conditions, flags in the middle, its spelling of names.
_FOREIGN = re.compile(r"\(\?(?:P|#|>|\(|[aiLmsux]+[):-]|-)|[*+?}]\+|\\[AZz]")
_CLASS = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_PIECE = re.compile(r"\\(?:u\{[^}]*\}|u.{0,4}|x.{0,2}|c.?|[pP]\{[^}]*\}|k<[^>]*>|.)|\(\?<(?![=!])|[\[\]$^.]", re.DOTALL)
_REPEATED_GROUP = re.compile(r"[*+}]\)+[*+{]")


def _everything(names: Sequence[str]) -> bool:
    del names
    return True


def compile_matcher(matcher: str | None) -> NameTest:
    """A test on all names of a subject; `*`, an empty matcher or none match every one.

    Raises:
        UsageError: It is no regular expression, or one that cannot be read as JavaScript reads it.
    """
    text = (matcher or "").strip()
    if text in ("", "*"):
        return _everything
    if _PLAIN.fullmatch(text):
        wanted = frozenset(name.strip() for name in re.split(r"[,|]", text) if name.strip())
        return lambda names: not wanted.isdisjoint(names)
    try:
        pattern = re.compile(javascript_pattern(text))
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"the hook matcher {matcher!r} is no regular expression: {error}") from error
    return lambda names: any(pattern.search(name[:_MAX_NAME_CHARS]) is not None for name in names)


def javascript_pattern(text: str) -> str:
    """The pattern as Python spells it.

    Raises:
        UsageError: It cannot be translated for sure.
    """
    if len(text) > _MAX_CHARS:
        raise UsageError(f"the hook matcher has {len(text):,} characters; at most {_MAX_CHARS:,} are read")
    if (foreign := _FOREIGN.search(text)) is not None:
        raise UsageError(
            f"the hook matcher {text!r} is no JavaScript pattern: {foreign[0]!r} means something else there"
        )
    if _REPEATED_GROUP.search(text) is not None:
        raise UsageError(
            f"the hook matcher {text!r} repeats a group that repeats itself, which can take for ever; write it simpler"
        )
    return _Translation(text).done()


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
        if self._in_class:
            self._in_class = piece != "]"
            return piece
        return {"]": r"\]", "$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}.get(piece, piece)

    def _open(self, found: re.Match[str]) -> str:
        if self._in_class:
            return r"\["  # Python would warn of a set in a set
        rest = self._text[found.end() :]
        if rest.startswith(("]", "^]")):
            raise UsageError(f"the hook matcher {self._text!r} has an empty set of characters; name some")
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
        raise UsageError(f"the hook matcher {self._text!r} has {piece!r}, which is not supported; spell it out")
