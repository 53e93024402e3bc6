"""The one queue of what is said to the model between turns: delivered once, in order, people first."""

from collections import deque
from typing import NamedTuple

from holdfast.agent.history import Block, prompt_blocks
from holdfast.events import PromptSource

__all__ = ["Prompt", "PromptQueue"]


class Prompt(NamedTuple):
    """Something to tell the model."""

    content: str | list[Block]
    source: PromptSource
    blocks: list[Block]


class PromptQueue:
    """What waits for the next turn."""

    __slots__ = ("_others", "_users")

    def __init__(self) -> None:
        self._users: deque[Prompt] = deque()
        self._others: deque[Prompt] = deque()

    def __len__(self) -> int:
        return len(self._users) + len(self._others)

    def put(self, content: str | list[Block], source: PromptSource = "user") -> Prompt:
        """Add something at the end; raises `UsageError` when there is nothing in it."""
        prompt = Prompt(content, source, prompt_blocks(content))
        (self._users if source == "user" else self._others).append(prompt)
        return prompt

    def take_all(self) -> list[Prompt]:
        """Everything that waits, the users' messages first."""
        taken = [*self._users, *self._others]
        self._users.clear()
        self._others.clear()
        return taken
