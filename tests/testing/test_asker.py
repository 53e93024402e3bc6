import asyncio

import pytest

from holdfast.contract import Answer, Question
from holdfast.testing import Gate, ScriptedAsker, run_virtual

QUESTION = Question("q", "t", "Tool", {}, "why")


def test_answers_come_from_the_list_in_order_and_questions_are_remembered():
    asker = ScriptedAsker(["allow", Answer("deny", message="no")])

    async def main() -> list[Answer]:
        return [await asker.ask(QUESTION), await asker.ask(QUESTION)]

    assert run_virtual(main()) == [Answer("allow"), Answer("deny", message="no")]
    assert asker.questions == [QUESTION, QUESTION]


def test_without_an_answer_left_the_person_says_no():
    assert run_virtual(ScriptedAsker().ask(QUESTION)).behavior == "deny"


def test_with_a_gate_the_answer_waits_until_it_opens_and_a_cancelled_question_is_withdrawn():
    async def main() -> tuple[Answer, ScriptedAsker]:
        gate = Gate()
        asker = ScriptedAsker(["allow"], gate=gate)
        given_up = asyncio.ensure_future(asker.ask(QUESTION))
        await gate.reached()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        asked = asyncio.ensure_future(asker.ask(QUESTION))
        await gate.reached(by=2)
        assert not asked.done()
        gate.open()
        return await asked, asker

    answer, asker = run_virtual(main())
    assert answer == Answer("allow")
    assert asker.withdrawn == [QUESTION]
