"""An agent's events as lines: finished ones for good, running ones for now."""

import time
from collections.abc import Callable
from typing import Any

from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextCompacted,
    ContextCompacting,
    Event,
    FormAsked,
    HookRan,
    HookSpoke,
    HookStarted,
    ModelRequested,
    PermissionAsked,
    PromptSubmitted,
    ReplyDiscarded,
    RequestRetried,
    RunEnded,
    TaskChanged,
    TerminalSignalled,
    TextStreamed,
    ThinkingStreamed,
    ToolUseStreamed,
)
from holdfast.lib.visible import visible
from holdfast.tui.face import Face
from holdfast.tui.show.agents import AgentTree
from holdfast.tui.show.calls import CallBoard, Naming
from holdfast.tui.show.kept import Kept, KeptTexts
from holdfast.tui.show.markdown import MarkdownStream, tail_lines
from holdfast.tui.show.outcomes import counted, text_of
from holdfast.tui.show.words import HINT, Line, cut, prose, wrapped

__all__ = ["View", "prompt_lines", "said_in"]

_TAIL_ROWS = 5
_THOUGHT_CHARS = 200_000


class View:
    """Hears every event of a session."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self.naming = Naming()
        self.kept = KeptTexts()
        """What was shown short, for whoever opens it."""
        self.agents = AgentTree(self.naming.use)
        self.calls = CallBoard(face, self.naming, self.kept)
        self._stream = MarkdownStream()
        self._is_saying = False
        self._thought: list[str] = []
        self._thinking_since: float | None = None
        self._asked_since: float | None = None
        self._busy_with = ""
        """What goes on besides, in words: shortening the conversation, waiting for another try."""
        self.on_prompt: Callable[[str], str | None] = lambda text: text
        """Told what was sent; says what is shown of it, or nothing where it was shown before."""
        self._hook_words: dict[str, str] = {}  # what hooks want people to see while they work
        self._by_type = self._takers()

    def _takers(self) -> dict[type[Any], Callable[[Any], None]]:
        return {
            TextStreamed: self._text,
            ThinkingStreamed: self._think,
            ToolUseStreamed: self._written,
            PromptSubmitted: self._prompt,
            ModelRequested: self._requested,
            AssistantReplied: self._replied,
            ReplyDiscarded: self._discarded,
            CallQueued: self._queued,
            CallStarted: lambda event: self.calls.start(event.tool_use_id),
            CallProgressed: self._progressed,
            CallFinished: self._finished,
            CallDiscarded: lambda event: self.calls.drop(event.tool_use_id),
            PermissionAsked: lambda event: self.calls.ask(event.tool_use_id),
            FormAsked: lambda event: self.calls.fill(event.tool_use_id),
            RequestRetried: self._retried,
            ContextCompacting: self._compacting,
            ContextCompacted: self._compacted,
            TaskChanged: self._task,
            HookStarted: self._hook_started,
            HookRan: self._hook_ran,
            TerminalSignalled: lambda event: self._face.signal(event.sequence),
            HookSpoke: lambda event: self.note("warn", f"{event.event} hook: {event.text}"),
            RunEnded: self._ended,
            AgentTold: self._agent_told,
        }

    def take(self, event: Event) -> None:
        """Show one event."""
        found = self._by_type.get(type(event))
        if found is not None:
            found(event)
            self._face.refresh()

    def live(self, rows: int) -> list[Line]:
        """What is shown for now, in so many lines at most."""
        columns = max(10, self._face.columns - 1)
        lines = tail_lines(self._stream.tail, columns, min(rows, _TAIL_ROWS)) if self._stream.tail else []
        if not self.calls.is_empty:
            lines += self.calls.live_lines(columns, max(1, rows - len(lines)))
        if self._asked_since is not None and not self._stream.tail and not self.calls.has_open:
            lines.append([("accent", "✻ "), ("dim", cut(self._waiting_words(), columns - 2))])
        lines += [[("accent", "✻ "), ("dim", cut(words, columns - 2))] for words in self._hook_words.values()]
        return lines[-max(1, rows) :]

    def _hook_started(self, event: HookStarted) -> None:
        if event.status:
            self._hook_words[event.hook_id] = visible(event.status)

    def _hook_ran(self, event: HookRan) -> None:
        self._hook_words.pop(event.hook_id, None)

    def _waiting_words(self) -> str:
        since = self._thinking_since or self._asked_since or 0.0
        elapsed = f"{time.monotonic() - since:.0f} s"
        if self._thinking_since is not None:
            last = prose("".join(self._thought[-40:])).strip().split("\n")[-1]
            return f"thinking {elapsed} · {last}" if last else f"thinking {elapsed}"
        return f"{self._busy_with or 'waiting for the model'} {elapsed}"

    # What the model says.

    def _text(self, event: TextStreamed) -> None:
        self._end_thought()
        if not self._stream.tail and not self._is_saying:
            self._is_saying = True
            self.calls.unfold()
            self._face.commit([[]])
        for piece in self._stream.feed(event.text):
            self._face.commit_piece(piece)

    def _end_text(self) -> None:
        self._is_saying = False
        for piece in self._stream.end():
            self._face.commit_piece(piece)
        self.calls.settle()  # what ended in the middle of a sentence comes behind it

    def _think(self, event: ThinkingStreamed) -> None:
        self._thinking_since = self._thinking_since or time.monotonic()
        self._thought.append(event.text)

    def _end_thought(self) -> None:
        """A thought is over: one line of it stays, and all of it can be opened."""
        since, self._thinking_since = self._thinking_since, None
        text, self._thought = "".join(self._thought).strip(), []
        if since is None or not text:
            return
        took = f"{time.monotonic() - since:.0f} s"
        self.kept.add(Kept(f"thought for {took}", text[:_THOUGHT_CHARS]))
        self.calls.unfold()
        words = counted(len(text.split()), "word")
        self._face.commit([[], [("dim", f"✻ thought for {took} · {words}"), HINT], []])

    def _written(self, event: ToolUseStreamed) -> None:
        self._end_thought()
        self._end_text()
        self.calls.grow(event.tool_use_id, event.name, event.partial_json)

    def _prompt(self, event: PromptSubmitted) -> None:
        if event.source != "user":
            return
        shown = self.on_prompt(said_in(event.content))
        if shown is not None:
            self.show_prompt(shown)

    def show_prompt(self, text: str) -> None:
        """What the person said, for good."""
        self._settle()
        self._face.commit([[], *prompt_lines(text, self._face.columns - 1), []])

    def show_command(self, text: str) -> None:
        """A command that the person gave, so that what follows can be understood later."""
        self.calls.unfold()
        (mark, *words), *rest = prompt_lines(text, self._face.columns - 1)
        self._face.commit([[], [mark, *(("dim", word) for _, word in words)], *rest])

    def _requested(self, event: ModelRequested) -> None:
        del event
        self._end_thought()
        self._end_text()
        self._busy_with = ""
        self._asked_since = time.monotonic()

    def _replied(self, event: AssistantReplied) -> None:
        del event
        self._end_thought()
        self._asked_since = None
        self._end_text()
        self.calls.drop_unfinished()

    def _discarded(self, event: ReplyDiscarded) -> None:
        self._end_thought()
        self._end_text()
        self.calls.drop_unfinished()
        self.note("warn", f"the answer broke off and is asked for again: {event.reason}")

    # Calls.

    def _queued(self, event: CallQueued) -> None:
        self._end_thought()
        self._end_text()
        self.calls.queue(event.tool_use_id, event.name, event.input)
        self.agents.expect(event.tool_use_id, event.input)

    def _progressed(self, event: CallProgressed) -> None:
        call = self.calls.find(event.tool_use_id)
        if call is not None:
            call.report(event.data)

    def _finished(self, event: CallFinished) -> None:
        self.calls.finish(event, waits=self._is_saying)

    def _agent_told(self, event: AgentTold) -> None:
        self.agents.take(event)
        call = self.calls.find(event.parent_tool_use_id)
        if call is not None and isinstance(event.event, CallQueued):
            call.tail = [*call.tail, self.naming.use(event.event.name, event.event.input)][-4:]

    # Everything else.

    def _retried(self, event: RequestRetried) -> None:
        self._busy_with = f"attempt {event.attempt + 1} in {event.delay_s:.0f} s, waiting"
        self.note("warn", f"attempt {event.attempt} failed, the next in {event.delay_s:.0f} s: {event.reason}")

    def _compacting(self, event: ContextCompacting) -> None:
        self._busy_with = f"shortening the conversation of {event.tokens:,} tokens"
        self._asked_since = self._asked_since or time.monotonic()

    def _compacted(self, event: ContextCompacted) -> None:
        self._busy_with = ""
        before, after = event.tokens_before, event.tokens_after
        what = "is shorter now" if after < before else "is summed up"
        if event.summary:
            self.kept.add(Kept("summary of the conversation", event.summary[:_THOUGHT_CHARS]))
        self.calls.unfold()
        line: Line = [("dim", f"✻ the conversation {what}: {before:,} → {after:,} tokens")]
        self._face.commit(wrapped([*line, HINT] if event.summary else line, self._face.columns - 1))

    def rest(self) -> None:
        """Nothing is under way any more, whatever became of it."""
        self._asked_since, self._busy_with = None, ""

    def _task(self, event: TaskChanged) -> None:
        self.note("accent", f"background task {event.task_id} {event.status}: {event.description}")

    def _ended(self, event: RunEnded) -> None:
        self._end_thought()
        self._asked_since = None
        self._settle()
        self._face.commit([[]])
        if event.outcome == "interrupted":
            self.note("warn", "interrupted. What should happen instead?")
        elif event.outcome == "refused":
            self.note("warn", "refused; the model waits for your answer")
        elif event.outcome != "success":
            self.note("bad", event.error or event.outcome.replace("_", " "))

    def _settle(self) -> None:
        self._end_text()
        self.calls.clear()

    def note(self, style: str, text: str) -> None:
        """A line of our own between the others; what others wrote in it is made safe."""
        self.calls.unfold()
        first, *rest = prose(text).split("\n")
        lines: list[Line] = [[(style, f"✻ {first}")], *([(style, f"  {line}")] for line in rest)]
        self._face.commit([part for line in lines for part in wrapped(line, self._face.columns - 1)])


def said_in(content: str | list[dict[str, Any]]) -> str:
    """The first text of a prompt: what else it holds goes with it."""
    if isinstance(content, str):
        return content
    return next((str(block.get("text", "")) for block in content if block.get("type") == "text"), text_of(content))


def prompt_lines(text: str, columns: int) -> list[Line]:
    """What the person said."""
    first, *rest = prose(text).split("\n")
    mark = "❯ "  # noqa: RUF001 - the mark people know
    lines: list[Line] = [[("you", mark), ("bold", first)], *([("bold", f"  {line}")] for line in rest)]
    return [part for line in lines for part in wrapped(line, columns)]
