"""The loop's one place to wait for the user's hooks: around sessions, prompts, stops and compaction."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from holdfast.agent.history import Block
from holdfast.engine.call_hooks import CallHooks, response_of
from holdfast.events import CallFinished

if TYPE_CHECKING:
    from holdfast.hooks import Verdict
    from holdfast.hooks.inputs import HookInput

__all__ = ["MAX_STOPS", "Gates"]

_log = logging.getLogger(__name__)
MAX_STOPS = 8
"""So many times in a row a Stop hook may make the model go on."""
_END_S = 1.5
_OF_SESSIONS = frozenset(
    {"Setup", "SessionStart", "SessionEnd", "UserPromptSubmit", "InstructionsLoaded", "StopFailure"}
)
"""What happens to a session and its user, and not to an agent that was started in it."""


class Gates:
    """Asks the hooks about what is no call. Without hooks for an event nothing is made and nobody waits."""

    def __init__(self, hooks: CallHooks) -> None:
        self._hooks = hooks
        self._waiting: list[HookInput] = []
        self._cwd: str | None = None
        self._directories: frozenset[str] = frozenset()
        self._watched: dict[str, tuple[int, ...] | None] = {}

    def has(self, event: str) -> bool:
        """Some hook is about this event."""
        if self._hooks.state.session.agent_id is not None and event in _OF_SESSIONS:
            return False
        return self._hooks.hooks.has(event)

    async def ask(self, event: str, /, **fields: Any) -> "Verdict | None":
        """Ask the hooks about an event; None when there are none."""
        if not self.has(event):
            return None
        return await self._hooks.fire(self._made(event, fields))

    def later(self, event: str, /, **fields: Any) -> None:
        """Tell this at the next end of a turn, because whoever knows it cannot wait."""
        if self.has(event):
            self._waiting.append(self._made(event, fields))

    async def start(self, source: str, model: str) -> "Verdict | None":
        """A session begins, or an agent in it."""
        state = self._hooks.state
        self._cwd, self._directories = state.cwd, frozenset(state.permissions.roots.working)
        self._watch_names()
        if state.session.agent_id is not None:
            heard = await self.ask("SubagentStart")
        else:
            heard = await self.ask("SessionStart", source=source, model=model)
        if heard is not None:
            self.watch(heard.more.get("watchPaths"))
            first = heard.more.get("initialUserMessage")
            if isinstance(first, str) and first.strip():
                state.prompts.append(first)
        return heard

    def told(self, heard: "Verdict") -> list[str]:
        """What hooks want the model to know, each bounded."""
        return [self._hooks.bounded(text, "hook") for text in heard.contexts]

    async def batch(self, calls: Mapping[str, Block], replies: Mapping[str, CallFinished]) -> "Verdict | None":
        """All calls of one answer have ended."""
        if not self.has("PostToolBatch"):
            return None
        told = [
            {
                "tool_name": reply.name,
                "tool_input": use["input"],
                "tool_use_id": id_,
                "tool_response": response_of(reply),
            }
            for id_, use in calls.items()
            if (reply := replies.get(id_)) is not None
        ]
        return await self.ask("PostToolBatch", tool_calls=told)

    async def stop(
        self, text: str, background: Callable[[], list[dict[str, Any]]], *, is_again: bool
    ) -> "Verdict | None":
        """The model is done; of an agent in a session its own words are told, of the session what still works."""
        if self._hooks.state.session.agent_id is not None:
            path = self._hooks.state.session.agent_transcript_path
            return await self.ask(
                "SubagentStop", agent_transcript_path=path, last_assistant_message=text, stop_hook_active=is_again
            )
        if not self.has("Stop"):
            return None
        return await self.ask(
            "Stop", stop_hook_active=is_again, last_assistant_message=text, background_tasks=background()
        )

    async def end(self, reason: str) -> None:
        """The session ends; its hooks together have a second and a half."""
        if not self.has("SessionEnd"):
            return
        reason = "other" if reason == "exit" else reason
        try:
            async with asyncio.timeout(_END_S):
                await self.ask("SessionEnd", reason=reason)
        except TimeoutError:
            _log.warning("SessionEnd hooks took longer than %s s and were ended", _END_S)

    async def turn_ended(self) -> None:
        """Look what changed since the last turn, and tell what waits."""
        if not self._hooks.is_used:
            return
        await self._hooks.settled()
        self._look()
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            heard = await self._hooks.fire(event)
            self.watch(heard.more.get("watchPaths"))

    async def shown(self, text: str, message_id: str, index: int, turn: int) -> str:
        """A text of the model is complete; returns what people are shown of it."""
        heard = await self.ask(
            "MessageDisplay", turn_id=str(turn), message_id=message_id, index=index, final=True, delta=text
        )
        content = None if heard is None else heard.more.get("displayContent")
        return content if isinstance(content, str) else text

    def watch(self, paths: Any) -> None:
        """Notice when these files change."""
        if isinstance(paths, list):
            for path in cast("list[Any]", paths)[:1_000]:
                if isinstance(path, str) and os.path.isabs(path):
                    self._watched.setdefault(path, _stat(path))

    def _watch_names(self) -> None:
        """Notice the files of the working directory that matchers of FileChanged name."""
        if not self.has("FileChanged"):
            return
        matchers = [hook.matcher or "" for hook in self._hooks.hooks if hook.event == "FileChanged"]
        names = [name.strip() for matcher in matchers for name in matcher.split("|")]
        cwd = self._hooks.state.cwd
        self.watch([os.path.join(cwd, name) for name in names if name not in ("", "*", ".", "..")])

    def _look(self) -> None:
        state = self._hooks.state
        if self._cwd is not None and state.cwd != self._cwd:
            self.later("CwdChanged", old_cwd=self._cwd, new_cwd=state.cwd)
            self._watch_names()
        if self.has("DirectoryAdded"):
            now = frozenset(state.permissions.roots.working)
            for directory in sorted(now - self._directories):
                self.later("DirectoryAdded", directory=directory)
            self._directories = now
        self._cwd = state.cwd
        for path, before in self._watched.items():
            after = _stat(path)
            if after != before:
                self._watched[path] = after
                self.later("FileChanged", file_path=path, event=_change(before, after))

    def _made(self, event: str, fields: Mapping[str, Any]) -> "HookInput":
        from holdfast.hooks.events import EVENTS  # noqa: PLC0415 - who has no hooks needs none of it

        return self._hooks.fill(EVENTS[event], **fields)


def text_of(blocks: Iterable[Block]) -> str:
    """The words of a prompt."""
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _change(before: tuple[int, ...] | None, after: tuple[int, ...] | None) -> str:
    if before is None:
        return "add"
    return "unlink" if after is None else "change"


def _stat(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)
