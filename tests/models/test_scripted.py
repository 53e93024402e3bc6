"""The scripted model: what a script says is what a provider would stream."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import UsageError
from holdfast.models import (
    BlockEnded,
    ModelError,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
)
from holdfast.models.scripted import ScriptedModel
from holdfast.testing import run_virtual

ASK = ModelRequest(messages=[{"role": "user", "content": "fix it"}])
WHOLE = ModelRequest(messages=[{"role": "user", "content": "fix it"}], is_streaming=False)


def heard(model: ScriptedModel, request: ModelRequest = ASK) -> list[StreamEvent]:
    async def listen() -> list[StreamEvent]:
        return [event async for event in model.stream(request)]

    return asyncio.run(listen())


def heard_until_error(model: ScriptedModel, request: ModelRequest = ASK) -> tuple[list[StreamEvent], ModelError]:
    events: list[StreamEvent] = []

    async def listen() -> None:
        async for event in model.stream(request):
            events.append(event)  # noqa: PERF401 - what came before the error must stay

    with pytest.raises(ModelError) as caught:
        asyncio.run(listen())
    return events, caught.value


def test_a_turn_streams_pieces_and_whole_blocks_like_a_provider() -> None:
    turn = [{"thinking": "hm", "signature": "s"}, "Let me look.", {"tool": "Read", "input": {"file_path": "a.py"}}]
    events = heard(ScriptedModel([{"blocks": turn, "usage": {"input_tokens": 7, "output_tokens": 3}}], chunk=8))
    call = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "a.py"}}
    assert events == [
        StreamStarted("msg_scripted_1", "scripted:memory", Usage(7)),
        ThinkingDelta(0, "hm"),
        BlockEnded(0, {"type": "thinking", "thinking": "hm", "signature": "s"}),
        TextDelta(1, "Let me l"),
        TextDelta(1, "ook."),
        BlockEnded(1, {"type": "text", "text": "Let me look."}),
        ToolUseStarted(2, "call_1", "Read"),
        ToolInputDelta(2, '{"file_p'),
        ToolInputDelta(2, 'ath":"a.'),
        ToolInputDelta(2, 'py"}'),
        BlockEnded(2, call),
        StreamEnded("tool_use", Usage(7, 3)),
    ]


def test_without_streaming_the_same_events_come_with_one_piece_for_each_block() -> None:
    events = heard(ScriptedModel([["A long enough text to be cut into pieces."]], chunk=2), WHOLE)
    assert [type(event) for event in events] == [StreamStarted, TextDelta, BlockEnded, StreamEnded]


def test_ids_are_new_in_the_whole_conversation_unless_the_script_names_them() -> None:
    before: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "x"}]},
    ]
    model = ScriptedModel([[{"tool": "Read"}, {"tool": "Read", "id": "mine"}], [{"tool": "Read"}]])
    first = heard(model, ModelRequest(messages=before))
    second = heard(model, ModelRequest(messages=before))
    ids = [event.id for event in [*first, *second] if isinstance(event, ToolUseStarted)]
    assert ids == ["call_2", "mine", "call_3"]


@pytest.mark.parametrize(("raw", "handed_on"), [('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": '), ("[1]", "[1]"), ("", "")])
def test_raw_input_is_streamed_as_it_is_and_handed_on_as_an_object_where_it_is_one(raw: str, handed_on: Any) -> None:
    events = heard(ScriptedModel([[{"tool": "Read", "raw": raw}]]))
    assert "".join(event.partial_json for event in events if isinstance(event, ToolInputDelta)) == raw
    (ended,) = [event for event in events if isinstance(event, BlockEnded)]
    assert ended.block["input"] == handed_on


def test_an_error_comes_at_once_or_behind_the_blocks_or_in_the_middle_of_one() -> None:
    model = ScriptedModel(
        [
            {"error": {"kind": "rate_limit", "retry_after_s": 2}},
            {"blocks": ["Half"], "error": "broken_stream"},
            {"blocks": ["Half a word"], "error": {"kind": "overloaded", "after_chars": 4}},
        ]
    )
    none, busy = heard_until_error(model)
    assert (none, busy.kind, busy.status, busy.retry_after_s) == ([], "rate_limit", 429, 2)
    behind, cut = heard_until_error(model)
    assert (behind[-1], cut.kind) == (BlockEnded(0, {"type": "text", "text": "Half"}), "broken_stream")
    middle, overloaded = heard_until_error(model)
    assert (middle[-1], overloaded.status) == (TextDelta(0, "Half"), 529)


def test_without_streaming_an_error_comes_before_everything() -> None:
    events, _ = heard_until_error(ScriptedModel([{"blocks": ["Half"], "error": "server"}]), WHOLE)
    assert events == []


def test_a_script_that_meets_another_world_than_it_expected_fails_loudly() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "3 passed"}]}
    request = ModelRequest(messages=[{"role": "user", "content": [result]}])
    model = ScriptedModel([{"blocks": "ok", "expect": "3 passed"}, {"blocks": "ok", "expect": ["3", "FAILED"]}])
    assert isinstance(heard(model, request)[-1], StreamEnded)
    _, error = heard_until_error(model, request)
    assert error.kind == "invalid_request"
    assert "'FAILED'" in str(error)
    assert "3 passed" in str(error)


def test_a_script_that_runs_out_says_so_and_what_was_asked() -> None:
    model = ScriptedModel(["Done."])
    heard(model)
    assert model.turns_left == 0
    _, error = heard_until_error(model)
    assert error.kind == "invalid_request"
    assert "ends with turn 1" in str(error)
    assert "fix it" in str(error)


def test_a_turn_can_be_a_function_of_the_request() -> None:
    model = ScriptedModel([lambda request: f"{len(request.messages)} message"])
    assert BlockEnded(0, {"type": "text", "text": "1 message"}) in heard(model)
    assert model.requests == [ASK]


def test_waiting_times_hold_only_when_asked_for() -> None:
    turn = {"after_s": 10, "blocks": [{"text": "abcdef", "after_s": 5, "chunk": 2, "pace_s": 1}]}

    async def duration(model: ScriptedModel, request: ModelRequest) -> float:
        began = asyncio.get_running_loop().time()
        async for _ in model.stream(request):
            pass
        return asyncio.get_running_loop().time() - began

    assert run_virtual(duration(ScriptedModel([turn], is_timed=True), ASK)) == pytest.approx(18)
    assert run_virtual(duration(ScriptedModel([turn], is_timed=True), WHOLE)) == pytest.approx(18)
    assert run_virtual(duration(ScriptedModel([turn]), ASK)) == 0


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(["Hello", [{"tool": "Read", "input": {}}]]),
        json.dumps({"turns": ["Hello", [{"tool": "Read", "input": {}}]]}),
        '{"script": 1, "timed": false}\n// a remark\n"Hello"\n\n[{"tool": "Read", "input": {}}]\n',
        '"Hello"\n{"tool": "Read"}\n',
    ],
)
def test_a_script_file_is_json_or_json_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(text, encoding="utf-8")
    model = ScriptedModel.from_file(path)
    assert model.name == f"scripted:{path}"
    assert BlockEnded(0, {"type": "text", "text": "Hello"}) in heard(model)
    assert ToolUseStarted(0, "call_1", "Read") in heard(model)


def test_the_header_sets_window_and_price(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"script": 1, "context_window": 1000, "usd_per_token": 0.5}\n"Hi"\n', encoding="utf-8")
    model = ScriptedModel.from_file(path)
    assert (model.context_window, model.cost_usd(Usage(1, 1))) == (1000, 1.0)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('"ok"\n{"blocks": ["x"], "stop": "end_turn"}', ["line 2", "'stop'", "stop_reason"]),
        ('"ok"\n[{"tool": 3}]', ["line 2, block 1", "`tool` is 3"]),
        ('"ok"\nnonsense', ["line 2", "not JSON"]),
        ('[["x"], 5]', ["turn 2", "5"]),
        ('{"error": "tired"}', ["'tired'", "rate_limit"]),
        ('{"blocks": [{"text": "x", "after_s": -1}]}', ["after_s", "-1"]),
        ('{"script": 9}\n"x"', ["version 9"]),
        ("", ["no turns"]),
        ('{"blocks": [{"tool": "T", "raw": "x", "input": {}}]}', ["`raw`"]),
        ('{"blocks": [{"words": "x"}]}', ["neither"]),
        ('{"blocks": 5}', ["line 1", "`blocks` is 5"]),
        ('{"turns": null}', ["`turns` is None"]),
        ('{"expect": true}', ["`expect` is True"]),
        ('{"error": 7}', ["`error` is 7"]),
        ('{"error": {"kind": "server", "status": "x"}}', ["`error`", "status"]),
        ("[" * 100_000, ["line 1", "not JSON"]),
    ],
)
def test_a_mistake_in_a_script_is_named_with_its_place(tmp_path: Path, text: str, named: list[str]) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ScriptedModel.from_file(path)
    assert all(word in str(caught.value) for word in named), str(caught.value)


def test_what_has_no_end_is_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'/dev/zero' cannot be read: it is neither a file nor a pipe"):
        ScriptedModel.from_file("/dev/zero")
    monkeypatch.setattr("holdfast.models.script._MAX_BYTES", 10)
    (tmp_path / "s.json").write_text('["0123456789"]', encoding="utf-8")
    with pytest.raises(UsageError, match="more than 10 bytes"):
        ScriptedModel.from_file(tmp_path / "s.json")


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl"):
        ScriptedModel.from_file(tmp_path / "none.jsonl")


def test_tokens_are_estimated_where_the_script_says_nothing() -> None:
    model = ScriptedModel(["four words of text"])
    (ended,) = [event for event in heard(model) if isinstance(event, StreamEnded)]
    assert ended.usage.output_tokens > 0
    assert asyncio.run(model.count_tokens(ASK)) == ended.usage.input_tokens > 0
