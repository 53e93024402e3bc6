"""The lines programs read: their order, their keys, and what each event becomes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from dirty_equals import IsInt, IsPartialDict, IsStr

from holdfast.cli.session_facts import SessionFacts
from holdfast.cli.stream_json import StreamJson
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextChanged,
    ContextCompacted,
    ContextCompacting,
    Event,
    HookRan,
    HookStarted,
    ModelRequested,
    PermissionDecided,
    ReplyDiscarded,
    RequestRetried,
    ResultsSent,
    RunEnded,
    TaskChanged,
    TextStreamed,
    ThinkingStreamed,
    ToolUseStreamed,
)
from holdfast.lib.uuids import new_uuid
from holdfast.models.recording import read_recording
from holdfast.permissions.decision import Decision

FACTS = SessionFacts("s-1", "/project", "scripted:x", "default", ("Bash", "Read"), "ANTHROPIC_API_KEY")
USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 3, "cache_write_tokens": 2}
COUNTED: dict[str, Any] = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 2,
    "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 0},
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "output_tokens_details": {"thinking_tokens": 0},
    "service_tier": "standard",
    "speed": "standard",
    "inference_geo": "",
    "iterations": [],
}
UUID = IsStr(regex=r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def replied(*content: dict[str, Any], stop: str = "end_turn", model: str = "m") -> AssistantReplied:
    return AssistantReplied("msg_1", list(content), model, stop, USAGE, 0.25)


def ended(**fields: Any) -> RunEnded:
    plain = RunEnded(outcome="success", text="done", turns=2, duration_ms=12.6, model_ms=7.2, usage=USAGE)
    return msgspec.structs.replace(plain, **fields)


def lines(*events: Event, has_partials: bool = False, has_agent_text: bool = False) -> list[dict[str, Any]]:
    stream = StreamJson(FACTS, has_partials=has_partials, has_agent_text=has_agent_text)
    return [line for event in events for line in stream.lines(event)]


def test_a_uuid_is_one_and_never_the_same() -> None:
    assert new_uuid() == UUID
    assert len({new_uuid() for _ in range(1000)}) == 1000


def test_the_first_line_says_what_session_this_is() -> None:
    assert StreamJson(FACTS).init() == {
        "type": "system",
        "subtype": "init",
        "cwd": "/project",
        "session_id": "s-1",
        "tools": ["Bash", "Read"],
        "mcp_servers": [],
        "model": "scripted:x",
        "permissionMode": "default",
        "slash_commands": [],
        "agents": [],
        "skills": [],
        "plugins": [],
        "apiKeySource": "ANTHROPIC_API_KEY",
        "output_style": "default",
        "claude_code_version": "2.1.248",
        "capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"],
        "uuid": UUID,
    }


def test_an_answer_is_one_assistant_line_with_the_providers_message() -> None:
    assert lines(replied({"type": "text", "text": "hi"})) == [
        {
            "type": "assistant",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": "hi"}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": COUNTED,
            },
            "parent_tool_use_id": None,
            "session_id": "s-1",
            "uuid": UUID,
        }
    ]


def test_an_answer_of_several_blocks_is_a_line_for_each_with_one_id_and_one_usage(tmp_path: Path) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "a", "name": "Read", "input": {}},
    ]
    found = lines(replied(*blocks, stop="tool_use"))
    assert [line["message"]["content"] for line in found] == [[block] for block in blocks]
    assert [line["message"]["stop_reason"] for line in found] == [None, None, "tool_use"]
    assert {line["message"]["id"] for line in found} == {"msg_1"}
    assert {str(line["message"]["usage"]) for line in found} == {str(found[0]["message"]["usage"])}
    assert len({line["uuid"] for line in found}) == 3
    file = tmp_path / "printed.jsonl"
    file.write_bytes(msgspec.json.Encoder().encode_lines(found))
    assert [reply.content for reply in read_recording(file).replies] == [tuple(blocks)]


def test_blocks_of_a_provider_without_ids_still_share_one() -> None:
    event = msgspec.structs.replace(
        replied({"type": "text", "text": "a"}, {"type": "text", "text": "b"}), message_id=""
    )
    first, second = lines(event)
    assert first["message"]["id"] == second["message"]["id"] == IsStr(regex="msg_.+")


def test_a_streamed_answer_has_the_id_that_its_start_told() -> None:
    block = {"type": "text", "text": "hi"}
    found = lines(ModelRequested(1, "m", 1), TextStreamed("hi", 0), replied(block, block), has_partials=True)
    started = next(line for line in found if line.get("event", {}).get("type") == "message_start")
    told = {line["message"]["id"] for line in found if line["type"] == "assistant"}
    assert told == {started["event"]["message"]["id"]}
    later = lines(
        TextStreamed("hi", 0), ReplyDiscarded("x"), ModelRequested(1, "m", 2), replied(block), has_partials=True
    )
    assert later[-1]["message"]["id"] == "msg_1"


def test_each_result_is_a_user_line_with_its_data_and_other_words_follow() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "tool_result", "tool_use_id": "b", "content": "two"},
        {"type": "text", "text": "a reminder"},
    ]
    found = lines(
        CallFinished("a", "Read", "1", data={"lines": 1}), CallFinished("b", "Own", "two"), ResultsSent(results)
    )
    assert found == [
        IsPartialDict(type="user", message={"role": "user", "content": results[:1]}, tool_use_result={"lines": 1}),
        IsPartialDict(type="user", message={"role": "user", "content": results[1:2]}, tool_use_result="two"),
        IsPartialDict(type="user", message={"role": "user", "content": results[2:]}, isSynthetic=True),
    ]


def test_the_result_has_every_key_that_programs_read() -> None:
    stream = StreamJson(FACTS)
    for model in ("m", "m", "n"):
        stream.count_only(replied(model=model))
    denial = {"tool_name": "Bash", "tool_use_id": "x", "tool_input": {"command": "ls"}}
    assert stream.result(ended(denials=(denial,), cost_usd=0.75, stop_reason="end_turn")) == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 13,
        "duration_api_ms": 7,
        "num_turns": 2,
        "result": "done",
        "stop_reason": "end_turn",
        "session_id": "s-1",
        "total_cost_usd": 0.75,
        "usage": COUNTED,
        "modelUsage": {
            "m": IsPartialDict(
                inputTokens=20,
                outputTokens=10,
                cacheReadInputTokens=6,
                costUSD=0.5,
                contextWindow=200_000,
                maxOutputTokens=8_192,
            ),
            "n": IsPartialDict(inputTokens=10, cacheCreationInputTokens=2, costUSD=0.25),
        },
        "permission_denials": [denial],
        "terminal_reason": "completed",
        "api_error_status": None,
        "result_index": 0,
        "queued_turn_count": 0,
        "uuid": UUID,
    }


def test_a_run_that_was_stopped_is_an_error_with_a_subtype_that_programs_know() -> None:
    for outcome, subtype in (
        ("error_max_turns", "error_max_turns"),
        ("interrupted", "error_during_execution"),
        ("refused", "error_during_execution"),
    ):
        found = StreamJson(FACTS).result(ended(outcome=outcome, text="", error="why"))
        assert found == IsPartialDict(subtype=subtype, is_error=True, outcome=outcome, errors=["why"], result="why")


def test_data_that_was_asked_for_stands_in_the_result_even_when_it_is_false() -> None:
    assert StreamJson(FACTS).result(ended(structured_output=False))["structured_output"] is False
    assert "structured_output" not in StreamJson(FACTS).result(ended())


def test_retries_and_compactions_are_system_lines() -> None:
    assert lines(
        RequestRetried(1, 0.5, "slow down", "rate_limit", 7, 429),
        ContextCompacting("auto", 900),
        ContextCompacted("auto", 900, 100, summary="…"),
    ) == [
        IsPartialDict(type="system", subtype="api_retry", attempt=1, max_retries=7, retry_delay_ms=500)
        & IsPartialDict(error="rate_limit", error_status=429, message="slow down"),
        IsPartialDict(type="system", subtype="status", status="compacting"),
        IsPartialDict(type="system", subtype="status", status=None, compact_result="success"),
        IsPartialDict(
            type="system",
            subtype="compact_boundary",
            compact_metadata={"trigger": "auto", "pre_tokens": 900, "post_tokens": 100},
        ),
    ]


def raw(*events: Event) -> list[dict[str, Any]]:
    return [line["event"] for line in lines(*events, has_partials=True) if line["type"] == "stream_event"]


def test_a_growing_answer_is_framed_as_raw_events() -> None:
    found = raw(
        ModelRequested(1, "m"),
        ThinkingStreamed("hm", 0),
        TextStreamed("he", 1),
        TextStreamed("llo", 1),
        ToolUseStreamed("t1", "Read", index=3),
        ToolUseStreamed("t1", "Read", '{"a":1}', index=3),
        replied(stop="tool_use"),
    )
    assert [(event["type"], event.get("index")) for event in found] == [
        ("message_start", None),
        ("content_block_start", 0),
        ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("content_block_start", 2),
        ("content_block_delta", 2),
        ("content_block_stop", 2),
        ("message_delta", None),
        ("message_stop", None),
    ]
    assert found[8]["content_block"] == {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    assert found[9]["delta"] == {"type": "input_json_delta", "partial_json": '{"a":1}'}
    assert found[11]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def test_a_repeated_stream_begins_a_new_message() -> None:
    found = raw(TextStreamed("a"), ReplyDiscarded("cut"), ModelRequested(1, "m", 2), TextStreamed("b"), replied())
    assert [event["type"] for event in found].count("message_start") == 2
    assert [event["type"] for event in found].count("message_stop") == 1


def test_without_partials_nothing_of_a_growing_answer_is_told() -> None:
    assert lines(TextStreamed("a"), ToolUseStreamed("t", "Read")) == []


def test_progress_and_error_numbers_have_lines_of_their_own() -> None:
    lines = StreamJson(SessionFacts("s", "/", "m", "default", []))
    (progress,) = lines.lines(CallProgressed("t1", "Bash", {"x": 1}, 2.5))
    assert progress == IsPartialDict(
        type="tool_progress", tool_use_id="t1", tool_name="Bash", parent_tool_use_id=None, elapsed_time_seconds=2.5
    )
    assert list(lines.lines(CallFinished("t1", "Edit", "no", is_error=True, error_code=5))) == []
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    (line,) = lines.lines(ResultsSent([block]))
    assert line["error_code"] == 5


def test_the_messages_of_an_agent_that_a_call_has_started_name_that_call() -> None:
    result = {"type": "tool_result", "tool_use_id": "c2", "content": "x"}
    inner = (replied({"type": "text", "text": "Found."}), ResultsSent([result]), TextStreamed("F"), ended())
    told = [AgentTold("a1", "Explore", "c1", event, "p1", 2) for event in inner]
    assert [line["type"] for line in lines(*told)] == ["system", "user"]
    _, *found = lines(*told, has_agent_text=True)
    assert [line["type"] for line in found] == ["assistant", "user"]
    assert {(line["parent_tool_use_id"], line["subagent_type"]) for line in found} == {("c1", "Explore")}
    chain = {(line["agent_id"], line["agent_type"], line["query_chain_id"], line["query_depth"]) for line in found}
    assert chain == {("a1", "Explore", "p1", 2)}


@pytest.mark.parametrize(
    ("fields", "subtype", "reason"),
    [
        ({"outcome": "error_max_turns"}, "error_max_turns", "max_turns"),
        ({"outcome": "error_max_budget_usd"}, "error_max_budget_usd", "budget_exhausted"),
        ({"outcome": "interrupted"}, "error_during_execution", "aborted_streaming"),
        ({"outcome": "stopped_by_hook"}, "success", "hook_stopped"),
        ({"outcome": "refused"}, "error_during_execution", "aborted_tools"),
        ({"outcome": "error_during_execution"}, "error_during_execution", "model_error"),
        ({"outcome": "error_during_execution", "error_kind": "context_overflow"}, "success", "prompt_too_long"),
    ],
)
def test_a_result_names_why_the_run_ended(fields: dict[str, Any], subtype: str, reason: str) -> None:
    found = lines(ended(**fields))[-1]
    assert (found["subtype"], found["terminal_reason"]) == (subtype, reason)


def test_a_provider_that_fails_is_a_message_and_a_result_with_its_status() -> None:
    failed = ended(outcome="error_during_execution", text="", error="no key", error_kind="auth", error_status=401)
    told, result = lines(failed)
    assert told == IsPartialDict(type="assistant", error="authentication_failed")
    assert told["message"] == IsPartialDict(model="<synthetic>", content=[{"type": "text", "text": "no key"}])
    assert result == IsPartialDict(
        subtype="success", is_error=True, result="no key", api_error_status=401, terminal_reason="api_error"
    )


def test_costs_add_up_over_the_runs_of_a_process_and_are_rounded() -> None:
    first, second = lines(ended(cost_usd=0.1), ended(cost_usd=0.2))
    assert (first["total_cost_usd"], second["total_cost_usd"]) == (0.1, 0.3)


def test_a_result_says_which_prompt_it_answers_and_where_that_came_from() -> None:
    stream = StreamJson(FACTS)
    stream.begin({"uuid": "u-1", "origin": {"kind": "human"}})
    assert stream.result(ended()) == IsPartialDict(user_message_uuid="u-1", origin={"kind": "human"})
    stream.begin({})
    assert "origin" not in stream.result(ended())


def test_a_background_task_is_told_when_it_starts_and_ends() -> None:
    begun = TaskChanged("b1", "local_bash", "running", "wait", "call_1")
    over = TaskChanged("b1", "local_bash", "completed", "wait", "call_1", exit_code=0, output_file="/out")
    found = lines(begun, over, over)
    assert [line["subtype"] for line in found] == [
        *("task_started", "background_tasks_changed"),
        *("task_updated", "task_notification", "background_tasks_changed"),
    ]
    assert found[0] == IsPartialDict(task_id="b1", task_type="local_bash", description="wait", tool_use_id="call_1")
    assert found[1]["tasks"] == [{"task_id": "b1", "task_type": "local_bash", "description": "wait"}]
    assert found[2]["patch"] == IsPartialDict(status="completed")
    assert found[3] == IsPartialDict(status="completed", output_file="/out", summary="wait: completed with exit code 0")
    assert found[4]["tasks"] == []


ASKED = {"description": "look", "prompt": "Look around", "subagent_type": "Explore"}


def of_agent(event: Event, depth: int = 1) -> AgentTold:
    return AgentTold("a1", "Explore", "c1", event, "p1", depth)


def test_an_agent_that_a_call_waits_for_is_a_task_with_what_it_uses() -> None:
    found = lines(
        CallQueued("c1", "Agent", ASKED),
        of_agent(replied({"type": "text", "text": "Looking."})),
        of_agent(CallStarted("i1", "Read", read_only=True)),
        CallFinished("c1", "Agent", "found"),
    )
    assert [line["subtype"] for line in found] == [
        *("task_started", "task_progress", "task_updated", "task_notification"),
    ]
    started, progress, updated, over = found
    assert started == IsPartialDict(
        task_id="a1", task_type="local_agent", tool_use_id="c1", description="look", prompt="Look around"
    ) & IsPartialDict(subagent_type="Explore", is_backgrounded=False, spawn_depth=1)
    assert progress == IsPartialDict(last_tool_name="Read", usage=IsPartialDict(tool_uses=1, total_tokens=20))
    assert updated["patch"] == IsPartialDict(status="completed")
    assert over == IsPartialDict(status="completed", tool_use_id="c1", usage=progress["usage"] | {"duration_ms": IsInt})


def test_an_agent_that_is_left_to_itself_is_one_task_all_the_way() -> None:
    left = TaskChanged("a1", "local_agent", "running", "look", "c1")
    over = TaskChanged("a1", "local_agent", "completed", "look", "c1", output_file="/out")
    found = lines(
        CallQueued("c1", "Agent", ASKED),
        of_agent(replied({"type": "text", "text": "Looking."})),
        left,
        CallFinished("c1", "Agent", "it goes on"),
        of_agent(CallStarted("i1", "Read", read_only=True)),
        over,
    )
    told = [line["subtype"] for line in found]
    assert told == [
        *("task_started", "task_updated", "background_tasks_changed"),
        *("task_progress", "task_updated", "task_notification", "background_tasks_changed"),
    ]
    assert found[1]["patch"] == {"is_backgrounded": True}
    assert found[2]["tasks"][0] == IsPartialDict(task_id="a1", subagent_type="Explore")
    assert found[5] == IsPartialDict(usage=IsPartialDict(tool_uses=1), output_file="/out")


def test_a_refusal_is_told_unless_the_host_itself_said_no() -> None:
    denied = CallFinished("c1", "Bash", "not run", is_error=True, outcome="denied")
    by_mode = PermissionDecided("c1", "Bash", "deny", Decision("deny", "mode", "nobody can be asked"))
    by_host = PermissionDecided("c1", "Bash", "deny", Decision("deny", "ask", "no"))
    (told,) = lines(by_mode, denied)
    assert told == IsPartialDict(
        subtype="permission_denied", tool_name="Bash", tool_use_id="c1", decision_reason_type="mode", message="not run"
    )
    assert lines(by_host, denied) == []


def test_a_mode_that_a_call_has_changed_is_a_status() -> None:
    (told,) = lines(ContextChanged("c1", "ModeChanged", {"mode": "plan"}))
    assert told == IsPartialDict(subtype="status", status=None, permissionMode="plan")


def test_a_signed_thought_is_signed_in_the_raw_events_too() -> None:
    found = raw(ModelRequested(1, "m"), ThinkingStreamed("hm", 0), ThinkingStreamed("", 0, "sealed"), replied())
    assert [event["delta"]["type"] for event in found if event["type"] == "content_block_delta"] == [
        *("thinking_delta", "signature_delta"),
    ]


def test_prompts_that_join_a_run_are_named_in_its_result() -> None:
    stream = StreamJson(FACTS)
    stream.begin({"uuid": "first"})
    stream.takes({"uuid": "second"})
    found = stream.result(ended())
    assert (found["user_message_uuid"], found["user_message_uuids"]) == ("first", ["first", "second"])


def test_hooks_are_told_only_where_somebody_asked() -> None:
    begun = HookStarted("PreToolUse", "check.sh", "settings", "h1")
    ran = HookRan("PreToolUse", "check.sh", "settings", "deny", "not here", hook_id="h1")
    assert lines(begun) == lines(ran) == []
    told = StreamJson(FACTS, has_hooks=True)
    [started], [answered] = told.lines(begun), told.lines(ran)
    assert started == IsPartialDict(subtype="hook_started", hook_event="PreToolUse", hook_name="PreToolUse:check.sh")
    assert answered == IsPartialDict(
        subtype="hook_response", hook_id=started["hook_id"], output="not here", outcome="success"
    )
