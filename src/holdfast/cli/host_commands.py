"""What a host can call by `/name` besides the skills and commands that people wrote."""

from typing import NamedTuple

from holdfast.cli.stream_input import UserPrompt

__all__ = ["ALSO", "COMMANDS", "Command", "called"]

COMMANDS = {
    "clear": ("Begin a new conversation", ""),
    "compact": ("Shorten the conversation to a summary", "[what to keep]"),
}
"""Each with what it does and what may follow it."""
ALSO = {"reset": "clear", "new": "clear"}
"""Other names of them."""


class Command(NamedTuple):
    """What was called."""

    name: str
    rest: str = ""


def called(prompt: UserPrompt, taken: frozenset[str] = frozenset()) -> Command | None:
    """The command that a prompt is; none for any other text. `taken` are names of the user's own commands."""
    content = prompt.content
    if isinstance(content, list):
        only = content[0] if len(content) == 1 else {}
        content = str(only.get("text", "")) if only.get("type") == "text" else ""
    if prompt.sent.is_verbatim or not content.startswith("/"):
        return None
    word, _, rest = content[1:].strip().partition(" ")
    name = ALSO.get(word, word)
    return Command(name, rest.strip()) if name in COMMANDS and word not in taken else None
