"""A program that answers permission questions: it gets what a PermissionRequest hook gets, and answers like one."""

import logging
from collections.abc import Callable

from holdfast.contract import Answer, Question, SessionFacts
from holdfast.engine.call_hooks import suggested_updates
from holdfast.hooks.answers import HookFailed
from holdfast.hooks.command import CommandHandler, CommandRunner
from holdfast.hooks.inputs import PermissionRequest

__all__ = ["Approver"]

_log = logging.getLogger(__name__)


class Approver:
    """Asks a program. Only its clear yes is a yes."""

    def __init__(self, command: str, runner: CommandRunner, about: Callable[[], tuple[SessionFacts, str, str]]) -> None:
        """Take the command line, what runs it, and who knows session, directory and mode."""
        self._handler = CommandHandler(command)
        self._runner = runner
        self._about = about

    async def ask(self, question: Question) -> Answer:
        """Run the program with the question; a program that fails, or says nothing, has not said yes."""
        facts, cwd, mode = self._about()
        event = PermissionRequest(
            session_id=facts.session_id,
            transcript_path=facts.transcript_path,
            cwd=cwd,
            permission_mode=mode,
            tool_name=question.tool,
            tool_input=question.input,
            permission_suggestions=suggested_updates(question.suggestions),
        )
        try:
            said = await self._runner.run(self._handler, event)
        except HookFailed as error:
            _log.warning("the approver program failed: %s", error)
            return Answer(message=f"the approver program could not answer: {error}", by_nobody=True)
        if said.behavior == "allow":
            return Answer("allow", said.updated_input, updates=tuple(said.updates))
        if said.behavior == "deny":
            return Answer(message=f"the approver program refused: {said.reason or 'it gave no reason'}", by_nobody=True)
        return Answer(message="the approver program did not decide, so nobody said yes", by_nobody=True)
