"""Where forms are put to a person. Whatever goes wrong on the way, nobody has accepted anything."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from holdfast.contract import Answer, Asker, Form, FormAnswer, Question, UsageError, check_answer, form_to_wire
from holdfast.events import Event, FormAnswered, FormAsked, FormWithdrawn

__all__ = ["NOBODY", "FormDesk", "fill_by", "from_answer", "sampling_question"]

_log = logging.getLogger(__name__)
NOBODY = FormAnswer(message="nobody can be asked here")


class FormDesk:
    """Puts the forms of one session: gives each its number, tells whoever watches, and looks at the answer."""

    __slots__ = ("_asker", "_count", "_emit", "_notify")

    def __init__(
        self,
        asker: Asker | None,
        emit: Callable[[Event], None],
        notify: Callable[[str, str], None] | None = None,
    ) -> None:
        """Take who is asked, who hears of it, and how the user's attention is called."""
        self._asker = asker
        self._emit = emit
        self._notify = notify
        self._count = 0

    @property
    def has_person(self) -> bool:
        """Somebody can be asked."""
        return self._asker is not None

    async def put(self, form: Form) -> FormAnswer:
        """Put the form and wait for what becomes of it; an answer that does not fit is none."""
        if self._asker is None:
            return NOBODY
        self._count += 1
        form = form._replace(id=f"form-{self._count}-{os.urandom(4).hex()}")
        self._emit(FormAsked(form.id, form.tool_use_id, form_to_wire(form)))
        if self._notify is not None:
            self._notify(f"{form.source} needs your input", "elicitation_dialog")
        try:
            answer = check_answer(form, await fill_by(self._asker, form))
        except asyncio.CancelledError:
            self._emit(FormWithdrawn(form.id, form.tool_use_id))
            raise
        except UsageError as error:
            answer = FormAnswer(message=str(error))
        except Exception:  # noqa: BLE001 - a face's bug: nobody accepted, and it is not the asking tool's fault
            _log.exception("the form %s of %s could not be put", form.id, form.source)
            answer = FormAnswer(message="the form could not be put to the user")
        self._emit(FormAnswered(form.id, form.tool_use_id, answer.action, answer.message))
        return answer


async def fill_by(asker: Asker, form: Form) -> FormAnswer:
    """Put a form to a face; one that knows only yes and no is asked about the call that the form belongs to."""
    fill = getattr(asker, "fill", None)
    if callable(fill):
        answer: Any = await cast("Any", fill(form))
        if not isinstance(answer, FormAnswer):
            raise UsageError(f"a form was answered with {answer!r}, which is not a FormAnswer; it is taken as a no")
        return answer
    if form.kind == "sampling":
        return from_answer(form, await asker.ask(sampling_question(form)))
    if not form.tool_use_id:
        return FormAnswer(message="whoever answers questions here takes no forms")
    question = Question(form.id, form.tool_use_id, form.source, form.input, form.message, form=form)
    return from_answer(form, await asker.ask(question))


def sampling_question(form: Form) -> Question:
    """A server's wish to ask the model, for whoever only says yes or no."""
    return Question(form.id, "", f"mcp__{form.source}__sampling", form.details, form.message, form=form)


def from_answer(form: Form, answer: Answer) -> FormAnswer:
    """What a yes or no to a call means for the form it belongs to: what was filled in stands in its changed input."""
    if answer.behavior != "allow":
        return FormAnswer(message=answer.message, updates=answer.added)
    changed: Mapping[str, Any] = answer.updated_input or {}
    return FormAnswer(
        "accept",
        values=_mapping(changed.get("answers")) if form.kind == "questions" else {},
        text=_edited(form, changed.get("plan")),
        message=answer.message,
        notes=_notes(form, changed.get("annotations")),
        updates=answer.added,
    )


def _edited(form: Form, plan: object) -> str | None:
    return plan if form.kind == "plan" and isinstance(plan, str) and plan != form.text else None


def _notes(form: Form, given: object) -> Mapping[str, Any]:
    """What the person noted; a host that sends the input back as it was has noted nothing."""
    return {} if given == form.input.get("annotations") else _mapping(given)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
