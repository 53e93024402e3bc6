"""What a hook's JSON answer means, and what of it is said to do nothing."""

import pytest

from holdfast.hooks.answers import read_answer
from holdfast.hooks.inputs import PostToolUse
from holdfast.hooks.session_inputs import SessionStart, Stop


def test_a_field_that_does_nothing_for_its_event_is_said() -> None:
    own = {"hookEventName": "Stop", "sessionTitle": "x", "additionalContext": "kept"}
    answer = read_answer(Stop, {"hookSpecificOutput": own})
    assert answer.additional_context == "kept"
    [warning] = answer.warnings
    assert "'sessionTitle', which does nothing for Stop" in warning
    own["hookEventName"] = "SessionStart"
    assert read_answer(SessionStart, {"hookSpecificOutput": own}).warnings == ()
    context = {"hookEventName": "PostToolUse", "classifierContext": "x"}
    assert "does nothing" in read_answer(PostToolUse, {"hookSpecificOutput": context}).warnings[0]


@pytest.mark.parametrize(
    "sequence",
    ["\x07", "\x1b]0;title\x07", "\x1b]9;done\x1b\\", "\x1b]777;notify;Holdfast;it is done: é\x07", "\x1b]2;a\x07\x07"],
)
def test_a_terminal_sequence_that_rings_notifies_or_names_is_passed_on(sequence: str) -> None:
    answer = read_answer(SessionStart, {"terminalSequence": sequence})
    assert (answer.more["terminalSequence"], answer.warnings) == (sequence, ())


@pytest.mark.parametrize(
    "sequence",
    [
        *("\x1b[2J", "\x1b]52;c;aGk=\x07", "plain", "", "\x1b]0;a\x1b[2J\x07", "\x1b]8;;http://x\x07", "\x9d0;x\x07"),
        *(
            "\x1b]0;a\nb\x07",
            "\x1b]0;" + "x" * 501 + "\x07",
            "\x07" * 9,
            "\x1b]0;open",
            "\x1bc",
            7,
            None,
            "\x1bP0;x\x1b\\",
        ),
    ],
)
def test_any_other_terminal_sequence_is_said_and_never_sent(sequence: object) -> None:
    answer = read_answer(SessionStart, {"terminalSequence": sequence})
    assert "terminalSequence" not in answer.more
    assert "terminalSequence" in answer.warnings[0]
