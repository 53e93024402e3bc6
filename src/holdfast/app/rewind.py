"""Going back: the conversation to what it was before a prompt, and the files to what they were then."""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from holdfast.contract import UsageError
from holdfast.lib.checkpoints import Change, CheckpointStore, UndoRefusedError

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.lib.undoing import Restored

__all__ = ["RewindPoint", "rewind_conversation", "rewind_files", "rewind_points"]

_REMINDER = "<system-reminder>"


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
    return next((text for text in texts if text.strip() and not text.startswith(_REMINDER)), "")


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
