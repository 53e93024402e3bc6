"""Forms put to the person, field by field: choices, words, numbers, a page to open, a plan to edit."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from holdfast.contract import Form, FormAnswer, ModeUpdate, UsageError, check_answer
from holdfast.contract.forms import FormField
from holdfast.lib.visible import visible
from holdfast.tui.ask.deceptions import notes_on
from holdfast.tui.ask.menu import Chosen, Menu, Option
from holdfast.tui.face import Face
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.words import Line, prose, shown_lines, wrapped

__all__ = ["FormFiller"]

_SHOWN_PREVIEW = 12
_LEFT_OPEN = "left open"
_LONG_TITLE = 120
"""A longer one stands above for good: a small screen shows only its beginning with the answers."""


class FormFiller:
    """Asks for one form at a time."""

    def __init__(self, face: Face, put: Callable[[Menu], Awaitable[Chosen]]) -> None:
        self._face = face
        self._put = put

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form, and what becomes of it; whatever is put away is a no."""
        if form.kind == "plan":
            return await self._plan(form)
        self._show(_head(form))
        if form.kind == "url" or not form.fields:
            return await self._agree(form)
        values: dict[str, Any] = {}
        for number, field in enumerate(form.fields, 1):
            if not await self._field(form, field, values, f" ({number} of {len(form.fields)})"):
                return FormAnswer("cancel", message="the user dismissed the form")
        if form.kind == "elicitation" and not await self._may_be_sent(form, values):
            return FormAnswer("decline")
        return FormAnswer("accept", values)

    async def _field(self, form: Form, field: FormField, values: dict[str, Any], count: str) -> bool:
        """One field, again and again until what is given fits; false when the person puts it away."""
        while True:
            menu = _field_menu(field, count if len(form.fields) > 1 else "")
            menu.is_field = True
            chosen = await self._put(menu)
            if chosen.value is None:
                return False
            given: dict[str, Any] = {}
            if chosen.value != _LEFT_OPEN:
                _take(field, chosen, given)
            try:
                check_answer(form._replace(fields=(field,)), FormAnswer("accept", given))
            except UsageError as error:
                self._show([[("bad", f"  {prose(str(error))}")]])
                continue
            values.update(given)
            return True

    async def _agree(self, form: Form) -> FormAnswer:
        if form.url:
            options = [Option("Done: I have opened it myself", "yes"), Option("No", "no")]
            title = "Open the page yourself, then answer"
        else:
            options, title = [Option("Yes", "yes"), Option("No", "no")], "Agree?"
        chosen = await self._put(Menu(title, options, default=1))
        if chosen.value is None:
            return FormAnswer("cancel", message="the user dismissed it")
        return FormAnswer("accept" if chosen.value == "yes" else "decline")

    async def _may_be_sent(self, form: Form, values: dict[str, Any]) -> bool:
        body: list[Line] = [
            [("dim", f"  {visible(name)}: "), ("", visible(str(value), limit_chars=400))]
            for name, value in values.items()
        ]
        options = [Option(f"Yes, send it to {visible(form.source)}", "yes"), Option("No", "no")]
        chosen = await self._put(Menu("Send this?", options, body=body, default=1))
        return chosen.value == "yes"

    # Plans.

    async def _plan(self, form: Form) -> FormAnswer:
        text = form.text
        self._show([[], [("warn", "? "), ("bold", "The model has a plan and asks to begin")], []])
        self._face.commit_piece(Piece(text))
        for note in notes_on(text):
            self._show([[("warn", f"  {note}")]])
        while True:
            chosen = await self._put(_plan_menu())
            if chosen.value != "edit":
                break
            edited = await self._face.edit(text)
            if edited is None:
                self._show([[("warn", "  no editor could be started; set EDITOR, or say what should change")]])
            elif edited != text:
                text = edited
                self._show([[("dim", "  the plan as you changed it:")]])
                self._face.commit_piece(Piece(text))
        return await self._plan_answer(form, chosen, text)

    async def _plan_answer(self, form: Form, chosen: Chosen, text: str) -> FormAnswer:
        if chosen.value not in ("yes", "edits"):
            return FormAnswer(message=chosen.text)
        values: dict[str, Any] = {}
        for field in form.fields:
            if not await self._field(form, field, values, ""):
                return FormAnswer()
        updates = (ModeUpdate("acceptEdits"),) if chosen.value == "edits" else ()
        return FormAnswer("accept", values, text=None if text == form.text else text, updates=updates)

    def _show(self, lines: list[Line]) -> None:
        self._face.commit([part for line in lines for part in wrapped(line, self._face.columns - 1)])


def _plan_menu() -> Menu:
    options = [
        Option("Yes, and edits need no further yes", "edits"),
        Option("Yes, and ask me about edits as before", "yes"),
        Option("Change the plan first, in my editor", "edit"),
        Option("No, keep planning: say what is missing (Tab)", "why", wants_text=True),
        Option("No (Esc)", "no"),
    ]
    return Menu("Go on with this plan?", options, default=4)


def _head(form: Form) -> list[Line]:
    lines: list[Line] = [[], [("warn", "? "), ("bold", visible(form.source)), ("", " asks:")]]
    lines += [[("", f"  {line}")] for line in prose(form.message).split("\n")]
    if form.url:
        lines.append([("", "  "), ("accent", visible(form.url))])
        lines += [[("warn", f"  {note}")] for note in notes_on(form.url)]
    return lines


def _field_menu(field: FormField, count: str) -> Menu:
    title = visible(field.title or field.name) + count
    body: list[Line] = [[("bold", f"  {title}")]] if len(title) > _LONG_TITLE else []
    body += [[("dim", f"  {line}")] for line in shown_lines(field.description)] if field.description else []
    is_open: list[Option] = [] if field.required else [Option("Leave it open", _LEFT_OPEN)]
    if field.kind == "boolean":
        options = [Option("Yes", "true"), Option("No", "false"), *is_open]
        return Menu(title, options, body=body, default=0 if field.default is True else 1)
    if not field.choices:
        words = _kind_words(field)
        title += f": {words}" if words else ""
        title += "" if field.required or field.default is not None else " (Enter alone leaves it open)"
        menu = Menu(title, [Option("Write it", "text", wants_text=True)], body=body)
        menu.prefilled = "" if field.default is None else str(field.default)
        return menu
    options = [
        Option(f"{visible(choice.label)}{f': {visible(choice.description)}' if choice.description else ''}", str(place))
        for place, choice in enumerate(field.choices)
    ]
    if field.free_text:
        options.append(Option("Something else (Tab)", "text", wants_text=True))
    options += [Option("Done", "done")] if field.kind == "choices" else is_open
    menu = Menu(title, options, body=body, default=_default_place(field), has_many=field.kind == "choices")
    if field.kind == "choices" and isinstance(field.default, list):
        chosen = cast("list[Any]", field.default)
        menu.marked = {str(place) for place, choice in enumerate(field.choices) if choice.value in chosen}
    menu.details = {
        place: [[("dim", f"    {line}")] for line in shown_lines(choice.preview, most=_SHOWN_PREVIEW)]
        for place, choice in enumerate(field.choices)
        if choice.preview
    }
    return menu


def _kind_words(field: FormField) -> str:
    word = {"integer": "a whole number", "number": "a number"}.get(field.kind, "")
    return f"{word} {visible(field.format)}".strip() if field.format else word


def _default_place(field: FormField) -> int:
    return next((place for place, choice in enumerate(field.choices) if choice.value == field.default), 0)


def _take(field: FormField, chosen: Chosen, values: dict[str, Any]) -> None:
    if field.kind == "choices":
        picked = [field.choices[int(mark)].value for mark in chosen.marked]
        values[field.name] = [*picked, chosen.text] if chosen.value == "text" and chosen.text else picked
    elif chosen.value == "text":
        if chosen.text or field.required:
            values[field.name] = chosen.text
    elif field.kind == "boolean":
        values[field.name] = chosen.value == "true"
    elif chosen.value is not None:
        values[field.name] = field.choices[int(chosen.value)].value
