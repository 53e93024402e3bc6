"""What a tool gives back: data for programs, text for the model, display for people, kept apart."""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, cast

from typing_extensions import TypeVar

from holdfast.contract.blocks import Content
from holdfast.contract.modifiers import ContextModifier

__all__ = ["CallReply", "ToolResult"]

Out = TypeVar("Out", default=Any)


class ToolResult(NamedTuple, Generic[Out]):
    """The outcome of one call that ran."""

    data: Out
    """For programs: structured output, hooks and SDK users see it."""
    text: Content | None = None
    """For the model; when absent the tool's `to_blocks(data)` is asked."""
    is_error: bool = False
    """The work ran and failed, such as a command with a bad exit code; the text is sent as it is."""
    modifiers: tuple[ContextModifier, ...] = ()
    """Changes to the session, applied in call order."""
    display: str | None = None
    """For people, when it should differ from the text."""
    new_messages: tuple[Mapping[str, Any], ...] = ()
    """Messages to add to the conversation after this reply."""
    backgrounded: bool = False
    """The work goes on in the background; this reply only says so."""
    mcp_meta: Mapping[str, Any] | None = None
    """`_meta` and structured content of a remote tool, passed through."""


class CallReply(NamedTuple):
    """What another tool answered to a call of a tool, see `ToolContext.call`."""

    content: str | list[dict[str, Any]]
    """What a model would read: text, or blocks."""
    data: Any = None
    """What programs read: what the tool returned."""
    is_error: bool = False
    """The work ran and failed, as a command with a bad exit code."""

    @property
    def text(self) -> str:
        """All text of the content, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(cast("str", block["text"]) for block in self.content if block.get("type") == "text")
