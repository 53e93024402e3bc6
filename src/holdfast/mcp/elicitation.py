"""What a server wants to know from a person, as a form of ours, and what the person said, as the server wants it."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from holdfast.contract import Choice, Form, FormAnswer, FormField
from holdfast.contract.forms import FieldKind
from holdfast.lib.visible import visible
from holdfast.mcp.wire import INVALID_PARAMS, RpcError

__all__ = ["CAPABILITY", "URL_NEEDED", "form_of", "result_of"]

CAPABILITY: Mapping[str, Any] = {"form": {}, "url": {}}
URL_NEEDED = -32042
"""A server's answer to a call: the user has to visit an address first."""
_MAX_FIELDS = 100
_MAX_CHOICES = 200
_MAX_CHARS = 4_000
_KINDS: dict[str, FieldKind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}


def form_of(server: str, params: Mapping[str, Any]) -> Form:
    """The form for a server's question.

    Raises:
        RpcError: The question cannot be put to a person; the server is told so.
    """
    message = _text(params.get("message"))
    if params.get("mode") == "url":
        url = _text(params.get("url"))
        if not _is_web_address(url):
            raise RpcError(INVALID_PARAMS, "the url must be an http or https address")
        details = {"mode": "url", "url": url, "elicitation_id": _text(params.get("elicitationId"))}
        return Form("url", message, server, url=url, details={key: value for key, value in details.items() if value})
    schema = _object(params.get("requestedSchema"))
    properties = _object(schema.get("properties"))
    if len(properties) > _MAX_FIELDS:
        raise RpcError(INVALID_PARAMS, f"a form has at most {_MAX_FIELDS} fields")
    needed = schema.get("required")
    required = cast("list[Any]", needed) if isinstance(needed, list) else []
    fields = tuple(_field(name, _object(inner), required=name in required) for name, inner in properties.items())
    return Form("elicitation", message, server, fields, details={"mode": "form", "requested_schema": dict(schema)})


def result_of(form: Form, answer: FormAnswer) -> dict[str, Any]:
    """The answer for the server; a field that was left open has its default."""
    if answer.action != "accept":
        return {"action": answer.action}
    if form.kind == "url":
        return {"action": "accept"}
    defaults = {field.name: field.default for field in form.fields if field.default is not None}
    return {"action": "accept", "content": {**defaults, **answer.values}}


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> FormField:
    said = schema.get("type")
    is_many = said == "array"
    choices = _choices(_object(schema.get("items")) if is_many else schema)
    if is_many:
        kind: FieldKind = "choices"
        least, most = _number(schema.get("minItems")), _number(schema.get("maxItems"))
    elif choices:
        kind, least, most = "choice", None, None
    else:
        found = _KINDS.get(said) if isinstance(said, str) else None
        if found is None:
            raise RpcError(INVALID_PARAMS, f"the field {visible(name, limit_chars=80)!r} is of a type that no form has")
        kind = found
        ends = ("minLength", "maxLength") if kind == "text" else ("minimum", "maximum")
        least, most = _number(schema.get(ends[0])), _number(schema.get(ends[1]))
    return FormField(
        name,
        kind,
        title=_text(schema.get("title")),
        description=_text(schema.get("description")),
        choices=choices,
        required=required,
        default=_default(kind, schema.get("default"), choices),
        format=_text(schema.get("format")),
        least=least,
        most=most,
    )


def _choices(schema: Mapping[str, Any]) -> tuple[Choice, ...]:
    """The values of a field, in any of the three ways in which servers list them."""
    for key in ("oneOf", "anyOf"):
        titled = schema.get(key)
        if isinstance(titled, list):
            found = [_object(item) for item in cast("list[Any]", titled)[:_MAX_CHOICES]]
            return tuple(
                Choice(_text(item.get("title")) or str(item["const"]), str(item["const"]))
                for item in found
                if isinstance(item.get("const"), str)
            )
    values, names = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, list):
        return ()
    labels = cast("list[Any]", names) if isinstance(names, list) else []
    return tuple(
        Choice(labels[at] if at < len(labels) and _is_text(labels[at]) else value, value)
        for at, value in enumerate(cast("list[Any]", values)[:_MAX_CHOICES])
        if isinstance(value, str)
    )


def _default(kind: FieldKind, value: Any, choices: tuple[Choice, ...]) -> Any:
    """The default, where it is a value of the field."""
    known = {choice.value for choice in choices}
    fits = {
        "text": isinstance(value, str),
        "choice": isinstance(value, str) and value in known,
        "choices": isinstance(value, list)
        and all(isinstance(item, str) and item in known for item in cast("list[Any]", value)),
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
    }
    return cast("Any", value) if fits[kind] else None


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:  # such as a broken address in brackets
        return False


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _text(value: object) -> str:
    return value[:_MAX_CHARS] if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
