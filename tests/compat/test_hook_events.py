"""One row for each event that users' hook scripts know: what it brings, what its matcher means, what exit code 2 does.

The rows are checked against what command hooks really got on their standard input, in one session in which all of it
happens (`hook_tour`), and against what a block really prevents (`test_hook_blocks`).
"""
# ruff: noqa: E501 - one line for one row

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.hooks.events import EVENTS
from holdfast.settings.schema import HOOK_EVENTS

from .hook_tour import NEVER, Tour, toured

COMMON = {"session_id", "prompt_id", "transcript_path", "cwd", "permission_mode", "effort", "hook_event_name"}
BEFORE_ANY_PROMPT = {"Setup", "SessionStart", "InstructionsLoaded"}
ABOUT_A_CALL = "tool_name tool_input"


class Row(NamedTuple):
    fields: str
    """What it brings besides what every event does."""
    matches: str | None
    """The field that a matcher is compared with."""
    two: str
    """What exit code 2 means."""
    found: dict[str, Any]
    """What was to be read there in the session."""


ROWS: dict[str, Row] = {
    "PreToolUse": Row(f"{ABOUT_A_CALL} tool_use_id", "tool_name", "blocks", {"tool_input": {"command": "exit 3"}}),
    "PermissionRequest": Row(f"{ABOUT_A_CALL} permission_suggestions", "tool_name", "is ignored", {"tool_name": "Bash"}),
    "PermissionDenied": Row(f"{ABOUT_A_CALL} tool_use_id reason", "tool_name", "shows the user", {"tool_use_id": "denied"}),
    "PostToolUse": Row(f"{ABOUT_A_CALL} tool_use_id tool_response duration_ms tool_result tool_output", "tool_name", "tells the model", {"tool_use_id": "asked"}),
    "PostToolUseFailure": Row(f"{ABOUT_A_CALL} tool_use_id error is_interrupt duration_ms", "tool_name", "tells the model", {"error": "Exit code 3", "is_interrupt": False}),
    "PostToolBatch": Row("tool_calls", None, "blocks", {}),
    "UserPromptSubmit": Row("prompt", None, "blocks", {"prompt": "/greet you"}),
    "UserPromptExpansion": Row("expansion_type command_name command_args command_source prompt", "command_name", "blocks", {"command_name": "greet", "command_args": "you", "command_source": "user", "prompt": "/greet you"}),
    "MessageDisplay": Row("turn_id message_id index final delta", None, "is ignored", {"final": True, "index": 0}),
    "Notification": Row("message title notification_type", "notification_type", "shows the user", {"notification_type": "elicitation_dialog"}),
    "SessionStart": Row("source model", "source", "shows the user", {"source": "startup", "model": "scripted:memory"}),
    "SessionEnd": Row("reason", "reason", "shows the user", {"reason": "other"}),
    "Setup": Row("trigger", "trigger", "shows the user", {"trigger": "init"}),
    "Stop": Row("stop_hook_active last_assistant_message background_tasks session_crons", None, "blocks", {"stop_hook_active": False, "last_assistant_message": "All done.", "background_tasks": [], "session_crons": []}),
    "StopFailure": Row("error error_details last_assistant_message", "error", "is ignored", {"error": "auth", "error_details": "no key"}),
    "SubagentStart": Row("agent_id agent_type", "agent_type", "shows the user", {"agent_type": "Explore"}),
    "SubagentStop": Row("agent_id agent_type agent_transcript_path last_assistant_message stop_hook_active", "agent_type", "blocks", {"agent_type": "Explore", "last_assistant_message": "I looked."}),
    "TaskCreated": Row("task_id task_subject task_description", None, "blocks", {"task_id": "1", "task_subject": "tidy", "task_description": "up"}),
    "TaskCompleted": Row("task_id task_subject task_description", None, "blocks", {"task_id": "1"}),
    "TeammateIdle": Row("", None, "blocks", {}),
    "PreCompact": Row("trigger custom_instructions", "trigger", "blocks", {"trigger": "manual", "custom_instructions": "keep the names"}),
    "PostCompact": Row("trigger compact_summary", "trigger", "shows the user", {"trigger": "manual"}),
    "InstructionsLoaded": Row("file_path memory_type load_reason", "load_reason", "is ignored", {"memory_type": "user", "load_reason": "session_start"}),
    "ConfigChange": Row("source file_path", "source", "blocks", {"source": "user_settings"}),
    "CwdChanged": Row("old_cwd new_cwd", None, "shows the user", {}),
    "DirectoryAdded": Row("directory", None, "shows the user", {}),
    "FileChanged": Row("file_path event", "file_path", "shows the user", {"event": "change"}),
    "WorktreeCreate": Row("name", None, "blocks", {"name": "apart"}),
    "WorktreeRemove": Row("worktree_path", None, "shows the user", {}),
    "Elicitation": Row("mcp_server_name message mode requested_schema", "mcp_server_name", "blocks", {"mcp_server_name": "scene", "message": "How old?", "mode": "form"}),
    "ElicitationResult": Row("mcp_server_name action content mode elicitation_id", "mcp_server_name", "blocks", {"action": "accept", "content": {"age": 7}}),
    "PreModelSwitch": Row("", None, "shows the user", {}),
    "PostModelSwitch": Row("", None, "shows the user", {}),
}  # fmt: skip


class Told(NamedTuple):
    tour: Tour
    by_event: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    tour = toured(tmp_path_factory)
    return Told(tour, tour.told)


def test_every_known_event_has_a_row() -> None:
    assert set(ROWS) == set(EVENTS) == set(HOOK_EVENTS)
    assert len(ROWS) == 33


@pytest.mark.parametrize("event", sorted(ROWS))
def test_a_row_is_what_is_declared(event: str) -> None:
    """A matcher is compared with the field of the row, and exit code 2 means what the row says."""
    row, kind = ROWS[event], EVENTS[event]
    assert (kind.matched_by or None, kind.exit_two) == (row.matches, row.two)
    assert kind.awaited != "later"


@pytest.mark.parametrize("event", sorted(set(ROWS) - NEVER))
def test_a_script_reads_all_fields_of_its_event_and_no_others(told: Told, event: str) -> None:
    """stdin: the common fields, `agent_id` and `agent_type` in subagents, and the fields of the event."""
    own = set(ROWS[event].fields.split())
    for found in told.by_event[event]:
        more = {"agent_id", "agent_type"} if "agent_id" in found else set[str]()
        less = {"prompt_id"} if event in BEFORE_ANY_PROMPT and "prompt_id" not in found else set[str]()
        assert set(found) - {"teammate_name", "team_name"} == (COMMON - less) | own | more
        assert (found["permission_mode"], found["effort"]) in (
            ("default", {"level": "high"}),
            ("plan", {"level": "high"}),
        )
        assert found["hook_event_name"] == event
    first = told.by_event[event][0]
    assert first | ROWS[event].found == first
    assert {one["session_id"] for one in told.by_event[event]} == {told.by_event["Setup"][0]["session_id"]}


@pytest.mark.parametrize("event", sorted(NEVER))
def test_what_never_happens_here_is_said(told: Told, event: str) -> None:
    assert event not in told.by_event
    assert EVENTS[event].awaited == "never"


def test_the_calls_of_agents_are_told_apart_and_name_the_prompt_they_work_for(told: Told) -> None:
    prompts = {one["prompt_id"] for one in told.by_event["UserPromptSubmit"]}
    assert len(prompts) == 2
    [began], [ended] = told.by_event["SubagentStart"], told.by_event["SubagentStop"]
    assert began["agent_id"] == ended["agent_id"]
    assert {began["prompt_id"], ended["prompt_id"]} <= prompts
    assert Path(ended["agent_transcript_path"]).is_file()
    assert Path(ended["transcript_path"]).is_file()
    assert "agent_id" not in told.by_event["PreToolUse"][0]


def test_places_and_results_are_told_as_scripts_read_them(told: Told) -> None:
    tour, seen = told.tour, told.by_event
    assert [one["source"] for one in seen["SessionStart"]] == ["startup", "compact"]
    assert seen["CwdChanged"][-1]["new_cwd"] == str(tour.project / "sub")
    assert seen["FileChanged"][0]["file_path"] == str(tour.project / ".watched")
    assert str(tour.extra) in [one["directory"] for one in seen["DirectoryAdded"]]
    assert seen["WorktreeRemove"][0]["worktree_path"] == str(tour.made)
    [suggested] = seen["PermissionRequest"][0]["permission_suggestions"]
    assert suggested["rules"] == [{"toolName": "Bash", "ruleContent": "touch *"}]
    response = seen["PostToolUse"][0]["tool_response"]
    assert (response["stdout"], response["interrupted"], response["success"]) == ("", False, True)
    assert [call["tool_use_id"] for call in seen["PostToolBatch"][0]["tool_calls"]][:3] == ["bad", "denied", "asked"]
