"""Speak to models: one interface, one file for each provider, and models that need no key."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.models.errors import ModelError, ModelErrorKind
    from holdfast.models.interface import (
        BlockEnded,
        Effort,
        Model,
        ModelRequest,
        StreamEnded,
        StreamEvent,
        StreamStarted,
        SystemBlock,
        TextDelta,
        ThinkingDelta,
        ToolInputDelta,
        ToolUseStarted,
        Usage,
        Wire,
    )

__all__ = [
    "BlockEnded",
    "Effort",
    "Model",
    "ModelError",
    "ModelErrorKind",
    "ModelRequest",
    "StreamEnded",
    "StreamEvent",
    "StreamStarted",
    "SystemBlock",
    "TextDelta",
    "ThinkingDelta",
    "ToolInputDelta",
    "ToolUseStarted",
    "Usage",
    "Wire",
]

export_lazily(
    __name__,
    {
        "errors": ("ModelError", "ModelErrorKind"),
        "interface": (
            "BlockEnded",
            "Effort",
            "Model",
            "ModelRequest",
            "StreamEnded",
            "StreamEvent",
            "StreamStarted",
            "SystemBlock",
            "TextDelta",
            "ThinkingDelta",
            "ToolInputDelta",
            "ToolUseStarted",
            "Usage",
            "Wire",
        ),
    },
)
