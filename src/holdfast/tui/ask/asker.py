"""Questions and forms put to the person at the terminal. Whatever is put away is a no."""

import asyncio
from collections.abc import Callable

from holdfast.contract import Answer, Form, FormAnswer, Question, RuleUpdate
from holdfast.tui.ask.approval import approval_menu, home_relative, keeping_menu, whole_question
from holdfast.tui.ask.forms import FormFiller
from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.face import Face
from holdfast.tui.show.words import wrapped

__all__ = ["TerminalAsker"]


class TerminalAsker:
    """Asks by menus. Several questions wait side by side, and the person goes from one to the other."""

    def __init__(self, face: Face, *, answers: Callable[[Menu], int] | None = None, after_s: float = 0.0) -> None:
        """Ask by this face; with `answers`, questions answer themselves so, for who only watches."""
        self._face = face
        self._answers = answers
        self._after_s = after_s
        self._forms = FormFiller(face, self._put)
        self._filling = asyncio.Lock()
        self.on_word: Callable[[str], None] = lambda _text: None
        """Told what the person says along with a yes."""
        self.on_waiting: Callable[[str], None] = lambda _text: None
        """Told that somebody waits for the person, and why."""

    async def ask(self, question: Question) -> Answer:
        """Show the whole call and why it is asked about; the default is no."""
        self.on_waiting(f"{question.tool} waits for your answer")
        has_body = True
        while True:
            menu = approval_menu(question, self._face.columns - 1, has_body=has_body, is_whole=not self._face.opens)
            menu.opens = lambda: whole_question(question)
            has_body = False
            chosen = await self._put(menu, silent=("keep",))
            if chosen.value != "keep":
                return self._answer(question, chosen)
            kept = await self._keep(question)
            if kept is not None:
                return kept

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form, field by field."""
        self.on_waiting(f"{form.source} waits for your input")
        async with self._filling:  # the fields of two forms must not mix
            return await self._forms.fill(form)

    def _answer(self, question: Question, chosen: Chosen) -> Answer:
        if chosen.value == "why":
            return Answer(message=chosen.text)
        if chosen.value not in ("once", "session"):
            return Answer()
        if chosen.text:
            self.on_word(chosen.text)
        if chosen.value == "once":
            return Answer("allow")
        return Answer("allow", rules=question.suggestions, destination="session")

    async def _keep(self, question: Question) -> Answer | None:
        from holdfast.settings.save import places_for_rules  # noqa: PLC0415 - only for who keeps rules

        files = {name: home_relative(path) for name, path in places_for_rules(question.cwd or ".").items()}
        chosen = await self._put(keeping_menu(question, files), silent=("back", None))
        behavior, _, destination = (chosen.value or "").partition(" ")
        if behavior == "allow":
            return Answer("allow", rules=question.suggestions, destination=destination)
        if behavior == "deny":
            return Answer(updates=(RuleUpdate("deny", question.suggestions, destination),))
        return None

    async def _put(self, menu: Menu, *, silent: tuple[str | None, ...] = ()) -> Chosen:
        """Put a question; what was chosen stays in sight, unless it only leads to another one."""
        pick, loop = self._answers, asyncio.get_running_loop()
        timer = None if pick is None else loop.call_later(self._after_s, lambda: menu.answer_with(pick(menu)))
        try:
            chosen = await self._face.choose(menu)
        except asyncio.CancelledError:
            menu.withdraw()
            self._face.commit([[("dim", f"  ⎿ no longer asked: {menu.title}")]])
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if chosen.value in silent:
            return chosen
        self._face.commit(wrapped(menu.told(chosen), self._face.columns - 1))
        return chosen
