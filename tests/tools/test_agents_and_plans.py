"""The tools of agents, lists, plans, worktrees, skills, questions and settings, as programs and models know them."""

import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from holdfast.app.tools import all_tools
from holdfast.contract import PromptFacts, Tool
from holdfast.tools.lists.todo_write import TodoWrite

TOOLS: Mapping[str, Tool[Any, Any]] = {tool.name: tool for tool in (*all_tools(), TodoWrite())}
FACTS = PromptFacts(("general-purpose",), background=True, interactive=True)


class Row(NamedTuple):
    """One tool: fields with a question mark may be left out."""

    takes: str
    gives: str
    example: Mapping[str, Any]
    waits: bool = True
    """It is told by name only, until somebody looks for it."""
    aliases: tuple[str, ...] = ()


ASKED = {"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}
ROWS = {
    "Agent": Row(
        "description prompt subagent_type? model? max_turns? mode? allowed_tools? cwd? run_in_background? name? resume?"
        " isolation? team_name?",
        "status result content totalToolUseCount totalTokens usage agentId worktreePath? worktreeBranch? |"
        " status agentId description prompt",
        {"description": "Look at prices", "prompt": "Find the discount."},
        waits=False,
        aliases=("Task",),
    ),
    "TodoWrite": Row("todos", "oldTodos newTodos verificationNudgeNeeded?", {"todos": []}),
    "TaskCreate": Row(
        "subject description activeForm? metadata?", "task", {"subject": "Test", "description": "It."}, waits=False
    ),
    "TaskGet": Row("taskId", "task", {"taskId": "1"}),
    "TaskUpdate": Row(
        "taskId status? subject? description? activeForm? addBlocks? addBlockedBy? owner? metadata?",
        "success taskId updatedFields error? statusChange? verificationNudgeNeeded?",
        {"taskId": "1", "status": "completed"},
        waits=False,
    ),
    "TaskList": Row("", "tasks", {}),
    "EnterPlanMode": Row("", "message", {}),
    "ExitPlanMode": Row(
        "allowedPrompts?",
        "plan isAgent filePath? hasTaskTool? planWasEdited? awaitingLeaderApproval? requestId?",
        {"allowedPrompts": [{"tool": "Bash", "prompt": "npm test"}]},
    ),
    "EnterWorktree": Row("name? path?", "worktreePath worktreeBranch? message", {"name": "a"}),
    "ExitWorktree": Row(
        "action discard_changes?",
        "action originalCwd worktreePath worktreeBranch? tmuxSessionName? discardedFiles? discardedCommits? message",
        {"action": "remove"},
    ),
    "Skill": Row(
        "skill args?",
        "success commandName status allowedTools? model? agentId? result?",
        {"skill": "count", "args": "to three"},
        waits=False,
        aliases=("SlashCommand",),
    ),
    "AskUserQuestion": Row(
        "questions annotations? metadata?", "questions answers annotations? unanswered?", {"questions": [ASKED]}
    ),
    "SendUserMessage": Row(
        "message attachments? status", "message attachments? sentAt?", {"message": "Done.", "status": "normal"}
    ),
    "Config": Row(
        "setting value?", "success operation? setting? value? previousValue? newValue? error?", {"setting": "theme"}
    ),
}
each = pytest.mark.parametrize("name", sorted(ROWS))


def given(shape: Any) -> str:
    return " ".join(name if name in shape.__required_keys__ else f"{name}?" for name in shape.__annotations__)


@each
def test_names_and_fields_are_those_that_others_rely_on(name: str) -> None:
    tool, row = TOOLS[name], ROWS[name]
    schema = tool.arguments.schema(FACTS)
    required = schema.get("required", ())
    assert [field if field in required else f"{field}?" for field in schema["properties"]] == row.takes.split()
    shapes = typing.get_args(tool.output_type) or (tool.output_type,)
    assert " | ".join(map(given, shapes)) == row.gives
    assert (tool.names, tool.should_defer) == ((name, *row.aliases), row.waits)


@each
def test_a_classifier_sees_what_a_call_is_about(name: str) -> None:
    tool = TOOLS[name]
    seen = tool.classifier_input(tool.arguments.parse(dict(ROWS[name].example)))
    assert seen
    said = [
        text for text in ROWS[name].example.values() if isinstance(text, str) and text not in ("normal", "Done.", "It.")
    ]
    assert all(text in seen for text in said if name != "Agent" or text != "Look at prices")


@each
def test_its_text_says_when_to_use_it_and_when_not(name: str) -> None:
    words = f" {TOOLS[name].prompt(FACTS).lower()} "
    assert any(f" {word} " in words for word in ("use", "when", "before", "for", "first"))
    assert any(
        mark in words for mark in ("when not", "not for", "not when", "do not use", "not to ", "if the user declines")
    )
