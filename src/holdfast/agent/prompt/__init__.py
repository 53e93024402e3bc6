"""What the model is told: the system prompt, and small reminders along the way."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.agent.prompt.build import PromptParts, build_system_prompt, render_instructions
    from holdfast.agent.prompt.fences import defused, fenced
    from holdfast.agent.prompt.reading import InstructionFile
    from holdfast.agent.prompt.reminders import reminder

__all__ = [
    "InstructionFile",
    "PromptParts",
    "build_system_prompt",
    "defused",
    "fenced",
    "reminder",
    "render_instructions",
]

export_lazily(
    __name__,
    {
        "build": ("PromptParts", "build_system_prompt", "render_instructions"),
        "fences": ("defused", "fenced"),
        "reading": ("InstructionFile",),
        "reminders": ("reminder",),
    },
)
