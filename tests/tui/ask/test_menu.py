"""A question with numbered answers: keys, the moment in which it is deaf, and few rows."""

import asyncio
from collections.abc import Callable

from holdfast.tui.ask.menu import GUARD_S, Chosen, Menu, Option
from holdfast.tui.show.words import as_text, cells

OPTIONS = [
    Option("Yes, this once", "once", takes_text=True),
    Option("No, and say why", "why", wants_text=True),
    Option("No", "no"),
]


def asked(deed: Callable[[Menu], object], *, wait_s: float = 1.0, has_many: bool = False) -> Chosen | None:
    """What comes of a question when somebody does this so long after it appeared."""

    async def run() -> Chosen | None:
        now = 100.0
        menu = Menu("Sure?", list(OPTIONS), default=2, has_many=has_many, clock=lambda: now)
        menu.shown()
        now += wait_s
        deed(menu)
        return menu.answer.result() if menu.answer.done() else None

    return asyncio.run(run())


def keys(*names: str) -> Callable[[Menu], None]:
    def press(menu: Menu) -> None:
        for name in names:
            menu.key(name)

    return press


def test_keys_choose_and_the_answer_chosen_beforehand_is_no() -> None:
    assert asked(keys("enter")) == Chosen("no")
    assert asked(keys("1")) == Chosen("once")
    assert asked(keys("up", "up", "enter")) == Chosen("once")
    assert asked(keys("down", "enter")) == Chosen("once")
    assert asked(keys("escape")) == Chosen(None)
    assert asked(keys("9", "x", "space")) is None


def test_what_is_typed_as_the_question_appears_answers_nothing() -> None:
    for name in ("1", "enter", "escape", "tab"):
        assert asked(keys(name, "1", "enter"), wait_s=GUARD_S / 2) is None


def test_words_go_with_a_no_and_with_a_yes() -> None:
    def no_in_words(menu: Menu) -> None:
        menu.key("tab")
        assert menu.is_typing
        menu.say("rather not")

    def yes_in_words(menu: Menu) -> None:
        menu.key("up")
        menu.key("up")
        menu.key("tab")
        menu.say("but be quick")

    assert asked(no_in_words) == Chosen("why", "rather not")
    assert asked(yes_in_words) == Chosen("once", "but be quick")
    assert asked(keys("tab", "escape")) is None


def test_several_answers_are_marked_and_ended_with_done() -> None:
    async def run() -> Chosen:
        menu = Menu("Which?", [Option("a", "a"), Option("b", "b"), Option("Done", "done")], has_many=True)
        menu.shown()
        menu._shown_at = 0.0  # long ago
        for name in ("space", "down", "enter", "down", "enter"):
            menu.key(name)
        return menu.answer.result()

    assert asyncio.run(run()) == Chosen("done", marked=("a", "b"))


def test_words_alone_are_typed_at_once_but_not_sent_as_the_question_appears() -> None:
    async def run() -> tuple[list[str], str]:
        menu = Menu("Its name?", [Option("Write it", "text", wants_text=True)])
        menu.shown()
        lines = [as_text(line) for line in menu.lines(40)]
        assert menu.is_typing
        menu._shown_at = 0.0
        menu.key("escape")
        return lines, menu.said(await menu.answer)

    assert asyncio.run(run()) == (["? Its name?"], "put away")


def test_escape_is_told_as_the_answer_that_it_stands_for() -> None:
    async def run() -> tuple[str, str]:
        menu = Menu("Which?", [Option("One", "1"), Option("Leave (Esc)", "")])
        menu.shown()
        menu._shown_at = 0.0
        hint = menu.hint()
        menu.key("escape")
        return hint, menu.said(await menu.answer)

    assert asyncio.run(run()) == ("1-9 or ↑↓ Enter · Esc: leave", "Leave")


def test_it_can_be_changed_from_outside_and_is_deaf_again_then() -> None:
    def change(menu: Menu) -> None:
        menu.update(title="Really?", options=[Option("No", "no"), Option("Yes", "yes")])
        menu.key("2")
        assert as_text(menu.lines()[0]) == "? Really?"

    assert asked(change) is None


def test_few_rows_and_columns_show_what_is_chosen() -> None:
    async def run() -> None:
        options = [Option(f"answer {number} " + "with many words " * 6, str(number)) for number in range(9)]
        menu = Menu("A question of some length, which needs more than one line of forty columns", options, default=8)
        for rows in (3, 5, 8, 40):
            lines = [as_text(line) for line in menu.lines(39, rows)]
            assert len(lines) <= max(rows, 3)
            assert any("9. answer 8" in line for line in lines)
            assert all(cells(line.rstrip()) <= 39 for line in lines)

    asyncio.run(run())


def test_a_small_screen_says_where_words_are_missing() -> None:
    async def run() -> list[str]:
        menu = Menu(
            "Title " * 20, [Option("long words " * 9, "a"), Option("b", "b"), Option("c " * 40, "c")], default=1
        )
        shown = [as_text(line) for line in menu.lines(40, 6)]
        assert max(map(len, shown)) <= 40
        return shown

    title, first, second, third = asyncio.run(run())
    assert title.endswith("…")
    assert first.endswith("…")
    assert second.endswith("2. b")
    assert third.endswith("…")
