"""The agent loop: a prompt in, events out, and a conversation that can always go on."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from holdfast.agent import notes
from holdfast.agent.between import Between
from holdfast.agent.choices import LoopChoices
from holdfast.agent.compact import Compactor
from holdfast.agent.feed import Feed
from holdfast.agent.gates import Gates
from holdfast.agent.history import Block, Message
from holdfast.agent.parts import LoopParts
from holdfast.agent.prompts import PromptQueue, Sent
from holdfast.agent.repeats import RepeatGuard
from holdfast.agent.run import Run
from holdfast.agent.state import LoopState
from holdfast.agent.thoughts import Thoughts
from holdfast.contract import UsageError
from holdfast.engine import Executor
from holdfast.events import (
    ContextCompacted,
    Event,
    InstructionsLoaded,
    PromptSource,
    SessionEnded,
    SessionStarted,
)
from holdfast.models import Effort, Model, Usage

__all__ = ["Loop"]

_NOTHING_ELSE = LoopParts()
_PLAIN = Sent()


class Loop:
    """One agent: a model, an executor, and their conversation. One run at a time, all in one thread.

    Every event of a run comes out of `run`, the executor's too. Give the journal to the executor as well: the loop
    writes only messages to it.
    """

    def __init__(self, executor: Executor, model: Model, parts: LoopParts = _NOTHING_ELSE) -> None:
        """Begin or go on with a conversation.

        Args:
            executor: Runs the calls; the loop listens to it.
            model: Who is asked.
            parts: What it stands on besides.
        """
        self._state = LoopState(executor, model, parts, self._emit)
        queue = PromptQueue(parts.journal)
        queue.restore(parts.queued)
        # What was said before is the state's now, and must not stay when that shortens it.
        self._parts = parts._replace(source=parts.begins_as, history=(), queued=(), deferred=())
        self._gates = Gates(executor.call_hooks)
        self._between = Between(self._state, self._parts, self._gates, queue)
        self._compactor = Compactor(self._state, self._between)
        self._guard = RepeatGuard()
        self._for_run: list[Model] = []
        self._choices_before: LoopChoices | None = None
        self._is_started = False
        self._feed: Feed | None = None
        self._driver: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._is_compacting = False
        executor.listen(self.hear)

    # What it knows.

    @property
    def history(self) -> list[Message]:
        """The conversation as the next request would send it; valid for providers at every moment."""
        return self._state.history.messages

    @property
    def usage(self) -> Usage:
        """What all requests of this loop used."""
        return self._state.usage

    @property
    def cost_usd(self) -> float | None:
        """What they cost; None as long as no price is known."""
        return self._state.cost_usd

    @property
    def context_tokens(self) -> int:
        """About how much of the model's window the conversation fills."""
        return self._state.context_tokens()

    @property
    def thoughts(self) -> Thoughts:
        """Whose thoughts are in the history; an agent that inherits the conversation needs them, too."""
        return self._state.thoughts

    @property
    def model(self) -> Model:
        """Who is asked; another one takes over with the next request."""
        return self._state.model

    @model.setter
    def model(self, model: Model) -> None:
        self._state.model = model

    @property
    def choices(self) -> LoopChoices:
        """Limits and settings; new ones count from the next request."""
        return self._state.choices

    @choices.setter
    def choices(self, choices: LoopChoices) -> None:
        self._state.choices = choices

    @property
    def state(self) -> LoopState:
        """What its parts share, for whoever builds a part of a loop; faces need none of it."""
        return self._state

    @property
    def is_running(self) -> bool:
        """A run is under way."""
        return self._driver is not None

    @property
    def has_news(self) -> bool:
        """Something waits to be told although nobody has said anything, such as the end of a background task."""
        return self._between.poll()

    # Talking.

    async def run(self, prompt: str | list[Block] | None = None, sent: Sent = _PLAIN) -> AsyncGenerator[Event, None]:
        """Answer a prompt: the loop's and the executor's events at once, `RunEnded` last.

        Without a prompt the queued ones are delivered, or an unfinished conversation goes on. A slow reader does not
        slow the work down. Closing the iterator stops the run: every call is cancelled, awaited and answered.

        Raises:
            UsageError: A run is under way already, or there is nothing to say.
        """
        feed = self._begin(prompt, sent)
        driver = self._driver = asyncio.get_running_loop().create_task(self._drive(feed))
        driver.add_done_callback(lambda _: feed.close())
        events = feed.events
        try:
            while True:
                while events:
                    yield events.popleft()
                if feed.is_closed:
                    break
                await feed.wait()
        finally:
            try:
                await self._stop(driver)
            finally:
                self._driver = self._feed = None
        driver.result()

    async def set_up(self, trigger: str) -> None:
        """Let the hooks prepare the project, before the first run."""
        self._between.take_word(await self._gates.ask("Setup", trigger=trigger))

    async def begin(self) -> None:
        """Announce the session and let the hooks hear of it, once; the first run does it, too."""
        if self._is_started:
            return
        self._is_started = True
        self._announce()
        self._between.take_word(await self._gates.start(self._parts.begins_as, self._state.model.name))

    def submit(self, prompt: str | list[Block], source: PromptSource = "user", sent: Sent = _PLAIN) -> None:
        """Say something while a run is under way: it is delivered between turns, once, in order, users first.

        A user's message cuts short what may be cut short. Without a run it waits for the next one. What waits is in the
        journal: a crash does not lose it.
        """
        if self._gates.has("UserPromptSubmit"):  # what a hook may keep from the model is not written down before
            self._between.queue.put(prompt, source, sent)
        else:
            self._between.queue.put_lasting(prompt, source, sent)
        if source == "user" and self._driver is not None:
            self._state.executor.user_message()

    def remind(self, kind: str, text: str) -> None:
        """Tell the model something small with the next request, once."""
        self._between.remind(kind, text)

    def look_for_skills(self) -> None:
        """Look for skills again, and tell the model of those that are new."""
        reload = self._parts.reload_skills
        if reload is not None and (found := reload()):
            self._between.remind("skills", found)

    def pay(self, model: Model, usage: Usage) -> None:
        """A model was asked beside the conversation: this is what it used, and it counts."""
        self._state.pay(model, usage)

    def choose_for_run(self, model: Model | None, effort: Effort | None = None, **limits: Any) -> None:
        """Let this run, or the next one, have another model, which is closed with its end, effort and limits."""
        state = self._state
        if model is not None:
            self._for_run.append(model)
            state.chosen = model
        chosen = limits if effort is None else {**limits, "effort": effort}
        if chosen:
            self._choices_before = self._choices_before or state.choices
            state.choices = state.choices._replace(**chosen)

    def announce(self, event: Event) -> None:
        """Tell readers and listeners of something that belongs to the conversation."""
        self._emit(event)

    async def interrupt(self) -> None:
        """Hard stop: returns when nothing runs any more; the run ends as `interrupted`."""
        if self._driver is not None:
            await self._stop(self._driver)

    async def compact(self, instructions: str = "") -> ContextCompacted | None:
        """Shorten the history now; None when there is nothing to shorten. Between runs only.

        Raises:
            ModelError: The model could not be asked for a summary; the history is as it was.
            UsageError: A run is under way, or the history is being shortened already.
        """
        if self._driver is not None:
            raise UsageError("a run is under way; compact when it has ended")
        self._refuse_while_compacting()
        self._is_compacting = True
        try:
            return await self._compactor.compact(instructions)
        finally:
            self._is_compacting = False

    def rewind(self, index: int) -> None:
        """Forget everything from this message of the history on. The journal keeps it. Between runs only.

        Raises:
            UsageError: A run is under way, or no prompt stands there.
        """
        if self._driver is not None:
            raise UsageError("a run is under way; go back when it has ended")
        self._refuse_while_compacting()
        messages = self._state.history.messages
        if not 0 <= index < len(messages) or messages[index]["role"] != "user":
            raise UsageError(f"message {index} of the conversation is not a prompt, so nothing can go back to it")
        self._compactor.cut(index)

    async def close(self, reason: str = "exit") -> None:
        """Stop what runs and announce the end. The executor and the model belong to the caller."""
        await self.interrupt()
        if self._is_started:
            self._is_started = False
            await self._gates.end(reason)
            self._emit(SessionEnded(self._state.executor.state.session.session_id, reason))

    def hear(self, event: Event) -> None:
        """Something happened beside the loop, such as the end of a background task: readers of a run are told."""
        self._between.hear(event)
        if self._feed is not None:
            self._feed.put(event)

    # Inside.

    def _begin(self, prompt: str | list[Block] | None, sent: Sent) -> Feed:
        if self._driver is not None:
            raise UsageError("a run is under way; use submit() to say something meanwhile")
        self._refuse_while_compacting()
        if prompt is not None:
            self._between.queue.put(prompt, "user", sent)
        elif not (self._between.poll() or self._state.deferred or self._state.history.ends_with_user):
            raise UsageError("there is nothing to answer; give a prompt")
        self._is_stopping = False
        self._feed = Feed()
        return self._feed

    def _refuse_while_compacting(self) -> None:
        # What was said meanwhile would be gone when the shorter history takes the place of this one.
        if self._is_compacting:
            raise UsageError("the history is being shortened; wait for the end of compact()")

    async def _drive(self, feed: Feed) -> None:
        run = Run(self._state, self._between, self._compactor, self._guard)
        if self._parts.parent is not None:
            self._state.executor.state.prompt_id = self._parts.parent.state.executor.state.prompt_id
        try:
            await self.begin()
            ended = await run.go()
        except asyncio.CancelledError:
            await run.settle(notes.INTERRUPTED)
            ended = run.ended("interrupted")
        except BaseException:
            await run.settle(notes.FAILED)
            raise
        finally:
            self._state.executor.state.end_prompt()
            await self._end_choices()
        self._emit(ended)
        feed.close()

    async def _end_choices(self) -> None:
        state, ended = self._state, self._for_run
        state.chosen, self._for_run = None, []
        if self._choices_before is not None:
            state.choices, self._choices_before = self._choices_before, None
        for model in ended:
            await model.close()

    async def _stop(self, driver: "asyncio.Task[None]") -> None:
        """Cancel a run and wait until it has settled, also when whoever waits is cancelled meanwhile."""
        if driver is asyncio.current_task():
            return
        cancelled: asyncio.CancelledError | None = None
        while not driver.done():
            try:
                if not self._is_stopping:
                    await asyncio.sleep(0)  # a task that is cancelled before its first step would leave no word
                    self._is_stopping = True
                    driver.cancel()
                await asyncio.wait({driver})
            except asyncio.CancelledError as error:
                cancelled = error
        if not driver.cancelled():
            driver.exception()  # seen: the reader of the run is told, if there is one
        if cancelled is not None:
            raise cancelled

    def _announce(self) -> None:
        state = self._state.executor.state
        self._emit(
            SessionStarted(
                state.session.session_id,
                self._parts.begins_as,
                state.cwd,
                self._state.model.name,
                state.permissions.mode,
                tuple(tool.name for tool in self._state.executor.pool),
            )
        )
        for found in self._parts.instructions:
            self._emit(InstructionsLoaded(found.path, found.kind))
            self._gates.later(
                "InstructionsLoaded", file_path=found.path, memory_type=found.kind, load_reason="session_start"
            )

    def _emit(self, event: Event) -> None:
        if type(event) is ContextCompacted:
            self._between.look_back()
        if self._feed is not None:
            self._feed.put(event)
        if self._parts.on_event is not None:
            self._parts.on_event(event)
