"""The one queue of what is said to the model between turns: delivered once, in order, people first."""

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast, get_args

from holdfast.agent.history import Block, prompt_blocks
from holdfast.contract import UsageError
from holdfast.events import PromptSource
from holdfast.session import Journal
from holdfast.session.records import PROMPT_QUEUED

__all__ = ["Prompt", "PromptQueue", "Sent"]

_log = logging.getLogger(__name__)


class Sent(NamedTuple):
    """What came with a prompt of a program."""

    uuid: str = ""
    """The name that the program has given it."""
    is_verbatim: bool = False
    """It is only text: nothing in it is looked up or run."""


_PLAIN = Sent()


class Prompt(NamedTuple):
    """Something to tell the model."""

    content: str | list[Block]
    source: PromptSource
    blocks: list[Block]
    sent: Sent = _PLAIN


class PromptQueue:
    """What waits for the next turn. What may wait for long is in the journal, too, until a message tells it."""

    __slots__ = ("_journal", "_others", "_users", "is_journaled")

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal
        self.is_journaled = False
        """The journal knows of something that waits; the message that tells it must say so."""
        self._users: deque[Prompt] = deque()
        self._others: deque[Prompt] = deque()

    def __len__(self) -> int:
        return len(self._users) + len(self._others)

    def put(self, content: str | list[Block], source: PromptSource = "user", sent: Sent = _PLAIN) -> Prompt:
        """Add something at the end; raises `UsageError` when there is nothing in it."""
        prompt = Prompt(content, source, prompt_blocks(content), sent)
        (self._users if source == "user" else self._others).append(prompt)
        return prompt

    def put_lasting(self, content: str | list[Block], source: PromptSource = "user", sent: Sent = _PLAIN) -> None:
        """The same for what must outlive this process."""
        self.put(content, source, sent)
        if self._journal is not None:
            more = {} if sent == _PLAIN else sent._asdict()
            self._journal.record_note(PROMPT_QUEUED, {"content": content, "source": source, **more})
            self.is_journaled = True

    def restore(self, queued: Iterable[Mapping[str, Any]]) -> None:
        """What an earlier process left in the journal waits again."""
        for item in queued:
            content: Any = item.get("content")
            source: Any = item.get("source")
            self.is_journaled = True
            try:
                said = cast("str | list[Block]", content) if isinstance(content, str | list) else ""
                sent = Sent(str(item.get("uuid") or ""), item.get("is_verbatim") is True)
                self.put(said, source if source in get_args(PromptSource) else "user", sent)
            except UsageError as error:
                _log.warning("a prompt that waited in the session cannot be told: %s", error)

    def take_all(self) -> list[Prompt]:
        """Everything that waits, the users' messages first."""
        taken = [*self._users, *self._others]
        self._users.clear()
        self._others.clear()
        self.is_journaled = False
        return taken
