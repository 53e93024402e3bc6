"""Commands as hooks: what they are told, and what their exit codes and output mean."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast import Executor
from holdfast.contract import ModeUpdate
from holdfast.events import CallFinished
from holdfast.hooks import Hook, HookAnswer
from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.hooks.hear import hear
from holdfast.hooks.inputs import PermissionRequest
from holdfast.hooks.schema import Handlers, hooks_of
from holdfast.hooks.session_inputs import WorktreeCreate
from holdfast.host.processes import Processes
from holdfast.settings.model import HookEntry

from .conftest import ORIGIN, Play, echo, entry

DENY = (
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'
)


def say(**answer: Any) -> str:
    """A command that answers with this for PreToolUse."""
    text = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}})
    return f"cat >/dev/null; printf '%s' '{text}'"


def test_exit_two_blocks_and_its_standard_error_is_the_reason(play: Play):
    played = play(entry("PreToolUse", "echo 'not on a friday' >&2; exit 2"))
    assert played.reply.outcome == "denied"
    assert "not on a friday" in str(played.reply.content)
    assert played.ran[0].outcome == "deny"
    assert played.ran[0].origin == "/settings.json:3"


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 $$",
        "kill -TERM $$",
        "echo '{broken'",
        "head -c 10000000 /dev/zero | tr '\\0' '{'",
        "/nowhere/at/all",
        "./missing.sh",
        "nosuchprogramanywhere --fast",
        'echo \'{"hookSpecificOutput":{"permissionDecision":"allow"}}\'',
        'echo \'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"maybe"}}\'',
        'echo \'{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"allow"}}\'',
        'echo \'{"hookSpecificOutput":"x"}\'',
        'echo \'{"decision":["block"]}\'',
        'echo \'{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":"x"}}\'',
    ],
)
@pytest.mark.parametrize(("policy", "outcome"), [(None, "denied"), ("deny", "denied"), ("ignore", "completed")])
def test_a_gate_that_fails_waves_nothing_through(play: Play, command: str, policy: Any, outcome: str):
    played = play(entry("PreToolUse", command), on_gate_failure=policy)
    assert played.reply.outcome == outcome  # nobody can be asked here
    assert any("failed" in text for text in played.said)


def test_a_gate_that_takes_too_long_has_failed_and_is_gone(play: Play):
    handler = {"type": "command", "command": "sleep 60 & echo $! > pid; wait", "timeout": 0.3}
    where = Path(os.environ["HOME"])
    played = play(entry("PreToolUse", handler), cwd=str(where))
    assert played.reply.outcome == "denied"
    assert "longer than 0.3 s" in str(played.reply.content)
    pid = int((where / "pid").read_text())
    assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_a_file_without_the_execute_bit_is_a_gate_that_failed(play: Play, tmp_path: Path):
    (tmp_path / "gate.sh").write_text("#!/bin/sh\nexit 0\n")
    assert play(entry("PreToolUse", f"{tmp_path}/gate.sh")).reply.outcome == "denied"
    assert play(entry("PreToolUse", {"type": "command", "command": f"{tmp_path}/gate.sh", "args": []})).reply.is_error


@pytest.mark.parametrize(
    ("on_failure", "outcome"), [("block", "denied"), ("ask", "denied"), ("continue", "completed"), (None, "completed")]
)
def test_on_failure_decides_about_exit_codes_too(play: Play, on_failure: str | None, outcome: str):
    handler = {"type": "command", "command": "exit 1", **({} if on_failure is None else {"onFailure": on_failure})}
    assert play(entry("PreToolUse", handler)).reply.outcome == outcome


def test_an_exit_code_with_json_that_decides_decides(play: Play):
    assert play(entry("PreToolUse", f"echo '{DENY}'; exit 3")).reply.outcome == "denied"


def test_a_hook_that_reads_nothing_and_leaves_children_behind_hangs_nobody(play: Play):
    given = {"text": "x" * 1_000_000}
    assert (
        play(entry("PreToolUse", "exec <&-; (sleep 30 >/dev/null 2>&1 &) ; true"), given=given).reply.outcome
        == "completed"
    )
    assert play(entry("PreToolUse", "sleep 30 & true"), given=given).reply.outcome == "completed"


def test_a_slow_drip_is_bounded_by_the_time_limit(play: Play):
    handler = {"type": "command", "command": "while :; do printf x; sleep 0.05; done", "timeout": 0.4}
    assert play(entry("PreToolUse", handler)).reply.outcome == "denied"


def test_what_a_command_is_told(play: Play, tmp_path: Path):
    command = f"cat > {tmp_path}/in.json; env > {tmp_path}/env; tty > {tmp_path}/tty; true"
    play(entry("PreToolUse", command), given={"text": "hä"}, cwd=str(tmp_path))
    told = json.loads((tmp_path / "in.json").read_text())
    assert told == {
        "hook_event_name": "PreToolUse",
        "session_id": "local",
        "transcript_path": "",
        "cwd": str(tmp_path),
        "permission_mode": "bypassPermissions",
        "tool_name": "Echo",
        "tool_input": {"text": "hä"},
        "tool_use_id": "c1",
    }
    environment = (tmp_path / "env").read_text().splitlines()
    for prefix in ("CLAUDE_", "HOLDFAST_"):
        assert f"{prefix}PROJECT_DIR={tmp_path}" in environment
        assert f"{prefix}TOOL_NAME=Echo" in environment
        assert f"{prefix}HOOK_EVENT_NAME=PreToolUse" in environment
    assert "not a tty" in (tmp_path / "tty").read_text()


def test_after_a_call_scripts_read_structured_data(play: Play, tmp_path: Path):
    play(entry("PostToolUse", f"cat > {tmp_path}/in.json"), given={"text": "x"})
    told = json.loads((tmp_path / "in.json").read_text())
    assert told["tool_response"] == told["tool_result"] == told["tool_output"] == {"echoed": "x", "success": True}
    assert told["duration_ms"] >= 0
    play(entry("PostToolUseFailure", f"cat > {tmp_path}/in.json"), given={"fail": True})
    told = json.loads((tmp_path / "in.json").read_text())
    assert told["is_interrupt"] is False
    assert told["error"]


def test_exit_two_after_a_call_tells_the_model(play: Play):
    played = play(entry("PostToolUse", "echo 'lint: line 3' >&2; exit 2"))
    assert played.reply.outcome == "completed"
    assert str(played.reply.content).endswith("lint: line 3")


def test_context_over_ten_thousand_characters_goes_to_a_file(play: Play):
    text = json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "w" * 20_000}})
    played = play(entry("PostToolUse", f"printf '%s' '{text}'"))
    assert len(str(played.reply.content)) < 4_000
    assert "20,000 characters" in str(played.reply.content)


def test_hooks_decide_together_and_the_strictest_counts(play: Play):
    allow, ask, deny = (entry("PreToolUse", say(permissionDecision=word)) for word in ("allow", "ask", "deny"))
    assert play(allow, mode="default").reply.outcome == "completed"
    assert play(allow, ask, mode="default").reply.outcome == "denied"
    assert play(deny, allow).reply.outcome == "denied"
    assert play(entry("PreToolUse", say(permissionDecision="defer")), allow).reply.outcome == "denied"


def test_the_last_changed_input_counts_with_a_warning_and_every_hook_sees_the_original(play: Play, tmp_path: Path):
    first = entry(
        "PreToolUse", f"cat > {tmp_path}/a; sleep 0.2; " + say(updatedInput={"text": "first"}).split("; ", 1)[1]
    )
    last = entry("PreToolUse", f"cat > {tmp_path}/b; " + say(updatedInput={"text": "last"}).split("; ", 1)[1])
    played = play(first, last)
    assert played.reply.data == {"echoed": "last"}
    assert any("several hooks changed the input" in text for text in played.said)
    assert [json.loads((tmp_path / name).read_text())["tool_input"] for name in "ab"] == [{"text": "hi"}] * 2


def test_older_words_are_understood(play: Play):
    assert play(entry("PreToolUse", 'echo \'{"decision":"block","reason":"old"}\'')).reply.outcome == "denied"
    assert play(entry("PreToolUse", 'echo \'{"decision":"approve"}\''), mode="default").reply.outcome == "completed"


def test_plain_text_of_a_gate_decides_nothing(play: Play):
    assert play(entry("PreToolUse", "echo all is well")).reply.content == play().reply.content


def test_a_hook_may_end_the_run_and_speak_to_the_user(play: Play):
    said = '{"continue":false,"stopReason":"enough","systemMessage":"look here"}'
    played = play(entry("PostToolUse", f"echo '{said}'"))
    assert played.stop == "enough"
    assert "look here" in played.said


def test_identical_handlers_run_once(play: Play, tmp_path: Path):
    command = f"echo x >> {tmp_path}/runs"
    play(entry("PreToolUse", command, "Echo"), entry("PreToolUse", command, "*"), entry("PreToolUse", command, "Other"))
    assert (tmp_path / "runs").read_text() == "x\n"


def test_once_counts_in_skills_only_so_that_a_gate_watches_every_call():
    handler = {"type": "command", "command": "exit 2", "once": True}
    of_settings = entry("PreToolUse", handler)
    of_skill = msgspec.structs.replace(of_settings, is_of_skill=True)

    async def outcomes(configured: HookEntry) -> list[str]:
        async with Processes() as processes, asyncio.timeout(60):
            hooks = hooks_of((configured,), Handlers(CommandRunner(lambda: processes, Surroundings()), {}))
            executor = Executor([echo], hooks=hooks, permission_mode="bypassPermissions")
            found: list[str] = []
            for number in range(3):
                executor.add({"id": f"c{number}", "name": "Echo", "input": {"text": "hi"}})
                found += [one.outcome async for one in executor.results() if isinstance(one, CallFinished)]
            await executor.close()
        assert ("skills only" in "".join(hooks.warnings)) is (not configured.is_of_skill)
        return found

    assert asyncio.run(outcomes(of_settings)) == ["denied"] * 3
    assert asyncio.run(outcomes(of_skill)) == ["denied", "completed", "completed"]


def test_the_exec_form_needs_no_shell(play: Play, tmp_path: Path):
    handler = {"type": "command", "command": "/usr/bin/touch", "args": ["${CLAUDE_PROJECT_DIR}/a b;c"]}
    play(entry("PreToolUse", handler), cwd=str(tmp_path))
    assert (tmp_path / "a b;c").exists()


def test_a_hook_in_the_background_keeps_nobody_waiting_and_decides_nothing(play: Play):
    handler = {"type": "command", "command": "sleep 30; exit 2", "async": True}
    played = play(entry("PreToolUse", handler))
    assert played.reply.outcome == "completed"
    assert "decides nothing" in played.warnings[0]
    must = play(entry("PreToolUse", {**handler, "onFailure": "block"}))
    assert must.reply.outcome == "denied"
    assert "cannot decide" in must.warnings[0]


@pytest.mark.parametrize(
    "handler",
    [
        {"type": "command"},
        {"command": "true"},
        {"type": "telepathy"},
        {"type": "command", "command": "true", "args": "x"},
        {"type": "command", "command": "true", "timeout": "soon"},
        {"type": "command", "command": "true", "onFailure": "shrug"},
        {"type": "command", "command": "true", "shell": "fish"},
    ],
)
def test_a_broken_gate_counts_as_one_that_failed_and_other_broken_hooks_are_off(play: Play, handler: dict[str, Any]):
    played = play(entry("PreToolUse", handler))
    assert played.reply.outcome == "denied"
    assert "/settings.json:3" in played.warnings[0]
    assert play(entry("PreToolUse", handler, "Other")).reply.outcome == "completed"
    assert play(entry("PreToolUse", handler, "(bad")).reply.outcome == "denied"  # nobody knows what it should watch
    after = play(entry("PostToolUse", handler))
    assert after.reply.outcome == "completed"
    assert "off" in after.warnings[0]


def test_a_timeout_in_milliseconds_is_said(play: Play):
    played = play(entry("PreToolUse", {"type": "command", "command": "true", "timeout": 10_000}))
    assert "not milliseconds" in played.warnings[0]
    assert played.reply.outcome == "completed"


def test_unknown_fields_are_said_and_change_nothing(play: Play):
    played = play(entry("PreToolUse", {"type": "command", "command": "exit 2", "color": "red", "statusMessage": "…"}))
    assert "'color'" in played.warnings[0]
    assert played.reply.outcome == "denied"


def test_a_condition_says_which_calls_a_hook_hears(play: Play):
    gate = {"type": "command", "command": "exit 2", "if": "Echo(text:secret*)"}
    assert play(entry("PreToolUse", gate), given={"text": "plain"}).reply.outcome == "completed"
    assert play(entry("PreToolUse", gate), given={"text": "secrets"}).reply.outcome == "denied"
    broken = {"type": "command", "command": "exit 2", "if": "Echo("}
    assert play(entry("PreToolUse", broken)).reply.outcome == "denied"


@pytest.mark.parametrize(
    "event", ["PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"]
)
def test_a_condition_counts_for_every_event_about_one_call(play: Play, tmp_path: Path, event: str):
    gate = {"type": "command", "command": f"touch {tmp_path}/heard", "if": "Echo(text:secret*)"}
    mode = "default" if event in ("PermissionRequest", "PermissionDenied") else "bypassPermissions"
    for text, heard in (("plain", False), ("secrets", True)):
        given = {"text": text, "fail": event == "PostToolUseFailure"}
        play(entry(event, gate), given=given, mode=mode)
        assert (tmp_path / "heard").exists() is heard, text


def test_a_condition_on_any_other_event_is_said_and_the_hook_never_runs(play: Play):
    played = play(entry("Stop", {"type": "command", "command": "true", "if": "Bash(x)"}))
    assert played.warnings == (f"{ORIGIN}: Stop: `if` is for events about one call, so the hook never runs",)


def test_json_that_decides_nothing_makes_no_failing_gate_a_good_one(play: Play):
    gate = {"type": "command", "command": 'echo \'{"systemMessage":"I tried"}\'; exit 1'}
    lenient = play(entry("PreToolUse", gate))
    assert lenient.reply.outcome == "completed"
    assert "I tried" in lenient.said
    assert any("exit code 1" in said for said in lenient.said)
    assert play(entry("PreToolUse", {**gate, "onFailure": "block"})).reply.outcome == "denied"


@pytest.mark.parametrize("command", ["kill -9 $$", "exit 1", "printf '{'", "./nowhere"])
def test_a_worktree_hook_that_does_not_succeed_blocks(command: str):
    async def run() -> bool:
        async with asyncio.timeout(30), Processes() as processes:
            hooks = hooks_of(
                (entry("WorktreeCreate", command),), Handlers(CommandRunner(lambda: processes, Surroundings()), {})
            )
            return (await hear(tuple(hooks), WorktreeCreate(name="x", cwd="/"), hooks)).blocks

    assert asyncio.run(run())


def test_a_permission_request_is_answered_by_hooks_where_no_rule_wants_a_person(play: Play):
    def answer(**decision: Any) -> str:
        said = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        return f"printf '%s' '{json.dumps(said)}'"

    yes, no = (
        entry("PermissionRequest", answer(behavior="allow")),
        entry("PermissionRequest", answer(behavior="deny", message="nope")),
    )
    assert play(yes, mode="default").reply.outcome == "completed"
    assert "nope" in str(play(no, mode="default").reply.content)
    changed = entry("PermissionRequest", answer(behavior="allow", updatedInput={"text": "other"}))
    assert play(changed, mode="default").reply.data == {"echoed": "other"}
    assert play(yes, entry("PreToolUse", say(permissionDecision="ask"))).reply.outcome == "denied"
    assert play(entry("PermissionRequest", "exit 2"), mode="default").reply.outcome == "denied"


def test_a_hook_never_enters_the_mode_that_asks_nothing():
    heard: list[str] = []

    async def yes(event: PermissionRequest) -> HookAnswer:
        heard.append(event.permission_mode)
        modes = [ModeUpdate("bypassPermissions"), ModeUpdate("acceptEdits")]
        return HookAnswer("allow", updates=tuple(modes[: 2 - len(heard) % 2]))

    executor = Executor([echo], hooks=[Hook("PermissionRequest", yes)], permission_mode="default")
    executor.state.may_bypass = True

    async def run() -> None:
        for number in range(3):
            executor.add({"id": f"c{number}", "name": "Echo", "input": {}})
            _ = [event async for event in executor.results()]
            executor.end_turn()
        await executor.close()

    asyncio.run(run())
    assert heard == ["default", "default", "acceptEdits"]


def test_a_refused_call_is_told_and_may_be_tried_again(play: Play, tmp_path: Path):
    said = '{"hookSpecificOutput":{"hookEventName":"PermissionDenied","retry":true}}'
    played = play(entry("PermissionDenied", f"cat > {tmp_path}/in; echo '{said}'"), mode="dontAsk")
    assert "try this call again" in str(played.reply.content)
    assert "dontAsk" in json.loads((tmp_path / "in").read_text())["reason"]


@pytest.mark.parametrize(
    ("matcher", "told"),
    [
        ("MultiEdit", ["MultiEdit, a tool that was retired; Edit does its work"]),
        ("LS|NotebookRead", ["LS, a tool that was retired; Glob", "NotebookRead, a tool that was retired; Read"]),
        ("^MultiEdit$", ["MultiEdit, a tool that was retired; Edit"]),
        ("Edit|MultiEdit|Write", []),
        ("Notebook.*", []),
        ("LSP", []),
        ("*", []),
        (None, []),
    ],
)
def test_retired_tools_in_a_matcher_are_named_unless_todays_is_there_too(
    play: Play, matcher: str | None, told: list[str]
):
    for event in ("PreToolUse", "PostToolUse"):
        warnings = play(entry(event, "true", matcher)).warnings
        assert len(warnings) == len(told)
        assert all(words in warning for words, warning in zip(told, warnings, strict=True))
    assert play(entry("SessionStart", "true", "LS")).warnings == ()
