"""One headless session: prompts in, lines out, signals and broken pipes handled, every line whole."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import events
from holdfast.app.ahead import Ahead, ask_ahead
from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.mirrors import wants_mirror
from holdfast.app.options import AgentOptions, Options
from holdfast.cli.options import say, tell, warn
from holdfast.cli.stdin_context import LIMIT_BYTES, join_prompt, piped_in
from holdfast.contract.errors import UsageError
from holdfast.events import (
    AgentTold,
    CallFinished,
    Event,
    HookRan,
    HookSpoke,
    HookStarted,
    TaskChanged,
    encode_json,
)
from holdfast.host.stdio import LineWriter
from holdfast.lib.visible import visible, without_controls
from holdfast.models import Usage
from holdfast.models.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.agent.prompts import Sent
    from holdfast.app.early import Early
    from holdfast.app.rights import Rights
    from holdfast.app.start_agent import RunningAgent
    from holdfast.app.warm import Warming
    from holdfast.cli.host import Host
    from holdfast.cli.host_talk import HostTalk
    from holdfast.cli.stream_json import StreamJson
    from holdfast.tui.watching import WatchedRun

__all__ = ["Headless", "Plan"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGINT,)

_STILL_S = 1.0
"""So long a reader may read nothing after the first signal."""
_REST = (
    "holdfast.app.start_agent",
    "holdfast.agent.loop",
    "holdfast.session.directory",
    "holdfast.cli.stream_json",
    "holdfast.app.warm",
)
"""What a run needs besides its first request."""
_BETWEEN_RUNS = (TaskChanged, AgentTold, HookStarted, HookRan, HookSpoke)
Content = str | list[dict[str, Any]]


class Plan(NamedTuple):
    """What the command line asked for."""

    prompt: str | None = None
    options: Options = Options()
    agent: AgentOptions = AgentOptions()
    choice: SessionChoice = NEW_SESSION
    output_format: str = "text"
    input_format: str = "text"
    has_partials: bool = False
    asks_host: bool = False
    prompt_tool: str = ""
    """Which tool of an MCP server decides questions instead."""
    verbose: bool = False
    replays: bool = False
    has_hook_lines: bool = False
    set_up: tuple[str, ...] = ()
    """What Setup hooks are told before the first prompt."""
    is_only_set_up: bool = False
    """The session begins for its hooks, and ends."""
    has_agent_text: bool = False
    moved: tuple[str, ...] = ()
    """What the first request of the host must bring."""


class Headless:
    """Runs the plan; `run` returns the exit code. What is public is for the part that speaks with a host."""

    lines: "StreamJson"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._writer = LineWriter()
        self._is_stream = plan.output_format == "stream-json"
        self.agent: RunningAgent | None = None
        self._warming: Warming | None = None
        self._main: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._stop_code = 0
        self._failed = False
        self._host: Host | None = None
        self._watched: WatchedRun | None = None
        self._talk: HostTalk | None = None

    async def run(self) -> int:
        """Answer everything; whatever happens, what was started is ended and what was begun to be written is whole."""
        loop = asyncio.get_running_loop()
        self._writer.start(loop, on_broken=lambda: self._stop(141))
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop, 128 + number)
        self._main = asyncio.create_task(self._work())
        try:
            await self._main
        except asyncio.CancelledError:
            if not self._stop_code:
                raise
        except ModelError as error:
            tell(str(error))
            self._failed = True
            if self.agent is None:  # without its key a model cannot be asked at all, as without a model
                self._stop_code = self._stop_code or 2
        finally:
            if self._warming is not None:
                self._warming.close()
            if self.agent is not None:
                await self.agent.close()
            await self._writer.close()
        return self._stop_code or int(self._failed)

    async def _work(self) -> None:
        plan = self.plan
        if plan.is_only_set_up:
            await self._only_set_up()
            return
        if plan.input_format == "stream-json":
            if plan.prompt is not None:
                raise UsageError(
                    "with --input-format stream-json the prompts come as lines on standard input, not as PROMPT"
                )
            from holdfast.cli.host_talk import HostTalk  # noqa: PLC0415 - only where a program speaks to us

            self._talk = HostTalk(self)
            self._host = self._talk.host
            await self._talk.go()
            return
        prompt = await self._text_prompt()
        if isinstance(prompt, str) and (ahead := await ask_ahead(plan.options, plan.agent, plan.choice, prompt)):
            await self._go_on(ahead, prompt)
            return
        await self.start()
        await self.set_up()
        await self.answer(prompt)

    async def _go_on(self, ahead: Ahead, prompt: str) -> None:
        """The first request is on its way: begin the session, load the rest, and answer."""
        await asyncio.sleep(0)  # the request goes out first
        from holdfast.app.early import Early  # noqa: PLC0415 - see above

        early = Early(ahead.rights.settings.cwd, self.plan.choice, prompt, _REST)
        try:
            if await self._answered_in_words(ahead, early):
                return
            await early.loaded
            await self.start(ahead, early)
        except BaseException:
            await ahead.close()
            raise
        finally:
            await early.close()
        await self.set_up()
        await self.answer(None)  # the prompt waits in the session

    async def _answered_in_words(self, ahead: Ahead, early: "Early") -> bool:
        """Whether the answer was nothing but words and came before the rest was there; then that was all."""
        if (
            self.plan.output_format != "text"
            or self.plan.set_up
            or any(name.startswith("OTEL_") for name in os.environ)
            or wants_mirror(self.plan.options, ahead.rights)
        ):
            return False
        waiting = asyncio.ensure_future(ahead.words())
        await asyncio.wait([waiting, early.loaded], return_when=asyncio.FIRST_COMPLETED)
        words = waiting.result() if waiting.done() and not early.loaded.done() else None
        waiting.cancel()
        if words is None:
            return False
        from holdfast.app.words import record_words  # noqa: PLC0415 - only here

        beginning = await early.beginning()
        self._warn(ahead.rights, ahead.place.instructions.warnings)
        if beginning.session is not None:
            record_words(beginning.session, early.prompt, words, asked=ahead.models[0].name)
        self._write_words(words.text)
        await ahead.close()
        return True

    async def _only_set_up(self) -> None:
        try:
            await self.start()
        except (ModelError, UsageError):  # nobody is asked anything, so nobody needs a model or its key
            from holdfast.models.scripted import ScriptedModel  # noqa: PLC0415 - only here

            self.plan = self.plan._replace(agent=self.plan.agent._replace(model=ScriptedModel([])))
            await self.start()
        await self.set_up()
        assert self.agent is not None
        await self.agent.begin()

    async def set_up(self) -> None:
        """Let Setup hooks prepare the project, where the command line says so."""
        assert self.agent is not None
        for trigger in self.plan.set_up:
            await self.agent.set_up(trigger)

    def _hear(self, event: Event) -> None:
        """What happens while no run is under way; a run tells its own events."""
        if self.agent is None or self.agent.is_running or not isinstance(event, _BETWEEN_RUNS):
            return
        self._pass_on(event)
        if self._is_stream:
            for line in self.lines.lines(event):
                self.write(line)
        if self._talk is not None and isinstance(event, TaskChanged):
            self._talk.task_changed(event)

    async def _text_prompt(self) -> Content:
        given = self.plan.prompt
        piped = await piped_in(has_prompt=bool(given and given.strip()))
        if piped.is_silent:
            tell("standard input is open but silent; going on without it")
        if piped.is_cut:
            tell(f"only the first {LIMIT_BYTES:,} bytes of standard input are used")
        prompt = join_prompt(given, piped)
        if isinstance(prompt, str) and not prompt.strip():
            raise UsageError("there is no prompt; give one as `holdfast -p PROMPT`, or pipe it in")
        return prompt

    def _warn(self, rights: "Rights", warnings: "Iterable[str]") -> None:
        """Say on standard error what does not count."""
        warn(rights)
        for warning in warnings:
            tell(warning)

    async def start(self, ahead: Ahead | None = None, early: "Early | None" = None) -> None:
        """Make the agent that the plan describes, and the lines that tell of it."""
        plan = self.plan
        agent = self.agent = await self._put_together(ahead, early)
        from holdfast.cli.progress import ProgressLines, wants_progress  # noqa: PLC0415 - behind the first request
        from holdfast.cli.session_facts import facts_of  # noqa: PLC0415 - the same
        from holdfast.cli.stream_json import StreamJson, tell_mirrored  # noqa: PLC0415 - the same

        agent.let_hooks_defer()
        if plan.options.mirror and self._is_stream:
            agent.mirror_to(lambda path, entries: tell_mirrored(self.write, path, entries))
        self._warn(agent.rights, (*agent.warnings, *agent.server_notices))
        agent.tell_of_servers(tell)
        if plan.agent.max_budget_usd is not None and agent.model.cost_usd(Usage(1, 1)) is None:
            name = visible(agent.model.name)
            tell(f"the prices of {name} are not known, so --max-budget-usd cannot be enforced")
        self.lines = StreamJson(
            facts_of(agent),
            has_partials=plan.has_partials,
            has_hooks=plan.has_hook_lines,
            has_agent_text=plan.has_agent_text,
        )
        # A program that reads lines gets everything there; its log is for warnings.
        is_verbose = plan.verbose and plan.output_format == "text"
        self._watched = _watched(agent, plan)
        wants_lines = self._watched is None and not self._is_stream and wants_progress(verbose=is_verbose)
        self._progress = ProgressLines(agent.tools) if wants_lines else None
        if self._is_stream and self._host is None:
            self.write(self.lines.init(agent))

    async def _put_together(self, ahead: Ahead | None, early: "Early | None") -> "RunningAgent":
        from holdfast.app.start_agent import start_agent  # noqa: PLC0415 - loaded just now
        from holdfast.app.warm import Warming  # noqa: PLC0415 - the same

        plan = self.plan
        asker, tool = self._host if plan.asks_host else None, None
        if plan.prompt_tool:
            from holdfast.app.asking_tool import AskingTool  # noqa: PLC0415 - few sessions have one
            from holdfast.cli.host_answers import read_tool_answer  # noqa: PLC0415 - the same

            asker = tool = AskingTool(plan.prompt_tool, read_tool_answer)
        agent = await start_agent(
            plan.options, plan.agent, choice=plan.choice, asker=asker, on_event=self._hear, ahead=ahead, early=early
        )
        if tool is not None:
            self.agent = agent  # it is ended if this fails
            tool.serve(agent)
        if self._warming is not None:
            self._warming.close()
        self._warming = Warming(agent.tools, agent.permissions)
        return agent

    async def answer(self, prompt: Content | None, sent: "Sent | None" = None) -> None:
        """Answer a prompt, or tell the model what has happened, and write all of it."""
        assert self.agent is not None
        async for event in self.agent.run(prompt, sent):
            self._take(event)
            await self._writer.drained()

    def _pass_on(self, event: Event) -> None:
        """What hooks and the model have to tell the user, whatever the answer will be."""
        is_told = self._is_stream and not (isinstance(event, HookSpoke) and event.is_warning)  # by a line
        if is_told or self._watched is not None:
            return
        if isinstance(event, HookSpoke):
            tell(f"{event.event} hook: {event.text}")
        elif isinstance(event, CallFinished) and event.name == "SendUserMessage" and event.display:
            say(without_controls(event.display))

    def _take(self, event: Event) -> None:
        if self._watched is not None:
            self._watched.take(event)
        elif self._progress is not None:
            self._progress.take(event)
        elif isinstance(event, events.RequestRetried):  # silence of minutes needs a word
            said = f"attempt {event.attempt} failed, the next in {event.delay_s:.1f} s: {event.reason}"
            tell(said)
        self._pass_on(event)
        if self._is_stream:
            for line in self.lines.lines(event):
                self.write(line)
        else:
            self.lines.count_only(event)
        if isinstance(event, events.RunEnded):
            self._failed = event.outcome not in ("success", "stopped_by_hook", "tool_deferred")
            if self.plan.output_format == "json":
                self.write(self.lines.result(event))
            elif not self._is_stream:
                self._write_text(event)
            if event.denials and not self._is_stream:
                self._tell_refusals(event)

    def _write_text(self, ended: "events.RunEnded") -> None:
        """The last message; with a schema, the data. What went wrong stands on standard error."""
        if self._watched is not None:  # all of it is on the screen
            self._watched.close()
            return
        if ended.structured_output is not None:
            self._writer.write(encode_json(ended.structured_output))
        elif ended.text:
            self._write_words(ended.text)
        if ended.outcome != "success":
            reason = ended.error or ended.outcome.removeprefix("error_").replace("_", " ")
            tell(reason)

    def _write_words(self, text: str) -> None:
        """A program gets the very bytes; a person's terminal must not obey what a model wrote."""
        if os.isatty(1) and os.isatty(2):
            from holdfast.tui.watching import drawn_answer  # noqa: PLC0415 - only at a terminal

            text = drawn_answer(text)
        elif os.isatty(1):
            text = without_controls(text)
        self._writer.write(text.encode("utf-8", "backslashreplace"))

    def _tell_refusals(self, ended: "events.RunEnded") -> None:
        from holdfast.cli.refusals import refusal_line  # noqa: PLC0415 - only where something was refused

        assert self.agent is not None
        line = refusal_line(ended.denials, self.agent.permissions, self.agent.cwd)
        tell(line)

    def write(self, line: dict[str, Any]) -> None:
        """Write a line."""
        if not self._is_stream:
            self._writer.write(encode_json(line))
            return
        from holdfast.cli.short_lines import short_line  # noqa: PLC0415 - behind the first request

        self._writer.write(short_line(line))

    def _stop(self, code: int) -> None:
        """First the run is interrupted, and still tells how it ended; a second signal does not wait for that."""
        is_first = not self._stop_code
        self._stop_code = self._stop_code or code
        if self._main is None:
            return
        if self._host is not None:
            self._host.end()
        if is_first:
            self._writer.give_up_on_a_still_reader(_STILL_S)
        if is_first and self.agent is not None:
            self._stopping = asyncio.create_task(self.agent.interrupt())
        else:
            self._writer.abandon()  # the reader may never read again
            self._main.cancel()


def _watched(agent: "RunningAgent", plan: Plan) -> "WatchedRun | None":
    """A person at a terminal sees the run as the session shows it; programs and pipes get the text alone."""
    if plan.output_format != "text" or plan.agent.output_schema is not None or not (os.isatty(1) and os.isatty(2)):
        return None
    from holdfast.tui.watching import WatchedRun, is_watched  # noqa: PLC0415 - only at a terminal

    return WatchedRun(agent) if is_watched() else None
