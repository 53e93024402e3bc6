"""The conversation as the provider takes it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.history import Block, History, clean_block, prompt_blocks, result_block
from holdfast.contract import UsageError
from holdfast.session.validity import ID, NAME, message_problems


def test_messages_of_one_side_are_joined_and_earlier_lists_never_change() -> None:
    history = History([{"role": "user", "content": "one"}])
    before = list(history.messages)
    history.add_user([{"type": "text", "text": "two"}])
    history.add_user([])
    assert history.messages == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    ]
    assert before == [{"role": "user", "content": "one"}]


def test_the_estimate_follows_what_is_added_and_replaced() -> None:
    history = History()
    history.add_user([{"type": "text", "text": "x" * 4_000}])
    first = history.tokens
    assert 900 < first < 1_200
    history.add_assistant([{"type": "image", "source": {}}])
    assert history.tokens > first + 1_000
    history.replace([{"role": "user", "content": "short"}])
    assert history.tokens < 10


def test_ids_of_an_earlier_session_are_not_used_again() -> None:
    use: Block = {"type": "tool_use", "id": "a", "name": "T", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": ""}
    history = History(
        [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    )
    assert history.new_id("a") == "a-2"
    assert history.new_id("a") == "a-3"
    history.free_ids(["a-3"])
    assert history.new_id("a-3") == "a-3"


@given(st.lists(st.one_of(st.text(max_size=80), st.none(), st.integers()), max_size=20))
def test_every_id_is_plain_and_used_once(given_ids: list[Any]) -> None:
    history = History()
    ids = [history.new_id(id_) for id_ in given_ids]
    assert len(set(ids)) == len(ids)
    assert all(ID.match(id_) for id_ in ids)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(name=st.one_of(st.text(max_size=200), st.none()), given_input=json_values)
def test_every_call_can_go_back_to_the_provider(name: Any, given_input: Any) -> None:
    block = clean_block({"type": "tool_use", "name": name, "input": given_input}, id_="x")
    assert block is not None
    assert NAME.match(block["name"])
    messages = [
        {"role": "user", "content": prompt_blocks("go")},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [result_block("x", "ok", is_error=False)]},
    ]
    assert message_problems(messages) == []


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', {"invalid_json": '{"a": '}),
        ("[1]", {}),
        (None, {}),
        ({"a": "\udcff"}, {"a": "\\udcff"}),
    ],
)
def test_inputs_become_objects(raw: Any, expected: dict[str, Any]) -> None:
    block = clean_block({"type": "tool_use", "name": "T", "input": raw}, id_="x")
    assert block is not None
    assert block["input"] == expected


def test_blank_parts_of_results_and_prompts_are_left_out() -> None:
    parts: list[Block] = [{"type": "text", "text": " "}, {"type": "image", "source": {}}]
    assert result_block("x", parts, is_error=True) == {
        "type": "tool_result",
        "tool_use_id": "x",
        "content": [{"type": "image", "source": {}}],
        "is_error": True,
    }
    assert prompt_blocks(parts) == [{"type": "image", "source": {}}]
    with pytest.raises(UsageError):
        prompt_blocks([{"type": "thinking", "thinking": "x"}])
