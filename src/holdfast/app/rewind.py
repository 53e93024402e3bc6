"""Going back: the conversation to what it was before a prompt, and the files to what they were then."""

import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from holdfast.agent.notes import OWN_WORDS
from holdfast.contract import UsageError
from holdfast.lib.checkpoints import Change, CheckpointStore, UndoRefusedError
from holdfast.lib.guarded_read import ReadRefusedError, read_guarded

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.lib.undoing import Plan, Restored

__all__ = [
    "PromptRewind",
    "RewindPoint",
    "rewind_conversation",
    "rewind_files",
    "rewind_points",
    "rewind_to_prompt",
]

_COUNTED_BYTES = 8 << 20
"""Lines of larger files are not counted."""


class RewindPoint(NamedTuple):
    """A prompt before which the conversation can go on anew."""

    place: int
    """Where its message stands in the history."""
    text: str
    """What the person said."""
    files: tuple[str, ...]
    """What the calls since have changed and could be taken back."""
    first_call: str
    """The first of these calls; empty where nothing was changed."""


def rewind_points(agent: "RunningAgent") -> list[RewindPoint]:
    """Every prompt that can be gone back to, the oldest first."""
    changes = _changes(agent)
    before: set[str] = set()
    points: list[RewindPoint] = []
    for place, message in enumerate(agent.history):
        blocks = _blocks(message)
        text = _said(message, blocks)
        if text:
            since = _since(changes, before)
            files = tuple(dict.fromkeys(change.path for change in since))
            points.append(RewindPoint(place, text, files, since[0].call if since else ""))
        before |= {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
    return points


def rewind_conversation(agent: "RunningAgent", point: RewindPoint) -> None:
    """Go on from before the prompt, as if nothing after it had been said.

    Raises:
        UsageError: A run is under way, or the conversation is another one by now.
    """
    if (point.place, point.text) not in {(one.place, one.text) for one in rewind_points(agent)}:
        raise UsageError("the conversation has changed since; choose again where to go back to")
    agent.loop.rewind(point.place)


def rewind_files(agent: "RunningAgent", point: RewindPoint) -> "list[Restored]":
    """Take back every change that the file tools made since the prompt.

    Raises:
        UndoRefusedError: A file is not as it was left, or its earlier content is lost; nothing was changed then.
    """
    store = _store(agent)
    if store is None or not point.first_call:
        raise UndoRefusedError(["nothing that the file tools changed since can be taken back"])
    return store.undo(point.first_call)


class PromptRewind(NamedTuple):
    """What going back with the files to a prompt means."""

    files: tuple[str, ...]
    insertions: int
    deletions: int


def rewind_to_prompt(agent: "RunningAgent", uuid: str, *, only_look: bool = False) -> PromptRewind:
    """Take back every change that the file tools made since the prompt of this name, or only look what that means.

    Raises:
        UsageError: A run is under way, or the session has no such prompt.
        UndoRefusedError: A file is not as it was left, or its earlier content is lost; nothing was changed then.
    """
    if agent.is_running and not only_look:
        raise UsageError("a run is under way; wait for its end, or interrupt it")
    store = _store(agent)
    if store is None:
        raise UsageError("this session keeps nothing on disk, so nothing can be taken back")
    since = _since_prompt(agent, uuid)
    if not since:
        return PromptRewind((), 0, 0)
    plans = store.preview(since[0].call)
    counts = [_lines_changed(plan) for plan in plans]
    if not only_look:
        store.undo(since[0].call)
    return PromptRewind(
        tuple(plan.path for plan in plans), sum(one[0] for one in counts), sum(one[1] for one in counts)
    )


def _since_prompt(agent: "RunningAgent", uuid: str) -> list[Change]:
    from holdfast.session.cutting import place_of  # noqa: PLC0415 - only here
    from holdfast.session.directory import JOURNAL_NAME  # noqa: PLC0415 - the same
    from holdfast.session.transcript import load_transcript  # noqa: PLC0415 - the same

    session = agent.opened.session
    assert session is not None
    session.journal.flush()
    transcript = load_transcript(os.path.join(session.path, JOURNAL_NAME))
    place = place_of(transcript, uuid)
    if place is None:
        raise UsageError(f"the session has no message {uuid!r}; give the uuid of a prompt")
    calls = {
        str(block.get("id"))
        for message in transcript.messages[:place]
        for block in _blocks({"content": message.content})
        if block.get("type") == "tool_use"
    }
    at = transcript.messages[place].at or 0.0
    changes = _changes(agent)  # those of agents are known by their time only
    return _since(changes, calls | {change.call for change in changes if change.time_s < at})


def _lines_changed(plan: "Plan") -> tuple[int, int]:
    """How many lines come and go when a file is brought back."""
    from holdfast.lib.diff import hunks_of, span_between  # noqa: PLC0415 - only here

    then = b"" if plan.blob is None else _content(plan.blob)
    now = b"" if plan.now is None else _content(plan.path)
    lines = [line for hunk in hunks_of(now, span_between(now, then)) for line in hunk.raw]
    return sum(line[:1] == b"+" for line in lines), sum(line[:1] == b"-" for line in lines)


def _content(path: str) -> bytes:
    try:
        return read_guarded(path, limit_bytes=_COUNTED_BYTES) or b""
    except (OSError, ReadRefusedError):
        return b""


def _since(changes: list[Change], before: set[str]) -> list[Change]:
    """What was changed behind the last change of a call that was made before."""
    last = next((at for at in reversed(range(len(changes))) if changes[at].call in before), -1)
    return changes[last + 1 :]


def _changes(agent: "RunningAgent") -> list[Change]:
    store = _store(agent)
    return [] if store is None else store.changes()


def _store(agent: "RunningAgent") -> CheckpointStore | None:
    from holdfast.app.files import checkpoints_of  # noqa: PLC0415 - loaded with the tools

    session = agent.opened.session
    return None if session is None else checkpoints_of(session.path)


def _said(message: dict[str, Any], blocks: list[dict[str, Any]]) -> str:
    """The person's own words in a message that holds nothing else that counts."""
    if message.get("role") != "user" or any(block.get("type") == "tool_result" for block in blocks):
        return ""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return next((text for text in texts if text.strip() and not text.startswith(OWN_WORDS)), "")


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
