"""Forms in both stdio protocols, with real processes."""

import re
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr

from .conftest import StartExec
from .test_print_process import STREAM, Start, call, prompt
from .test_print_process import start as start  # noqa: PLC0414 - a fixture

QUESTION = {"question": "Which one?", "options": [{"label": "Left"}, {"label": "Right", "value": "r"}]}
ASK = {"type": "tool_use", "id": "1", "name": "AskUserQuestion", "input": {"questions": [QUESTION]}}


def test_exec_writes_a_form_and_takes_its_answer(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send(ASK)
    asked = run.read()
    assert asked == IsPartialDict(
        type="form_request", kind="questions", source="AskUserQuestion", tool_use_id="1", request_id=IsStr()
    )
    assert asked["fields"][0] == IsPartialDict(name="Which one?", kind="choice", free_text=True)
    run.send(
        {
            "type": "form_response",
            "request_id": asked["request_id"],
            "action": "accept",
            "values": {"Which one?": "Right"},
        }
    )
    code, lines, err = run.finish()
    assert (code, err) == (0, "")
    assert lines == [IsPartialDict(type="tool_result", is_error=False, content=IsStr(regex="(?s).*Which one.*\n  r"))]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"action": "accept", "values": {"Which?": "Right"}}, "not a field"),
        ({"action": "accept", "values": {"Which one?": 7}}, "a string"),
        ({"action": "accept", "values": "Right"}, "JSON object"),
        ({"action": "yes"}, "'accept', 'decline' or 'cancel'"),
        ({"action": "accept", "value": {}}, "unknown keys"),
    ],
)
def test_an_answer_that_does_not_fit_is_a_no_at_once(start_exec: StartExec, answer: dict[str, Any], word: str) -> None:
    run = start_exec("--ask", "stdio")
    run.send(ASK)
    asked = run.read()
    run.send({"type": "form_response", "request_id": asked["request_id"], **answer})
    _, lines, _ = run.finish()
    assert sorted(line["type"] for line in lines) == ["error", "tool_result"]
    error, reply = sorted(lines, key=lambda line: line["type"])
    assert word in error["message"]
    assert reply["is_error"]


def test_a_form_is_declined_when_the_input_ends_and_withdrawn_when_its_call_is_stopped(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio", "--events")
    run.send(ASK)
    while (asked := run.read())["type"] != "form_request":
        pass
    run.send({"type": "interrupt"}, {"type": "form_response", "request_id": "nobody", "action": "accept"})
    run.send({**ASK, "id": "2"})
    code, lines, _ = run.finish()
    gone = [line for line in lines if line["type"] == "form_withdrawn"]
    assert (code, gone) == (0, [{"type": "form_withdrawn", "request_id": asked["request_id"], "tool_use_id": "1"}])
    replies = {line["tool_use_id"]: line["content"] for line in lines if line["type"] == "tool_result"}
    assert ("Interrupted" in replies["1"], "standard input ended" in replies["2"]) == (True, True)
    assert any("no open form" in line["message"] for line in lines if line["type"] == "error")


def test_without_anybody_to_ask_the_question_is_not_offered(start_exec: StartExec) -> None:
    run = start_exec()
    run.send(ASK)
    code, lines, _ = run.finish()
    assert (code, lines[0]["is_error"]) == (0, True)


def answer_to(asked: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    answer = {"subtype": "success", "request_id": asked["request_id"], "response": response}
    return {"type": "control_response", "response": answer}


@pytest.mark.parametrize(
    ("yes", "key"),
    [({"behavior": "allow"}, "updatedInput"), ({"behavior": "allow"}, "updated_input"), ({"allow": True}, "input")],
)
def test_a_host_answers_the_models_questions_by_the_changed_input(start: Start, yes: dict[str, Any], key: str) -> None:
    asks = call("AskUserQuestion", questions=[QUESTION])
    run = start(
        *STREAM, "--permission-prompt-tool", "stdio", turns=[[asks], {"blocks": ["Right it is."], "expect": ["r"]}]
    )
    run.send(prompt("choose"))
    asked = run.read_until("control_request")
    assert asked["request"] == IsPartialDict(
        subtype="can_use_tool", tool_name="AskUserQuestion", input={"questions": [QUESTION]}, tool_use_id=IsStr()
    )
    changed = {**asked["request"]["input"], "answers": {"Which one?": "Right"}}
    assert asked["request"]["display_name"] == "AskUserQuestion"
    run.send(answer_to(asked, {**yes, key: changed}))
    code, lines, _ = run.finish()
    results = [line["tool_use_result"] for line in lines if line["type"] == "user"]
    assert (code, lines[-1]["result"], results[0]["answers"]) == (0, "Right it is.", {"Which one?": "r"})


@pytest.mark.parametrize(
    "said",
    [
        {"behavior": "deny", "message": "ask the readme"},
        {"behavior": "maybe"},
        {"behavior": "allow", "updatedInput": {"answers": {"Another?": "x"}}},
        {"behavior": "allow", "updated_inputs": {"answers": {"Which one?": "Right"}}},
        {"allow": False, "reason": "ask the readme"},
    ],
)
def test_a_hosts_no_and_what_it_cannot_mean_are_a_refusal(start: Start, said: dict[str, Any]) -> None:
    asks = call("AskUserQuestion", questions=[QUESTION])
    run = start(*STREAM, "--permission-prompt-tool", "stdio", turns=[[asks], "Then not."])
    run.send(prompt("choose"))
    run.send(answer_to(run.read_until("control_request"), said))
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"]) == (0, "Then not.")
    assert [denial["tool_name"] for denial in lines[-1]["permission_denials"]] == ["AskUserQuestion"]


def test_a_host_that_goes_away_has_declined_its_form(start: Start) -> None:
    asks = call("AskUserQuestion", questions=[QUESTION])
    run = start(*STREAM, "--permission-prompt-tool", "stdio", turns=[[asks], "Then not."])
    run.send(prompt("choose"))
    run.read_until("control_request")
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"]) == (0, "Then not.")


def test_a_plan_is_approved_over_exec_with_edits_and_picked_rules(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio", "--permission-mode", "plan", "--events")
    run.send({"type": "tool_use", "id": "0", "name": "ExitPlanMode", "input": {}})
    while (told := run.read())["type"] != "tool_result":
        pass
    file = re.findall(r"'(/[^']*plan\.md)'", told["content"])[0]
    run.send({"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": file, "content": "Run `npm ci`."}})
    while run.read()["type"] != "tool_result":
        pass
    asks = {"allowedPrompts": [{"tool": "Bash", "prompt": "install everything"}]}
    run.send({"type": "tool_use", "id": "2", "name": "ExitPlanMode", "input": asks})
    while (asked := run.read())["type"] != "form_request":
        pass
    assert asked == IsPartialDict(kind="plan", text="Run `npm ci`.", source="ExitPlanMode")
    answer = {"action": "accept", "text": "Run nothing.", "values": {"rules": ["Bash(npm ci *)"]}}
    run.send({"type": "form_response", "request_id": asked["request_id"], **answer})
    code, lines, _ = run.finish()
    reply = next(line for line in lines if line["type"] == "tool_result")
    assert (code, reply["is_error"]) == (0, False)
    assert all(word in reply["content"] for word in ("Run nothing.", "Bash(npm ci *)", "after editing it"))


def test_a_host_sees_the_plan_in_the_call_and_sends_it_back_changed(start: Start) -> None:
    asks = [{"tool": "Bash", "prompt": "touch made.txt"}, {"tool": "Bash", "prompt": "look around"}]
    turns = [
        [call("EnterPlanMode")],
        [call("ExitPlanMode")],
        [call("AskUserQuestion", questions=[QUESTION])],  # while it is open the plan is written
        [call("ExitPlanMode", allowedPrompts=asks)],
        [call("Bash", command="touch made.txt")],
        "Made.",
    ]
    run = start(*STREAM, "--permission-prompt-tool", "stdio", turns=turns)
    run.send(prompt("plan it"))
    seen: list[dict[str, Any]] = []
    while (question := run.read())["type"] != "control_request":
        seen.append(question)
    file = re.findall(r"no plan file: write the plan to '([^']+)'", str(seen))[0]
    Path(file).write_text("# Plan\nRun `touch made.txt`.\n")
    run.send(answer_to(question, {"behavior": "deny", "message": "you choose"}))
    asked = run.read_until("control_request")
    assert asked["request"]["tool_name"] == "ExitPlanMode"
    given = asked["request"]["input"]
    assert (given["plan"], given["planFilePath"]) == ("# Plan\nRun `touch made.txt`.\n", file)
    run.send(answer_to(asked, {"behavior": "allow", "updatedInput": {**given, "plan": "# Mine\n"}}))
    code, lines, _ = run.finish()
    approved = next(line["tool_use_result"] for line in lines if "planWasEdited" in str(line.get("tool_use_result")))
    assert (approved["plan"], approved["planWasEdited"], Path(file).read_text()) == ("# Mine\n", True, "# Mine\n")
    assert (code, lines[-1]["result"], (start.place / "made.txt").exists()) == (0, "Made.", True)
    modes = [line.get("permissionMode") for line in [*seen, *lines] if line.get("subtype") == "status"]
    assert modes == ["plan", "default"]
