"""Wrap text to a width while it is still being written."""

from collections.abc import Callable

__all__ = ["Flow"]


class Flow:
    """Takes text in pieces of any size and writes whole words: no line is too long, and none waits for its end."""

    def __init__(
        self, columns: int, write: Callable[[str], None], *, indent: int = 2, first: str | None = None
    ) -> None:
        """Write lines of `indent` spaces and at most `columns` characters, the first one behind `first`."""
        self._columns = max(20, columns)
        self._emit = write
        self._indent = " " * indent
        self._next_indent = self._indent if first is None else first
        self._column = 0
        self._word = ""

    @property
    def is_open(self) -> bool:
        """A line or a word is not complete."""
        return bool(self._column or self._word)

    def feed(self, text: str) -> None:
        """More text; its last word waits until it is complete."""
        for char in text:
            if char == "\n":
                self._put_word()
                self._newline()
            elif char == " ":
                self._put_word()
            else:
                self._word += char

    def end(self) -> None:
        """The text is complete: finish the line, if there is one."""
        self._put_word()
        if self._column:
            self._newline()

    def _put_word(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        if self._column and self._column + 1 + len(word) > self._columns:
            self._newline()
        if self._column:
            self._emit(f" {word}")
            self._column += 1 + len(word)
        else:
            self._emit(f"{self._next_indent}{word}")
            self._next_indent = self._indent
            self._column = len(word)

    def _newline(self) -> None:
        self._emit("\n")
        self._column = 0
