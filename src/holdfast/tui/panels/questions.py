"""All questions that wait, in one list: looked at side by side, and answered there with yes or no."""

import time
from collections.abc import Callable, Sequence

from holdfast.tui.ask.menu import GUARD_S, Menu
from holdfast.tui.panels.pages import Actions, ListPage, Page, Row, TextPage

__all__ = ["questions_page"]


class _Question(TextPage):
    """All that one question is about."""

    def __init__(self, menu: Menu) -> None:
        lines = [] if menu.opens is None else menu.opens()
        super().__init__(f"{menu.title} {menu.subject}", lambda: lines, actions=lambda: _answers(menu))
        self._menu = menu

    @property
    def is_over(self) -> bool:
        """It has its answer."""
        return self._menu.answer.done()


class _Questions(ListPage):
    """Keys count for the question that was looked at: never for one that has just taken its place."""

    def __init__(
        self, menus: Callable[[], Sequence[Menu]], go: Callable[[Menu], None], clock: Callable[[], float]
    ) -> None:
        super().__init__("Questions that wait for you", self._found, empty="no questions are open")
        self._menus, self._go, self._clock = menus, go, clock
        self._last: list[Menu] = []
        self._changed_at = clock()

    def _found(self) -> list[Row]:
        menus = sorted(self._menus(), key=lambda menu: menu.number)
        if menus[: len(self._last)] != self._last:  # more at the end move nothing
            chosen = self._last[self.place] if self.place < len(self._last) else None
            self.place = menus.index(chosen) if chosen in menus else self.place
            self._changed_at = self._clock()
        self._last = menus
        return [self._row(menu) for menu in menus]

    def _row(self, menu: Menu) -> Row:
        about = f"  {menu.subject}" if menu.subject else ""
        return Row([("bold", menu.title), ("", about)], open=lambda: self._open(menu), actions=_answers(menu))

    def _open(self, menu: Menu) -> Page | None:
        if menu.opens is None:  # it wants more than a yes or no
            self._go(menu)
            return None
        return _Question(menu)

    @property
    def is_deaf(self) -> bool:
        """Keys do not count yet."""
        return self._clock() - self._changed_at < GUARD_S

    def hint(self) -> str:
        """Which keys count."""
        return "a moment …" if self.is_deaf else super().hint()

    def key(self, key: str, rows: int) -> Page | None:
        """Move or open at once; answer when it is certain which question is meant."""
        self._found()
        if self.is_deaf and key in "yn":
            return None
        found = super().key(key, rows)
        return found if isinstance(found, Page) else None


def _answers(menu: Menu) -> Actions:
    """Plain answers, where it has them and nobody has given one."""
    if not menu.has_plain_answers or menu.answer.done():
        return {}
    return {
        "y": ("yes, once", lambda: menu.answer_with(0)),
        "n": ("no", lambda: menu.answer_with(len(menu.options) - 1)),
    }


def questions_page(
    menus: Callable[[], Sequence[Menu]], go: Callable[[Menu], None], clock: Callable[[], float] = time.monotonic
) -> Page:
    """The list as it is at each moment; `go` is told of a question that is to be answered in its own place."""
    return _Questions(menus, go, clock)
