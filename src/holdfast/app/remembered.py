"""What a finished agent knows, for whoever goes on with it: from its file, or handed on where nothing is on disk."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.contract import FileStamp
from holdfast.session.agent_files import AgentAbout, KeptAgent

if TYPE_CHECKING:
    from holdfast.agent.thoughts import Thoughts

__all__ = ["Remembered", "remembered"]


class Remembered(NamedTuple):
    """Its limits, its conversation, and the files that it has seen."""

    about: AgentAbout
    messages: Sequence[dict[str, Any]]
    file_reads: Mapping[str, FileStamp]
    thoughts: "Thoughts | None"


def remembered(kept: KeptAgent) -> Remembered:
    """What its file says."""
    from holdfast.agent.thoughts import Thoughts  # noqa: PLC0415 - loaded by the loop that starts it
    from holdfast.session.repair import repair  # noqa: PLC0415 - few agents go on

    transcript = kept.transcript
    return Remembered(kept.about, repair(transcript).messages, transcript.file_reads, Thoughts.remembered(transcript))
