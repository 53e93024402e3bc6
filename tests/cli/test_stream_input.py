"""What the program at the other end may say, and what becomes of nonsense."""

import json
from typing import Any, Literal

import pytest
from dirty_equals import IsPartialDict, IsStr

from holdfast.agent.prompts import Sent
from holdfast.cli.stream_input import (
    ControlRequest,
    Ignored,
    PermissionAnswer,
    UserPrompt,
    permission_request,
    read_message,
)
from holdfast.contract import Answer, Question, RuleUpdate, UsageError
from holdfast.permissions.decision import Step


def read(message: Any) -> Any:
    return read_message(json.dumps(message).encode())


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def test_a_prompt_is_text_or_blocks() -> None:
    blocks = [{"type": "text", "text": "hi"}]
    found = [read(user("hi")), read(user(blocks)), read(user("hi", priority="now"))]
    assert all(isinstance(one, UserPrompt) for one in found)
    assert [one[:2] for one in found] == [("hi", False), (blocks, False), ("hi", True)]


def test_a_prompt_has_the_name_that_its_host_gave_it_or_a_new_one() -> None:
    named, nameless = read(user("hi", uuid="of-the-host", client_composed=True)), read(user("hi"))
    assert isinstance(named, UserPrompt)
    assert isinstance(nameless, UserPrompt)
    assert named.sent == Sent("of-the-host", is_verbatim=True)
    assert nameless.sent.uuid == IsStr(regex="[0-9a-f-]{36}")
    assert not nameless.sent.is_verbatim


def test_wishes_keep_their_fields() -> None:
    request = {"subtype": "set_permission_mode", "mode": "plan"}
    assert read({"type": "control_request", "request_id": "7", "request": request}) == ControlRequest(
        "7", "set_permission_mode", request
    )
    assert read({"type": "keep_alive"}) == Ignored("keep_alive")


def answer(**response: Any) -> Any:
    said = {"subtype": "success", "request_id": "q", "response": response}
    return read({"type": "control_response", "response": said})


def test_a_yes_may_change_the_input_and_give_rules() -> None:
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "ls *"}, {"toolName": "Read"}],
        "behavior": "allow",
        "destination": "localSettings",
    }
    deny = {"type": "addRules", "rules": [{"toolName": "Write"}], "behavior": "deny", "destination": "session"}
    assert answer(behavior="allow", updatedInput={"a": 1}, updatedPermissions=[update, deny]) == PermissionAnswer(
        "q",
        Answer(
            "allow",
            {"a": 1},
            updates=(
                RuleUpdate("allow", ("Bash(ls *)", "Read"), "localSettings"),
                RuleUpdate("deny", ("Write",), "session"),
            ),
        ),
    )


def test_a_no_with_updates_adds_only_what_they_themselves_refuse() -> None:
    allow = {"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow", "destination": "userSettings"}
    deny = {"type": "addRules", "rules": [{"toolName": "Write"}], "behavior": "deny", "destination": "localSettings"}
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    found = answer(behavior="deny", message="no", updatedPermissions=[allow, deny, mode]).answer
    assert (found.behavior, found.rules) == ("deny", ())
    assert found.added == (RuleUpdate("deny", ("Write",), "localSettings"),)


def test_a_no_may_say_why_and_stop_the_run() -> None:
    assert answer(behavior="deny", message="not here", interrupt=True) == PermissionAnswer(
        "q", Answer("deny", None, "not here"), interrupts=True
    )


def test_a_host_that_fails_says_no() -> None:
    said = {"subtype": "error", "request_id": "q", "error": "boom"}
    found = read({"type": "control_response", "response": said})
    assert (found.answer.behavior, "boom" in found.answer.message) == ("deny", True)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"type":"dance"}',
        b'{"type":"user"}',
        b'{"type":"user","message":{"role":"assistant","content":"x"}}',
        b'{"type":"user","message":{"role":"user","content":"  "}}',
        b'{"type":"user","message":{"role":"user","content":[]}}',
        b'{"type":"user","message":{"role":"user","content":["x"]}}',
    ],
)
def test_nonsense_is_refused_in_words(line: bytes) -> None:
    with pytest.raises(UsageError):
        read_message(line)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"behavior": "maybe"},
        {"behavior": "Allow"},
        {"behavior": True},
        {"allow": "yes"},
        {"behavior": "deny", "allow": True},
        {"behavior": "allow", "updatedInput": "ls"},
        {"behavior": "allow", "updated_inputs": {"command": "ls"}},
        {"behavior": "allow", "updatedinput": {"command": "ls"}},
        {"behavior": "allow", "inputs": {"command": "ls"}},
        {"behavior": "allow", "updatedInput": {"a": 1}, "updated_input": {"a": 2}},
        {"behavior": "allow", "interrupt": "no"},
        {"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "plan", "destination": "moon"}]},
    ],
)
def test_an_answer_that_cannot_be_meant_is_a_no_at_once_and_says_why(said: dict[str, Any]) -> None:
    found = answer(**said)
    assert (found.request_id, found.answer.behavior, found.interrupts) == ("q", "deny", False)
    assert "taken as a no" in found.notices[0]


@pytest.mark.parametrize(
    "said",
    [
        {"behavior": "allow", "updatedInput": {"a": 1}, "message": "fine"},
        {"behavior": "allow", "updated_input": {"a": 1}, "message": "fine", "tool_use_id": "t"},
        {"behavior": "allow", "updatedInput": {"a": 1}, "message": "fine", "toolUseID": "t"},
        {"allow": True, "input": {"a": 1}, "reason": "fine"},
    ],
)
def test_a_yes_is_read_in_every_spelling(said: dict[str, Any]) -> None:
    assert answer(**said) == PermissionAnswer("q", Answer("allow", {"a": 1}, "fine"))


def test_requests_and_answers_are_read_in_every_spelling() -> None:
    asked = read({"type": "control_request", "requestId": "r", "request": {"subtype": "x", "dryRun": True, "a_b": 1}})
    assert (asked.request_id, asked.fields["dry_run"], asked.fields["aB"]) == ("r", True, 1)
    greeting = read({"type": "control_request", "request": {"subtype": "initialize", "append_system_prompt": "x"}})
    assert greeting.fields == {"subtype": "initialize", "appendSystemPrompt": "x"}
    said = {"subtype": "success", "requestId": "q", "response": {"behavior": "allow"}}
    assert read({"type": "control_response", "response": said}) == PermissionAnswer("q", Answer("allow"))
    broken = read({"type": "control_response", "request_id": "q", "response": "yes"})
    assert (broken.request_id, broken.answer.behavior) == ("q", "deny")


def test_a_key_that_resembles_no_other_is_said_and_the_answer_counts() -> None:
    found = answer(behavior="allow", colour="red")
    assert (found.answer, "'colour'" in found.notices[0]) == (Answer("allow"), True)


def test_a_question_offers_the_rules_that_always_would_save() -> None:
    question = Question("q", "t", "Bash", {"command": "ls"}, "no rule speaks of it", ("Bash(ls *)", "Read"))
    assert permission_request(question) == {
        "type": "control_request",
        "request_id": "q",
        "request": IsPartialDict(
            subtype="can_use_tool",
            tool_name="Bash",
            input={"command": "ls"},
            tool_use_id="t",
            decision_reason="no rule speaks of it",
            decision_reason_type="other",
            permission_suggestions=[
                {
                    "type": "addRules",
                    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}, {"toolName": "Read"}],
                    "behavior": "allow",
                    "destination": "localSettings",
                }
            ],
        ),
    }


def test_a_rule_that_is_none_does_not_count_and_the_yes_does() -> None:
    rules: list[Any] = [{"toolName": "Nope)("}, {"toolName": "Bash", "ruleContent": ""}, {"toolName": "Read"}]
    update = {"type": "addRules", "rules": rules, "behavior": "allow"}
    found = answer(behavior="allow", updatedPermissions=[update])
    assert (found.answer.added, len(found.notices)) == ((RuleUpdate("allow", ("Read",)),), 2)


def replacing(behavior: str, rules: Any) -> tuple[RuleUpdate, ...]:
    update = {"type": "replaceRules", "rules": rules, "behavior": behavior, "destination": "localSettings"}
    return answer(behavior="allow", updatedPermissions=[update]).answer.added


def test_allow_rules_may_replace_others_and_an_empty_list_leaves_none() -> None:
    read = RuleUpdate("allow", ("Read",), "localSettings", replaces=True)
    assert replacing("allow", [{"toolName": "Read"}]) == (read,)
    assert replacing("allow", []) == (read._replace(rules=()),)
    assert replacing("allow", None) == replacing("allow", {}) == ()
    assert replacing("allow", [{"toolName": "Read"}, {"toolName": "Nope)("}]) == (read,)


@pytest.mark.parametrize("behavior", ["deny", "ask"])
def test_a_replacement_takes_no_refusal_away(behavior: Literal["deny", "ask"]) -> None:
    assert replacing(behavior, [{"toolName": "Read"}]) == (RuleUpdate(behavior, ("Read",), "localSettings"),)
    assert replacing(behavior, []) == ()


def test_an_update_of_no_kind_does_not_count() -> None:
    assert answer(behavior="allow", updatedPermissions=[{"type": []}, 5, {}]).answer.added == ()


def test_a_question_says_what_asks_and_for_which_agent() -> None:
    step = Step("ask", "ask", "the rule Bash speaks of it")
    question = Question("q", "t", "Bash", {"command": "ls"}, "why", trace=(step,), agent="weaver", agent_id="a-1")
    asked = permission_request(question)["request"]
    assert (asked["decision_reason_type"], asked["agent_id"]) == ("rule", "a-1")
