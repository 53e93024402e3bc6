"""The list of questions that wait: what each key means, whoever comes and goes meanwhile."""

import asyncio
from collections.abc import Callable

from holdfast.tui.ask.menu import GUARD_S, Menu, Option
from holdfast.tui.panels.pages import Page
from holdfast.tui.panels.questions import questions_page
from holdfast.tui.show.words import as_text


class Sitting:
    """Some questions, their list, and a clock."""

    def __init__(self, *names: str) -> None:
        self.now = 100.0
        self.gone_to: list[Menu] = []
        self.menus = [self.menu(name) for name in names]
        self.page = questions_page(lambda: self.menus, self.gone_to.append, lambda: self.now)
        self.pause()

    def menu(self, name: str, *, is_plain: bool = True) -> Menu:
        menu = Menu(f"Let {name} do this?", [Option("Yes", "once"), Option("Always", "keep"), Option("No", "no")])
        menu.subject, menu.has_plain_answers = f"{name}.py", is_plain
        menu.opens = (lambda: [[("", f"all about {name}")]]) if is_plain else None
        return menu

    def pause(self) -> None:
        self.seen()
        self.now += 2 * GUARD_S

    def seen(self, page: Page | None = None) -> list[str]:
        return [as_text(line) for line in (page or self.page).view(60, 9)]

    def press(self, key: str) -> Page | None:
        found = self.page.key(key, 9)
        assert found is None or isinstance(found, Page)
        return found

    def answers(self) -> list[str | None]:
        return [menu.answer.result().value if menu.answer.done() else None for menu in self.menus]


def sit(*names: str, deed: Callable[[Sitting], None]) -> None:
    async def run() -> None:
        deed(Sitting(*names))

    asyncio.run(run())


def test_each_is_answered_with_yes_or_no() -> None:
    def deed(sitting: Sitting) -> None:
        assert sitting.seen() == ["❯ Let a do this?  a.py", "  Let b do this?  b.py"]  # noqa: RUF001
        assert "y yes, once · n no" in sitting.page.hint()
        sitting.press("y")
        sitting.press("down")
        sitting.press("n")
        assert sitting.answers() == ["once", "no"]

    sit("a", "b", deed=deed)


def test_no_key_counts_for_a_question_that_has_just_come_under_the_finger() -> None:
    def deed(sitting: Sitting) -> None:
        del sitting.menus[0]  # from outside
        sitting.press("y")
        assert sitting.answers() == [None, None]
        assert sitting.page.hint() == "a moment …"
        sitting.pause()
        sitting.press("y")
        assert sitting.answers() == ["once", None]

    sit("a", "b", "c", deed=deed)


def test_the_choice_stays_with_its_question_when_others_come_and_go() -> None:
    def deed(sitting: Sitting) -> None:
        sitting.press("down")
        sitting.menus.append(sitting.menu("c"))
        sitting.press("n")  # a later one moves nothing
        assert sitting.answers() == [None, "no", None]
        del sitting.menus[0]
        assert sitting.seen()[0].startswith("❯ Let b")  # noqa: RUF001

    sit("a", "b", deed=deed)


def test_one_is_opened_whole_answered_there_and_gone() -> None:
    def deed(sitting: Sitting) -> None:
        sitting.menus.reverse()  # whoever was looked at last comes first elsewhere; here they stay in their order
        opened = sitting.press("enter")
        assert opened is not None
        assert sitting.seen(opened) == ["all about a"]
        assert "y yes, once · n no" in opened.hint()
        assert not opened.is_over
        opened.key("n", 9)
        assert sitting.answers() == [None, "no"]
        assert opened.is_over
        assert "y yes" not in opened.hint()

    sit("a", "b", deed=deed)


def test_what_wants_more_than_yes_or_no_is_answered_in_its_own_place() -> None:
    def deed(sitting: Sitting) -> None:
        form = sitting.menu("form", is_plain=False)
        sitting.menus = [form]
        sitting.pause()
        sitting.press("y")
        assert sitting.answers() == [None]
        assert sitting.press("enter") is None
        assert sitting.gone_to == [form]

    sit(deed=deed)
