"""A tool of an MCP server that decides permission questions, in the place of a person (`--permission-prompt-tool`)."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.app.hook_roles import call_server
from holdfast.contract import Answer, Form, FormAnswer, Question, UsageError
from holdfast.engine.forms import from_answer, sampling_question
from holdfast.hooks import HookFailed

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["AskingTool"]

_SHOWN_CHARS = 500


class AskingTool:
    """Asks the tool. Whatever goes wrong is a no, with the reason."""

    def __init__(self, name: str, read: Callable[[str], tuple[Answer, bool]]) -> None:
        """Ask the tool of this full name, `mcp__SERVER__TOOL`.

        Args:
            name: Of the tool.
            read: Makes an answer of its text, and says whether a no also ends the run. What is no answer it refuses
                with a `UsageError`.

        Raises:
            UsageError: It cannot be the name of a remote tool.
        """
        parts = name.split("__", 2)
        if len(parts) != 3 or parts[0] != "mcp" or not all(parts):
            raise UsageError(
                f"--permission-prompt-tool {name!r}: write `stdio`, or a tool of an MCP server as mcp__SERVER__TOOL"
            )
        self.name = name
        self._server, self._tool = parts[1:]
        self._read = read
        self._agent: RunningAgent | None = None
        self._ending: asyncio.Task[None] | None = None

    def serve(self, agent: "RunningAgent") -> None:
        """Answer the questions of this agent.

        Raises:
            UsageError: The server is not there.
        """
        if agent.servers is None or agent.servers.find(self._server) is None:
            raise UsageError(f"--permission-prompt-tool {self.name}: this session has no MCP server {self._server!r}")
        self._agent = agent

    async def ask(self, question: Question) -> Answer:
        """What the tool says to a call."""
        agent = self._agent
        if agent is None:
            return Answer(message="nobody can be asked yet")
        given = {"tool_name": question.tool, "input": dict(question.input), "tool_use_id": question.tool_use_id}
        try:
            said = await call_server(agent.opened, self._server, self._tool, given)
            if said.is_error:
                return Answer(message=f"{self.name} failed, so the answer is no: {said.text[:_SHOWN_CHARS]}")
            answer, ends_run = self._read(said.text)
        except (HookFailed, UsageError) as error:
            return Answer(message=f"{self.name} did not decide, so the answer is no: {error}")
        if ends_run:
            self._ending = asyncio.create_task(agent.interrupt())
        return answer

    async def fill(self, form: Form) -> FormAnswer:
        """It fills in no forms, but what is a yes or no it may answer; not for the server that it is of."""
        servers = None if self._agent is None else self._agent.servers
        is_own = servers is None or servers.find(form.source) is servers.find(self._server)
        if form.kind == "sampling" and not is_own:
            return from_answer(form, await self.ask(sampling_question(form)))
        return FormAnswer(message=f"nobody can fill in {form.kind!r} forms here")
