"""Markdown while it is still being written: finished blocks come out once, the open one stays in sight."""

import re
from typing import NamedTuple

from holdfast.tui.show.words import Line, prose, wrapped

__all__ = ["MarkdownStream", "Piece", "tail_lines"]

_FENCE = re.compile(r"^\s{0,3}(`{3,}(?=[^`]*$)|~{3,})\s*([\w+#.-]*)\s*(.*)")
_ITEM = re.compile(r"^\s*([-*+]|\d{1,9}[.)])\s")
_OPEN_CHARS = 8_000
"""So much of one block may stay open; a longer one comes out in parts."""

_LANGUAGE_CHARS = 16

_TAIL_CHARS = 4_000
_STYLED = re.compile(r"(`[^`\n]+`|\*\*[^*\n]+\*\*)")


class Piece(NamedTuple):
    """Something finished: a block of markdown, or lines of code."""

    text: str
    language: str | None = None
    """None: markdown."""
    begins: bool = False
    """Lines of code: the first of theirs."""


class MarkdownStream:
    """Takes text in parts of any size; `feed` and `end` give what is finished, `tail` is what is not."""

    def __init__(self) -> None:
        self._rest = ""
        self._block: list[str] = []
        self._size = 0
        self._fence: str | None = None
        self._language = ""
        self._begins = False
        """Nothing of the open fence has come out."""

    @property
    def tail(self) -> str:
        """What no piece holds yet."""
        return "\n".join([*self._block, self._rest]) if self._block else self._rest

    def feed(self, text: str) -> list[Piece]:
        """More text."""
        *lines, self._rest = (self._rest + text).split("\n")
        pieces: list[Piece] = []
        for line in lines:
            self._take(line.rstrip("\r"), pieces)
        if len(self._rest) > _OPEN_CHARS:
            head, _, self._rest = self._rest.rpartition(" ")
            self._take(head or self._rest, pieces)
            self._rest = self._rest if head else ""
        if self._fence is not None:
            self._close(pieces)
        return pieces

    def end(self) -> list[Piece]:
        """The text is complete."""
        pieces: list[Piece] = []
        if self._rest:
            self._take(self._rest, pieces)
        self._close(pieces)
        self._rest, self._fence = "", None
        return pieces

    def _take(self, line: str, pieces: list[Piece]) -> None:
        found = _FENCE.match(line)
        if self._fence is not None:
            if found and found[1].startswith(self._fence) and not found[2] and not found[3]:
                self._close(pieces)
                self._fence = None
            else:
                self._add(line, pieces)
            return
        if found:
            self._close(pieces)
            is_name = len(found[2]) <= _LANGUAGE_CHARS
            if found[3] or not is_name:  # what else stands there, such as the name of a file
                pieces.append(Piece(found[3] if is_name else f"{found[2]} {found[3]}"))
            self._fence, self._language = found[1], (is_name and found[2]) or "text"
            self._begins = True
            return
        if self._block and not self._block[-1].strip() and line.strip() and self._ends_before(line):
            self._close(pieces)
        if line.strip() or self._block:
            self._add(line, pieces)

    def _ends_before(self, line: str) -> bool:
        """Behind a blank line: whether this one begins another block. A list goes on with items and set-in lines."""
        return not (_ITEM.match(self._block[0]) and (_ITEM.match(line) or line.startswith((" ", "\t"))))

    def _add(self, line: str, pieces: list[Piece]) -> None:
        self._block.append(line)
        self._size += len(line) + 1
        if self._size > _OPEN_CHARS:
            self._close(pieces)

    def _close(self, pieces: list[Piece]) -> None:
        if self._block:
            text = "\n".join(self._block)
            if self._fence is not None:
                pieces.append(Piece(text, self._language, begins=self._begins))
                self._begins = False
            elif text.strip():
                pieces.append(Piece(text))
        self._block, self._size = [], 0


def tail_lines(tail: str, columns: int, rows: int) -> list[Line]:
    """The last rows of what is still being written, with the plainest marks already drawn."""
    lines: list[Line] = []
    for text in prose(tail[-_TAIL_CHARS:]).split("\n")[-rows:]:
        lines += wrapped(_styled(text), columns)
    return lines[-rows:]


def _styled(text: str) -> Line:
    stripped = text.lstrip()
    if stripped.startswith("#"):
        return [("bold", stripped.lstrip("#").lstrip())]
    pieces: Line = []
    for place, part in enumerate(_STYLED.split(text)):
        if place % 2:
            pieces.append(("accent", part[1:-1]) if part.startswith("`") else ("bold", part[2:-2]))
        elif part:
            pieces.append(("", part))
    return pieces or [("", "")]
