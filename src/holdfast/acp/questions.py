"""Questions and forms that the editor puts to the person. What is put away, or cannot be shown, is a no."""

from collections.abc import Mapping
from typing import Any

from holdfast.acp.content import text_block
from holdfast.acp.tool_calls import ToolCalls
from holdfast.acp.wire import Peer, RpcError, as_object
from holdfast.contract import Answer, Form, FormAnswer, Question, UsageError, check_answer
from holdfast.contract.forms import FormField

__all__ = ["EditorAsker", "choose"]

Fields = dict[str, Any]
_OTHER = "other"
_PLAN = "plan"
_KEEP_PLANNING = {"optionId": "no", "name": "No, keep planning", "kind": "reject_once"}
_AGREE = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


async def choose(peer: Peer, session_id: str, call: Fields, options: list[Fields]) -> str | None:
    """Let the person choose one of the options; None when the editor put the question away.

    Raises:
        RpcError: The editor cannot ask.
    """
    params = {"sessionId": session_id, "toolCall": call, "options": options}
    told = as_object(as_object(await peer.ask("session/request_permission", params)).get("outcome"))
    chosen = told.get("optionId") if told.get("outcome") == "selected" else None
    return chosen if any(option["optionId"] == chosen for option in options) else None


class EditorAsker:
    """Asks through the editor. `calls` is set when the session runs."""

    def __init__(self, peer: Peer, capabilities: Mapping[str, Any]) -> None:
        self._peer = peer
        shown = as_object(capabilities.get("elicitation"))
        self._forms = shown.get("form") is not None
        self._urls = shown.get("url") is not None
        self.session_id = ""
        self.calls: ToolCalls | None = None

    async def ask(self, question: Question) -> Answer:
        """Show the call, what it would change and why it is asked about."""
        call = {"toolCallId": question.tool_use_id, **self._about(question)}
        try:
            chosen = await choose(self._peer, self.session_id, call, _options(question.suggestions))
        except RpcError as error:
            return Answer(message=f"the editor could not ask: {error.message}", by_nobody=True)
        if chosen == "allow_once":
            return Answer("allow")
        if chosen in ("session", "localSettings"):
            return Answer("allow", rules=question.suggestions, destination=chosen)
        if chosen == "never":
            return Answer("deny", rules=question.suggestions)
        return Answer()

    def _about(self, question: Question) -> Fields:
        assert self.calls is not None
        found = self.calls.about(question.tool, question.input)
        shown: list[Fields] = found.pop("content", [])
        if question.preview and (not shown or question.tool == "Write"):  # what stands there now is in the preview only
            shown = [{"type": "content", "content": text_block(f"```diff\n{question.preview}\n```")}]
        why = {"type": "content", "content": text_block(f"Asked because {question.reason}")}
        return {**found, "content": [*shown, why]}

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form as the editor can: as a form of its own, or field by field as choices."""
        try:
            if form.kind == "plan":
                return await self._plan(form)
            if form.url:
                return await self._url(form)
            if self._forms:
                return await self._form(form)
            return await self._field_by_field(form)
        except RpcError as error:
            return FormAnswer(message=f"the editor could not ask: {error.message}")
        except UsageError as error:
            return FormAnswer(message=str(error))

    async def _plan(self, form: Form) -> FormAnswer:
        """The plan with every rule that comes with it: as a form where it can be edited, else as ways to say yes."""
        if self._forms:
            return await self._form(form)
        ways = _ways(form)
        options = [
            {"optionId": str(n), "name": name, "kind": "allow_always" if values.get("rules") else "allow_once"}
            for n, (name, values) in enumerate(ways)
        ]
        shown = [{"type": "content", "content": text_block(form.text)}]
        call = {"toolCallId": form.tool_use_id or form.id, "title": form.message, "kind": "switch_mode"}
        options.append(_KEEP_PLANNING)
        chosen = await choose(self._peer, self.session_id, {**call, "content": shown}, options)
        if chosen is None or chosen == "no":
            return FormAnswer()
        return check_answer(form, FormAnswer("accept", ways[int(chosen)][1]))

    async def _url(self, form: Form) -> FormAnswer:
        if not self._urls:
            return FormAnswer(message=f"the editor cannot show pages; open {form.url} yourself")
        params = {"mode": "url", "url": form.url, "elicitationId": form.id}
        return _read(form, await self._peer.ask("elicitation/create", {**self._scope(form), **params}))

    async def _form(self, form: Form) -> FormAnswer:
        properties: Fields = {}
        if form.text:
            properties[_PLAN] = {"type": "string", "title": "Plan", "default": form.text}
        for field in form.fields:
            properties[field.name] = _property(field)
            if field.free_text:
                properties[_other(field)] = {"type": "string", "title": f"{field.title or field.name} (other)"}
        required = [field.name for field in form.fields if field.required and not field.free_text]
        schema = {"type": "object", "properties": properties, "required": required}
        params = {**self._scope(form), "mode": "form", "requestedSchema": schema}
        return _read(form, await self._peer.ask("elicitation/create", params))

    def _scope(self, form: Form) -> Fields:
        call = {"toolCallId": form.tool_use_id} if form.tool_use_id else {}
        return {"sessionId": self.session_id, "message": f"{form.source}: {form.message}", **call}

    async def _field_by_field(self, form: Form) -> FormAnswer:
        """Each field as a question with its choices; what has none cannot be shown."""
        values: Fields = {}
        was_shown = False
        shown = {"content": [{"type": "content", "content": text_block(f"{form.source}: {form.message}")}]}
        for place, field in enumerate(form.fields):
            choices = field.choices
            if not choices and field.kind == "boolean":
                labels = [("true", "Yes"), ("false", "No")]
            elif choices:
                labels = [(choice.value, choice.label) for choice in choices]
            elif field.required:
                return FormAnswer(message=f"the editor cannot show forms, and {field.name!r} needs one")
            else:
                continue
            title = field.title or field.name
            options = [{"optionId": str(n), "name": label, "kind": "allow_once"} for n, (_, label) in enumerate(labels)]
            options.append({"optionId": "no", "name": "Put away", "kind": "reject_once"})
            call = {"toolCallId": form.tool_use_id or f"{form.id}-{place}", "title": title, "kind": "other", **shown}
            chosen = await choose(self._peer, self.session_id, call, options)
            if chosen is None or chosen == "no":
                return FormAnswer("cancel", message="the user dismissed the form")
            value = labels[int(chosen)][0]
            values[field.name] = [value] if field.kind == "choices" else value
            was_shown = True
        if not was_shown:
            call = {"toolCallId": form.tool_use_id or form.id, "title": f"{form.source} asks", "kind": "other", **shown}
            chosen = await choose(self._peer, self.session_id, call, _AGREE)
            return FormAnswer("accept") if chosen == "yes" else FormAnswer()
        return check_answer(form, FormAnswer("accept", values))


def _ways(form: Form) -> list[tuple[str, Fields]]:
    """How a plan can be agreed to where it cannot be edited: no command is allowed that stands in no answer."""
    ways: list[tuple[str, Fields]] = []
    for field in form.fields:
        asked, named = list(field.default or ()), [choice.value for choice in field.choices]
        several = [rules for rules in ((asked, named) if asked != named else (named,)) if rules]
        ways += [(f"Yes, and allow {', '.join(rules)} for this session", {field.name: rules}) for rules in several]
        ways.append(("Yes, and ask about each command", {field.name: []}))
    return ways or [("Yes, go on with this plan", {})]


def _options(suggestions: tuple[str, ...]) -> list[Fields]:
    once = {"optionId": "allow_once", "name": "Yes, this once", "kind": "allow_once"}
    no = {"optionId": "reject_once", "name": "No", "kind": "reject_once"}
    if not suggestions:
        return [once, no]
    rules = ", ".join(suggestions)
    return [
        once,
        {"optionId": "session", "name": f"Yes, and allow {rules} for this session", "kind": "allow_always"},
        {"optionId": "localSettings", "name": f"Yes, and always allow {rules} in this folder", "kind": "allow_always"},
        no,
        {"optionId": "never", "name": f"No, and deny {rules} for this session", "kind": "reject_always"},
    ]


def _other(field: FormField) -> str:
    return f"{field.name} ({_OTHER})"


def _property(field: FormField) -> Fields:
    about: Fields = {"title": field.title or field.name}
    if field.description:
        about["description"] = field.description
    if field.default is not None:
        about["default"] = field.default
    named = [{"const": choice.value, "title": choice.label} for choice in field.choices]
    if field.kind == "choices":
        return {"type": "array", **about, "items": {"anyOf": named}}
    if field.kind == "choice":
        return {"type": "string", **about, "oneOf": named}
    low, high = ("minLength", "maxLength") if field.kind == "text" else ("minimum", "maximum")
    limits = {key: value for key, value in ((low, field.least), (high, field.most)) if value is not None}
    return {"type": "string" if field.kind == "text" else field.kind, **about, **limits}


def _read(form: Form, answer: Any) -> FormAnswer:
    """What the person did, checked against the form.

    Raises:
        UsageError: It does not fit, so that it counts as no.
    """
    told = as_object(answer)
    action = told.get("action")
    if action == "cancel":
        return FormAnswer("cancel", message="the user dismissed the form")
    if action != "accept":
        return FormAnswer()
    given = dict(as_object(told.get("content")))
    text = given.pop(_PLAN, None) if form.text else None
    for field in form.fields:
        written = given.pop(_other(field), None) if field.free_text else None
        if isinstance(written, str) and written.strip():
            given[field.name] = [written] if field.kind == "choices" else written
    changed = text if isinstance(text, str) and text != form.text else None
    return check_answer(form, FormAnswer("accept", given, text=changed))
