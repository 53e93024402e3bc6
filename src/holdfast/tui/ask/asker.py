"""Questions and forms put to the person at the terminal. Whatever is put away is a no."""

import asyncio
from collections.abc import Callable

from holdfast.contract import Answer, Form, FormAnswer, ModeUpdate, Question, QuestionStanding, RuleUpdate
from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import approval_menu, approval_options, home_relative, keeping_menu, mode_offered
from holdfast.tui.ask.forms import FormFiller
from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.face import Face
from holdfast.tui.show.words import cut, wrapped

__all__ = ["TerminalAsker"]

_SETTLES_S = 1.0
_SETTLED = "settled"
"""Stands for an answer that nobody gave: the rights have changed meanwhile."""


class _Open:
    """One question that waits."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.menu: Menu | None = None
        self.is_keeping = False
        """The person chooses where a rule is kept."""
        self.standing: QuestionStanding | None = None
        """What was decided without an answer."""


class TerminalAsker:
    """Asks by menus. Several questions wait side by side, and the person goes from one to the other."""

    def __init__(self, face: Face, *, answers: Callable[[Menu], int] | None = None, after_s: float = 0.0) -> None:
        """Ask by this face; with `answers`, questions answer themselves so, for who only watches."""
        self._face = face
        self._answers = answers
        self._after_s = after_s
        self._forms = FormFiller(face, self._put)
        self._filling = asyncio.Lock()
        self._open: list[_Open] = []
        self._looking: asyncio.TimerHandle | None = None
        self.on_word: Callable[[str], None] = lambda _text: None
        """Told what the person says along with a yes."""
        self.on_waiting: Callable[[str], None] = lambda _text: None
        """Told that somebody waits for the person, and why."""

    async def ask(self, question: Question) -> Answer:
        """Show the whole call and why it is asked about; the default is no."""
        self.on_waiting(f"{question.tool} waits for your answer")
        one = _Open(question)
        self._open.append(one)
        try:
            return await self._ask(one)
        finally:
            self._open.remove(one)

    def look_again_soon(self) -> None:
        """Look again when the rights have not changed for a moment: who goes through the modes means the last."""
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.get_running_loop().call_later(_SETTLES_S, self.look_again)

    def look_again(self) -> None:
        """The rights may have changed: what nobody needs to answer any more leaves, other answers may be offered."""
        for one in list(self._open):
            standing = None if one.question.standing is None else one.question.standing()
            if standing is None or one.menu is None or one.menu.is_typing:
                continue
            if standing.behavior != "ask":
                one.standing = standing
                one.menu.withdraw(_SETTLED)
            elif not one.is_keeping and standing.suggestions != one.question.suggestions:
                one.question = one.question._replace(suggestions=standing.suggestions)
                options = approval_options(one.question)
                one.menu.update(options=options, default=len(options) - 1)

    async def _ask(self, one: "_Open") -> Answer:
        has_body = True
        while True:
            one.menu = menu = approval_menu(
                one.question, self._face.columns - 1, has_body=has_body, is_whole=not self._face.opens
            )
            has_body = False
            chosen = await self._put(menu, silent=("keep", _SETTLED))
            if chosen.value not in ("keep", _SETTLED):
                return self._answer(one.question, chosen)
            kept = await self._keep(one) if chosen.value == "keep" else None
            if one.standing is not None:
                return self._settled(menu, one.standing)
            if kept is not None:
                return kept

    def _settled(self, menu: Menu, standing: QuestionStanding) -> Answer:
        """What has been decided otherwise meanwhile: the rights say it again, and no person has said yes or no."""
        self._no_longer(menu, f": {visible(standing.reason)}")
        if standing.behavior == "allow":
            return Answer("allow", by_nobody=True)
        return Answer(message=standing.reason, by_nobody=True)

    def _no_longer(self, menu: Menu, why: str = "") -> None:
        about = f" {cut(menu.subject, 60)}" if menu.subject else ""
        words = f"  ⎿ no longer asked: {menu.title}{about}{why}"
        self._face.commit(wrapped([("dim", words)], self._face.columns - 1))

    async def fill(self, form: Form) -> FormAnswer:
        """Show the form, field by field."""
        self.on_waiting(f"{form.source} waits for your input")
        async with self._filling:  # the fields of two forms must not mix
            return await self._forms.fill(form)

    def _answer(self, question: Question, chosen: Chosen) -> Answer:
        if chosen.value == "why":
            return Answer(message=chosen.text)
        if chosen.value not in ("once", "session", "mode"):
            return Answer()
        if chosen.text:
            self.on_word(chosen.text)
        if chosen.value == "once":
            return Answer("allow")
        if chosen.value == "mode":
            return Answer("allow", updates=(ModeUpdate(mode_offered(question)),))
        return Answer("allow", rules=question.suggestions, destination="session")

    async def _keep(self, one: "_Open") -> Answer | None:
        from holdfast.settings.save import places_for_rules  # noqa: PLC0415 - only for who keeps rules

        question = one.question
        files = {name: home_relative(path) for name, path in places_for_rules(question.cwd or ".").items()}
        one.menu, one.is_keeping = keeping_menu(question, files), True
        try:
            chosen = await self._put(one.menu, silent=("back", None, _SETTLED))
        finally:
            one.is_keeping = False
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
            self._no_longer(menu)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if chosen.value in silent:
            return chosen
        self._face.commit(wrapped(menu.told(chosen), self._face.columns - 1))
        return chosen
