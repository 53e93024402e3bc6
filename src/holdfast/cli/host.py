"""The program at the other end of standard input: its prompts, its wishes, and its answers to our questions."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.agent.history import prompt_blocks
from holdfast.cli.form_lines import FormReply, control_form_request, read_control_reply
from holdfast.cli.host_calls import HostCalls
from holdfast.cli.host_flags import is_grave
from holdfast.cli.offers import answer_initialize
from holdfast.cli.options import tell
from holdfast.cli.stream_input import (
    ControlRequest,
    HostReply,
    Message,
    PermissionAnswer,
    UserPrompt,
    control_error,
    control_success,
    permission_request,
    read_message,
)
from holdfast.cli.waiting_prompts import WaitingPrompts
from holdfast.cli.wishes import grant
from holdfast.contract import Answer, Form, FormAnswer, HoldfastError, Question, UsageError
from holdfast.engine import OpenQuestions
from holdfast.hooks.callback import callback_hooks
from holdfast.host.stdio import LineReader

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["Host"]

_GONE = Answer(message="standard input ended, so nobody can be asked any more")
_STOPPED = Answer(message="the run was stopped")
_INTERRUPT = ControlRequest("", "interrupt", {})
"""A no that also ends the turn."""


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
        self.greeting: dict[str, Any] = {}
        """What the host wished when the session began."""
        self.calls = HostCalls(write)
        """What else the host is asked: its hooks and its MCP servers."""
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._first: Message | None = None
        self.prompts = WaitingPrompts()
        self.on_asking: Callable[[str], None] = lambda _state: None
        """Told the state of the session when the host is asked something, and when that is over."""
        self._asking = 0
        self.on_mode: Callable[[str], None] = lambda _mode: None
        """Told the permission mode that the host has chosen."""
        self.on_joined: Callable[[UserPrompt], None] = lambda _prompt: None
        """Told of a prompt that joins the run under way."""
        self.used: Callable[[], dict[str, Any]] = dict
        """What the session has used so far."""
        self.running: Callable[[], list[str]] = list
        """The ids of the calls that run now."""
        self._agent: RunningAgent | None = None
        self._has_agent = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._is_running = False
        self._reader: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Begin to read; what is meant for the session waits until `serve`."""
        self._reader = asyncio.create_task(self._read(LineReader(asyncio.get_running_loop())))

    async def opening(self) -> ControlRequest | None:
        """Wait for the first line; the request if it is `initialize`, else None."""
        first = await self._inbox.get()
        if isinstance(first, ControlRequest) and first.subtype == "initialize":
            return first
        if first is None:  # the end is for whoever reads on
            self._inbox.put_nowait(None)
        self._first = first
        return None

    def serve(self, agent: "RunningAgent", dialogs: frozenset[str] = frozenset()) -> None:
        """From now on do what comes for this agent; `dialogs` are the kinds that the host can show."""
        self._dialogs = dialogs
        self.turn_to(agent)
        self._worker = asyncio.create_task(self._work())

    def turn_to(self, agent: "RunningAgent | None") -> None:
        """Another agent goes on; none: what comes waits until there is one."""
        self._agent = agent
        if agent is None:
            self._has_agent.clear()
        else:
            self._has_agent.set()

    async def ask(self, question: Question) -> Answer:
        """Put a question to the host and wait; a question that nobody needs answered any more is taken back."""
        self._asked.add(question.id)
        with self._waits():
            return await self._questions.ask(question)

    async def fill(self, form: Form) -> FormAnswer:
        """Put a form to the host and wait; what it cannot show is declined."""
        if control_form_request(form, self._dialogs) is None:
            return FormAnswer(
                message=f"the program that runs this session does not say that it shows {form.kind!r} forms"
            )
        self._forms.add(form.id)
        with self._waits():
            return await self._questions.fill(form)

    @contextmanager
    def _waits(self) -> Generator[None]:
        self._asking += 1
        if self._asking == 1:
            self.on_asking("requires_action")
        try:
            yield
        finally:
            self._asking -= 1
            if self._asking == 0:
                self.on_asking("running")

    def _show_form(self, form: Form) -> None:
        request = control_form_request(form, self._dialogs)
        assert request is not None
        self._write(request)

    async def next_prompt(self) -> UserPrompt | None:
        """Wait for the next prompt; None when there will be none."""
        self._is_running = False
        prompt = await self.prompts.next()
        self._is_running = prompt is not None
        return prompt

    def end(self) -> None:
        """Take nothing more: no prompt follows, and questions are answered with no."""
        for task in (self._reader, self._worker):
            if task is not None:
                task.cancel()
        self._questions.close(_STOPPED)
        self.calls.close(_STOPPED.message)
        self.prompts.drop_all()
        self.prompts.close()

    async def _read(self, lines: LineReader) -> None:
        """Answers count at once, for a start or a wish may wait for them; all else goes in order."""
        try:
            async for line in lines:
                if line.is_blank:
                    continue
                try:
                    self._sort(read_message(line.text(), self._forms))
                except UsageError as error:
                    tell(f"line {line.number} of standard input: {error}")
        finally:  # also when a line brings us down: nobody must wait for a next one that cannot come
            self._questions.close(_GONE)
            self.calls.close(_GONE.message)
            self._inbox.put_nowait(None)

    def _sort(self, message: Message) -> None:
        if isinstance(message, PermissionAnswer):
            for notice in message.notices:
                tell(notice)
            is_open = self._questions.answer(message.request_id, message.answer)
            if not is_open and message.request_id not in self._asked:  # a late answer is no mistake
                raise UsageError(f"no open question has the request_id {message.request_id!r}")
            if message.interrupts:
                self._inbox.put_nowait(_INTERRUPT)
        elif isinstance(message, HostReply):
            self.calls.take(message.response)
        elif isinstance(message, FormReply):
            self._take_form(message)
        else:
            if isinstance(message, UserPrompt):
                prompt_blocks(message.content)  # what cannot be sent is told now, and does not end the session later
            self._inbox.put_nowait(message)

    async def _work(self) -> None:
        message = self._first or await self._inbox.get()
        while message is not None:
            await self._has_agent.wait()
            agent = self._agent
            assert agent is not None
            if isinstance(message, UserPrompt):
                if message.is_urgent and self._is_running:
                    agent.submit(message.content, sent=message.sent)
                    self.on_joined(message)
                else:
                    self.prompts.put(message)
            elif message is _INTERRUPT:
                await agent.interrupt()
            elif isinstance(message, ControlRequest):
                await self._control(message, agent)
            message = await self._inbox.get()
        self.prompts.close()

    def _take_form(self, reply: FormReply) -> None:
        form = self._questions.form(reply.request_id)
        if form is None:  # a late answer is no mistake
            return
        try:
            answer = read_control_reply(reply, form)
        except UsageError as error:
            self._questions.answer_form(reply.request_id, FormAnswer(message=str(error)))
            raise
        self._questions.answer_form(reply.request_id, answer)
        is_no = reply.response.get("behavior") == "deny" or reply.response.get("allow") is False
        if is_no and reply.response.get("interrupt") is True:
            self._inbox.put_nowait(_INTERRUPT)

    async def _control(self, request: ControlRequest, agent: "RunningAgent") -> None:
        try:
            response = await self._do(request, agent)
        except HoldfastError as error:
            self._write(control_error(request.request_id, str(error)))
        else:
            if request.subtype == "set_permission_mode":
                self.on_mode(agent.mode)
            self._write(control_success(request.request_id, response))

    def _greeted_again(self, request: ControlRequest, agent: "RunningAgent") -> dict[str, Any]:
        """A host that greets once more: the hooks that it names take the place of those before; all else is as it was.

        Raises:
            UsageError: It wants a limit that it did not want when the session began.
        """
        fields, first = request.fields, self.greeting
        late = [name for name in sorted(fields) if fields[name] and fields[name] != first.get(name)]
        if limits := [name for name in late if name == "settings" or is_grave(name)]:
            raise UsageError(f"{', '.join(limits)}: limits of this kind are set only at the start of a session")
        if others := [name for name in late if name not in ("subtype", "hooks")]:
            tell(f"initialize: the session has begun, so nothing is done with {', '.join(others)}")
        if "hooks" in fields:
            hooks, warnings = callback_hooks(fields["hooks"], self.calls.ask_hook)
            for warning in warnings:
                tell(f"initialize: {warning}")
            agent.use_host_hooks(hooks)
        return answer_initialize(agent, request.fields, is_again=True)

    async def _do(self, request: ControlRequest, agent: "RunningAgent") -> dict[str, Any]:
        """What concerns the prompts that wait is done here; the rest is about the session."""
        fields = request.fields
        if request.subtype == "interrupt":
            cancelled = {"cancelled": self.prompts.drop_all()} if fields.get("cancel_queued") is True else {}
            still_queued = self.prompts.uuids
            await agent.interrupt()
            return {"still_queued": still_queued, **cancelled}
        if request.subtype == "cancel_async_message":
            return {"cancelled": self.prompts.drop(str(fields.get("message_uuid")))}
        if request.subtype == "initialize":
            return self._greeted_again(request, agent)
        if request.subtype == "get_usage":
            no_plan = {"subscription_type": None, "rate_limits_available": False, "rate_limits": None}
            return {"session": self.used(), **no_plan, "behaviors": None}
        if request.subtype == "end_session":
            self.prompts.drop_all()
            self.prompts.close()
            await agent.interrupt()
            return {}
        if request.subtype == "background_tasks":
            one = fields.get("tool_use_id")
            moved = [agent.background(id_) for id_ in (self.running() if one is None else [str(one)])]
            return {"backgrounded": any(moved)}
        return await grant(agent, request.subtype, fields)
