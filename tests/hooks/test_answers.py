"""What a hook's JSON answer means, and what of it is said to do nothing."""

from typing import Any

import pytest

from holdfast.hooks.answers import HookFailed, read_answer, read_output
from holdfast.hooks.inputs import PermissionRequest, PostToolUse, PreToolUse
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


MEANT = {"permissionDecisionReason": "not here"}


@pytest.mark.parametrize(
    "said",
    [
        {"permissionDecision": "deny", **MEANT},
        {"hookSpecificOutput": {"permissionDecision": "deny", **MEANT}},
        {"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "deny", **MEANT}},
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "decision": {"behavior": "deny", "message": "not here"},
            }
        },
        {"decision": {"behavior": "deny", "message": "not here"}},
        {"ok": False, "reason": "not here"},
        {"decision": "block", "reason": "not here", "continue": "no"},
        {"decision": "block", "reason": "not here", "hookSpecificOutput": []},
        {"decision": "perhaps", "permissionDecision": "deny", "reason": "not here"},
    ],
)
def test_a_no_of_a_gate_is_heard_wherever_it_stands(said: dict[str, Any]) -> None:
    answer = read_answer(PreToolUse, said)
    assert (answer.behavior, answer.reason) == ("deny", "not here")
    assert "its no counts" in answer.warnings[0]


@pytest.mark.parametrize("event", [PreToolUse, PermissionRequest])
@pytest.mark.parametrize("word", ["allow", "approve", "ask", "Deny", 1, ["deny"]])
def test_any_other_word_of_a_gate_in_the_wrong_place_is_a_failure_and_a_yes_only_a_soft_one(
    event: Any, word: Any
) -> None:
    with pytest.raises(HookFailed) as failed:
        read_answer(event, {"permissionDecision": word})
    assert failed.value.is_soft is (word in ("allow", "approve"))


def test_a_yes_of_a_gate_counts_only_where_it_belongs_and_a_model_may_say_ok() -> None:
    assert read_answer(PreToolUse, {"ok": True}).behavior is None
    assert read_answer(Stop, {"permissionDecision": "deny"}).behavior is None
    own = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    assert read_answer(PermissionRequest, {"decision": "approve", "hookSpecificOutput": own}).behavior == "allow"


def test_whether_to_go_on_is_true_or_false() -> None:
    with pytest.raises(HookFailed, match="its continue is 'false'"):
        read_answer(PreToolUse, {"continue": "false"})
    answer = read_answer(Stop, {"continue": "false"})
    assert not answer.stops
    assert "which is ignored" in answer.warnings[0]
    assert read_answer(Stop, {"continue": None}).warnings == ()


def test_json_that_decides_nothing_does_not_make_an_exit_code_good() -> None:
    with pytest.raises(HookFailed) as failed:
        read_output(PreToolUse, 1, '{"systemMessage": "I tried"}', "no disk")
    assert (failed.value.is_soft, str(failed.value)) == (True, "it ended with exit code 1: no disk")
    assert failed.value.answer is not None
    assert failed.value.answer.system_message == "I tried"
    assert read_output(PreToolUse, 1, '{"decision": "block"}', "").behavior == "deny"
    assert read_output(PreToolUse, 1, '{"continue": false}', "").stops


def test_a_byte_order_mark_hides_no_json() -> None:
    assert read_output(PreToolUse, 0, '\ufeff{"decision": "block", "reason": "no"}', "").behavior == "deny"


@pytest.mark.parametrize("noise", ["Using node v22", "\x1b[32mok\x1b[0m", "debug: {1}"])
def test_a_gates_decision_behind_other_text_is_a_failure_and_plain_text_is_not(noise: str) -> None:
    with pytest.raises(HookFailed, match="behind other text") as failed:
        read_output(PreToolUse, 0, f'{noise}\n{{ "decision": "block"}}', "")
    assert failed.value.is_soft
    assert read_output(PreToolUse, 0, noise, "").behavior is None
    assert read_output(SessionStart, 0, f'{noise} {{"decision": 1}}', "").additional_context.startswith(noise)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permission_decision": "deny"}}, "permissionDecision"),
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updated_input": {}}}, "updatedInput"),
        ({"Decision": "block"}, "decision"),
        ({"hook_specific_output": {}}, "hookSpecificOutput"),
    ],
)
def test_a_word_of_a_gate_that_is_almost_known_is_a_failure_and_a_soft_one_without_a_no(
    said: dict[str, Any], meant: str
) -> None:
    with pytest.raises(HookFailed, match=f"did you mean {meant}") as failed:
        read_answer(PreToolUse, said)
    assert failed.value.is_soft != any(word in str(said) for word in ("deny", "block"))
    assert read_answer(PreToolUse, {"decision": "approve", **said}).behavior == "allow"
    assert read_answer(PreToolUse, {"theirs": 1}).warnings == ("it answered with 'theirs', which is not known",)


def test_a_gate_that_writes_no_text_has_failed() -> None:
    with pytest.raises(HookFailed, match="not text"):
        read_output(PreToolUse, 0, "\ufffd\ufffd{\0}\0", "")
    assert read_output(PostToolUse, 0, "x\0", "").warnings == ()
