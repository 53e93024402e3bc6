"""ripgrep's output, taken apart while it comes: entries by file, with early end and a stable order for paging."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal

from holdfast.tools.search._place import Place

Mode = Literal["content", "files_with_matches", "count"]

_SEPARATOR = b"--\n"
_LINE_NUMBER = re.compile(rb"(\d+)([:-])")
_BINARY_NOTE = re.compile(rb"[^\0\n]*(?:binary file matches|stopped searching binary file)[^\0\n]*\n")


class Records:
    """Entries found so far, grouped by file.

    ripgrep searches files in no fixed order unless it is told to, which costs it its threads. Where it was not, a later
    page is cut from the files of the earlier pages, in the order in which those were shown, followed by all others.
    """

    def __init__(
        self,
        mode: Mode,
        place: Place,
        *,
        wanted: int | None,
        shown_before: Sequence[str] = (),
        by_path: bool = False,
        hidden: Callable[[str], bool] | None = None,
        numbered: bool = True,
    ) -> None:
        self._mode: Mode = mode
        self._place = place
        self._wanted = wanted
        self._by_path = by_path
        self._awaited = set(() if by_path else shown_before)
        self._shown_before = tuple(shown_before)
        self._hidden = hidden
        self._numbered = numbered
        self._rest = b""
        self._entries: dict[str, list[str]] = {}
        self._current: str | None = None
        self._gap = False
        self._count = 0

    def take(self, piece: bytes) -> bool:
        """Take a piece of output; True once there is more than enough."""
        self._rest += piece
        position = self._files() if self._mode == "files_with_matches" else self._lines()
        self._rest = self._rest[position:]
        return self.has_enough

    @property
    def has_enough(self) -> bool:
        """There is more than was wanted."""
        return self._wanted is not None and self._count > self._wanted and not self._awaited

    def _files(self) -> int:
        *names, rest = self._rest.split(b"\0")
        for name in names:
            self._add(name, None)
        return len(self._rest) - len(rest)

    def _lines(self) -> int:
        """Take whole records `path NUL line LF`; returns how far they go."""
        buffer, position = self._rest, 0
        while True:
            if buffer.startswith(_SEPARATOR, position):
                self._gap = True
                position += len(_SEPARATOR)
                continue
            note = _BINARY_NOTE.match(buffer, position)
            if note is not None:
                self._note_binary(note[0])
                position = note.end()
                continue
            nul = buffer.find(b"\0", position)
            end = buffer.find(b"\n", nul) if nul >= 0 else -1
            if end < 0:
                return position
            self._add(buffer[position:nul], buffer[nul + 1 : end])
            position = end + 1
            if self.has_enough:
                return position

    def _note_binary(self, note: bytes) -> None:
        path = note.partition(b": ")[0]
        self._add(path, b"[a binary file that matches]")

    def _add(self, raw: bytes, line: bytes | None) -> None:
        name = os.fsdecode(raw.removeprefix(b"./"))
        if name != self._current:
            self._awaited.discard(self._current or "")
            self._current = name
        entries = self._entries.get(name)
        if entries is None:
            if self._hidden is not None and self._hidden(self._place.absolute(name)):
                self._entries[name] = []
                return
            entries = self._entries[name] = []
        elif not entries:
            return  # hidden: known and kept empty
        if self._gap and entries:
            entries.append("--")
            self._count += 1
        self._gap = False
        entries.append(self._entry(name, line))
        self._count += 1

    def _entry(self, name: str, line: bytes | None) -> str:
        shown = self._place.shown(name)
        if line is None:
            return shown
        text = line.rstrip(b"\r").decode("utf-8", "backslashreplace").replace("\0", "\u2400")
        if self._mode == "count":
            return f"{shown}:{text}"
        number = _LINE_NUMBER.match(line) if self._numbered else None
        return f"{shown}{'-' if number is not None and number[2] == b'-' else ':'}{text}"

    def ordered(self, *, complete: bool, newest_first: Callable[[list[str]], list[str]]) -> list[tuple[str, str]]:
        """Return all entries with their file, in an order that later pages can repeat."""
        visible = [name for name, entries in self._entries.items() if entries]
        known = set(self._shown_before)
        others = [name for name in visible if name not in known]
        if complete and not self._by_path:
            is_list = self._mode == "files_with_matches"
            others = newest_first(others) if is_list else sorted(others, key=_by_parts)
        names = [name for name in self._shown_before if self._entries.get(name)] + others
        return [(name, entry) for name in names for entry in self._entries[name]]


def _by_parts(name: str) -> list[bytes]:
    """The order in which ripgrep sorts paths."""
    return os.fsencode(name).split(b"/")
