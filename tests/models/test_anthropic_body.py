import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from holdfast.models import Effort, ModelRequest, SystemBlock
from holdfast.models.anthropic_body import BodyChoices, request_body, tools_with_breakpoint
from holdfast.models.claude import is_first_party, traits_of
from holdfast.models.strict import without_strict
from holdfast.testing import FakeTurn

MARK = {"type": "ephemeral"}
TOOLS = (
    b'[{"name":"Bash","input_schema":{"a":1.0}},{"name":"Read","input_schema":{}},{"name":"mcp__x","input_schema":{}}]'
)
HELLO: list[Mapping[str, Any]] = [{"role": "user", "content": "hello"}]


def body(request: ModelRequest, model: str = "claude-sonnet-5-5", *, is_cached: bool = True) -> dict[str, Any]:
    tools = tools_with_breakpoint(request.tools) if is_cached else request.tools
    choices = BodyChoices(model, traits_of(model), 32_000, cache_prompts=is_cached)
    return json.loads(request_body(request, choices, tools=tools))


def breakpoints(value: Any) -> int:
    if isinstance(value, dict):
        return int("cache_control" in value) + sum(breakpoints(item) for item in value.values())  # type: ignore[reportUnknownVariableType]
    return sum(breakpoints(item) for item in value) if isinstance(value, list) else 0  # type: ignore[reportUnknownVariableType]


def test_a_plain_request_says_no_more_than_it_must() -> None:
    assert body(ModelRequest(messages=HELLO), is_cached=False) == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 32_000,
        "stream": True,
        "messages": HELLO,
    }


def test_the_tool_list_goes_in_as_the_bytes_it_is() -> None:
    odd = b'[ {"name":"A", "x":1.50, "u":"\\u00e4"} ]'
    request = ModelRequest(messages=HELLO, tools=odd)
    choices = BodyChoices("claude-x", traits_of("claude-x"), 1, cache_prompts=False)
    assert b'"tools":' + odd in request_body(request, choices, tools=odd)


def test_the_last_tool_that_is_not_remote_carries_a_breakpoint() -> None:
    marked = tools_with_breakpoint(TOOLS)
    assert marked == TOOLS.replace(
        b'"Read","input_schema":{}}', b'"Read","input_schema":{},"cache_control":{"type":"ephemeral"}}'
    )
    assert [entry.get("cache_control") for entry in json.loads(marked)] == [None, MARK, None]
    assert tools_with_breakpoint(b"[]") == b"[]"
    assert tools_with_breakpoint(marked) == marked
    only_remote = b'[{"name":"mcp__x__y"}]'
    assert tools_with_breakpoint(only_remote) == only_remote


def test_the_last_cacheable_part_of_the_system_prompt_carries_a_breakpoint() -> None:
    blocks = (SystemBlock("who", True), SystemBlock("rules", True), SystemBlock(" "), SystemBlock("today"))
    assert body(ModelRequest(messages=HELLO, system=blocks))["system"] == [
        {"type": "text", "text": "who"},
        {"type": "text", "text": "rules", "cache_control": MARK},
        {"type": "text", "text": "today"},
    ]


def conversation(turns: int) -> Sequence[Mapping[str, Any]]:
    messages: list[Mapping[str, Any]] = []
    for turn in range(turns):
        call: dict[str, Any] = {"type": "tool_use", "id": f"t{turn}", "name": "Read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "x"}
        messages += [
            {"role": "user", "content": [result] if turn else "hello"},
            {"role": "assistant", "content": [call]},
        ]
    return [*messages, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]


def test_the_last_two_messages_of_the_user_carry_breakpoints_and_four_are_never_exceeded() -> None:
    messages = conversation(3)
    sent = body(ModelRequest(messages=messages, system=(SystemBlock("s", True),), tools=TOOLS))
    assert [breakpoints(message) for message in sent["messages"]] == [0, 0, 0, 0, 1, 0, 1]
    assert breakpoints(sent) == 4
    assert breakpoints(messages) == 0, "the conversation itself is not touched"


def test_breakpoints_that_are_there_count() -> None:
    own = [{"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": "b", "cache_control": MARK}]
    request = ModelRequest(messages=[{"role": "user", "content": own}], system=(SystemBlock("s", True),), tools=TOOLS)
    assert breakpoints(body(request)) == 4


def test_thinking_of_another_provider_is_left_out() -> None:
    own = {"type": "thinking", "thinking": "mine", "signature": "sig"}
    other = {"type": "thinking", "thinking": "theirs", "signature": ""}
    text = {"type": "text", "text": "hi"}
    messages = [*HELLO, {"role": "assistant", "content": [own, other, text]}, *HELLO]
    assert body(ModelRequest(messages=messages))["messages"][1]["content"] == [own, text]


CHOICES: list[tuple[str, str, bool, Effort | None, dict[str, Any]]] = [
    ("claude-sonnet-4", "any", False, None, {"tool_choice": {"type": "any"}}),
    ("claude-sonnet-4", "Read", False, None, {"tool_choice": {"type": "tool", "name": "Read"}}),
    ("claude-sonnet-4", "none", False, None, {"tool_choice": {"type": "none"}}),
    ("claude-sonnet-4", "any", True, "low", {"thinking": {"type": "enabled", "budget_tokens": 4_000}}),
    ("claude-sonnet-4", "auto", False, "high", {}),
    ("claude-opus-4-5-20251101", "auto", False, "max", {"output_config": {"effort": "high"}}),
    ("claude-opus-4-6", "auto", True, "xhigh", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
    ("claude-opus-5-5", "any", False, None, {}),
    ("claude-haiku-5-5", "any", False, None, {"tool_choice": {"type": "any"}}),
    (
        "claude-opus-5-5",
        "auto",
        True,
        "xhigh",
        {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}},
    ),
    ("us.anthropic.claude-3-5-haiku-v1:0", "any", False, None, {"tool_choice": {"type": "any"}}),
    ("glm-5", "auto", True, "max", {"thinking": {"type": "enabled", "budget_tokens": 24_000}}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "choice", "thinking", "effort", "said"), CHOICES)
def test_a_model_reads_only_what_it_takes(
    model: str, choice: str, thinking: bool, effort: Effort | None, said: dict[str, Any]
) -> None:
    request = ModelRequest(messages=HELLO, tools=TOOLS, tool_choice=choice, thinking=thinking, effort=effort)
    sent = body(request, model, is_cached=False)
    assert {key: sent[key] for key in ("tool_choice", "thinking", "output_config") if key in sent} == said


def test_extra_fields_go_in_as_they_are_and_win() -> None:
    request = ModelRequest(
        messages=HELLO,
        stop_sequences=("END",),
        max_output_tokens=5,
        extra={"metadata": {"user_id": "u"}, "max_tokens": 9},
    )
    sent = body(request, is_cached=False)
    assert (sent["metadata"], sent["max_tokens"], sent["stop_sequences"]) == ({"user_id": "u"}, 9, ["END"])


def test_a_lone_surrogate_in_a_message_can_be_sent() -> None:
    assert body(ModelRequest(messages=[{"role": "user", "content": "a\ud800"}]))["messages"]


@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("claude-opus-5-5", 1_000_000, 32_000),
        ("claude-sonnet-4-5-20250929", 200_000, 32_000),
        ("claude-3-haiku-20240307", 200_000, 4_096),
        ("claude-3-5-sonnet-latest", 200_000, 8_192),
        ("claude-opus-4-20250514", 200_000, 32_000),
        ("claude-newest", 200_000, 32_000),
        ("kimi-k3", 200_000, 8_192),
    ],
)
def test_what_is_known_of_a_model_by_its_name(model: str, window: int, output: int) -> None:
    assert (traits_of(model).context_window, traits_of(model).default_output) == (window, output)


STRICT = b'[{"name":"A","input_schema":{"properties":{"strict":{"const":true}}},"strict":true},{"name":"B"}]'
PLAIN = b'[{"name":"A","input_schema":{"properties":{"strict":{"const":true}}}},{"name":"B"}]'


def test_strict_goes_and_everything_else_of_a_tool_stays() -> None:
    assert (without_strict(STRICT), without_strict(PLAIN)) == (PLAIN, PLAIN)
    chat = b'[{"type":"function","function":{"name":"A","strict":true}}]'
    assert without_strict(chat) == b'[{"type":"function","function":{"name":"A"}}]'


def test_strict_is_sent_only_to_models_and_addresses_that_take_it() -> None:
    taken = [
        name
        for name in ("claude-sonnet-5", "claude-opus-4-1", "claude-haiku-4-5")
        if traits_of(name).takes_strict_tools
    ]
    assert taken == ["claude-sonnet-5", "claude-opus-4-1", "claude-haiku-4-5"]
    assert not any(
        traits_of(name).takes_strict_tools for name in ("claude-sonnet-4-0", "claude-3-7-sonnet", "claude-x", "m")
    )
    assert is_first_party("https://api.anthropic.com/v1")
    for other in (
        "https://api.anthropic.com.evil.example",
        "http://127.0.0.1:80",
        "https://gate.example/api.anthropic.com",
    ):
        assert not is_first_party(other)


def test_a_gateway_is_not_told_strict(ask: Any) -> None:
    tools = ask([FakeTurn(blocks=[])], ModelRequest(messages=[{"role": "user", "content": "?"}], tools=STRICT)).body[
        "tools"
    ]
    assert [sorted(set(entry) - {"cache_control"}) for entry in tools] == [["input_schema", "name"], ["name"]]
