from typing import Any

import pytest

from holdfast.contract import Choice, Form, FormAnswer, FormField, UsageError, check_answer, form_to_wire
from holdfast.contract.forms import FieldKind

COLOURS = (Choice("Red", "r"), Choice("Blue", "b"))


def form(*fields: FormField) -> Form:
    return Form("elicitation", "Tell me", "shop", fields)


@pytest.mark.parametrize(
    ("field", "given", "value"),
    [
        (FormField("x"), "text", "text"),
        (FormField("x", "integer"), "5", 5),
        (FormField("x", "integer"), 5.0, 5),
        (FormField("x", "number", least=0, most=1), 0.5, 0.5),
        (FormField("x", "boolean"), "True", True),
        (FormField("x", "boolean"), False, False),
        (FormField("x", "choice", choices=COLOURS), "Red", "r"),
        (FormField("x", "choice", choices=COLOURS), "b", "b"),
        (FormField("x", "choice", choices=COLOURS, free_text=True), "green", "green"),
        (FormField("x", "choices", choices=COLOURS), ["Red", "b", "r"], ["r", "b"]),
        (FormField("x", "choices", choices=COLOURS), "Red, Blue", ["r", "b"]),
        (FormField("x", "choices", choices=COLOURS, free_text=True), "neither, please", ["neither, please"]),
        (FormField("x", "choices", choices=COLOURS), [], []),
    ],
)
def test_what_fits_is_taken_as_meant(field: FormField, given: Any, value: Any) -> None:
    assert check_answer(form(field), FormAnswer("accept", {"x": given})).values == {"x": value}


@pytest.mark.parametrize(
    ("field", "given"),
    [
        (FormField("x"), 5),
        (FormField("x", least=3), "ab"),
        (FormField("x", most=3), "abcd"),
        (FormField("x", "integer"), "five"),
        (FormField("x", "integer"), 5.5),
        (FormField("x", "integer"), True),
        (FormField("x", "number"), float("nan")),
        (FormField("x", "number"), float("inf")),
        (FormField("x", "number", most=1), 2),
        (FormField("x", "number", least=1), 0),
        (FormField("x", "boolean"), 1),
        (FormField("x", "boolean"), "yes"),
        (FormField("x", "choice", choices=COLOURS), "green"),
        (FormField("x", "choice", choices=COLOURS), ["r"]),
        (FormField("x", "choice", choices=COLOURS, free_text=True), "  "),
        (FormField("x", "choices", choices=COLOURS), ["green"]),
        (FormField("x", "choices", choices=COLOURS), [1]),
        (FormField("x", "choices", choices=COLOURS, least=1), []),
        (FormField("x", "choices", choices=COLOURS), 7),
        (FormField("x", required=True), None),
        (FormField("y"), "no such field"),
    ],
)
def test_what_does_not_fit_is_named(field: FormField, given: Any) -> None:
    with pytest.raises(UsageError, match=r"does not fit the form: 'x'"):
        check_answer(form(field), FormAnswer("accept", {"x": given}))


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_no_needs_no_values(action: Any) -> None:
    said = FormAnswer(action, message="not now")
    assert check_answer(form(FormField("x", required=True)), said) is said


def test_only_a_plan_has_a_text_to_edit() -> None:
    with pytest.raises(UsageError, match="no text to edit"):
        check_answer(form(), FormAnswer("accept", text="other"))
    assert check_answer(Form("plan", "", "t", text="a"), FormAnswer("accept", text="b")).text == "b"


def test_many_problems_are_told_as_a_few() -> None:
    with pytest.raises(UsageError, match=r"and 92 more$"):
        check_answer(form(), FormAnswer("accept", {str(number): 1 for number in range(100)}))


def test_a_form_is_plain_data_without_what_is_empty() -> None:
    kind: FieldKind = "choice"
    asked = form(FormField("c", kind, choices=COLOURS, required=True, default="r"))
    assert form_to_wire(asked) == {
        "kind": "elicitation",
        "source": "shop",
        "message": "Tell me",
        "fields": [
            {
                "name": "c",
                "kind": "choice",
                "choices": [{"label": "Red", "value": "r"}, {"label": "Blue", "value": "b"}],
                "required": True,
                "default": "r",
            }
        ],
    }


def test_what_was_picked_counts_where_labels_and_values_are_crossed() -> None:
    """A server may say so: the interface answers with the value of what the person saw and picked."""
    choices = (Choice("deny", "allow"), Choice("allow", "deny"))
    crossed = form(FormField("may", "choice", choices=choices))
    for value in ("allow", "deny"):
        assert check_answer(crossed, FormAnswer("accept", {"may": value})).values == {"may": value}
