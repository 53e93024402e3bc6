"""The second kind of question to a person: something to fill in, to choose, to open or to edit, and the answer."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, cast

from holdfast.contract.errors import UsageError
from holdfast.contract.permission import PermissionUpdate
from holdfast.contract.roles import Asker

__all__ = [
    "Choice",
    "FieldKind",
    "Form",
    "FormAction",
    "FormAnswer",
    "FormAsker",
    "FormField",
    "FormKind",
    "check_answer",
    "form_to_wire",
]

FormKind = Literal["questions", "elicitation", "url", "plan", "sampling"]
"""Questions of the model; what a server wants to know; a page to open; a plan to approve; a request to the model."""
FieldKind = Literal["text", "choice", "choices", "integer", "number", "boolean"]
FormAction = Literal["accept", "decline", "cancel"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SHOWN_CHARS = 80
_MAX_PROBLEMS = 8


class Choice(NamedTuple):
    """One of the values of a field."""

    label: str
    value: str
    """What the answer holds."""
    description: str = ""
    preview: str = ""
    """Shown while this one is looked at, such as a piece of code."""


class FormField(NamedTuple):
    """One thing to fill in."""

    name: str
    """The key of its value in the answer."""
    kind: FieldKind = "text"
    title: str = ""
    """What is asked; the name where it is empty."""
    header: str = ""
    """The same in a word or two."""
    description: str = ""
    choices: tuple[Choice, ...] = ()
    free_text: bool = False
    """Beside the choices any text is an answer."""
    required: bool = False
    default: Any = None
    format: str = ""
    """What kind of text, such as `email`, `uri` or `date`."""
    least: float | None = None
    """The smallest number, the fewest characters of a text, or the fewest choices."""
    most: float | None = None


class Form(NamedTuple):
    """One form to a person. Whatever stands in it was written by a model or a server: it is shown, and never obeyed.

    A form that belongs to a call is the question about that call: who accepts it lets the call run.
    """

    kind: FormKind
    message: str
    """What it is about."""
    source: str
    """Who asks: the tool, or the server."""
    fields: tuple[FormField, ...] = ()
    url: str = ""
    """A page to open; nobody opens it but the person."""
    text: str = ""
    """A text that the person may edit before it is accepted."""
    id: str = ""
    """Given when it is put."""
    tool_use_id: str = ""
    """The call that it belongs to, if it does."""
    input: Mapping[str, Any] = _NOTHING
    """The input of that call."""
    details: Mapping[str, Any] = _NOTHING
    """What else programs may want to know, such as a server's own schema."""


class FormAnswer(NamedTuple):
    """What the person did. The default is no."""

    action: FormAction = "decline"
    """`cancel`: put away without a decision."""
    values: Mapping[str, Any] = _NOTHING
    """By the fields' names; a field that is not there was left open."""
    text: str | None = None
    """The text as the person edited it; none: as it was."""
    message: str = ""
    """What the person said to it; a refusal without a word ends the turn."""
    notes: Mapping[str, Any] = _NOTHING
    """What an interface adds to the values, by the fields' names."""
    updates: tuple[PermissionUpdate, ...] = ()
    """Changes of the rights that come with a yes to a call."""


class FormAsker(Asker, Protocol):
    """An interface that can put forms to a person, too."""

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form and wait for what becomes of it."""
        ...


def check_answer(form: Form, answer: FormAnswer) -> FormAnswer:
    """The answer with its values as the form wants them; text stands for numbers and booleans.

    Raises:
        UsageError: It does not fit; the text names every problem.
    """
    if answer.action != "accept":
        return answer
    fields = {field.name: field for field in form.fields}
    problems = [f"{name!r} is not a field of this form" for name in answer.values if name not in fields]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        given = answer.values.get(name)
        if given is None:
            problems += (f"{name!r} is missing",) if field.required else ()
            continue
        try:
            values[name] = _fitting(field, given)
        except ValueError as error:
            problems.append(f"{name!r}: {error}")
    if answer.text is not None and form.kind != "plan":
        problems.append("this form has no text to edit")
    if problems:
        more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
        raise UsageError(f"the answer does not fit the form: {'; '.join(problems[:_MAX_PROBLEMS])}{more}")
    return answer._replace(values=values)


def _fitting(field: FormField, given: Any) -> Any:
    if field.kind == "choices":
        return _several(field, given)
    if field.kind == "boolean":
        found = {"true": True, "false": False}.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(found, bool):
            raise ValueError(f"it is true or false, got {_shown(given)}")
        return found
    if field.kind in ("integer", "number"):
        return _number(field, given)
    if not isinstance(given, str):
        raise ValueError(f"it is a string, got {_shown(given)}")  # noqa: TRY004 - one kind of error for all of them
    if field.kind == "choice":
        return _one(field, given)
    _within(field, len(given), "characters")
    return given


def _one(field: FormField, given: str) -> str:
    # What an interface sends is the value; by the label of one nobody may get another's.
    for choice in field.choices:
        if given == choice.value:
            return given
    for choice in field.choices:
        if given == choice.label:
            return choice.value
    if field.free_text and given.strip():
        return given
    raise ValueError(f"choose one of {', '.join(repr(choice.value) for choice in field.choices)}, got {_shown(given)}")


def _several(field: FormField, given: Any) -> list[str]:
    if isinstance(given, str):  # some hosts send the labels in one text
        parts = [part.strip() for part in given.split(",")]
        known = {name for choice in field.choices for name in (choice.label, choice.value)}
        given = parts if all(part in known for part in parts) else [given]
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in cast("Sequence[Any]", given)):
        raise ValueError(f"it is a list of strings, got {_shown(given)}")
    found = list(dict.fromkeys(_one(field, one) for one in cast("Sequence[str]", given)))
    _within(field, len(found), "choices")
    return found


def _number(field: FormField, given: Any) -> float:
    number = given
    if isinstance(given, str):
        try:
            number = float(given)
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number or abs(number) > 1e300:  # noqa: PLR0124 - not a number, or without an end
        raise ValueError(f"it is a number, got {_shown(given)}")
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    if field.kind == "integer" and not isinstance(number, int):
        raise ValueError(f"it is a whole number, got {_shown(given)}")
    if (field.least is not None and number < field.least) or (field.most is not None and number > field.most):
        raise ValueError(f"it must lie {_range(field)}, got {_shown(given)}")
    return number


def _within(field: FormField, count: int, what: str) -> None:
    if (field.least is not None and count < field.least) or (field.most is not None and count > field.most):
        raise ValueError(f"the number of {what} must lie {_range(field)}, got {count}")


def _range(field: FormField) -> str:
    if field.least is None or field.most is None:
        return (
            f"at {'least' if field.most is None else 'most'} at {field.least if field.most is None else field.most:g}"
        )
    return f"between {field.least:g} and {field.most:g}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def form_to_wire(form: Form) -> dict[str, Any]:
    """The form as plain data, without what is empty."""
    found = {"kind": form.kind, "source": form.source, "message": form.message, "tool_use_id": form.tool_use_id}
    fields = [_field_to_wire(field) for field in form.fields]
    more = {"fields": fields, "url": form.url, "text": form.text, "details": dict(form.details)}
    return {key: value for key, value in {**found, **more}.items() if value not in ("", [], {})}


def _field_to_wire(field: FormField) -> dict[str, Any]:
    choices = [{key: value for key, value in choice._asdict().items() if value} for choice in field.choices]
    plain = {**field._asdict(), "choices": choices}
    return {key: value for key, value in plain.items() if value not in ("", [], None, False)}
