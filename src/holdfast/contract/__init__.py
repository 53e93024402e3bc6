"""What a tool is: the types that every tool, engine and face shares."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.contract.args import Args, conditional, internal
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
    from holdfast.contract.forms import Choice, Form, FormAnswer, FormAsker, FormField, check_answer, form_to_wire
    from holdfast.contract.function_tool import FunctionTool, tool
    from holdfast.contract.modifiers import (
        ContextModifier,
        ConversationHanded,
        CwdChanged,
        FileRead,
        FileStamp,
        Granted,
        ModeChanged,
        PromptQueued,
        WorktreeChanged,
    )
    from holdfast.contract.permission import (
        NO_OBJECTION,
        PASSTHROUGH,
        DirectoryUpdate,
        ModeUpdate,
        Opinion,
        PermissionUpdate,
        Preview,
        RuleSubject,
        RuleUpdate,
        SubjectKind,
    )
    from holdfast.contract.result import CallReply, ToolResult
    from holdfast.contract.roles import (
        Answer,
        Asker,
        Question,
        QuestionBrief,
        QuestionPart,
        QuestionStanding,
        Resource,
    )
    from holdfast.contract.tool import Alias, McpInfo, OverflowStrategy, Tool

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
    "CallReply",
    "Choice",
    "Content",
    "ContextModifier",
    "ConversationHanded",
    "CwdChanged",
    "Denied",
    "DirectoryUpdate",
    "Document",
    "Effects",
    "Fatal",
    "FileRead",
    "FileStamp",
    "Form",
    "FormAnswer",
    "FormAsker",
    "FormField",
    "FunctionTool",
    "Granted",
    "HoldfastError",
    "Image",
    "McpInfo",
    "ModeChanged",
    "ModeUpdate",
    "Opinion",
    "OverflowStrategy",
    "PermissionUpdate",
    "Preview",
    "PromptFacts",
    "PromptQueued",
    "Question",
    "QuestionBrief",
    "QuestionPart",
    "QuestionStanding",
    "Resource",
    "RuleSubject",
    "RuleUpdate",
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
    "WorktreeChanged",
    "check_answer",
    "conditional",
    "content_to_wire",
    "form_to_wire",
    "internal",
    "text_of",
    "tool",
]

# Settings and rules need the errors alone, without pydantic and asyncio.
export_lazily(
    __name__,
    {
        "args": (
            "Args",
            "conditional",
            "internal",
        ),
        "arguments": (
            "Arguments",
            "SchemaArguments",
        ),
        "blocks": (
            "Block",
            "Content",
            "Document",
            "Image",
            "Text",
            "ToolReference",
            "ToolUse",
            "content_to_wire",
            "text_of",
        ),
        "context": ("ToolContext",),
        "effects": (
            "Effects",
            "UNKNOWN_EFFECTS",
        ),
        "errors": (
            "ArgumentsInvalid",
            "Denied",
            "Fatal",
            "HoldfastError",
            "ToolFailed",
            "UsageError",
        ),
        "facts": (
            "NO_FACTS",
            "PromptFacts",
            "SessionFacts",
        ),
        "forms": (
            "Choice",
            "Form",
            "FormAnswer",
            "FormAsker",
            "FormField",
            "check_answer",
            "form_to_wire",
        ),
        "function_tool": (
            "FunctionTool",
            "tool",
        ),
        "modifiers": (
            "ContextModifier",
            "ConversationHanded",
            "CwdChanged",
            "FileRead",
            "FileStamp",
            "Granted",
            "ModeChanged",
            "PromptQueued",
            "WorktreeChanged",
        ),
        "permission": (
            "DirectoryUpdate",
            "ModeUpdate",
            "NO_OBJECTION",
            "Opinion",
            "PermissionUpdate",
            "Preview",
            "PASSTHROUGH",
            "RuleSubject",
            "RuleUpdate",
            "SubjectKind",
        ),
        "result": ("CallReply", "ToolResult"),
        "roles": (
            "Answer",
            "Asker",
            "Question",
            "QuestionBrief",
            "QuestionPart",
            "QuestionStanding",
            "Resource",
        ),
        "tool": (
            "Alias",
            "McpInfo",
            "OverflowStrategy",
            "Tool",
        ),
    },
)
