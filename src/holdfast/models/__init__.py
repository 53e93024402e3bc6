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
    from holdfast.models.open import open_model
    from holdfast.models.options import ModelOptions
    from holdfast.models.replay import ReplayModel
    from holdfast.models.scripted import ScriptedModel

__all__ = [
    "BlockEnded",
    "Effort",
    "Model",
    "ModelError",
    "ModelErrorKind",
    "ModelOptions",
    "ModelRequest",
    "ReplayModel",
    "ScriptedModel",
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
    "open_model",
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
        "replay": ("ReplayModel",),
        "scripted": ("ScriptedModel",),
        "open": ("open_model",),
        "options": ("ModelOptions",),
    },
)
