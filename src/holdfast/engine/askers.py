"""Ways to put a permission question: to a face, to a classifier first, or to the agent that leads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from holdfast.contract import Answer, Asker, PermissionUpdate, Question, RuleUpdate

__all__ = ["CoordinatorAsker", "OpenQuestions", "WorkerAsker"]

_log = logging.getLogger(__name__)


class OpenQuestions:
    """Interactive: questions wait here until a face answers. The first answer counts, later ones are told so."""

    __slots__ = ("_closed_by", "_open", "_show", "_withdraw")

    def __init__(self, show: Callable[[Question], None], withdraw: Callable[[Question], None] | None = None) -> None:
        """`show` puts a question before whoever may answer; several faces may show the same one.

        `withdraw` is told about a question that nobody needs answered any more, because its call was stopped.
        """
        self._show = show
        self._withdraw = withdraw
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._closed_by: Answer | None = None

    async def ask(self, question: Question) -> Answer:
        """Show the question and wait for the first answer; once closed, that answer comes at once."""
        if self._closed_by is not None:
            return self._closed_by
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.id] = answer
        try:
            self._show(question)
            return await answer
        except asyncio.CancelledError:
            if self._withdraw is not None:
                self._withdraw(question)
            raise
        finally:
            del self._open[question.id]

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer a question. False when it is not open: never asked, already answered, or withdrawn."""
        waiting = self._open.get(question_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def close(self, answer: Answer) -> None:
        """Nobody can be asked any more: every open question gets this answer, and so does every later one."""
        self._closed_by = self._closed_by or answer
        for question_id in list(self._open):
            self.answer(question_id, answer)


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


class WorkerAsker:
    """Worker: the question goes to the agent that leads, marked with who asks; rules it gives stay in this session.

    Mode and directories of a worker are those that it was started with.
    """

    __slots__ = ("_agent_id", "_leader")

    def __init__(self, agent_id: str, leader: Asker) -> None:
        self._agent_id = agent_id
        self._leader = leader

    async def ask(self, question: Question) -> Answer:
        """Ask the leader. Without a leader that answers, the answer is no."""
        asked = question._replace(id=f"{self._agent_id}:{question.id}", reason=f"{self._agent_id}: {question.reason}")
        answer = await self._leader.ask(asked)
        here: list[PermissionUpdate] = []
        for update in answer.updates:
            if not isinstance(update, RuleUpdate) or (update.removes and update.destination != "session"):
                _log.warning("a permission update for the agent %s does not count: %s", self._agent_id, update)
                continue
            # What would replace a file's rules must not replace those of this session instead.
            replaces = update.replaces and update.destination == "session"
            here.append(update._replace(destination="session", replaces=replaces))
        return answer._replace(destination="session", updates=tuple(here))
