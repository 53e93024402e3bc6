"""The program at the other end of standard input: its prompts, its wishes, and its answers to our questions."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.agent.history import prompt_blocks
from holdfast.cli.form_lines import FormReply, control_form_request, read_control_reply
from holdfast.cli.lines import LineReader
from holdfast.cli.stream_input import (
    ControlRequest,
    Message,
    PermissionAnswer,
    UserPrompt,
    control_error,
    control_success,
    permission_request,
    read_message,
)
from holdfast.contract import Answer, Form, FormAnswer, HoldfastError, Question, UsageError
from holdfast.engine import OpenQuestions

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["Host"]

Content = str | list[dict[str, Any]]
_GONE = Answer(message="standard input ended, so nobody can be asked any more")
_STOPPED = Answer(message="the run was stopped")


class Host:
    """Reads lines beside the run, so that an answer or an interrupt arrives while the model works."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._questions = OpenQuestions(
            lambda question: write(permission_request(question)),
            lambda question: write({"type": "control_cancel_request", "request_id": question.id}),
            show_form=self._show_form,
            withdraw_form=lambda form: write({"type": "control_cancel_request", "request_id": form.id}),
        )
        self._asked: set[str] = set()
        self._forms: set[str] = set()
        self._dialogs: frozenset[str] = frozenset()
        """The kinds of dialogs that the host says it can show."""
        self._prompts: asyncio.Queue[Content | None] = asyncio.Queue()
        self._is_running = False
        self._reader: asyncio.Task[None] | None = None

    def listen(self, agent: "RunningAgent") -> None:
        """Begin to read; wishes are for this agent."""
        self._reader = asyncio.create_task(self._read(LineReader(asyncio.get_running_loop()), agent))

    async def ask(self, question: Question) -> Answer:
        """Put a question to the host and wait; a question that nobody needs answered any more is taken back."""
        self._asked.add(question.id)
        return await self._questions.ask(question)

    async def fill(self, form: Form) -> FormAnswer:
        """Put a form to the host and wait; what it cannot show is declined."""
        if control_form_request(form, self._dialogs) is None:
            return FormAnswer(
                message=f"the program that runs this session does not say that it shows {form.kind!r} forms"
            )
        self._forms.add(form.id)
        return await self._questions.fill(form)

    def _show_form(self, form: Form) -> None:
        request = control_form_request(form, self._dialogs)
        assert request is not None
        self._write(request)

    async def next_prompt(self) -> Content | None:
        """Wait for the next prompt; None when there will be none."""
        self._is_running = False
        prompt = await self._prompts.get()
        self._is_running = prompt is not None
        return prompt

    def end(self) -> None:
        """Take nothing more: no prompt follows, and questions are answered with no."""
        if self._reader is not None:
            self._reader.cancel()
        self._questions.close(_STOPPED)
        self._prompts.put_nowait(None)

    async def _read(self, lines: LineReader, agent: "RunningAgent") -> None:
        try:
            async for line in lines:
                if line.is_blank:
                    continue
                try:
                    await self._take(read_message(line.text(), self._forms), agent)
                except UsageError as error:
                    self._write({"type": "error", "line": line.number, "message": str(error)})
        finally:  # also when a line brings us down: nobody must wait for a next one that cannot come
            self._questions.close(_GONE)
            self._prompts.put_nowait(None)

    async def _take(self, message: Message, agent: "RunningAgent") -> None:
        if isinstance(message, UserPrompt):
            prompt_blocks(message.content)  # what cannot be sent is told now, and does not end the session later
            if message.is_urgent and self._is_running:
                agent.submit(message.content)
            else:
                self._prompts.put_nowait(message.content)
        elif isinstance(message, ControlRequest):
            await self._control(message, agent)
        elif isinstance(message, PermissionAnswer):
            is_open = self._questions.answer(message.request_id, message.answer)
            if not is_open and message.request_id not in self._asked:  # a late answer is no mistake
                raise UsageError(f"no open question has the request_id {message.request_id!r}")
            if message.interrupts:
                await agent.interrupt()
        elif isinstance(message, FormReply):
            await self._take_form(message, agent)

    async def _take_form(self, reply: FormReply, agent: "RunningAgent") -> None:
        form = self._questions.form(reply.request_id)
        if form is None:  # a late answer is no mistake
            return
        try:
            answer = read_control_reply(reply, form)
        except UsageError as error:
            self._questions.answer_form(reply.request_id, FormAnswer(message=str(error)))
            raise
        self._questions.answer_form(reply.request_id, answer)
        if reply.response.get("behavior") == "deny" and reply.response.get("interrupt") is True:
            await agent.interrupt()

    async def _control(self, request: ControlRequest, agent: "RunningAgent") -> None:
        try:
            response = await self._do(request, agent)
        except HoldfastError as error:
            self._write(control_error(request.request_id, str(error)))
        else:
            self._write(control_success(request.request_id, response))

    async def _do(self, request: ControlRequest, agent: "RunningAgent") -> dict[str, Any]:
        wish, fields = request.subtype, request.fields
        if wish == "initialize":
            kinds = fields.get("supportedDialogKinds")
            self._dialogs = frozenset(map(str, kinds)) if isinstance(kinds, list) else frozenset()  # pyright: ignore[reportUnknownArgumentType] - a host's list
            return {"commands": [], "agents": [], "models": [], "output_style": "default", "account": {}}
        if wish == "interrupt":
            await agent.interrupt()
            return {}
        if wish == "set_permission_mode":
            return {"mode": agent.change_mode(str(fields.get("mode")))}
        if wish == "set_model":
            agent.change_model(str(fields.get("model") or ""))
            return {}
        raise UsageError(f"the control request {wish!r} is not known here")
