"""What a hook's JSON answer means, and what of it is said to do nothing."""

import pytest

from holdfast.hooks.answers import read_answer
from holdfast.hooks.session_inputs import SessionStart


@pytest.mark.parametrize("name", ["sessionTitle", "reloadSkills"])
def test_a_field_that_nothing_acts_on_is_said(name: str) -> None:
    own = {"hookEventName": "SessionStart", name: "x", "additionalContext": "kept"}
    answer = read_answer(SessionStart, {"hookSpecificOutput": own})
    assert answer.additional_context == "kept"
    assert [name in warning for warning in answer.warnings] == [True]


def test_a_terminal_sequence_is_said_to_do_nothing() -> None:
    assert "terminalSequence" in read_answer(SessionStart, {"terminalSequence": "\x07"}).warnings[0]
