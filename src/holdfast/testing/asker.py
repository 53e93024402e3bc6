"""A person who answers permission questions and fills in forms from a list."""

from collections import deque
from collections.abc import Iterable
from typing import Literal

from holdfast.contract import Answer, Form, FormAnswer, Question
from holdfast.testing.scripted import Gate

__all__ = ["ScriptedAsker"]


class ScriptedAsker:
    """Answers each question with the next one of a list, and remembers what was asked. An empty list means no."""

    def __init__(
        self,
        answers: Iterable[Answer | Literal["allow", "deny"]] = (),
        *,
        forms: Iterable[FormAnswer] = (),
        gate: Gate | None = None,
    ) -> None:
        self._answers = deque(answers)
        self._forms = deque(forms)
        self.forms: list[Form] = []
        """Every form, in the order they were put."""
        self._gate = gate
        self.questions: list[Question] = []
        """Every question, in the order they were asked."""
        self.withdrawn: list[Question] = []
        """Questions whose call was cancelled while the person was thinking."""

    async def ask(self, question: Question) -> Answer:
        """The next answer; with a gate, only when it is open."""
        self.questions.append(question)
        if self._gate is not None:
            try:
                await self._gate.wait()
            except BaseException:
                self.withdrawn.append(question)
                raise
        answer = self._answers.popleft() if self._answers else Answer(message="the scripted person has no answer left")
        return Answer(answer) if isinstance(answer, str) else answer

    async def fill(self, form: Form) -> FormAnswer:
        """The next answer to a form."""
        self.forms.append(form)
        if self._gate is not None:
            await self._gate.wait()
        return self._forms.popleft() if self._forms else FormAnswer(message="the scripted person has no answer left")
