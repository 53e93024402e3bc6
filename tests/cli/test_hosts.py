"""A program that starts us, greets us with `initialize`, and brings its own hooks, servers, agents and words."""

import json
import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import Contains, IsPartialDict

from .test_print_process import BYPASS, STREAM, PrintProcess, Start, call, prompt, wait_for_file


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    with ExitStack() as stack:
        yield Start(tmp_path, stack)


def request(id_: str, subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id_, "request": {"subtype": subtype, **fields}}


def reply(asked: dict[str, Any], response: Any) -> dict[str, Any]:
    said = {"subtype": "success", "request_id": asked["request_id"], "response": response}
    return {"type": "control_response", "response": said}


def greeted(run: PrintProcess, **fields: Any) -> dict[str, Any]:
    """Send `initialize`; its answer."""
    run.send(request("init", "initialize", **fields))
    return run.read_until("control_response")["response"]


def hook(event: str, **more: Any) -> dict[str, Any]:
    return {event: [{"matcher": None, "hookCallbackIds": ["hook_0"], **more}]}


def test_the_answer_to_initialize_comes_first_and_tells_what_can_be_chosen(start: Start) -> None:
    run = start(*STREAM, turns=["hi"])
    answer = greeted(run)
    assert answer == IsPartialDict(subtype="success", request_id="init")
    assert answer["response"] == IsPartialDict(
        output_style="default", hook_on_failure_supported=True, claude_code_version="2.1.248"
    )
    assert answer["response"]["models"][0] == IsPartialDict(value="default")
    assert all(agent["description"] for agent in answer["response"]["agents"])
    run.send(prompt("hello"))
    _, lines, _ = run.finish()
    assert [line.get("subtype") for line in lines if line["type"] in ("system", "result")] == ["init", "success"]


def test_a_hosts_hook_decides_and_its_silence_does_not(start: Start, tmp_path: Path) -> None:
    turns = [[call("Bash", command="touch refused")], [call("Bash", command="touch made")], "Done."]
    run = start(*STREAM, *BYPASS, turns=turns)
    assert greeted(run, hooks=hook("PreToolUse"))["response"]["hooks_applied"] is True
    run.send(prompt("go"))
    asked = run.read_until("control_request")
    assert asked["request"] == IsPartialDict(
        subtype="hook_callback",
        callback_id="hook_0",
        tool_use_id="call_1",
        input=IsPartialDict(hook_event_name="PreToolUse", tool_name="Bash", tool_input={"command": "touch refused"}),
    )
    no = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not here"}
    run.send(reply(asked, {"hookSpecificOutput": no}))
    assert "not here" in str(run.read_until("user")["message"])
    run.send(reply(run.read_until("control_request"), {}))
    run.finish()
    assert [(tmp_path / name).exists() for name in ("refused", "made")] == [False, True]


@pytest.mark.parametrize(
    ("answer", "on_failure"),
    [
        ({"subtype": "error", "error": "boom"}, "block"),
        ({"subtype": "success", "response": "yes"}, "block"),
        ({"subtype": "success", "response": {"hookSpecificOutput": {"permissionDecision": "allow"}}}, None),
        (None, "block"),
        (None, "something new"),
    ],
)
def test_a_hosts_gate_that_fails_lets_nothing_pass(
    start: Start, tmp_path: Path, answer: dict[str, Any] | None, on_failure: str | None
) -> None:
    run = start(*STREAM, *BYPASS, turns=[[call("Bash", command="touch made")], "Done."])
    greeted(run, hooks=hook("PreToolUse", **({"onFailure": on_failure} if on_failure else {})))
    run.send(prompt("go"))
    asked = run.read_until("control_request")
    if answer is not None:
        said = {"request_id": asked["request_id"], **answer}
        run.send({"type": "control_response", "response": said})
    code, lines, _ = run.finish()  # without an answer the host is gone
    assert (code, lines[-1]["result"], (tmp_path / "made").exists()) == (0, "Done.", False)


@pytest.mark.parametrize(
    "fields",
    [
        {"hooks": {"BeforeEverything": [{"hookCallbackIds": ["a"]}]}},
        {"hooks": {"PreToolUse": [{"matcher": "Bash"}]}},
        {"hooks": ["PreToolUse"]},
        {"hooks": {"PreToolUse": "hook_0"}},
        {"jsonSchema": "object"},
        {"agents": ["a"]},
        {"sdkMcpServerConfigs": {"calc": {"tools": "add"}}, "sdkMcpServers": "calc"},
    ],
)
def test_what_cannot_be_done_as_it_is_written_is_an_error_and_no_session(start: Start, fields: dict[str, Any]) -> None:
    run = start(*STREAM, turns=["never"])
    run.send(request("init", "initialize", **fields), prompt("go"))
    code, lines, _ = run.finish()
    assert (code, [line["type"] for line in lines]) == (2, ["control_response", "result"])
    assert (lines[0]["response"]["subtype"], lines[1]["is_error"]) == ("error", True)


def test_what_this_version_does_not_do_is_said(start: Start) -> None:
    run = start(*STREAM, turns=["hi"])
    run.send(request("init", "initialize", voices=["loud"], title=None))
    code, _, err = run.finish()
    assert (code, err) == (0, "holdfast: initialize: this version does nothing with 'voices'\n")


class Calculator:
    """An MCP server inside the program at the other end."""

    def __init__(self, run: PrintProcess) -> None:
        self.run = run
        self.methods: list[str] = []

    def answer_one(self) -> dict[str, Any]:
        asked = self.run.read_until("control_request")
        assert asked["request"] == IsPartialDict(subtype="mcp_message", server_name="calc")
        message = asked["request"]["message"]
        self.methods.append(message["method"])
        result = self._result(message)
        known = {"jsonrpc": "2.0", **({"id": message["id"]} if "id" in message else {})}
        self.run.send(reply(asked, {"mcp_response": {**known, "result": result}}))
        return message

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            server = {"name": "calc", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        if message["method"] == "tools/list":
            schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
            return {"tools": [{"name": "add", "description": "Adds.", "inputSchema": schema}]}
        if message["method"] == "tools/call":
            numbers = message["params"]["arguments"]
            return {"content": [{"type": "text", "text": f"sum {numbers['a'] + numbers['b']}"}]}
        return {}


ADD = call("mcp__calc__add", a=1, b=2)


def served(run: PrintProcess, **fields: Any) -> Calculator:
    """Greet with a server inside this program, and answer until the session is up."""
    run.send(request("init", "initialize", sdkMcpServers=["calc"], **fields))
    server = Calculator(run)
    while "tools/list" not in server.methods:
        server.answer_one()
    assert run.read_until("control_response")["response"]["subtype"] == "success"
    return server


def test_a_server_inside_the_host_gives_tools_that_work(start: Start) -> None:
    run = start(*STREAM, "--allowedTools", "mcp__calc__add", turns=[[ADD], {"blocks": ["Three."], "expect": ["sum 3"]}])
    server = served(run)
    run.send(prompt("add"), request("s", "mcp_status"))
    while server.methods[-1] != "tools/call":
        server.answer_one()
    _, lines, _ = run.finish()
    assert lines[-1]["result"] == "Three."
    status = [line["response"]["response"] for line in lines if line["type"] == "control_response"]
    assert status == [] or status == [IsPartialDict(mcpServers=[IsPartialDict(name="calc", status="connected")])]


@pytest.mark.parametrize("policy", ["always_deny", "always_ask", "nobody knows"])
def test_a_hosts_policy_for_its_tools_holds_against_every_mode(start: Start, policy: str) -> None:
    run = start(*STREAM, *BYPASS, "--allowedTools", "mcp__calc__add", turns=[[ADD], "Could not."])
    served(run, sdkMcpServerConfigs={"calc": {"tools": [{"name": "add", "permission_policy": policy}]}})
    run.send(prompt("add"))
    _, lines, _ = run.finish()
    assert (lines[-1]["result"], "sum 3" in json.dumps(lines)) == ("Could not.", False)


def test_agents_and_words_of_the_host_count(start: Start) -> None:
    turns = [[call("Agent", description="d", prompt="p", subagent_type="helper")], "I help.", "Done."]
    run = start(*STREAM, turns=turns)
    answer = greeted(
        run, agents={"helper": {"description": "Helps.", "prompt": "You help."}}, systemPrompt=["Be kind."]
    )
    assert answer["response"]["agents"] == Contains(IsPartialDict(name="helper", description="Helps."))
    run.send(prompt("go"))
    _, lines, _ = run.finish()
    assert lines[-1]["result"] == "Done."


def test_data_that_the_host_wants_comes_with_the_result(start: Start) -> None:
    run = start(*STREAM, turns=[[call("StructuredOutput", n=1)], "Done."])
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    greeted(run, jsonSchema=schema)
    run.send(prompt("count"))
    _, lines, _ = run.finish()
    assert lines[-1]["structured_output"] == {"n": 1}


def test_an_unknown_session_is_an_error_and_a_result(start: Start) -> None:
    run = start(*STREAM, "--resume", "00000000-0000-4000-8000-000000000000", turns=["never"])
    run.send(request("init", "initialize"))
    code, lines, _ = run.finish()
    assert (code, [line["type"] for line in lines]) == (2, ["control_response", "result"])
    assert lines[1] == IsPartialDict(is_error=True, subtype="error_during_execution")


def test_prompts_that_wait_are_named_by_an_interrupt_and_can_be_taken_back(start: Start, tmp_path: Path) -> None:
    run = start(*STREAM, *BYPASS, turns=[[call("Bash", command="echo $$ > pid; exec tail -f /dev/null")], "last"])
    run.send(prompt("wait", uuid="u-1"))
    run.read_until("assistant")
    wait_for_file(tmp_path / "pid")
    run.send(prompt("second", uuid="u-2"), prompt("third", uuid="u-3"))
    run.send(request("c", "cancel_async_message", message_uuid="u-2"))
    assert run.read_until("control_response")["response"]["response"] == {"cancelled": True}
    run.send(request("i", "interrupt"))
    told: dict[str, Any] = {}
    while not {"control_response", "result"} <= set(told):
        line = run.read()
        told[line["type"]] = line
    assert told["control_response"]["response"]["response"] == {"still_queued": ["u-3"]}
    assert told["result"] == IsPartialDict(user_message_uuid="u-1", terminal_reason="aborted_tools")
    _, lines, _ = run.finish()
    assert lines[-1] == IsPartialDict(result="last", user_message_uuid="u-3")


def test_a_question_tells_what_a_dialog_shows(start: Start) -> None:
    run = start(*STREAM, "--permission-prompts", "host", turns=[[call("Write", file_path="/etc/x", content="x")], "no"])
    run.send(prompt("write"))
    asked = run.read_until("control_request")["request"]
    assert asked == IsPartialDict(title="Write: /etc/x", display_name="Write", description="/etc/x")
    assert asked["blocked_path"] == "/etc/x"
    assert asked["decision_reason_type"] in ("safetyCheck", "mode")
    run.finish()


def test_a_host_that_reads_the_state_is_told_when_the_session_works(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
    run = start(*STREAM, "--include-hook-events", turns=["one", "two"])
    greeted(run)
    lines: list[dict[str, Any]] = []
    for text in ("first", "second"):
        run.send(prompt(text))
        while not lines or lines[-1].get("state") != "idle":
            lines.append(run.read())
        lines.append({})
    run.finish()
    states = [line["state"] for line in lines if line.get("subtype") == "session_state_changed"]
    assert states == ["running", "idle", "running", "idle"]


def test_a_task_that_ends_between_two_prompts_is_told_at_once(start: Start, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    turns = [[call("Bash", command="cat gate", run_in_background=True)], "Started.", "next"]
    run = start(*STREAM, *BYPASS, turns=turns)
    run.send(prompt("go"))
    while run.read_until("system")["subtype"] != "task_started":
        pass
    run.read_until("result")
    (tmp_path / "gate").write_text("x", encoding="utf-8")
    while (line := run.read_until("system"))["subtype"] != "task_notification":
        pass
    assert line["status"] == "completed"
    run.finish()
