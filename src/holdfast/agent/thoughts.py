"""Whose thoughts are in the conversation: a provider takes back only those of the model that is asked."""

import re
from collections.abc import Iterable, Sequence
from typing import Self

from holdfast.agent.history import Block, Message, blocks_of
from holdfast.session import Transcript

__all__ = ["Thoughts"]

_DATED = re.compile(r"(?:[-@]\d{8}|-latest)\Z")


class Thoughts:
    """Remembers who signed which thought. The history keeps all of them; a request carries those of its model.

    A model is the same under every provider and date: `anthropic:claude-x` is `claude-x-20260101`.
    """

    __slots__ = ("_author", "_authors")

    def __init__(self) -> None:
        self._author: dict[str, str] = {}
        """By the signature, or the sealed text, which no two thoughts share."""
        self._authors: set[str] = set()

    @classmethod
    def remembered(cls, transcript: Transcript) -> Self:
        """Who thought what in an earlier session; a thought of nobody known goes back to nobody."""
        thoughts = cls()
        for message in transcript.messages:
            if message.role == "assistant" and not isinstance(message.content, str):
                thoughts.note(message.content, message.model)
        return thoughts

    def note(self, blocks: Iterable[Block], model: str) -> None:
        """These blocks were said by this model."""
        author = _plain(model)
        for block in blocks:
            if mark := _mark(block):
                self._author[mark] = author
                self._authors.add(author)

    def only_of(self, model: str, messages: Sequence[Message]) -> list[Message]:
        """The messages without signed thoughts of other models, which are refused; nothing else changes."""
        author = _plain(model)
        if not self._authors - {author}:
            return list(messages)
        return [self._own(author, message) if message["role"] == "assistant" else message for message in messages]

    def _own(self, author: str, message: Message) -> Message:
        blocks = blocks_of(message)
        own = [block for block in blocks if self._author.get(_mark(block), author) == author]
        return message if len(own) == len(blocks) or not own else {**message, "content": own}


def _plain(model: str) -> str:
    """A model's name without provider, vendor and date."""
    provider, colon, name = model.partition(":")
    return _DATED.sub("", (name if colon else provider).rpartition("/")[2].lower())


def _mark(block: Block) -> str:
    kind = block.get("type")
    mark = block.get("signature") if kind == "thinking" else block.get("data") if kind == "redacted_thinking" else ""
    return mark if isinstance(mark, str) else ""
