"""A model that says again what a recorded session's model said, against the tools as they are now."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Self, cast

import msgspec

from holdfast.models.errors import ModelError
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.playback import called_ids, play_turn
from holdfast.models.recording import Recording, Reply, RequestSeen, read_recording, recording_of, seen_in
from holdfast.models.script import ScriptedBlock, Turn
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["ReplayModel"]


class ReplayModel:
    """Gives the recorded answers in order, each call with a new id. What differs now is kept in `divergences`."""

    wire: Wire = "anthropic"

    def __init__(
        self,
        recording: Recording,
        *,
        name: str = "replay:memory",
        cwd: str | None = None,
        is_strict: bool = False,
        context_window: int = 200_000,
    ) -> None:
        """Take a recording.

        Args:
            recording: From `read_recording`.
            name: As a user would name the model.
            cwd: Stands in the calls' input where the recording's own directory stood; none: the process's own.
            is_strict: End with an error where the run differs from the recording, instead of going on.
            context_window: What the model says of itself.
        """
        self.name = name
        self.context_window = context_window
        self.divergences: list[str] = []
        """In words, where this run differs from the recorded one; whole when the model is closed."""
        self._replies = recording.replies
        self.cwd = os.getcwd() if cwd is None else cwd
        """Where the calls work now; may be set before the first request."""
        self._recorded_cwd = recording.cwd
        self._is_strict = is_strict
        self._asked = 0
        self._calls = 0

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, cwd: str | None = None, is_strict: bool = False) -> Self:
        """Replay a session directory, a journal, an export, or a stream-json transcript; raises `UsageError`."""
        return cls(read_recording(path), name=f"replay:{os.fspath(path)}", cwd=cwd, is_strict=is_strict)

    @classmethod
    def from_messages(cls, messages: Iterable[Mapping[str, Any]], *, is_strict: bool = False) -> Self:
        """Replay a conversation as data, such as `RunResult.messages`; raises `UsageError`."""
        return cls(recording_of(messages), is_strict=is_strict)

    @property
    def turns_left(self) -> int:
        """How many recorded answers nobody asked for yet."""
        return len(self._replies) - min(self._asked, len(self._replies))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next recorded answer."""
        number = self._asked = self._asked + 1
        if number > len(self._replies):
            raise ModelError(
                f"{self.name} holds {len(self._replies)} answers and was asked for one more: this run is longer than "
                "the recorded one.",
                "invalid_request",
            )
        reply = self._replies[number - 1]
        self._compare(number, reply, request)
        async for event in play_turn(
            self._turn(reply, called_ids(request.messages)),
            request,
            message_id=f"msg_replay_{number}",
            model=self.name,
        ):
            yield event

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate."""
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float:
        """A replay costs nothing."""
        del usage
        return 0.0

    async def close(self) -> None:
        """The run is over: what was recorded and not asked for is a divergence too."""
        if self._asked > 0 and self.turns_left:
            self.divergences.append(f"{self.turns_left} recorded answers were not asked for")
            self._asked = len(self._replies)

    def _compare(self, number: int, reply: Reply, request: ModelRequest) -> None:
        if reply.seen is None or not request.messages:
            return
        now = seen_in(request.messages[-1].get("content"), _names(request))
        found = _differences(reply.seen, now)
        self.divergences += [f"before answer {number}: {text}" for text in found]
        if found and self._is_strict:
            raise ModelError(f"{self.name}: {self.divergences[-1]}", "invalid_request")

    def _turn(self, reply: Reply, used: set[str]) -> Turn:
        return Turn(
            blocks=tuple(self._block(block, used) for block in reply.content),
            stop_reason=reply.stop_reason,
            usage=None if reply.usage is None else _usage(reply.usage),
        )

    def _block(self, block: dict[str, Any], used: set[str]) -> ScriptedBlock:
        if block.get("type") != "tool_use":
            return ScriptedBlock(block)
        self._calls += 1
        while (id_ := f"replay_{self._calls}") in used:
            self._calls += 1
        given = block.get("input", {})
        old, new = (self._recorded_cwd or "").rstrip("/"), self.cwd.rstrip("/")
        if old and old != new:
            given = _moved(given, old, new)
        raw = given if isinstance(given, str) else None
        return ScriptedBlock({**block, "id": id_, "input": {} if raw is not None else given}, raw=raw)


def _moved(value: Any, old: str, new: str) -> Any:
    """The value with the old directory replaced by the new one, wherever it stands as whole path components."""
    if isinstance(value, str):
        return _moved_text(value, old, new) if old in value else value
    if isinstance(value, dict):
        return {key: _moved(item, old, new) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_moved(item, old, new) for item in cast("list[Any]", value)]
    return value


def _moved_text(text: str, old: str, new: str) -> str:
    parts = text.split(old)
    moved = parts[0]
    for part in parts[1:]:
        before, after = moved[-1:], part[:1]
        whole = not (after.isalnum() or after in {"_", "-", "."}) and not (
            before.isalnum() or before in {"_", "-", "."}
        )
        moved += (new if whole else old) + part
    return moved


def _names(request: ModelRequest) -> dict[str, str]:
    """The tool of each call in the newest answer."""
    for message in reversed(request.messages):
        content: Any = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, list):
            blocks = cast("list[dict[str, Any]]", content)
            return {str(block["id"]): str(block["name"]) for block in blocks if block.get("type") == "tool_use"}
    return {}


def _differences(then: RequestSeen, now: RequestSeen) -> list[str]:
    found: list[str] = []
    if len(then.results) != len(now.results):
        found.append(f"{len(now.results)} results, {len(then.results)} in the recording")
    for number, (was, is_) in enumerate(zip(then.results, now.results, strict=False), 1):
        if was[0] and is_[0] and was[0] != is_[0]:
            found.append(f"result {number} is of {is_[0]}, of {was[0]} in the recording")
        if was[1] != is_[1]:
            words = ("works now and failed", "fails now and worked")
            found.append(f"{is_[0] or 'a call'} (result {number}) {words[is_[1]]} in the recording")
    if then.prompted != now.prompted:
        found.append(
            "a prompt that the recording does not have" if now.prompted else "no prompt, where the recording has one"
        )
    return found


def _usage(recorded: dict[str, Any]) -> Usage | None:
    """As we write it, or in a provider's words."""
    known = {
        "input_tokens": recorded.get("input_tokens", 0),
        "output_tokens": recorded.get("output_tokens", 0),
        "cache_read_tokens": recorded.get("cache_read_tokens", recorded.get("cache_read_input_tokens", 0)) or 0,
        "cache_write_tokens": recorded.get("cache_write_tokens", recorded.get("cache_creation_input_tokens", 0)) or 0,
    }
    try:
        return msgspec.convert(known, Usage)
    except msgspec.ValidationError:
        return None
