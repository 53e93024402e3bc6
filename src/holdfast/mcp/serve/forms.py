"""A permission question as a form that any client can show, and what its answer means. Whatever is unclear is a no."""

from collections.abc import Mapping
from typing import Any, cast

from holdfast.contract import Answer, Question
from holdfast.events import encode_json
from holdfast.lib.visible import visible

__all__ = ["ask_form", "read_form"]

_ONCE = "allow once"
_SESSION = "allow in this session"
_NO = "refuse"
_INPUT_CHARS = 2_000
_PREVIEW_CHARS = 4_000


def ask_form(question: Question) -> dict[str, Any]:
    """The parameters of `elicitation/create`. The call is shown as far as it fits; nothing in it is obeyed."""
    shown = visible(encode_json(question.input).decode(), limit_chars=_INPUT_CHARS)
    lines = [f"{question.tool} {shown}", f"Why this is asked: {visible(question.reason, limit_chars=500)}"]
    if question.preview:
        lines.append("\n".join(visible(line) for line in question.preview[:_PREVIEW_CHARS].splitlines()))
    choices = [_ONCE, _SESSION, _NO] if question.suggestions else [_ONCE, _NO]
    if question.suggestions:
        rules = ", ".join(visible(rule, limit_chars=120) for rule in question.suggestions)
        lines.append(f"{_SESSION!r} also allows what these rules cover: {rules}")
    return {
        "mode": "form",
        "message": "\n".join(lines),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {"type": "string", "title": "May this run?", "enum": choices, "default": _NO},
                "reason": {"type": "string", "title": "If not: what should happen instead? (told to the model)"},
            },
            "required": ["decision"],
        },
    }


def read_form(said: Mapping[str, Any], question: Question) -> Answer:
    """What the person decided."""
    action = said.get("action")
    if action != "accept":
        how = {"decline": "the question was declined", "cancel": "the question was closed"}.get(
            str(action), "no answer"
        )
        return Answer(message=how)
    content = said.get("content")
    given = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    decision = given.get("decision")
    if decision == _ONCE:
        return Answer("allow")
    if decision == _SESSION and question.suggestions:
        return Answer("allow", rules=question.suggestions, destination="session")
    reason = given.get("reason")
    return Answer(message=reason[:2_000] if isinstance(reason, str) and reason.strip() else "no reason was given")
