"""Who is asked in a program that runs an agent: functions of its own that answer questions and fill in forms."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from holdfast.contract import Answer, Asker, Form, FormAnswer, Question

__all__ = ["Approver", "FormFiller", "asker_of"]

_log = logging.getLogger(__name__)
Approver = Callable[[Question], Awaitable[Answer | bool] | Answer | bool]
FormFiller = Callable[[Form], Awaitable[FormAnswer | Mapping[str, Any] | None] | FormAnswer | Mapping[str, Any] | None]


def asker_of(approver: Approver | Asker | None, on_form: FormFiller | None) -> Asker | None:
    """Who is asked, from what a program gives."""
    asker: Asker | None = None
    if approver is not None:
        ask = getattr(approver, "ask", None)
        asker = cast("Asker", approver) if callable(ask) else _QuestionFunction(cast("Approver", approver))
    return asker if on_form is None else _FormFunction(on_form, asker)


class _FormFunction:
    """A function that fills in forms, beside whoever answers questions."""

    def __init__(self, fill: FormFiller, asker: Asker | None) -> None:
        self._fill = fill
        self._asker = asker

    async def ask(self, question: Question) -> Answer:
        """Ask whoever answers questions; without one the answer is no."""
        if self._asker is None:
            return Answer(message="nobody can be asked here")
        return await self._asker.ask(question)

    async def fill(self, form: Form) -> FormAnswer:
        """Ask the function; anything else than a `FormAnswer`, values or None counts as no."""
        said = self._fill(form)
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, FormAnswer):
            return said
        if isinstance(said, Mapping):
            return FormAnswer("accept", said)
        if said is None:
            return FormAnswer(message="the program that runs this agent said no")
        wrong = f"on_form returned {said!r}, which is neither a FormAnswer, values nor None; it is taken as a no"
        _log.error("%s", wrong)
        return FormAnswer(message=wrong)


class _QuestionFunction:
    """A function that answers questions."""

    def __init__(self, ask: Approver) -> None:
        self._ask = ask

    async def ask(self, question: Question) -> Answer:
        """Ask the function; True is a yes to this call, and nothing else is a yes but an `Answer` that says so."""
        said = self._ask(question)
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, Answer):
            return said
        if said is True or said is False:
            return Answer("allow") if said else Answer(message="the program that runs this agent said no")
        wrong = f"the approver returned {said!r}, which is neither an Answer, True nor False; it is taken as a no"
        _log.error("%s", wrong)
        return Answer(message=wrong)
