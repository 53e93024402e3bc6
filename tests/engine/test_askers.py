import asyncio
from collections.abc import Awaitable, Callable

import pytest

from holdfast.contract import Answer, DirectoryUpdate, ModeUpdate, Question, RuleUpdate
from holdfast.engine import CoordinatorAsker, OpenQuestions, WorkerAsker
from holdfast.permissions import Step
from holdfast.testing import ScriptedAsker

QUESTION = Question("q", "t", "Write", {}, "why")


def test_the_first_answer_counts_and_later_ones_are_told_so() -> None:
    shown: list[str] = []

    async def scene() -> tuple[Answer, list[bool]]:
        questions = OpenQuestions(lambda question: shown.append(question.id))
        asked = asyncio.ensure_future(questions.ask(QUESTION))
        await asyncio.sleep(0)
        claims = [questions.answer("q", Answer("allow")), questions.answer("q", Answer("deny"))]
        answer = await asked
        return answer, [*claims, questions.answer("q", Answer("allow")), questions.answer("never asked", Answer())]

    assert asyncio.run(scene()) == (Answer("allow"), [True, False, False, False])
    assert shown == ["q"]


def test_when_nobody_can_be_asked_any_more_open_and_later_questions_are_answered_alike() -> None:
    async def scene() -> list[Answer]:
        questions = OpenQuestions(lambda question: shown.append(question.id))
        asked = [asyncio.ensure_future(questions.ask(QUESTION._replace(id=str(number)))) for number in range(3)]
        await asyncio.sleep(0)
        questions.close(Answer(message="gone"))
        questions.close(Answer(message="again"))
        late = questions.ask(QUESTION._replace(id="late"))
        return [await answer for answer in (*asked, late)]

    shown: list[str] = []
    assert asyncio.run(asyncio.wait_for(scene(), 30)) == [Answer(message="gone")] * 4
    assert shown == ["0", "1", "2"]


async def _yes(question: Question) -> bool:
    del question
    return True


async def _no(question: Question) -> bool:
    del question
    return False


async def _broken(question: Question) -> bool:
    raise RuntimeError(question.id)


@pytest.mark.parametrize(("clears", "asked"), [(_yes, 0), (_no, 1), (_broken, 1)])
def test_a_coordinator_asks_the_person_about_whatever_is_not_cleared(
    clears: Callable[[Question], Awaitable[bool]], asked: int
) -> None:
    person = ScriptedAsker([Answer("allow", message="person")])
    by_mode = QUESTION._replace(trace=(Step("classifier", "allow"), Step("mode", "ask")))
    answer = asyncio.run(CoordinatorAsker(clears, person).ask(by_mode))
    assert answer.behavior == "allow"
    assert len(person.questions) == asked


@pytest.mark.parametrize("layer", ["ask", "hook", "tool", "guard", "ceiling", "classifier", None])
def test_a_coordinators_classifier_never_answers_what_a_rule_a_gate_or_a_guard_wants_asked(layer: str | None) -> None:
    person = ScriptedAsker([Answer("deny")])
    trace = () if layer is None else (Step("mode", "ask"), Step(layer, "ask"))
    assert asyncio.run(CoordinatorAsker(_yes, person).ask(QUESTION._replace(trace=trace))).behavior == "deny"
    assert len(person.questions) == 1


def test_a_worker_asks_its_leader_and_keeps_given_rules_to_its_session() -> None:
    updates = (RuleUpdate("allow", ("Read",), "localSettings"),)
    leader = ScriptedAsker([Answer("allow", rules=("Write",), destination="userSettings", updates=updates)])
    answer = asyncio.run(WorkerAsker("explorer", leader).ask(QUESTION))
    assert answer.added == (RuleUpdate("allow", ("Write",), "session"), RuleUpdate("allow", ("Read",), "session"))


def test_a_workers_own_rules_are_not_replaced_in_place_of_a_files() -> None:
    updates = (RuleUpdate("allow", ("Read",), "localSettings", replaces=True), RuleUpdate("allow", (), replaces=True))
    answer = asyncio.run(WorkerAsker("explorer", ScriptedAsker([Answer("allow", updates=updates)])).ask(QUESTION))
    assert answer.added == (RuleUpdate("allow", ("Read",)), RuleUpdate("allow", (), replaces=True))


def test_a_leaders_answer_changes_no_mode_and_no_directory_of_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    here = RuleUpdate("allow", ("Read",), removes=True)
    updates = (
        ModeUpdate("acceptEdits"),
        DirectoryUpdate(("/data",)),
        RuleUpdate("allow", ("Read",), "localSettings", removes=True),
        here,
    )
    answer = asyncio.run(WorkerAsker("explorer", ScriptedAsker([Answer("allow", updates=updates)])).ask(QUESTION))
    assert answer.added == (here,)
    assert len(caplog.records) == 3


def test_a_workers_question_names_it() -> None:
    leader = ScriptedAsker([Answer("allow")])
    asyncio.run(WorkerAsker("explorer", leader).ask(QUESTION))
    assert (leader.questions[0].id, leader.questions[0].reason) == ("explorer:q", "explorer: why")
