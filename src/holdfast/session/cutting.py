"""Go back in a session: what it remembered up to one message, as if nothing had come after."""

from holdfast.lib.uuids import part_uuid
from holdfast.session.errors import SessionError
from holdfast.session.records import MessageRecorded
from holdfast.session.transcript import Message, Transcript

__all__ = ["ResumeRejected", "cut_after", "names_of", "place_of"]


class ResumeRejected(SessionError):
    """What would be left out is not what the caller believes."""


def place_of(transcript: Transcript, uuid: str) -> int | None:
    """Which message has this name, or a part with it; none where nobody is called so."""
    for index, message in enumerate(transcript.messages):
        if uuid in names_of(message):
            return index
    return None


def names_of(message: Message) -> list[str]:
    """What the prompts in it, and its parts, are called."""
    parts = 1 if isinstance(message.content, str) else len(message.content)
    own = [part_uuid(message.uuid, index) for index in range(parts)] if message.uuid else []
    return [*(name for name, _ in message.prompts), *(message.parts or own)]


def cut_after(transcript: Transcript, uuid: str, *, drops: str | None = None) -> Transcript:
    """The session up to and with the message of this name.

    Args:
        transcript: All of it; it stays as it is.
        uuid: The last message that counts.
        drops: The prompt that begins what is left out; only its own turn may be left out.

    Raises:
        SessionError: No message is called so.
        ResumeRejected: More than that turn would be left out, or something else.
    """
    last = place_of(transcript, uuid)
    if last is None:
        raise SessionError(f"the session has no message {uuid!r}", advice="Give the uuid of one of its lines.")
    if drops is not None:
        _check(transcript.messages[last + 1 :], drops)
    kept, seen = Transcript(), 0
    for at, record in transcript.entries:
        kept.take_at(record, at)
        seen += isinstance(record, MessageRecorded)
        if seen > last:
            break
    return kept


def _check(left_out: list[Message], drops: str) -> None:
    prompts = [name for message in left_out for name, _ in message.prompts]
    if not left_out:
        reason = "nothing comes after the message to go back to"
    elif not left_out[0].prompts:
        reason = "the turn that is kept goes on after the message to go back to"
    elif prompts != [drops]:
        reason = f"what would be left out begins with {prompts[0]!r}" + (
            f" and has {len(prompts) - 1} more prompts" if len(prompts) > 1 else ""
        )
    else:
        return
    raise ResumeRejected(f"Resume rejected by --resume-drops-turn: {reason}, not only the turn of {drops!r}")
