"""What a tool is: the types that every tool, engine and face shares."""

from typing import TYPE_CHECKING, Any

from holdfast.contract.arguments import Arguments, SchemaArguments
from holdfast.contract.blocks import (
    Block,
    Content,
    Document,
    Image,
    Text,
    ToolReference,
    ToolUse,
    content_to_wire,
    text_of,
)
from holdfast.contract.context import ToolContext
from holdfast.contract.effects import UNKNOWN_EFFECTS, Effects
from holdfast.contract.errors import ArgumentsInvalid, Denied, Fatal, HoldfastError, ToolFailed, UsageError
from holdfast.contract.facts import NO_FACTS, PromptFacts, SessionFacts
from holdfast.contract.function_tool import FunctionTool, tool
from holdfast.contract.modifiers import (
    ContextModifier,
    CwdChanged,
    FileRead,
    FileStamp,
    Granted,
    ModeChanged,
    PromptQueued,
)
from holdfast.contract.permission import NO_OBJECTION, PASSTHROUGH, Opinion, Preview, RuleSubject, SubjectKind
from holdfast.contract.result import ToolResult
from holdfast.contract.roles import Answer, Asker, Question, Resource
from holdfast.contract.tool import Alias, McpInfo, OverflowStrategy, Tool

if TYPE_CHECKING:
    from holdfast.contract.args import Args, conditional, internal

__all__ = [
    "NO_FACTS",
    "NO_OBJECTION",
    "PASSTHROUGH",
    "UNKNOWN_EFFECTS",
    "Alias",
    "Answer",
    "Args",
    "Arguments",
    "ArgumentsInvalid",
    "Asker",
    "Block",
    "Content",
    "ContextModifier",
    "CwdChanged",
    "Denied",
    "Document",
    "Effects",
    "Fatal",
    "FileRead",
    "FileStamp",
    "FunctionTool",
    "Granted",
    "HoldfastError",
    "Image",
    "McpInfo",
    "ModeChanged",
    "Opinion",
    "OverflowStrategy",
    "Preview",
    "PromptFacts",
    "PromptQueued",
    "Question",
    "Resource",
    "RuleSubject",
    "SchemaArguments",
    "SessionFacts",
    "SubjectKind",
    "Text",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolReference",
    "ToolResult",
    "ToolUse",
    "UsageError",
    "conditional",
    "content_to_wire",
    "internal",
    "text_of",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Argument types are loaded with the first tool that uses them: importing the contract stays cheap."""
    if name not in ("Args", "conditional", "internal"):
        raise AttributeError(f"module 'holdfast.contract' has no attribute {name!r}")
    from holdfast.contract import args  # noqa: PLC0415 - see above

    return getattr(args, name)
