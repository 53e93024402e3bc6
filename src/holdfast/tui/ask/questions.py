"""Questions and forms put to the person at the terminal. Whatever is put away is a no."""

import asyncio
from typing import Any

import msgspec

from holdfast.contract import Answer, Form, FormAnswer, Question
from holdfast.contract.forms import FormField
from holdfast.lib.visible import visible
from holdfast.tui.ask.menu import Chosen, Menu, Option
from holdfast.tui.face import Face
from holdfast.tui.show.diffs import diff_lines, is_diff
from holdfast.tui.show.words import Line, prose, shown_lines, wrapped

__all__ = ["TerminalAsker"]

_SHOWN_DIFF = 200
_SHOWN_PREVIEW = 12


class TerminalAsker:
    """Asks by menus, one question at a time."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """Show the whole call and why it is asked about; the default is no."""
        async with self._turn:
            menu = _approval(question, self._face.columns - 1)
            chosen = await self._put(menu)
        if chosen.value == "why":
            return Answer(message=chosen.text)
        if chosen.value == "once":
            return Answer("allow")
        if chosen.value in ("session", "localSettings"):
            return Answer("allow", rules=question.suggestions, destination=chosen.value)
        return Answer()

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form, field by field."""
        async with self._turn:
            if form.kind == "plan":
                return await self._plan(form)
            self._face.commit(_form_head(form))
            values: dict[str, Any] = {}
            for field in form.fields:
                chosen = await self._put(_field_menu(field))
                if chosen.value is None:
                    return FormAnswer("cancel", message="the user put the form away")
                _take(field, chosen, values)
            if not form.fields:
                return await self._agree()
        return FormAnswer("accept", values)

    async def _plan(self, form: Form) -> FormAnswer:
        body: list[Line] = [
            [],
            [("bold", "The model's plan:")],
            *([("", line)] for line in prose(form.text).split("\n")),
        ]
        options = [
            Option("Yes, go on with this plan", "yes"),
            Option("No, keep planning, and say what is missing", "why", wants_text=True),
            Option("No", "no"),
        ]
        chosen = await self._put(Menu("Go on with this plan?", options, body=body, default=2))
        if chosen.value == "yes":
            return FormAnswer("accept")
        return FormAnswer(message=chosen.text)

    async def _agree(self) -> FormAnswer:
        options = [Option("Yes", "yes"), Option("No", "no")]
        chosen = await self._put(Menu("Agree?", options, default=1))
        return FormAnswer("accept" if chosen.value == "yes" else "decline")

    async def _put(self, menu: Menu) -> Chosen:
        try:
            chosen = await self._face.choose(menu)
        except asyncio.CancelledError:
            menu.withdraw()
            self._face.commit([[("dim", "  ⎿ no longer asked")]])
            raise
        self._face.commit(wrapped([("dim", f"  ⎿ you: {menu.said(chosen)}")], self._face.columns - 1))
        return chosen


def _approval(question: Question, columns: int) -> Menu:
    shown = [visible(rule) for rule in question.suggestions]
    options = [Option("Yes, this once", "once")]
    if shown:
        options.append(Option(f"Yes, and for this session allow {', '.join(shown)}", "session"))
        options.append(Option("Yes, and always allow that in this folder (your local settings)", "localSettings"))
    options.append(Option("No, and tell the model what to do instead (Tab)", "why", wants_text=True))
    options.append(Option("No (Esc)", "no"))
    body: list[Line] = [[], [("warn", "? "), ("bold", visible(question.tool)), ("", " wants to run")]]
    body += _what(question)
    body += wrapped([("dim", f"  asked because {visible(question.reason)}{_origin(question)}")], columns)
    return Menu(f"Let {visible(question.tool)} do this?", options, body=body, default=len(options) - 1)


def _what(question: Question) -> list[Line]:
    given = dict(question.input)
    lines: list[Line] = []
    command = given.pop("command", None)
    if isinstance(command, str):
        lines += [[("accent", "  │ "), ("", line)] for line in shown_lines(command)]
    if question.preview and is_diff(question.preview):
        if isinstance(path := given.get("file_path") or given.get("notebook_path"), str):
            lines.append([("accent", "  │ "), ("", visible(path))])
        return lines + diff_lines(question.preview, most=_SHOWN_DIFF)
    for key, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
        first, *rest = shown_lines(text)
        lines.append([("accent", "  │ "), ("dim", f"{visible(key)}: "), ("", first)])
        lines += [[("accent", "  │ "), ("", f"    {line}")] for line in rest]
    return lines


def _origin(question: Question) -> str:
    for step in reversed(question.trace):
        rule = getattr(step, "rule", None)
        source = getattr(rule, "source", None)
        path, line = getattr(source, "path", None), getattr(source, "line", None)
        if path:
            return f" (rule in {visible(str(path))}{f':{line}' if line else ''})"
    return f" (by the {visible(str(getattr(question.trace[-1], 'layer', '')))})" if question.trace else ""


def _form_head(form: Form) -> list[Line]:
    lines: list[Line] = [[], [("warn", "? "), ("bold", visible(form.source)), ("", " asks: ")]]
    lines += [[("", f"  {line}")] for line in prose(form.message).split("\n")]
    if form.url:
        lines.append([("", f"  Open this page yourself if you want to: {visible(form.url)}")])
    return lines


def _field_menu(field: FormField) -> Menu:
    title = visible(field.title or field.name)
    body: list[Line] = [[("dim", f"  {line}")] for line in shown_lines(field.description)] if field.description else []
    if field.kind == "boolean":
        return Menu(title, [Option("Yes", "true"), Option("No", "false")], body=body, default=1)
    if not field.choices:
        return Menu(title, [Option("Write the answer", "text", wants_text=True)], body=body)
    for choice in field.choices:
        if choice.preview:
            body.append([("bold", f"  {visible(choice.label)}")])
            body += [[("dim", f"    {line}")] for line in shown_lines(choice.preview, most=_SHOWN_PREVIEW)]
    options = [
        Option(f"{visible(choice.label)}{f': {visible(choice.description)}' if choice.description else ''}", str(place))
        for place, choice in enumerate(field.choices)
    ]
    if field.free_text:
        options.append(Option("Something else (Tab)", "text", wants_text=True))
    if field.kind == "choices":
        options.append(Option("Done", "done"))
    return Menu(title, options, body=body, has_many=field.kind == "choices")


def _take(field: FormField, chosen: Chosen, values: dict[str, Any]) -> None:
    if chosen.value == "text":
        if chosen.text or field.required:
            values[field.name] = [chosen.text] if field.kind == "choices" else chosen.text
    elif field.kind == "choices":
        values[field.name] = [field.choices[int(mark)].value for mark in chosen.marked]
    elif field.kind == "boolean":
        values[field.name] = chosen.value == "true"
    elif chosen.value is not None:
        values[field.name] = field.choices[int(chosen.value)].value
