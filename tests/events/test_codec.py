import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel

from holdfast.events import (
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextChanged,
    Event,
    PermissionAsked,
    PermissionDecided,
    TurnEnded,
    decode_event,
    encode_event,
    encode_json,
    to_builtins,
)

EVENTS: list[Event] = [
    CallQueued("1", "Read", {"file_path": "a"}),
    PermissionAsked("r", "1", "Read", {}, "why", ("Read",)),
    PermissionDecided("1", "Read", "allow", {"layer": "mode"}),
    CallStarted("1", "Read", read_only=True),
    CallProgressed("1", "Read", {"lines": 3}, 0.5),
    CallFinished("1", "Read", "text"),
    CallFinished(
        "1",
        "Read",
        [{"type": "text", "text": "a"}],
        is_error=True,
        outcome="failed",
        duration_ms=1.5,
        data={"a": 1},
        display="d",
        new_messages=({"role": "user"},),
        spilled_to="/x",
    ),
    CallDiscarded("1", "Read"),
    ContextChanged("1", "CwdChanged", {"path": "/x"}),
    TurnEnded(3),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_survives_the_journal(event: Event):
    line = encode_event(event)
    assert b"\n" not in line
    assert decode_event(line) == event
    assert decode_event(line.decode()) == event


def test_the_wire_form_is_stable():
    assert [json.loads(encode_event(event))["type"] for event in EVENTS] == snapshot(
        [
            "call_queued",
            "permission_request",
            "permission_decision",
            "call_started",
            "tool_progress",
            "tool_result",
            "tool_result",
            "call_discarded",
            "context_changed",
            "turn_ended",
        ]
    )
    assert json.loads(encode_event(EVENTS[6])) == snapshot(
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "name": "Read",
            "content": [{"type": "text", "text": "a"}],
            "is_error": True,
            "outcome": "failed",
            "duration_ms": 1.5,
            "data": {"a": 1},
            "display": "d",
            "new_messages": [{"role": "user"}],
            "spilled_to": "/x",
        }
    )


def test_events_are_immutable():
    with pytest.raises(AttributeError):
        EVENTS[0].name = "x"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"type":"nonsense"}', b'{"tool_use_id":"1"}', b"\xff"])
def test_a_bad_line_is_an_error_of_the_codec(line: bytes):
    with pytest.raises((msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError)):
        decode_event(line)


class Model(BaseModel):
    x: int = 1


class Wired:
    def to_wire(self) -> dict[str, int]:
        return {"wired": 1}


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (Model(), '{"x":1}'),
        (Wired(), '{"wired":1}'),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset("a"), '["a"]'),
        (ValueError("odd"), '"odd"'),
        (b"\xff", '"/w=="'),
        ("caf\udce9", '"caf\\\\udce9"'),
        ({"caf\udce9": ["\udce9", ("x", 1)]}, '{"caf\\\\udce9":["\\\\udce9",["x",1]]}'),
        (float("nan"), "null"),
        (2**70, str(2**70)),
        ({(1, 2): 3}, '{"(1, 2)":3}'),
    ],
)
def test_what_has_no_json_form_becomes_one(value: Any, wire: str):
    assert encode_json(value).decode() == wire


def test_a_class_is_text_and_builtins_are_plain():
    assert json.loads(encode_json([Model])) == [str(Model)]
    assert to_builtins(TurnEnded(1)) == {"type": "turn_ended", "turn": 1}


def test_data_that_contains_itself_can_be_kept_too():
    knot: dict[str, Any] = {}
    knot["self"] = knot
    line = encode_event(CallFinished("1", "T", "text", data=knot))
    assert json.loads(line)["tool_use_id"] == "1"
    decode_event(line)
    encode_json(knot)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(data=_JSON, text=st.text())
def test_any_json_data_comes_back_as_it_was(data: Any, text: str):
    event = CallFinished("1", "T", text, data=data)
    assert decode_event(encode_event(event)) == event


@given(text=st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_written(text: str):
    json.loads(encode_json({"text": text}))
