"""The lines of `--input-format stream-json`: prompts, control requests and answers of the program that started us."""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.agent.prompts import Sent
from holdfast.cli.form_lines import FormReply
from holdfast.cli.host_answers import read_host_answer
from holdfast.contract import Answer, Question, UsageError
from holdfast.engine.call_hooks import suggested_updates
from holdfast.lib.uuids import new_uuid
from holdfast.lib.visible import visible

__all__ = [
    "ControlRequest",
    "HostReply",
    "Ignored",
    "Message",
    "PermissionAnswer",
    "UserPrompt",
    "control_error",
    "control_success",
    "permission_request",
    "read_message",
]

Line = dict[str, Any]
_PATHS = ("file_path", "notebook_path", "path")
_SUBJECTS = ("command", *_PATHS, "url", "query", "pattern", "prompt")
_SHOWN_CHARS = 500
_REASON_TYPES = {"ask": "rule", "hook": "hook", "guard": "safetyCheck", "mode": "mode", "classifier": "classifier"}
"""The layer of our decision that asks, as hosts call it."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_URGENT = frozenset({"now", "next"})


class UserPrompt(NamedTuple):
    """Something for the model."""

    content: str | list[dict[str, Any]]
    is_urgent: bool = False
    """It joins a run that is under way, instead of waiting for its end."""
    line: Mapping[str, Any] = MappingProxyType({})
    """What was sent with it, and a uuid in any case."""

    @property
    def sent(self) -> Sent:
        """The part of it that the conversation keeps."""
        return Sent(str(self.line.get("uuid", "")), self.line.get("client_composed") is True)


class ControlRequest(NamedTuple):
    """The program wants something of us, and waits for an answer."""

    request_id: str
    subtype: str
    fields: Line


class PermissionAnswer(NamedTuple):
    """The answer to a question that we put."""

    request_id: str
    answer: Answer
    interrupts: bool = False
    notices: tuple[str, ...] = ()
    """What is odd about it, for people."""


class HostReply(NamedTuple):
    """The answer to a request of ours that is no question: a hook of the host, or one of its MCP servers."""

    response: Line


class Ignored(NamedTuple):
    """A line that is allowed and means nothing to us."""

    kind: str


Message = UserPrompt | ControlRequest | PermissionAnswer | FormReply | HostReply | Ignored


def read_message(line: bytes, forms: Container[str] = ()) -> Message:
    """One line as what it means; `forms` are the ids of the forms that were shown.

    Raises:
        UsageError: It is no JSON, or no message that we know; the text says what is wrong.
    """
    try:
        found: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this line is not valid JSON: {error}") from error
    message: Line = _object(found)
    kind = message.get("type")
    if kind == "user":
        return _user(message)
    if kind == "control_request":
        request = _object(message.get("request"))
        is_first = request.get("subtype") == "initialize"
        fields = {_camel(name): request[name] for name in request} if is_first else _both_spellings(request)
        return ControlRequest(_request_id(message), str(request.get("subtype", "")), fields)
    if kind == "control_response":
        response = _object(message.get("response"))
        request_id = _request_id(response) or _request_id(message)
        response["request_id"] = request_id
        if request_id.startswith("holdfast_"):
            return HostReply(response)
        if request_id in forms:
            error = str(response.get("error")) if response.get("subtype") == "error" else ""
            return FormReply(request_id, _object(response.get("response")), error)
        return _answer(response)
    if kind in ("keep_alive", "control_cancel_request", "update_environment_variables"):
        return Ignored(str(kind))
    raise UsageError(f"unknown message type {kind!r}; send user, control_request or control_response")


def _request_id(message: Line) -> str:
    return str(message.get("request_id", message.get("requestId", "")))


def _both_spellings(fields: Line) -> Line:
    """The fields of a request, each in snake and in camel case: hosts write either."""
    found = {spelled(name): fields[name] for spelled in (_camel, _snake) for name in fields}
    return {**found, **fields}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _user(message: Line) -> UserPrompt:
    said = _object(message.get("message"))
    if said.get("role", "user") != "user":
        raise UsageError(f"a message for the model has the role 'user', got {said.get('role')!r}")
    content: Any = said.get("content")
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        if not blocks or not all(isinstance(block, dict) and "type" in block for block in blocks):
            raise UsageError("the content of a user message is a string or a list of content blocks, each with a type")
        content = cast("list[dict[str, Any]]", blocks)
    elif not isinstance(content, str) or not content.strip():
        raise UsageError(f"the content of a user message is a string or a list of content blocks, got {content!r}")
    sent = {key: value for key, value in message.items() if key not in ("type", "message", "priority")}
    if not isinstance(sent.get("uuid"), str) or not sent["uuid"]:
        sent["uuid"] = new_uuid()
    return UserPrompt(content, message.get("priority") in _URGENT, sent)


def _answer(response: Line) -> PermissionAnswer:
    """What the host decided; one that cannot be read is a no, and says why."""
    request_id = str(response.get("request_id", ""))
    if response.get("subtype") == "error":
        return PermissionAnswer(request_id, Answer(message=f"the host could not decide: {response.get('error')}"))
    notices: list[str] = []
    try:
        said = read_host_answer(_object(response.get("response")), notices.append)
    except UsageError as error:
        problem = f"{error}; it is taken as a no"
        return PermissionAnswer(request_id, Answer(message=f"the answer cannot be read: {error}"), notices=(problem,))
    return PermissionAnswer(request_id, said.answer, said.interrupts, tuple(notices))


def permission_request(question: Question) -> Line:
    """A question to the host."""
    return {
        "type": "control_request",
        "request_id": question.id,
        "request": {
            "subtype": "can_use_tool",
            "tool_name": question.tool,
            "input": dict(question.input),
            "tool_use_id": question.tool_use_id,
            "permission_suggestions": suggested_updates(question.suggestions),
            "decision_reason": question.reason,
            "decision_reason_type": _REASON_TYPES.get(question.trace[-1].layer if question.trace else "", "other"),
            **({"cwd": question.cwd} if question.cwd else {}),
            **({"agent_id": question.agent_id} if question.agent_id else {}),
            **_about(question),
            **({"preview": question.preview} if question.preview else {}),
        },
    }


def _about(question: Question) -> Line:
    """What a dialog shows: a sentence, the tool's name, and what the call is about."""
    given = question.input
    subject = next((str(given[key]) for key in _SUBJECTS if given.get(key)), "")
    found: Line = {"title": f"{question.tool}: {subject}" if subject else question.tool, "display_name": question.tool}
    if description := given.get("description") or subject:
        found["description"] = str(description)
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
    shown: Line = {key: visible(value, limit_chars=_SHOWN_CHARS) for key, value in found.items()}
    return shown if path is None else {**shown, "blocked_path": path}


def control_success(request_id: str, response: Line | None = None, more: Mapping[str, Any] = _NOTHING) -> Line:
    """A control request was done."""
    answer: Line = {"subtype": "success", "request_id": request_id, "response": response or {}, **more}
    return {"type": "control_response", "response": answer}


def control_error(request_id: str, error: str) -> Line:
    """A control request could not be done."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": error}}


def _object(value: Any) -> Line:
    return cast("Line", value) if isinstance(value, dict) else {}
