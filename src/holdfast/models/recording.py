"""Read what a model once said from a recorded session, in any form Holdfast writes: journal, export or stream-json."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.contract.errors import UsageError
from holdfast.lib.guarded_read import read_named

__all__ = ["Recording", "Reply", "RequestSeen", "read_recording", "recording_of", "seen_in"]

JOURNAL_NAME = "journal.jsonl"
_MAX_BYTES = 512 * 1024 * 1024
_MAX_LINE_BYTES = 64 * 1024 * 1024


class RequestSeen(NamedTuple):
    """What the newest message before an answer held: a prompt, results, or both."""

    prompted: bool
    results: tuple[tuple[str, bool], ...] = ()
    """The tool and whether it failed, for each result in order."""


class Reply(NamedTuple):
    """One recorded answer and what it answered."""

    content: tuple[dict[str, Any], ...]
    seen: RequestSeen | None
    """None where the recording does not tell."""
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


class Recording(NamedTuple):
    """The answers of a session, in order."""

    replies: tuple[Reply, ...]
    cwd: str | None
    """Where the session ran."""


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a session directory, a journal, an export or a stream-json transcript. Raises `UsageError`."""
    name = os.fspath(path)
    file = os.path.join(name, JOURNAL_NAME) if os.path.isdir(name) else name
    try:
        data = read_named(file, limit_bytes=_MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"the recording {file!r} cannot be read: {reason}") from error
    reader = _Reader()
    for line in _lines(data):
        reader.take(line)
    if not reader.replies:
        raise UsageError(
            f"{file!r} holds no answer of a model. Give a session directory, its {JOURNAL_NAME}, the output of "
            "`holdfast sessions export --format json`, or what `--output-format stream-json` printed."
        )
    return Recording(tuple(reader.replies), reader.cwd)


def seen_in(content: Any, names: dict[str, str]) -> RequestSeen:
    """What a user message holds; `names` gives the tool of each call by its id."""
    if isinstance(content, str):
        return RequestSeen(prompted=True)
    blocks = cast("list[dict[str, Any]]", content or [])
    results = tuple(
        (names.get(str(block.get("tool_use_id")), ""), block.get("is_error") is True)
        for block in blocks
        if block.get("type") == "tool_result"
    )
    return RequestSeen(not results, results)


def _lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Every JSON object in the file: one on each line, or one for all. Damaged lines are left out."""
    try:
        whole: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        yield from _of_export(cast("dict[str, Any]", whole))
        return
    if isinstance(whole, list):
        yield from (item for item in cast("list[Any]", whole) if isinstance(item, dict))
        return
    for line in data.split(b"\n"):
        if not line.strip() or len(line) > _MAX_LINE_BYTES:
            continue
        try:
            item: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(item, dict):
            yield cast("dict[str, Any]", item)


def _of_export(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An export is one object with all messages; any other object is one line of something."""
    messages: Any = document.get("messages")
    if not isinstance(messages, list):
        yield document
        return
    yield {"type": "session", "cwd": document.get("cwd")}
    for message in cast("list[Any]", messages):
        if isinstance(message, dict):
            yield {**cast("dict[str, Any]", message), "type": "message"}


def recording_of(messages: Iterable[Mapping[str, Any]]) -> Recording:
    """The answers in a conversation, as `RunResult.messages` has it. Raises `UsageError` where there are none."""
    reader = _Reader()
    for message in messages:
        reader.take({"type": "message", "message": dict(message)})
    if not reader.replies:
        raise UsageError("these messages hold no answer of a model; give those of a run that has ended")
    return Recording(tuple(reader.replies), None)


class _Reader:
    """Takes the objects of a recording in order, whatever their form."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.cwd: str | None = None
        self._names: dict[str, str] = {}
        self._failed: dict[str, bool] = {}
        self._waiting: list[str] = []
        """The calls of the newest answer."""
        self._seen: RequestSeen | None = None
        self._last_id: str | None = None

    def take(self, item: dict[str, Any]) -> None:
        kind = item.get("type")
        if kind in {"session", "system", "session_started"}:
            if self.cwd is None and isinstance(item.get("cwd"), str) and item["cwd"]:
                self.cwd = item["cwd"]
        elif kind == "tool_result" and isinstance(item.get("tool_use_id"), str):  # the engine's own event
            self._failed[item["tool_use_id"]] = item.get("is_error") is True
        elif kind in {"message", "assistant", "user"}:
            inner: Any = item.get("message", item)
            if isinstance(inner, dict):
                self._message(cast("dict[str, Any]", inner), str(kind), item)

    def _message(self, message: dict[str, Any], kind: str, item: dict[str, Any]) -> None:
        role = message.get("role", kind)
        content: Any = message.get("content")
        if item.get("parent_tool_use_id"):  # a subagent's words are another conversation
            return
        if role == "user":
            self._seen = seen_in(content, self._names)
            self._last_id = None
        elif role == "assistant":
            self._answer(_blocks(content), message)

    def _answer(self, blocks: tuple[dict[str, Any], ...], message: dict[str, Any]) -> None:
        id_ = message.get("id") or message.get("message_id")
        meta: Any = message.get("meta")
        facts = cast("dict[str, Any]", meta) if isinstance(meta, dict) else message
        usage, stop = facts.get("usage"), facts.get("stop_reason")
        reply = Reply(
            blocks,
            self._seen or self._seen_by_events(),
            stop if isinstance(stop, str) else None,
            usage if isinstance(usage, dict) else None,
        )
        if id_ is not None and id_ == self._last_id:  # stream-json may give each block of a message a line of its own
            before = self.replies.pop()
            reply = reply._replace(content=before.content + blocks, seen=before.seen)
        elif not blocks:
            return
        self.replies.append(reply)
        self._last_id = id_
        self._waiting = [str(block.get("id")) for block in reply.content if block.get("type") == "tool_use"]
        for block in blocks:
            if block.get("type") == "tool_use":
                self._names[str(block.get("id"))] = str(block.get("name"))
        self._seen = None

    def _seen_by_events(self) -> RequestSeen | None:
        """Journals may keep results as events only."""
        known = [id_ for id_ in self._waiting if id_ in self._failed]
        if not known:
            return None
        return RequestSeen(prompted=False, results=tuple((self._names[id_], self._failed[id_]) for id_ in known))


def _blocks(content: Any) -> tuple[dict[str, Any], ...]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return tuple(cast("dict[str, Any]", block) for block in cast("list[Any]", content or []) if isinstance(block, dict))
