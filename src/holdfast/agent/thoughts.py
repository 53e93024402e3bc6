"""Whose thoughts are in the conversation: a provider takes back only those of the model that is asked."""

from collections.abc import Iterable, Sequence

from holdfast.agent.history import Block, Message, blocks_of

__all__ = ["Thoughts"]


class Thoughts:
    """Remembers who signed which thought. The history keeps all of them; a request carries those of its model."""

    __slots__ = ("_author", "_authors")

    def __init__(self) -> None:
        self._author: dict[str, str] = {}
        """By the signature, or the sealed text, which no two thoughts share."""
        self._authors: set[str] = set()

    def note(self, blocks: Iterable[Block], model: str) -> None:
        """These blocks were said by this model."""
        for block in blocks:
            if mark := _mark(block):
                self._author[mark] = model
                self._authors.add(model)

    def only_of(self, model: str, messages: Sequence[Message]) -> list[Message]:
        """The messages without signed thoughts of other models, which are refused; nothing else changes."""
        if not self._authors - {model}:
            return list(messages)
        return [self._own(model, message) if message["role"] == "assistant" else message for message in messages]

    def _own(self, model: str, message: Message) -> Message:
        blocks = blocks_of(message)
        own = [block for block in blocks if self._author.get(_mark(block), model) == model]
        return message if len(own) == len(blocks) or not own else {**message, "content": own}


def _mark(block: Block) -> str:
    kind = block.get("type")
    mark = block.get("signature") if kind == "thinking" else block.get("data") if kind == "redacted_thinking" else ""
    return mark if isinstance(mark, str) else ""
