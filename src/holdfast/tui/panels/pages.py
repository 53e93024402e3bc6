"""What a panel can show: rows to choose from, or a text to read. The state of each, without a screen."""

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from holdfast.tui.show.words import Line, as_text, broken, cells, cut

__all__ = ["Actions", "ListPage", "Page", "Row", "TextPage", "cut_line"]


Actions = Mapping[str, tuple[str, Callable[[], Awaitable[None] | None]]]
"""By key: a word for it, and what it does."""


class Row(NamedTuple):
    """One row of a list."""

    line: Line
    open: "Callable[[], Page | None] | None" = None
    """What Enter opens."""
    actions: Actions = MappingProxyType({})


class Page:
    """Something that fills the screen between a title and a line of keys."""

    def __init__(self, title: str) -> None:
        self.title = title
        """Safe to show."""

    @property
    def is_over(self) -> bool:
        """There is nothing more to see here."""
        return False

    def view(self, columns: int, rows: int) -> list[Line]:
        """The lines in sight now, not more than there are rows."""
        raise NotImplementedError

    def hint(self) -> str:
        """Which keys count."""
        raise NotImplementedError

    def key(self, key: str, rows: int) -> "Page | Awaitable[None] | None":
        """A key was pressed; another page to show, or something to do, may come of it."""
        raise NotImplementedError

    def all_lines(self) -> list[Line]:
        """All of it, for faces without a screen."""
        raise NotImplementedError


class ListPage(Page):
    """Rows, one of which is chosen, at first one that opens. They are asked for anew each time, so that they live."""

    def __init__(self, title: str, rows: Callable[[], list[Row]], *, empty: str = "nothing here yet") -> None:
        super().__init__(title)
        self._rows = rows
        self._empty = empty
        self.place = 0
        self._is_new = True

    def view(self, columns: int, rows: int) -> list[Line]:
        """The rows around the chosen one."""
        found = self._rows()
        if self._is_new:
            self._is_new = False
            self.place = next((place for place, row in enumerate(found) if row.open is not None), 0)
        self.place = max(0, min(self.place, len(found) - 1))
        if not found:
            return [[("dim", f"  {self._empty}")]]
        first = max(0, min(self.place - rows // 2, len(found) - rows))
        lines: list[Line] = []
        for place, row in enumerate(found[first : first + rows], first):
            is_here = place == self.place
            mark: Line = [("chosen", "❯ ")] if is_here else [("", "  ")]  # noqa: RUF001 - the mark people know
            lines.append([*mark, *cut_line(row.line, columns - 2, "chosen" if is_here else None)])
        return lines

    def hint(self) -> str:
        """Which keys count."""
        found = self._rows()
        row = found[self.place] if self.place < len(found) else None
        words = ["Esc closes"]
        if row is not None:
            words += [f"{key} {word}" for key, (word, _) in row.actions.items()]
            words += ["Enter opens"] if row.open is not None else []
        return " · ".join([*words, "↑↓ choose"] if len(found) > 1 else words)

    def key(self, key: str, rows: int) -> "Page | Awaitable[None] | None":
        """Move, open, or act on a row."""
        found = self._rows()
        moves = {"up": -1, "down": 1, "pageup": -rows, "pagedown": rows, "home": -len(found), "end": len(found)}
        if key in moves:
            self.place = max(0, min(self.place + moves[key], len(found) - 1))
            return None
        if self.place >= len(found):
            return None
        row = found[self.place]
        if key == "enter" and row.open is not None:
            return row.open()
        action = row.actions.get(key)
        return None if action is None else action[1]()

    def all_lines(self) -> list[Line]:
        """Every row."""
        return [row.line for row in self._rows()] or [[("dim", self._empty)]]


class TextPage(Page):
    """A text that can be scrolled and searched; `follows` keeps its end in sight while it grows."""

    def __init__(
        self,
        title: str,
        lines: Callable[[], list[Line]],
        *,
        follows: bool = False,
        neighbour: "Callable[[int], Page | None] | None" = None,
        actions: "Callable[[], Actions]" = dict,
    ) -> None:
        super().__init__(title)
        self._lines = lines
        self._follows = follows
        self._neighbour = neighbour
        self._actions = actions
        self.top = 0
        self._found: re.Pattern[str] | None = None

    def view(self, columns: int, rows: int) -> list[Line]:
        """The lines from the topmost in sight on, broken where they are too long."""
        lines = self._lines()
        shown: list[Line] = []
        if self._follows:
            self.top = len(lines)
            while self.top and len(shown) < rows:
                self.top -= 1
                shown = self._drawn(lines[self.top], columns) + shown
            return shown[-rows:]
        self.top = max(0, min(self.top, len(lines) - 1))
        for line in lines[self.top : self.top + rows]:
            shown += self._drawn(line, columns)
        return shown[:rows]

    def _drawn(self, line: Line, columns: int) -> list[Line]:
        return broken([("chosen", text) for _, text in line] if self._has(line) else line, columns)

    def hint(self) -> str:
        """Which keys count, and where in the text we are."""
        count = len(self._lines())
        words = ["Esc closes", *(f"{key} {word}" for key, (word, _) in self._actions().items())]
        words.append(f"line {min(self.top + 1, count):,} of {count:,}")
        words += ["←→ other calls"] if self._neighbour is not None else []
        words += ["n next"] if self._found is not None else []
        return " · ".join([*words, "↑↓ PgUp PgDn g G", "/ searches"])

    def key(self, key: str, rows: int) -> "Page | Awaitable[None] | None":
        """Scroll, go to the neighbour, or act."""
        count = len(self._lines())
        moves = {"up": -1, "down": 1, "pageup": -rows, " ": rows, "pagedown": rows, "home": -count, "g": -count}
        if key in (actions := self._actions()):
            return actions[key][1]()
        if key in ("end", "G"):
            self._follows = True
        elif key in moves:
            self._follows = False
            self.top = max(0, min(self.top + moves[key], count - 1))
        elif key in ("left", "right") and self._neighbour is not None:
            return self._neighbour(-1 if key == "left" else 1)
        elif key == "n":
            self._next()
        return None

    def search(self, text: str) -> bool:
        """Go to the next line with this; whether there is one."""
        self._found = re.compile(re.escape(text), re.IGNORECASE) if text else None
        self._follows = False
        return self._next(0)

    def all_lines(self) -> list[Line]:
        """Every line."""
        return self._lines()

    def _next(self, ahead: int = 1) -> bool:
        lines = self._lines()
        for place in (*range(self.top + ahead, len(lines)), *range(self.top + ahead)):
            if place < len(lines) and self._has(lines[place]):
                self.top = place
                return True
        return False

    def _has(self, line: Line) -> bool:
        return self._found is not None and self._found.search(as_text(line)) is not None


def cut_line(line: Line, columns: int, style: str | None = None) -> Line:
    """As much of the line as fits; in one style, where one is given."""
    kept: Line = []
    for own, text in line:
        shown = cut(text, columns)
        kept.append((own if style is None else style, shown))
        columns -= cells(shown)
        if columns <= 0:
            break
    return kept
