"""The one reading of braces, as bash has it: `a{b,c}`, `{1..3}`, and `{x}b,c}`, whose first brace closes nothing."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TooManyWordsError", "expand_braces"]

_MAX_OPENED: Final = 64
_MAX_WORK: Final = 400_000


class TooManyWordsError(Exception):
    """Braces that stand for more words than are followed."""


def expand_braces(
    text: str, limit: int, sequence: "Callable[[str], list[str]]", past: "Callable[[str, int], int] | None" = None
) -> list[str]:
    """Every word that a word becomes by its braces, in the order of bash.

    Args:
        text: one word.
        limit: so many words are made at most.
        sequence: the members of `1..3`; nothing for text that is no sequence.
        past: where text ends in which braces do not count, when such text starts at a place; else that place.

    Raises:
        TooManyWordsError: there are more, or too many braces to look at.
    """
    if text.count("{") > _MAX_OPENED or len(text) * text.count("{") > _MAX_WORK:
        raise TooManyWordsError
    return _Braces(limit, sequence, past or _everything).expand(text)


def _everything(_text: str, at: int) -> int:
    return at


class _Braces:
    """The expansion of one word."""

    __slots__ = ("_limit", "_past", "_sequence")

    def __init__(self, limit: int, sequence: "Callable[[str], list[str]]", past: "Callable[[str, int], int]") -> None:
        self._limit = limit
        self._sequence = sequence
        self._past = past

    def expand(self, text: str) -> list[str]:
        group = self._first_group(text)
        if group is None:
            return [text]
        opened, closed, commas = group
        words = self._inside(text[opened + 1 : closed], [comma - opened - 1 for comma in commas])
        rest = self.expand(text[closed + 1 :])
        count = len(words) * len(rest)
        if count > self._limit or count * len(text) > _MAX_WORK:
            raise TooManyWordsError
        return [f"{text[:opened]}{word}{tail}" for word in words for tail in rest]

    def _inside(self, inside: str, commas: list[int]) -> list[str]:
        if not commas and not self._holds_comma(inside):
            return self._sequence(inside) or [f"{{{inside}}}"]
        found: list[str] = []
        for start, end in zip([-1, *commas], [*commas, len(inside)], strict=True):
            found += self.expand(inside[start + 1 : end])
            if len(found) > self._limit:
                raise TooManyWordsError
        return found

    def _first_group(self, text: str) -> tuple[int, int, list[int]] | None:
        """The first braces that bash takes for some: where they open and close, and their commas."""
        at = 0
        while at < len(text):
            after = self._past(text, at)
            if after == at and text[at] == "{" and not (at == 0 and text.startswith("{}")):
                group = self._closed(text, at)
                if group is not None:
                    return (at, *group)
            at = max(after, at + 1)
        return None

    def _closed(self, text: str, opened: int) -> tuple[int, list[int]] | None:
        """Where the brace that opens here closes: not before a comma or two dots were seen in it."""
        at, depth, commas, dots = opened + 1, 0, list[int](), False
        while at < len(text):
            after, letter = self._past(text, at), text[at]
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

    def _holds_comma(self, text: str) -> bool:
        at = 0
        while at < len(text):
            after = self._past(text, at)
            if after == at and text[at] == ",":
                return True
            at = max(after, at + 1)
        return False
