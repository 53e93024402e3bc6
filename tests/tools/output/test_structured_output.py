"""The caller's schema is the tool's schema: what does not fit goes back to the model with the reason."""

from typing import Any

import pytest

from holdfast.contract import UsageError
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.tools.output.structured_output import StructuredOutput

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


def hand_over(tool: StructuredOutput, value: dict[str, Any]) -> CallFinished:
    return Executor([tool]).call("StructuredOutput", value)


def test_an_answer_that_fits_is_the_data_of_the_result() -> None:
    reply = hand_over(StructuredOutput(CITY), {"name": "Ulm", "people": 129_942})
    assert (reply.outcome, reply.is_error, reply.data) == ("completed", False, {"name": "Ulm", "people": 129_942})


def test_numbers_as_text_are_taken_as_meant() -> None:
    assert hand_over(StructuredOutput(CITY), {"name": "Ulm", "people": "129942"}).data["people"] == 129_942


@pytest.mark.parametrize(
    ("value", "named"),
    [({}, "name"), ({"name": 5}, "name"), ({"name": "Ulm", "river": "Danube"}, "river"), ({"name": None}, "name")],
)
def test_an_answer_that_does_not_fit_goes_back_with_the_reason(value: dict[str, Any], named: str) -> None:
    reply = hand_over(StructuredOutput(CITY), value)
    assert (reply.outcome, reply.is_error) == ("invalid", True)
    assert named in str(reply.content)


def test_the_callers_own_check_may_refuse_in_words() -> None:
    def accept(value: Any) -> None:
        if value["people"] < 0:
            raise ValueError("people cannot be negative")

    tool = StructuredOutput(CITY, accept=accept)
    refused, taken = hand_over(tool, {"name": "Ulm", "people": -1}), hand_over(tool, {"name": "Ulm", "people": 1})
    assert (refused.is_error, "people cannot be negative" in str(refused.content)) == (True, True)
    assert (taken.is_error, taken.data) == (False, {"name": "Ulm", "people": 1})


def test_a_list_is_offered_as_a_field_and_handed_over_as_the_list() -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/City"}, "$defs": {"City": CITY}}
    tool = StructuredOutput(schema)
    assert tool.arguments.schema()["type"] == "object"
    assert hand_over(tool, {"result": [{"name": "Ulm"}]}).data == [{"name": "Ulm"}]
    assert hand_over(tool, {"result": [{"people": 1}]}).is_error


@pytest.mark.parametrize("schema", [{"type": "banana"}, {"type": "object", "properties": {"a": {"$ref": "file:///x"}}}])
def test_what_is_no_schema_is_refused_at_once(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        StructuredOutput(schema)


def test_a_list_of_itself_still_means_itself() -> None:
    tool = StructuredOutput(
        {
            "type": "array",
            "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/n"}]},
            "$defs": {"n": {"type": "integer"}},
        }
    )
    assert hand_over(tool, {"result": [[1], []]}).data == [[1], []]
    assert hand_over(tool, {"result": [{"result": []}]}).is_error


def test_it_needs_no_permission_in_any_mode_but_a_deny_counts() -> None:
    for mode in ("default", "plan", "dontAsk", "acceptEdits"):
        reply = Executor([StructuredOutput(CITY)], permission_mode=mode).call("StructuredOutput", {"name": "Ulm"})
        assert reply.outcome == "completed", mode
