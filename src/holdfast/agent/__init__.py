"""The agent: the loop around one model, and what the model is told before the first word of the user."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.agent.choices import LoopChoices
    from holdfast.agent.history import Block, Message
    from holdfast.agent.loop import Loop
    from holdfast.agent.parts import LoopParts
    from holdfast.agent.retry import RetryPolicy

__all__ = ["Block", "Loop", "LoopChoices", "LoopParts", "Message", "RetryPolicy"]

export_lazily(
    __name__,
    {
        "choices": ("LoopChoices",),
        "history": ("Block", "Message"),
        "loop": ("Loop",),
        "parts": ("LoopParts",),
        "retry": ("RetryPolicy",),
    },
)
