"""An agent's events as lines: finished ones for good, running ones for now."""

import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from holdfast.app.plain_errors import for_people
from holdfast.events import (
    AgentTold,
    AssistantReplied,
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextCompacted,
    Event,
    HookSpoke,
    ModelRequested,
    PromptSubmitted,
    ReplyDiscarded,
    RequestRetried,
    RunEnded,
    TaskChanged,
    TextStreamed,
    ThinkingStreamed,
)
from holdfast.lib.visible import visible
from holdfast.tui.diffs import diff_lines, is_diff
from holdfast.tui.face import Face
from holdfast.tui.markdown import MarkdownStream
from holdfast.tui.words import Line, cut, prose, shown_lines, wrapped

__all__ = ["View"]

_SHOWN_RESULT = 4
_SHOWN_MESSAGE = 200
_SHOWN_DIFF = 60
_KEPT_RESULTS = 50
_QUIET = frozenset({"Read", "Glob", "Grep", "ToolSearch", "TodoWrite"})
_USE_CHARS = 200
_MOST_LIVE = 5


class _Call:
    def __init__(self, name: str, use: str) -> None:
        self.name = name
        self.use = use
        self.started_s: float | None = None
        self.tail = ""


class View:
    """Hears every event of a session."""

    def __init__(self, face: Face, use_of: Callable[[str, Mapping[str, Any]], str]) -> None:
        self._face = face
        self._use_of = use_of
        self._stream = MarkdownStream()
        self._is_saying = False
        self._calls: dict[str, _Call] = {}
        self._thinking_since: float | None = None
        self._asked_since: float | None = None
        self.results: list[tuple[str, str]] = []
        """The last calls and their whole output, for whoever opens it."""
        self.on_prompt: Callable[[str], None] = lambda _text: None
        self._by_type: dict[type[Any], Callable[[Any], None]] = {
            TextStreamed: self._text,
            ThinkingStreamed: self._think,
            PromptSubmitted: self._prompt,
            ModelRequested: self._requested,
            AssistantReplied: self._replied,
            ReplyDiscarded: self._discarded,
            CallQueued: self._queued,
            CallStarted: self._started,
            CallProgressed: self._progressed,
            CallFinished: self._finished,
            CallDiscarded: self._dropped,
            RequestRetried: self._retried,
            ContextCompacted: self._compacted,
            TaskChanged: self._task,
            HookSpoke: self._hook,
            RunEnded: self._ended,
            AgentTold: self._agent_told,
        }

    @property
    def running(self) -> list[str]:
        """The calls that run now, the oldest first."""
        return [id_ for id_, call in self._calls.items() if call.started_s is not None]

    def take(self, event: Event) -> None:
        """Show one event."""
        found = self._by_type.get(type(event))
        if found is not None:
            found(event)
            self._face.refresh()

    def live(self, rows: int) -> list[Line]:
        """What is shown for now, in so many lines at most."""
        lines: list[Line] = []
        columns = max(10, self._face.columns - 1)
        tail = prose(self._stream.tail).split("\n")[-3:] if self._stream.tail else []
        lines += [[("", part)] for text in tail for part in _folded(text, columns)[-3:]][-4:]
        now = time.monotonic()
        calls = list(self._calls.values())
        for call in calls[:_MOST_LIVE]:
            state = "waiting" if call.started_s is None else f"{now - call.started_s:.0f} s"
            lines.append([("accent", "● "), ("", cut(call.use, columns - 12)), ("dim", f" {state}")])
            if call.tail:
                lines.append([("dim", cut(f"  ⎿ {call.tail}", columns))])
        if len(calls) > _MOST_LIVE:
            lines.append([("dim", f"  … and {len(calls) - _MOST_LIVE} more calls")])
        if not lines and self._asked_since is not None:
            word = "thinking" if self._thinking_since is not None else "waiting for the model"
            lines.append([("dim", f"✻ {word} {now - self._asked_since:.0f} s")])
        return lines[-max(1, rows) :]

    # What the model says.

    def _text(self, event: TextStreamed) -> None:
        self._thinking_since = None
        if not self._stream.tail and not self._is_saying:
            self._is_saying = True
            self._face.commit([[]])
        for piece in self._stream.feed(event.text):
            self._face.commit_piece(piece)

    def _end_text(self) -> None:
        self._is_saying = False
        for piece in self._stream.end():
            self._face.commit_piece(piece)

    def _think(self, event: ThinkingStreamed) -> None:
        del event
        self._thinking_since = self._thinking_since or time.monotonic()

    def _prompt(self, event: PromptSubmitted) -> None:
        if event.source != "user":
            return
        text = event.content if isinstance(event.content, str) else _text_of(event.content)
        self._end_text()
        first, *rest = prose(text).split("\n")
        mark = "❯ "  # noqa: RUF001 - the mark people know
        self._face.commit([[], [("you", mark), ("bold", first)], *([("bold", f"  {line}")] for line in rest), []])
        self.on_prompt(text)

    def _requested(self, event: ModelRequested) -> None:
        del event
        self._end_text()
        self._asked_since = time.monotonic()

    def _replied(self, event: AssistantReplied) -> None:
        del event
        self._asked_since = self._thinking_since = None
        self._end_text()

    def _discarded(self, event: ReplyDiscarded) -> None:
        self._end_text()
        self._note("warn", f"the answer broke off and is asked for again: {event.reason}")

    # Calls.

    def _queued(self, event: CallQueued) -> None:
        self._end_text()
        self._calls[event.tool_use_id] = _Call(event.name, self._use(event))

    def _dropped(self, event: CallDiscarded) -> None:
        self._calls.pop(event.tool_use_id, None)

    def _hook(self, event: HookSpoke) -> None:
        self._note("warn", f"{event.event} hook: {event.text}")

    def _started(self, event: CallStarted) -> None:
        call = self._calls.get(event.tool_use_id)
        if call is not None:
            call.started_s = time.monotonic()

    def _progressed(self, event: CallProgressed) -> None:
        call = self._calls.get(event.tool_use_id)
        if call is None:
            return
        data = event.data
        if isinstance(data, Mapping):
            report = cast("Mapping[str, Any]", data)
            data = str(report.get("fullOutput") or report.get("message") or "")[-2_000:]
        lines = str(data).rstrip().splitlines()
        call.tail = visible(lines[-1])[:_USE_CHARS] if lines else ""

    def _finished(self, event: CallFinished) -> None:
        call = self._calls.pop(event.tool_use_id, None) or _Call(event.name, visible(event.name))
        text = event.content if isinstance(event.content, str) else _text_of(event.content)
        self.results = [*self.results[-_KEPT_RESULTS:], (call.use, text)]
        style, word = ("ok", "") if not event.is_error else ("bad", " failed")
        if event.outcome == "denied":
            word = " refused"
        elif event.outcome == "cancelled":
            style, word = "warn", " stopped"
        took = f" {event.duration_ms / 1000:.1f} s" if event.duration_ms >= 100 else ""
        facts = f" · {len(text.splitlines())} lines" if call.name in _QUIET and not event.is_error else ""
        room = max(10, self._face.columns - 3 - len(word + took + facts))
        head: Line = [(style, "● "), ("", cut(call.use, room)), (style, word), ("dim", f"{facts}{took}")]
        self._face.commit([head, *self._body(event, text)])

    def _body(self, event: CallFinished, text: str) -> list[Line]:
        if event.display and is_diff(event.display) and not event.is_error:
            return diff_lines(event.display, most=_SHOWN_DIFF)
        if event.name in _QUIET and not event.is_error:
            return []
        shown = for_people(text) if event.is_error else (event.display or text)
        most = _SHOWN_MESSAGE if event.name == "SendUserMessage" else _SHOWN_RESULT
        lines = shown_lines(shown.strip("\n"), most=most) if shown.strip() else []
        found: list[Line] = [[("dim", f"  {'⎿' if not place else ' '} {line}")] for place, line in enumerate(lines)]
        if event.spilled_to:
            found.append([("dim", f"    all of it: {visible(event.spilled_to)}")])
        return found

    # Everything else.

    def _retried(self, event: RequestRetried) -> None:
        self._note("warn", f"attempt {event.attempt} failed, the next in {event.delay_s:.0f} s: {event.reason}")

    def _compacted(self, event: ContextCompacted) -> None:
        self._note("dim", f"the conversation is shorter now: {event.tokens_before:,} → {event.tokens_after:,} tokens")

    def _task(self, event: TaskChanged) -> None:
        self._note("accent", f"background task {event.task_id} {event.status}: {event.description}")

    def _agent_told(self, event: AgentTold) -> None:
        call = self._calls.get(event.parent_tool_use_id)
        if call is not None and isinstance(event.event, CallQueued):
            call.tail = self._use(event.event)

    def _use(self, event: CallQueued) -> str:
        given: Any = event.input
        raw = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
        return visible(self._use_of(event.name, raw))[:_USE_CHARS]

    def _ended(self, event: RunEnded) -> None:
        self._end_text()
        self._asked_since = self._thinking_since = None
        self._calls.clear()
        if event.outcome == "interrupted":
            self._note("warn", "interrupted. What should happen instead?")
        elif event.outcome == "refused":
            self._note("warn", "refused; the model waits for your word")
        elif event.outcome != "success":
            self._note("bad", event.error or event.outcome.replace("_", " "))

    def _note(self, style: str, text: str) -> None:
        first, *rest = prose(text).split("\n")
        lines: list[Line] = [[(style, f"✻ {first}")], *([(style, f"  {line}")] for line in rest)]
        self._face.commit([part for line in lines for part in wrapped(line, self._face.columns - 1)])


def _text_of(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text", f"[{block.get('type')}]")) for block in blocks)


def _folded(text: str, columns: int) -> list[str]:
    return [text[at : at + columns] for at in range(0, len(text), columns)] or [""]
