"""Forms: the second kind of question to a person."""

import asyncio
from typing import Any

import pytest

from holdfast.contract import Answer, Asker, Form, FormAnswer, FormField, ModeUpdate, Question, RuleUpdate
from holdfast.engine import CoordinatorAsker, OpenQuestions, WorkerAsker
from holdfast.engine.forms import NOBODY, FormDesk, fill_by
from holdfast.events import Event, FormAnswered, FormAsked, FormWithdrawn
from holdfast.testing import Gate, ScriptedAsker

FORM = Form("elicitation", "Who are you?", "shop", (FormField("name", required=True),))
YES = FormAnswer("accept", {"name": "Ada"})


def put(asker: Asker | None, form: Form = FORM) -> tuple[FormAnswer, list[Event]]:
    told: list[Event] = []
    return asyncio.run(asyncio.wait_for(FormDesk(asker, told.append).put(form), 30)), told


def test_a_form_is_put_once_with_a_number_and_its_end_is_told() -> None:
    person = ScriptedAsker(forms=[YES])
    answer, told = put(person)
    asked, ended = told
    assert answer == YES
    assert isinstance(asked, FormAsked)
    assert asked.request_id == person.forms[0].id
    assert asked.request_id.startswith("form-1-")
    assert asked.form["fields"] == [{"name": "name", "kind": "text", "required": True}]
    assert ended == FormAnswered(asked.request_id, "", "accept")


def test_without_anybody_a_form_is_declined_with_a_reason() -> None:
    assert put(None) == (NOBODY, [])
    assert NOBODY.message


class Broken:
    async def ask(self, question: Question) -> Answer:
        raise AssertionError(question.id)

    async def fill(self, form: Form) -> Any:
        if form.source == "shop":
            raise RuntimeError("a bug of the face")
        return True


@pytest.mark.parametrize(
    ("asker", "form", "word"),
    [
        (Broken(), FORM, "could not be put"),
        (Broken(), FORM._replace(source="other"), "not a FormAnswer"),
        (ScriptedAsker(forms=[FormAnswer("accept")]), FORM, "'name' is missing"),
        (ScriptedAsker(forms=[FormAnswer("accept", {"name": 1})]), FORM, "is a string"),
        (ScriptedAsker(), FORM, "no answer left"),
    ],
)
def test_whatever_goes_wrong_nobody_has_accepted(asker: Asker, form: Form, word: str) -> None:
    answer, told = put(asker, form)
    assert (answer.action, word in answer.message) == ("decline", True)
    assert isinstance(told[-1], FormAnswered)


class YesNo:
    """A face that knows no forms."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer


def test_a_face_that_knows_only_yes_and_no_is_asked_about_the_call_of_the_form() -> None:
    questions = Form(
        "questions",
        "?",
        "AskUserQuestion",
        (FormField("Which?"),),
        tool_use_id="t",
        input={"questions": [], "annotations": {"a": 1}},
    )
    echoed: dict[str, Any] = {"questions": [], "annotations": {"a": 1}, "answers": {"Which?": "this"}}
    face = YesNo(Answer("allow", echoed))
    assert asyncio.run(fill_by(face, questions)) == FormAnswer("accept", {"Which?": "this"})
    assert (face.asked[0].tool, face.asked[0].form) == ("AskUserQuestion", questions)
    assert asyncio.run(fill_by(YesNo(Answer(message="no")), questions)) == FormAnswer(message="no")
    plan = Form("plan", "?", "ExitPlanMode", text="a", tool_use_id="t")
    assert asyncio.run(fill_by(YesNo(Answer("allow", {"plan": "b"})), plan)).text == "b"
    assert asyncio.run(fill_by(YesNo(Answer("allow", {"plan": "a"})), plan)).text is None


def test_a_face_that_knows_only_yes_and_no_cannot_fill_in_what_belongs_to_no_call() -> None:
    face = YesNo(Answer("allow"))
    assert asyncio.run(fill_by(face, FORM)).action == "decline"
    assert face.asked == []


def test_an_open_form_takes_the_first_answer_and_is_declined_when_nobody_is_left() -> None:
    async def scene() -> list[Any]:
        shown: list[str] = []
        questions = OpenQuestions(show_form=lambda form: shown.append(form.id))
        first, second = (asyncio.ensure_future(questions.fill(FORM._replace(id=name))) for name in "ab")
        await asyncio.sleep(0)
        found = questions.form("a")
        claims = [questions.answer_form("a", YES), questions.answer_form("a", FormAnswer())]
        questions.close(Answer(message="gone"))
        late = await questions.fill(FORM._replace(id="c"))
        return [await first, await second, late, claims, found is not None, questions.form("a"), shown]

    gone = FormAnswer(message="gone")
    assert asyncio.run(asyncio.wait_for(scene(), 30)) == [YES, gone, gone, [True, False], True, None, ["a", "b"]]


def test_a_form_that_nobody_needs_any_more_is_withdrawn() -> None:
    async def scene() -> tuple[list[str], list[Event]]:
        withdrawn: list[str] = []
        told: list[Event] = []
        questions = OpenQuestions(withdraw_form=lambda form: withdrawn.append(form.id))
        putting = asyncio.ensure_future(FormDesk(questions, told.append).put(FORM))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        putting.cancel()
        await asyncio.wait([putting], timeout=10)
        return withdrawn, told

    withdrawn, told = asyncio.run(scene())
    assert isinstance(told[0], FormAsked)
    assert told[1:] == [FormWithdrawn(told[0].request_id, "")]
    assert withdrawn == [told[0].request_id]


def test_a_workers_form_goes_to_its_leader_and_its_rules_stay_in_the_session() -> None:
    updates = (RuleUpdate("allow", ("Read",), "localSettings"), ModeUpdate("acceptEdits"))
    leader = ScriptedAsker(forms=[YES._replace(updates=updates)])
    answer = asyncio.run(WorkerAsker("explorer", leader).fill(FORM._replace(id="f")))
    assert answer.updates == (RuleUpdate("allow", ("Read",)),)
    assert (leader.forms[0].id, leader.forms[0].message) == ("explorer:f", "explorer: Who are you?")


def test_no_classifier_fills_in_a_form() -> None:
    async def clears(question: Question) -> bool:
        raise AssertionError(question)

    person = ScriptedAsker(forms=[YES])
    assert asyncio.run(CoordinatorAsker(clears, person).fill(FORM)) == YES


def test_the_gate_of_a_scripted_person_holds_forms_too() -> None:
    async def scene() -> FormAnswer:
        gate = Gate()
        putting = asyncio.ensure_future(ScriptedAsker(forms=[YES], gate=gate).fill(FORM))
        await asyncio.sleep(0)
        assert not putting.done()
        gate.open()
        return await asyncio.wait_for(putting, 30)

    assert asyncio.run(scene()) == YES
