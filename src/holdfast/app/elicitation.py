"""Questions of MCP servers to the user: hooks hear them first, then a person answers, then hooks hear the answer."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from holdfast.app.build import OpenSession
from holdfast.contract import Form, FormAnswer, UsageError, check_answer
from holdfast.engine.forms import FormDesk
from holdfast.mcp.elicitation import form_of, result_of
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.hooks.hear import Verdict
    from holdfast.mcp.auth.badge import AskPerson

__all__ = ["Elicitor"]

_ACTIONS = ("accept", "decline", "cancel")
_MOST_REFUSALS: Final = 3
_QUIET_S: Final = 60.0


class _Patience:
    """With one server: after some refusals in a row it has to wait, so that nobody says yes to be left in peace."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.turn = asyncio.Lock()
        """One question at a time."""
        self._now = now
        self._refusals = 0
        self._answered = 0.0

    def is_over(self) -> bool:
        """Nobody is asked now."""
        if self._now() - self._answered > _QUIET_S:
            self._refusals = 0
        return self._refusals >= _MOST_REFUSALS

    def answered(self, *, refused: bool) -> None:
        """A person has said something."""
        self._refusals = self._refusals + 1 if refused else 0
        self._answered = self._now()


class Elicitor:
    """Puts the questions of servers, of one session."""

    def __init__(self, opened: OpenSession, now: Callable[[], float] = time.monotonic) -> None:
        """Take the session, and a clock."""
        self._patience: defaultdict[str, _Patience] = defaultdict(lambda: _Patience(now))
        self._hooks = opened.executor.call_hooks
        self._desk = FormDesk(opened.form_asker, self._hooks.emit, self._hooks.notify)

    @property
    def has_person(self) -> bool:
        """Somebody can be asked, or a hook may answer."""
        return self._desk.has_person or self._hooks.hears_of("Elicitation")

    async def elicit(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What becomes of one question.

        Raises:
            RpcError: It cannot be put to a person.
        """
        form = form_of(server, params)
        answer = await self._by_hooks(form)
        if answer is None:
            answer = await self._by_person(server, form)
        return result_of(form, await self._heard(form, answer))

    async def _by_person(self, server: str, form: Form) -> FormAnswer:
        patience = self._patience[server]
        async with patience.turn:
            if patience.is_over():
                return FormAnswer(
                    message=f"the user has refused {_MOST_REFUSALS} times in a row, and is not asked again"
                )
            answer = await self._desk.put(form)
            patience.answered(refused=answer.action != "accept")
            return answer

    def login_asker(self, server: str) -> "AskPerson":
        """How the user is asked to log in to a server in the middle of a call."""

        async def ask(url: str, give: Callable[[str], bool]) -> None:
            del give
            message = f"The MCP server {server} wants you to log in. Open this address, and the call goes on after it."
            answer = await self._desk.put(Form("url", message, server, url=url))
            if answer.action != "accept":
                raise McpError(f"the user did not log in to {server}: {answer.message or 'no reason was given'}")

        return ask

    async def _by_hooks(self, form: Form) -> FormAnswer | None:
        """A hook may answer instead of the user, or refuse; None when none of them does."""
        if not self._hooks.hears_of("Elicitation"):
            return None
        from holdfast.hooks.session_inputs import Elicitation  # noqa: PLC0415 - few have such hooks

        event = self._hooks.fill(
            Elicitation,
            mcp_server_name=form.source,
            message=form.message,
            mode=str(form.details.get("mode", "form")),
            requested_schema=form.details.get("requested_schema"),
        )
        verdict = await self._hooks.fire(event)
        if verdict.blocks:
            return FormAnswer(message=verdict.reason or "a hook refused the question")
        return _answer_in(form, verdict)

    async def _heard(self, form: Form, answer: FormAnswer) -> FormAnswer:
        """A hook may change the answer, or keep it from the server."""
        if not self._hooks.hears_of("ElicitationResult"):
            return answer
        from holdfast.hooks.session_inputs import ElicitationResult  # noqa: PLC0415 - the same

        event = self._hooks.fill(
            ElicitationResult,
            mcp_server_name=form.source,
            action=answer.action,
            content=dict(answer.values),
            mode=str(form.details.get("mode", "form")),
            elicitation_id=str(form.details.get("elicitation_id", "")),
        )
        verdict = await self._hooks.fire(event)
        if verdict.blocks:
            return FormAnswer(message=verdict.reason or "a hook kept the answer back")
        return _answer_in(form, verdict) or answer


def _answer_in(form: Form, verdict: "Verdict") -> FormAnswer | None:
    """The answer that a hook gives; one that does not fit the form is a no."""
    action, content = verdict.more.get("action"), verdict.more.get("content")
    if action not in _ACTIONS:
        return None
    values = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    try:
        return check_answer(form, FormAnswer(action, values))
    except UsageError as error:
        return FormAnswer(message=str(error))
