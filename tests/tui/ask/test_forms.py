"""Forms field by field: choices, words, numbers that must fit, a page to open, a plan to edit."""

import asyncio

from tests.tui.faces import AnsweringFace

from holdfast.contract import Form, FormAnswer, FormField, ModeUpdate
from holdfast.contract.forms import Choice
from holdfast.tui.ask.asker import TerminalAsker

DATABASE = FormField(
    "db",
    "choice",
    title="Which database?",
    choices=(Choice("SQLite", "sqlite", "small", "import sqlite3"), Choice("Postgres", "pg")),
    free_text=True,
    required=True,
)
EXTRAS = FormField(
    "extras", "choices", title="Which extras?", choices=(Choice("a", "a"), Choice("b", "b")), free_text=True
)
COUNT = FormField("count", "integer", title="How many?", least=1, most=9)


def fill(face: AnsweringFace, form: Form) -> FormAnswer:
    async def run() -> FormAnswer:
        return await TerminalAsker(face).fill(form)

    return asyncio.run(run())


def form(*fields: FormField, **more: str) -> Form:
    return Form("questions", "The model asks", "AskUserQuestion", fields)._replace(**more)


def test_questions_are_answered_one_after_the_other_and_the_answers_stay_in_sight() -> None:
    face = AnsweringFace(2, [1, 2])
    assert fill(face, form(DATABASE, EXTRAS)) == FormAnswer("accept", {"db": "pg", "extras": ["a", "b"]})
    assert "⎿ you: Which database? (1 of 2) Postgres" in face.text
    assert "⎿ you: Which extras? (2 of 2) a, b" in face.text
    assert list(face.menus[0].details) == [0]


def test_free_words_are_an_answer_too() -> None:
    assert fill(AnsweringFace((3, "MariaDB")), form(DATABASE)) == FormAnswer("accept", {"db": "MariaDB"})


def test_a_number_that_does_not_fit_is_asked_for_again() -> None:
    face = AnsweringFace((1, "many"), (1, "12"), (1, "3"))
    assert fill(face, form(COUNT)).values == {"count": "3"}
    assert "it is a number, got 'many'" in face.text
    assert "it must lie" in face.text


def test_what_is_not_required_may_stay_open_and_what_is_put_away_is_no_answer() -> None:
    face = AnsweringFace((1, ""))
    assert fill(face, form(COUNT)) == FormAnswer("accept", {})
    assert face.menus[0].title == "How many?: a whole number (Enter alone leaves it open)"
    assert fill(AnsweringFace(None), form(DATABASE)).action == "cancel"


def test_what_a_server_gets_is_shown_before_it_is_sent() -> None:
    asked = form(FormField("name", required=True), kind="elicitation", source="shop")
    face = AnsweringFace((1, "Ada \x1b[2J"), 1)
    assert fill(face, asked) == FormAnswer("accept", {"name": "Ada \x1b[2J"})
    assert "name: Ada \\x1b[2J" in face.text
    assert fill(AnsweringFace((1, "Ada"), 2), asked) == FormAnswer("decline")


def test_a_page_is_named_with_what_may_deceive_and_opened_by_nobody_else() -> None:
    face = AnsweringFace(1, columns=200)
    assert fill(face, form(kind="url", url="https://xn--80ak6aa92e.com/login")).action == "accept"
    assert "https://xn--80ak6aa92e.com/login" in face.text
    assert "stands for" in face.text
    assert fill(AnsweringFace(2), form(kind="url", url="https://example.com")).action == "decline"


def test_a_plan_is_shown_edited_and_approved() -> None:
    plan = Form("plan", "The model has a plan", "ExitPlanMode", text="# Plan\n\n1. look")
    assert fill(AnsweringFace(2), plan) == FormAnswer("accept")
    assert fill(AnsweringFace(1), plan) == FormAnswer("accept", updates=(ModeUpdate("acceptEdits"),))
    face = AnsweringFace(3, 2, edited="# Plan\n\n1. look twice")
    assert fill(face, plan) == FormAnswer("accept", text="# Plan\n\n1. look twice")
    assert "1. look twice" in face.text
    assert fill(AnsweringFace((4, "and the tests?")), plan) == FormAnswer(message="and the tests?")
    assert fill(AnsweringFace(None), plan) == FormAnswer()
    face = AnsweringFace(3, None)
    assert fill(face, plan) == FormAnswer()
    assert "no editor could be started" in face.text
