"""Forms as `exec` and stream-json write them, and the answers that come back."""

from collections.abc import Container, Sequence
from typing import Any, NamedTuple, cast

from holdfast.cli.options import tell
from holdfast.contract import Form, FormAnswer, UsageError, check_answer, form_to_wire
from holdfast.engine.call_hooks import suggested_updates
from holdfast.engine.forms import from_answer
from holdfast.lib.visible import visible

__all__ = [
    "FormReply",
    "control_form_request",
    "form_request",
    "form_withdrawn",
    "read_control_reply",
    "read_form_response",
]

Line = dict[str, Any]
_TITLE_CHARS = 500
_KEYS = frozenset({"type", "request_id", "requestId", "action", "values", "content", "text", "message"})
_ACTIONS = ("accept", "decline", "cancel")
_ACTION_WORDS = "'accept', 'decline' or 'cancel'"


class FormReply(NamedTuple):
    """What a host says to a form that it was shown."""

    request_id: str
    response: Line
    error: str = ""


# exec


def form_request(form: Form) -> Line:
    """A form for the program at the other end of `exec`."""
    return {"type": "form_request", "request_id": form.id, **form_to_wire(form)}


def form_withdrawn(form: Form) -> Line:
    """The form is no longer open."""
    return {"type": "form_withdrawn", "request_id": form.id, "tool_use_id": form.tool_use_id}


def read_form_response(message: Line, form: Form) -> FormAnswer:
    """The answer in a `form_response`.

    Raises:
        UsageError: It does not fit, so that it counts as no.
    """
    if unknown := sorted(set(message) - _KEYS):
        raise UsageError(f"the answer has unknown keys {unknown}; known are action, values, text and message")
    action = message.get("action")
    if action not in _ACTIONS:
        raise UsageError(f"action must be {_ACTION_WORDS}, got {action!r}")
    values: Any = message.get("values") if message.get("values") is not None else message.get("content")
    if values is not None and not isinstance(values, dict):
        raise UsageError(f"values must be a JSON object, got {values!r}")
    text = message.get("text")
    if text is not None and not isinstance(text, str):
        raise UsageError(f"text must be a string, got {text!r}")
    answer = FormAnswer(action, cast("Line", values or {}), text, str(message.get("message") or ""))
    return check_answer(form, answer)


# stream-json


def control_form_request(form: Form, dialogs: Container[str]) -> Line | None:
    """A form for a host: the question about a call, a server's question, or a dialog that it says it can show.

    None: the host cannot show it.
    """
    if form.tool_use_id:
        request = _can_use_tool(form)
    elif "mode" in form.details:
        request = {
            "subtype": "elicitation",
            "mcp_server_name": form.source,
            "message": form.message,
            **form.details,
        }
    elif form.kind in dialogs:
        request = {"subtype": "request_user_dialog", "dialog_kind": form.kind, "payload": form_to_wire(form)}
    else:
        return None
    return {"type": "control_request", "request_id": form.id, "request": request}


def _can_use_tool(form: Form) -> Line:
    return {
        "subtype": "can_use_tool",
        "tool_name": form.source,
        "input": dict(form.input),
        "tool_use_id": form.tool_use_id,
        "permission_suggestions": _rules_with_yes(form.details.get("suggestions", ())),
        "decision_reason": form.message,
        "decision_reason_type": "other",
        "title": visible(f"{form.source}: {form.message}", limit_chars=_TITLE_CHARS),
        "display_name": form.source,
        "description": visible(form.message, limit_chars=_TITLE_CHARS),
        "requires_user_interaction": True,
    }


def _rules_with_yes(rules: Sequence[str]) -> list[Line]:
    """Rules that a yes may bring: for the session, as what the form grants."""
    return [{**update, "destination": "session"} for update in suggested_updates(tuple(rules))]


def read_control_reply(reply: FormReply, form: Form) -> FormAnswer:
    """What the host's answer means; one that cannot be read is a no.

    Raises:
        UsageError: It does not fit, so that it counts as no.
    """
    if reply.error:
        return FormAnswer(message=f"the host could not decide: {reply.error}")
    said = reply.response
    if form.tool_use_id:
        from holdfast.cli.host_answers import read_host_answer  # noqa: PLC0415 - with the first answer

        return check_answer(form, from_answer(form, read_host_answer(said, tell, _refuse).answer))
    if "mode" in form.details:
        action, content = said.get("action"), said.get("content")
        if action not in _ACTIONS:
            raise UsageError(f"action must be {_ACTION_WORDS}, got {action!r}")
        if content is not None and not isinstance(content, dict):
            raise UsageError(f"content must be a JSON object, got {content!r}")
        return check_answer(form, FormAnswer(action, cast("Line", content or {})))
    if said.get("behavior") != "completed":
        return FormAnswer("cancel", message="the dialog was dismissed")
    result: Any = said.get("result")
    fields = cast("Line", result) if isinstance(result, dict) else {}
    values = fields.get("values")
    return check_answer(form, FormAnswer("accept", cast("Line", values) if isinstance(values, dict) else {}))


def _refuse(reason: str) -> None:
    raise UsageError(f"a permission update is refused: {reason}")
