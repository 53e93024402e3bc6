"""A question with numbered answers: the safe one is chosen beforehand, and it is deaf for a moment at first."""

import asyncio
import re
import time
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from holdfast.lib.visible import visible
from holdfast.tui.show.words import Line, broken, cells, cut

__all__ = ["GUARD_S", "Chosen", "Menu", "Option"]

GUARD_S = 0.3
"""What is typed so soon after a question appears was not meant for it."""

_NUMBERS = count()
_ESCAPE = " (Esc)"
_SHORT = 22
_KEY = re.compile(r" \((?:Esc|Tab)\)$")


class Option(NamedTuple):
    """One of the answers."""

    label: str
    value: str
    wants_text: bool = False
    """Choosing it asks for words first."""
    takes_text: bool = False
    """Tab asks for words that go with it."""


class Chosen(NamedTuple):
    """What the person did."""

    value: str | None
    """None: put away."""
    text: str = ""
    marked: tuple[str, ...] = ()
    """Of a menu of which several may hold: those that do."""


class Menu:
    """The state of one question. Keys come in by `key`, the answer goes out by `answer`."""

    def __init__(
        self,
        title: str,
        options: list[Option],
        *,
        body: "list[Line] | None" = None,
        default: int = 0,
        has_many: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.number = next(_NUMBERS)
        """Later ones have greater numbers."""
        self.title = title
        self.body: list[Line] = body or []
        """What stands above it for good."""
        self.options: list[Option] = options
        self.place = default
        self.has_many = has_many
        self.marked: set[str] = set()
        self.is_only_words = len(options) == 1 and options[0].wants_text
        """Nothing is to be chosen: it wants words and nothing else."""
        self.is_typing = self.is_only_words
        """It waits for words in the input line."""
        self.is_secret = False
        """What is typed for it is not shown."""
        self.prefilled = ""
        """What stands in the input line when it asks for words."""
        self.details: dict[int, list[Line]] = {}
        """What is shown while an answer is looked at, by its place."""
        self.subject = ""
        """What it is about in a few words, for when its body is out of sight."""
        self.is_field = False
        """It is one of several things to fill in: what was answered is told with its title."""
        self.opens: Callable[[], list[Line]] | None = None
        """All that the question is about, for who wants to see more than the body."""
        self.has_plain_answers = False
        """Its first answer is a plain yes and its last a plain no, so that a list of questions may give these."""
        self._clock = clock
        self._shown_at: float | None = None
        self._times_shown = 0
        self.answer: asyncio.Future[Chosen] = asyncio.get_running_loop().create_future()

    def shown(self) -> None:
        """It is on the screen from now on."""
        self._shown_at = self._clock()
        self._times_shown += 1

    @property
    def was_shown(self) -> bool:
        """It has been on the screen."""
        return self._shown_at is not None

    @property
    def is_deaf(self) -> bool:
        """Keys do not count yet."""
        return self._shown_at is None or self._clock() - self._shown_at < GUARD_S

    def key(self, key: str) -> None:
        """A key was pressed: a digit, up, down, space, enter, tab or escape."""
        if self.answer.done() or self.is_deaf:
            return
        if key == "escape":
            self._escape()
        elif key in ("up", "down"):
            self.place = (self.place + (1 if key == "down" else -1)) % len(self.options)
        elif key.isdigit():
            if 0 < int(key) <= len(self.options):
                self.place = int(key) - 1
                self._choose()
        elif key == "space" and self.has_many:
            self._mark()
        elif key == "tab":
            self._amend()
        elif key == "enter":
            self._choose(is_enter=True)

    def say(self, text: str) -> None:
        """The words that it waited for."""
        self.is_typing = self.is_only_words
        marked = tuple(option.value for option in self.options if option.value in self.marked)
        self._end(Chosen(self.options[self.place].value, text, marked))

    def answer_in_words(self, text: str) -> None:
        """Words instead of a choice: those that an option wants, or else nothing is chosen."""
        if self.is_only_words:
            self.say(text or self.prefilled)
            return
        place = next((at for at, option in enumerate(self.options) if option.wants_text), None)
        if place is None or not text:
            self.withdraw()
        else:
            self.answer_with(place, text)

    def answer_with(self, place: int, text: str = "") -> None:
        """Choose an option at once; words count where it wants them."""
        self.place = place
        option = self.options[place]
        marked = tuple(one.value for one in self.options if one.value in self.marked)
        self._end(Chosen(option.value, text if option.wants_text else "", marked))

    def answer_with_marks(self, places: list[int]) -> None:
        """Choose several options at once."""
        self._end(Chosen("done", marked=tuple(self.options[place].value for place in sorted(set(places)))))

    def withdraw(self, value: str | None = None, text: str = "") -> None:
        """Nobody needs the answer any more: it is put away, or what has settled it says why."""
        self._end(Chosen(value, text))

    def update(
        self,
        *,
        title: str | None = None,
        options: list[Option] | None = None,
        default: int = 0,
    ) -> None:
        """Change the question while it is open; keys are deaf again for a moment where the answers change."""
        self.title = self.title if title is None else title
        if options is not None and options != self.options:
            self.options, self.place, self.marked, self.is_typing = options, default, set(), False
            self.deafen()

    def deafen(self) -> None:
        """Let no key count for a moment, as when it appeared."""
        if self._shown_at is not None:
            self._shown_at = self._clock()

    def lines(self, columns: int = 10_000, rows: int = 1_000) -> list[Line]:
        """The question as it is now, in so many rows: those around the chosen answer."""
        subject = f" {cut(self.subject, 60)}" if self._times_shown > 1 and self.subject else ""
        head = broken([("warn", "? "), ("bold", self.title), ("", subject)], columns)
        numbers = range(0 if self.is_only_words else len(self.options))
        blocks = [self._option_lines(number, columns) for number in numbers]
        room = max(1, rows - len(head))
        if sum(map(len, blocks)) > room:  # short answers first, then only those around the chosen one
            head = _shortened(head, columns)
            room = max(1, rows - 1)
            spare = room - len(blocks)
            blocks = [
                block if place == self.place and len(block) <= spare + 1 else _shortened(block, columns)
                for place, block in enumerate(blocks)
            ]
            first = max(0, min(self.place - room // 2, len(blocks) - room))
            blocks = blocks[first : first + room]
        lines = [*head, *(line for block in blocks for line in block)]
        return lines + self.details.get(self.place, [])[: max(0, rows - len(lines))]

    def _option_lines(self, place: int, columns: int) -> list[Line]:
        option = self.options[place]
        mark = ("[x] " if option.value in self.marked else "[ ] ") if self.has_many and option.value != "done" else ""
        style = "chosen" if place == self.place else ""
        pointer = "❯" if place == self.place else " "  # noqa: RUF001 - the mark people know
        start = f"{pointer} {place + 1}. {mark}"
        first, *rest = broken([(style, option.label)], max(10, columns - len(start)))
        return [[(style, start), *first], *([("", " " * len(start)), *line] for line in rest)]

    def said(self, chosen: Chosen) -> str:
        """An answer in words, safe to show."""
        title = f"{self.title} " if self.is_field else ""
        if chosen.value is None:
            return f"{title}{self._escape_label or 'put away'}"
        label = next((option.label for option in self.options if option.value == chosen.value), chosen.value)
        label = _KEY.sub("", label)
        if self.has_many and chosen.marked:
            label = ", ".join(option.label for option in self.options if option.value in chosen.marked)
        if self.is_secret:
            return f"{title}{label}"
        said = f"{label}: {visible(chosen.text)}" if chosen.text else label
        return f"{title}{visible(chosen.text) if self.is_field and chosen.text else said}"

    @property
    def labels(self) -> list[str]:
        """The answers without the keys that give them, for faces that have none."""
        return [_KEY.sub("", option.label) for option in self.options]

    def told(self, chosen: Chosen) -> Line:
        """An answer as the line that stays in sight."""
        return [("dim", f"  ⎿ you: {self.said(chosen)}")]

    def hint(self, waiting: int = 0, *, is_narrow: bool = False) -> str:
        """Which keys count now, and how many other questions wait."""
        if self.is_deaf:
            return "a moment …"
        if self.is_only_words:
            keys = "Enter sends · Esc: none"
        elif self.is_typing:
            keys = "Enter sends · Esc goes back"
        elif self.has_many:
            keys = "Space marks · Enter on Done · Esc puts it away"
        else:
            has_words = any(option.wants_text for option in self.options)
            label = self._escape_label.lower()
            keys = f"1-9 or ↑↓ Enter · Esc: {label if 0 < len(label) <= _SHORT else 'none' if self.is_field else 'no'}"
            keys = keys.replace(" Enter", "") if is_narrow else keys
            keys += " · Tab: words" if has_words else ""
        return (f"{waiting} more: ←→, r lists · " if waiting else "") + keys

    @property
    def _escape_label(self) -> str:
        """The answer that Escape stands for."""
        label = next((option.label for option in self.options if option.label.endswith(_ESCAPE)), "")
        return label.removesuffix(_ESCAPE)

    def _escape(self) -> None:
        if self.is_typing and not self.is_only_words:
            self.is_typing = False
        else:
            self._end(Chosen(None))

    def _mark(self) -> None:
        value = self.options[self.place].value
        if value != "done":
            self.marked ^= {value}

    def _amend(self) -> None:
        if self.options[self.place].takes_text:
            self.is_typing = True
            return
        for place, option in enumerate(self.options):
            if option.wants_text:
                self.place, self.is_typing = place, True
                return

    def _choose(self, *, is_enter: bool = False) -> None:
        option = self.options[self.place]
        if option.wants_text:
            self.is_typing = True
        elif self.has_many and option.value != "done":
            self._mark()
            del is_enter
        else:
            self._end(Chosen(option.value, marked=tuple(o.value for o in self.options if o.value in self.marked)))

    def _end(self, chosen: Chosen) -> None:
        if not self.answer.done():
            self.answer.set_result(chosen)


def _shortened(rows: list[Line], columns: int) -> list[Line]:
    """The first of several rows, and a sign that there is more."""
    if len(rows) < 2:
        return rows
    *pieces, (style, last) = rows[0]
    shown, room = last.rstrip(), columns - sum(cells(text) for _, text in pieces)
    return [[*pieces, (style, f"{shown} …" if cells(shown) + 2 <= room else cut(f"{shown}  ", room))]]
