"""Ways to put a question or a form: to a face, to a classifier first, or to the agent that leads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from holdfast.contract import Answer, Asker, Form, FormAnswer, PermissionUpdate, Question, RuleUpdate
from holdfast.engine.forms import fill_by

__all__ = ["CoordinatorAsker", "OpenQuestions", "SeenQuestions", "WorkerAsker", "nobody_to_ask"]

_log = logging.getLogger(__name__)


class OpenQuestions:
    """Interactive: questions and forms wait here until a face answers. The first answer counts, later ones are told so.

    A program that reads events may use it as it is: it sees `PermissionAsked` and `FormAsked` and answers by their ids.
    """

    __slots__ = ("_closed_by", "_forms", "_open", "_show", "_show_form", "_withdraw", "_withdraw_form")

    def __init__(
        self,
        show: Callable[[Question], None] | None = None,
        withdraw: Callable[[Question], None] | None = None,
        *,
        show_form: Callable[[Form], None] | None = None,
        withdraw_form: Callable[[Form], None] | None = None,
    ) -> None:
        """`show` puts a question before whoever may answer; several faces may show the same one.

        `withdraw` is told about a question that nobody needs answered any more, because its call was stopped. The
        other two are the same for forms.
        """
        self._show = show
        self._withdraw = withdraw
        self._show_form = show_form
        self._withdraw_form = withdraw_form
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._forms: dict[str, tuple[Form, asyncio.Future[FormAnswer]]] = {}
        self._closed_by: Answer | None = None

    async def ask(self, question: Question) -> Answer:
        """Show the question and wait for the first answer; once closed, that answer comes at once."""
        if self._closed_by is not None:
            return self._closed_by
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.id] = answer
        try:
            if self._show is not None:
                self._show(question)
            return await answer
        except asyncio.CancelledError:
            if self._withdraw is not None:
                self._withdraw(question)
            raise
        finally:
            del self._open[question.id]

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form and wait for what becomes of it; once closed, it is declined at once."""
        if self._closed_by is not None:
            return FormAnswer(message=self._closed_by.message)
        answer: asyncio.Future[FormAnswer] = asyncio.get_running_loop().create_future()
        self._forms[form.id] = form, answer
        try:
            if self._show_form is not None:
                self._show_form(form)
            return await answer
        except asyncio.CancelledError:
            if self._withdraw_form is not None:
                self._withdraw_form(form)
            raise
        finally:
            del self._forms[form.id]

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer a question. False when it is not open: never asked, already answered, or withdrawn."""
        waiting = self._open.get(question_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def form(self, form_id: str) -> Form | None:
        """An open form by its id."""
        found = self._forms.get(form_id)
        return None if found is None or found[1].done() else found[0]

    def answer_form(self, form_id: str, answer: FormAnswer) -> bool:
        """Answer a form. False when it is not open."""
        found = self._forms.get(form_id)
        if found is None or found[1].done():
            return False
        found[1].set_result(answer)
        return True

    def close(self, answer: Answer) -> None:
        """Nobody can be asked any more: every open question gets this answer, and so does every later one.

        Forms are declined with its message.
        """
        self._closed_by = self._closed_by or answer
        for question_id in list(self._open):
            self.answer(question_id, answer)
        for form_id in list(self._forms):
            self.answer_form(form_id, FormAnswer(message=answer.message))


class SeenQuestions:
    """Asks another asker and knows which questions wait there, for whoever shows or counts them."""

    __slots__ = ("_asker", "_forms", "_waiting")

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._waiting: dict[str, Question] = {}
        self._forms: dict[str, Form] = {}

    @property
    def waiting(self) -> tuple[Question, ...]:
        """What is not answered yet, the oldest first."""
        return tuple(self._waiting.values())

    @property
    def forms(self) -> tuple[Form, ...]:
        """What is not filled in yet, the oldest first."""
        return tuple(self._forms.values())

    async def ask(self, question: Question) -> Answer:
        """Ask the other one."""
        self._waiting[question.id] = question
        try:
            return await self._asker.ask(question)
        finally:
            self._waiting.pop(question.id, None)

    async def fill(self, form: Form) -> FormAnswer:
        """Put the form to the other one."""
        self._forms[form.id] = form
        try:
            return await fill_by(self._asker, form)
        finally:
            self._forms.pop(form.id, None)


class CoordinatorAsker:
    """Coordinator: a classifier looks first and may say yes; whatever it does not clear goes to the person.

    It looks only at questions that the mode alone raises. What a rule, a gate, the tool, a guard, a ceiling or a
    classifier wants asked is the person's to answer.
    """

    __slots__ = ("_clears", "_person")

    def __init__(self, clears: Callable[[Question], Awaitable[bool]], person: Asker) -> None:
        self._clears = clears
        self._person = person

    async def ask(self, question: Question) -> Answer:
        """Ask the classifier, then the person; a classifier that fails clears nothing."""
        trace = question.trace
        if not trace or getattr(trace[-1], "layer", None) != "mode":
            return await self._person.ask(question)
        try:
            cleared = await self._clears(question)
        except Exception:  # noqa: BLE001 - whatever is wrong with the classifier, the person decides
            cleared = False
        return Answer("allow") if cleared is True else await self._person.ask(question)

    async def fill(self, form: Form) -> FormAnswer:
        """Put the form to the person: no classifier fills in anything."""
        return await fill_by(self._person, form)


class WorkerAsker:
    """Worker: the question goes to the agent that leads, marked with who asks; rules it gives stay in this session.

    Mode and directories of a worker are those that it was started with.
    """

    __slots__ = ("_agent_id", "_answered", "_leader", "closed", "open")

    def __init__(self, agent_id: str, leader: Asker, answered: Callable[[], None] = lambda: None) -> None:
        """`answered` is called before an answer counts: meanwhile the rights may have become stricter."""
        self._agent_id = agent_id
        self._leader = leader
        self._answered = answered
        self.closed = ""
        """Why nobody is asked any more; empty as long as somebody is."""
        self.open = 0
        """How many questions wait for an answer."""

    async def ask(self, question: Question) -> Answer:
        """Ask the leader. Without a leader that answers, the answer is no."""
        if self.closed:
            return Answer(message=self.closed)
        asked = question._replace(id=f"{self._agent_id}:{question.id}", reason=f"{self._agent_id}: {question.reason}")
        self.open += 1
        try:
            answer = await self._leader.ask(asked)
        finally:
            self.open -= 1
        self._answered()
        return answer._replace(destination="session", updates=self._kept_here(answer.updates))

    async def fill(self, form: Form) -> FormAnswer:
        """Put the form to the leader."""
        if self.closed:
            return FormAnswer(message=self.closed)
        asked = form._replace(id=f"{self._agent_id}:{form.id}", message=f"{self._agent_id}: {form.message}")
        self.open += 1
        try:
            answer = await fill_by(self._leader, asked)
        finally:
            self.open -= 1
        self._answered()
        return answer._replace(updates=self._kept_here(answer.updates))

    def _kept_here(self, updates: tuple[PermissionUpdate, ...]) -> tuple[PermissionUpdate, ...]:
        here: list[PermissionUpdate] = []
        for update in updates:
            if not isinstance(update, RuleUpdate) or (update.removes and update.destination != "session"):
                _log.warning("a permission update for the agent %s is ignored: %s", self._agent_id, update)
                continue
            # What would replace a file's rules must not replace those of this session instead.
            replaces = update.replaces and update.destination == "session"
            here.append(update._replace(destination="session", replaces=replaces))
        return tuple(here)


def nobody_to_ask(asker: Asker | None) -> str | None:
    """Why no person can be asked now; None where one can."""
    if asker is None:
        return "nobody can be asked here"
    return (asker.closed or None) if isinstance(asker, WorkerAsker) else None
