"""How words of this program to the model are wrapped, so that they pass for nobody else's."""

from collections.abc import Sequence

from holdfast.agent.prompt.fences import defused, fenced
from holdfast.agent.prompt.reading import InstructionFile
from holdfast.lib.visible import visible

__all__ = ["instructions_loaded", "reminder"]


def reminder(text: str) -> str:
    """Wrap words of this program so that the model can tell them from the user's."""
    return f"<system-reminder>\n{defused(text)}\n</system-reminder>"


def instructions_loaded(files: Sequence[InstructionFile], path: str) -> str:
    """Tell instructions that hold for a file that was just used."""
    head = f"For {visible(path)!r} these instructions hold, too; they rank as the project's others, nearer ones higher:"
    # Each file is fenced and defused on its own; the fences themselves must stay whole.
    return "\n\n".join([f"<system-reminder>\n{defused(head)}", *map(fenced, files)]) + "\n</system-reminder>"
