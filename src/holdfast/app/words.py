"""An answer of nothing but words that is complete before the rest of the program is loaded.

Nothing of that rest is needed for it: the words go to the journal as the loop would put them there, and the run is
over. Whatever else an answer has, a call, thoughts, another end than the usual one, is for the loop, which reads the
same answer from its beginning. A test holds what both ways leave in the journal equal.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.agent.history import clean_block, prompt_blocks, text_in
from holdfast.lib.uuids import new_uuid
from holdfast.models.interface import BlockEnded, StreamEnded, StreamEvent, StreamStarted, TextDelta, Usage

if TYPE_CHECKING:
    from holdfast.session import Session

__all__ = ["Words", "record_words", "words_of"]

_KINDS = (StreamStarted, TextDelta, BlockEnded, StreamEnded)


class Words(NamedTuple):
    """What the model said, and as what."""

    blocks: list[dict[str, Any]]
    model: str
    message_id: str
    usage: Usage

    @property
    def text(self) -> str:
        """All of it."""
        return text_in(self.blocks)


def words_of(events: Iterable[StreamEvent]) -> Words | None:
    """The words of a whole answer; None where it is anything more than words, or anything less."""
    blocks: list[dict[str, Any]] = []
    started = ended = None
    for event in events:
        if not isinstance(event, _KINDS) or ended is not None:
            return None
        if isinstance(event, StreamStarted):
            started = event
        elif isinstance(event, StreamEnded):
            ended = event
        elif isinstance(event, BlockEnded):
            block = clean_block(event.block) if event.block.keys() == {"type", "text"} else None
            if block is None:
                return None
            blocks.append(block)
    if started is None or ended is None or ended.stop_reason != "end_turn" or not blocks:
        return None
    return Words(blocks, started.model, started.message_id, started.usage if ended.usage == Usage() else ended.usage)


def record_words(session: "Session", prompt: str, words: Words, *, asked: str) -> None:
    """Put prompt and answer into the journal, which knows the prompt as one that waits."""
    from holdfast.events import TurnEnded  # noqa: PLC0415 - loaded with the session
    from holdfast.session.records import DELIVERS_QUEUED, PROMPTS  # noqa: PLC0415 - the same

    journal, said = session.journal, prompt_blocks(prompt)
    told = {"uuid": new_uuid(), DELIVERS_QUEUED: True, PROMPTS: [(new_uuid(), len(said))]}
    journal.record_message("user", said, meta=told)
    usage = {name: getattr(words.usage, name) for name in Usage.__struct_fields__}
    facts = {"model": words.model or asked, "asked": asked, "id": words.message_id, "usage": usage}
    journal.record_message("assistant", words.blocks, meta={"uuid": new_uuid(), **facts, "stop_reason": "end_turn"})
    journal(TurnEnded(0))
