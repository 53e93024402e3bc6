"""Lines that every reader can take: what goes first, and what never does."""

import json
from typing import Any

import pytest

from holdfast.cli.short_lines import LIMIT_BYTES, short_line

LONG = "x" * (LIMIT_BYTES + 1)


def test_a_short_line_is_as_it_was() -> None:
    assert short_line({"a": 1}) == b'{"a":1}'


@pytest.mark.parametrize("copy", ["gitDiff", "structuredPatch", "originalFile", "content"])
def test_copies_go_first_and_nothing_else_does(copy: str) -> None:
    data = {"filePath": "a", copy: LONG, "userModified": False}
    found = json.loads(short_line({"message": "m", "tool_use_result": data}))
    assert found == {"message": "m", "tool_use_result": {"filePath": "a", "userModified": False}}


def test_the_text_of_a_file_is_a_copy_too() -> None:
    data = {"type": "text", "file": {"filePath": "a", "content": LONG}}
    found = json.loads(short_line({"tool_use_result": data}))
    assert found == {"tool_use_result": {"type": "text", "file": {"filePath": "a"}}}


def result(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": [block]}]}}


def test_a_picture_becomes_a_word_about_it() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": LONG}}
    found = json.loads(short_line(result(picture)))
    [block] = found["message"]["content"][0]["content"]
    assert (block["type"], "left out" in block["text"]) == ("text", True)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "result", "result": LONG},
        {"type": "result", "permission_denials": [{"tool_input": {"content": LONG}}]},
        {"type": "user", "tool_use_result": {"deep": [{"er": LONG}]}},
        {"type": "user", "tool_use_result": [{"type": "text", "text": LONG}]},
        result({"type": "text", "text": LONG}),
    ],
)
def test_long_texts_lose_their_ends(line: dict[str, Any]) -> None:
    assert len(short_line(line)) < LIMIT_BYTES


def test_the_input_of_a_call_is_never_cut() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Write", "input": {"content": LONG}}
    line = {"type": "assistant", "message": {"content": [call]}, "note": LONG}
    assert json.loads(short_line(line))["message"]["content"] == [call]


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"subtype": "can_use_tool", "input": {"content": LONG}, "preview": LONG}, ("input",)),
        (
            {"subtype": "hook_callback", "input": {"hook_event_name": "PreToolUse", "tool_input": {"a": LONG}}},
            ("input",),
        ),
        ({"subtype": "mcp_message", "message": {"params": {"arguments": {"a": LONG}}}}, ("message",)),
    ],
)
def test_whoever_decides_about_a_call_or_makes_it_sees_all_of_it(asked: dict[str, Any], path: tuple[str, ...]) -> None:
    found = json.loads(short_line({"type": "control_request", "request_id": "1", "request": asked}))["request"]
    assert [found[name] for name in path] == [asked[name] for name in path]
    assert len(json.dumps(found.get("preview", ""))) < LIMIT_BYTES / 10


def test_an_input_that_grows_is_never_cut() -> None:
    delta = {"type": "input_json_delta", "partial_json": LONG}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    assert json.loads(short_line({"type": "stream_event", "event": event}))["event"]["delta"] == delta


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "message": {"content": [{"type": "text", "text": "x" * 15_000} for _ in range(200)]}},
        {"type": "control_response", "response": {"commands": [{"name": "x" * 60, "about": "y" * 150}] * 20_000}},
        {"type": "system", "tools": ["x" * 50] * 50_000},
    ],
)
def test_many_texts_that_are_not_long_fit_too(line: dict[str, Any]) -> None:
    assert len(short_line(line)) <= LIMIT_BYTES


def test_the_copy_of_a_picture_goes_before_the_picture() -> None:
    data = "x" * 700_000
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    copy = {"type": "image", "file": {"base64": data, "type": "image/png"}}
    found = json.loads(short_line({**result(picture), "tool_use_result": copy}))
    assert found["message"]["content"][0]["content"] == [picture]
    assert found["tool_use_result"]["file"]["base64"] == ""
