"""What a host reads beside the conversation, and what it may look at while the session runs."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict

from .conftest import Host, Line, StartHost, call, results, texts

GREETER = {"greeter": {"description": "Greets", "prompt": "You greet.", "model": "haiku", "tools": ["Read"]}}
ALWAYS = "bypassPermissions"


def subtypes(lines: list[Line]) -> list[str]:
    return [line["subtype"] for line in lines if line["type"] == "system"]


def greet(host: Host, **fields: Any) -> Any:
    return host.control("initialize", **fields)


def hook_ids(**events: str) -> dict[str, Any]:
    return {event: [{"hookCallbackIds": [id_]}] for event, id_ in events.items()}


def hear(host: Host, **answer: Any) -> Line:
    """Answer the next hook that is called."""
    asked = host.until(type="control_request")[-1]
    host.reply(asked, **answer)
    return asked["request"]["input"]


def test_an_agent_is_a_task_from_its_beginning_to_its_end(start: StartHost) -> None:
    host = start()
    greet(host, agents=GREETER)
    said = call("Agent", description="greet", prompt="SAY hi", subagent_type="greeter", run_in_background=False)
    found = host.say(said, "SAY DONE")
    assert [one for one in subtypes(found) if one.startswith("task")] == [
        *("task_started", "task_updated", "task_notification"),
    ]
    over = next(line for line in found if line.get("subtype") == "task_notification")
    assert over == IsPartialDict(status="completed", usage=IsPartialDict(total_tokens=1100, tool_uses=0))


def test_a_command_in_the_background_that_ends_is_a_turn_of_its_own(start: StartHost) -> None:
    host = start("--permission-mode", ALWAYS)
    first = host.say(call("Bash", command="echo hi; test -p /dev/null", run_in_background=True))
    if "task_notification" not in subtypes(first):
        host.until(type="system", subtype="task_notification")
        assert host.until(type="result")[-1]["origin"] == {"kind": "task-notification"}
    host.finish()


def test_a_task_that_the_host_has_stopped_asks_for_no_answer(start: StartHost) -> None:
    host = start("--permission-mode", ALWAYS)
    found = host.say(call("Bash", command="tail -f /dev/null", run_in_background=True))
    task = next(line for line in found if line.get("subtype") == "task_started")["task_id"]
    host.send({"type": "control_request", "request_id": "s", "request": {"subtype": "stop_task", "task_id": task}})
    host.until(type="control_response")
    assert host.say("SAY on")[-1]["result_index"] == 1


def test_modes_and_refusals_are_told(start: StartHost) -> None:
    host = start()
    refused = host.say(call("Bash", command="touch made"))
    assert next(line for line in refused if line.get("subtype") == "permission_denied") == IsPartialDict(
        tool_name="Bash", decision_reason_type="mode"
    )
    host.send(
        {"type": "control_request", "request_id": "m", "request": {"subtype": "set_permission_mode", "mode": "plan"}}
    )
    told = host.until(type="control_response")
    assert [line["permissionMode"] for line in told if line.get("subtype") == "status"] == ["plan"]


def test_a_prompt_that_needs_no_answer_goes_with_the_next(start: StartHost) -> None:
    host = start()
    kept = host.say("HISTORY", "of all that was said", shouldQuery=False)
    assert (kept[-1]["result"], kept[-1]["num_turns"], texts(kept)) == ("", 0, "")
    told = json.loads(texts(host.say("and now")))
    assert [[block["text"] for block in message["content"]] for message in told] == [
        ["HISTORY\nof all that was said", "and now"]
    ]


def test_a_prompt_that_a_hook_blocks_ends_the_run_without_an_error(start: StartHost) -> None:
    host = start()
    greet(host, hooks=hook_ids(UserPromptSubmit="h"))
    host.prompt("SAY secret")
    hear(host, decision="block", reason="no secrets")
    found = host.until(type="result")[-1]
    assert (found["subtype"], found["is_error"], found["terminal_reason"]) == ("success", False, "hook_stopped")
    assert "no secrets" in found["result"]
    assert host.finish()[0] == 0


def test_a_hook_of_the_host_leaves_a_call_for_later_and_is_asked_again(start: StartHost, place: Path) -> None:
    host = start()
    greet(host, hooks=hook_ids(PreToolUse="h"))
    host.prompt(call("Bash", command="touch made"))
    hear(host, hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "defer"})
    found = host.until(type="result")[-1]
    assert (found["stop_reason"], found["deferred_tool_use"]["input"]) == ("tool_deferred", {"command": "touch made"})
    assert not (place / "made").exists()
    host.prompt("SAY on")
    assert hear(host, hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "allow"})
    host.until(type="result")
    assert (place / "made").exists()


def test_a_host_that_greets_again_changes_its_hooks(start: StartHost, place: Path) -> None:
    host = start("--permission-mode", ALWAYS)
    greet(host, hooks=hook_ids(PreToolUse="old"))
    assert greet(host, hooks=hook_ids(PreToolUse="new"))["hooks_applied"] is True
    host.prompt(call("Bash", command="touch made"))
    asked = host.until(type="control_request")[-1]
    assert asked["request"]["callback_id"] == "new"
    host.reply(asked, hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "deny"})
    host.until(type="result")
    assert not (place / "made").exists()


def test_a_host_that_greets_again_loses_no_gate_and_gets_no_limit_that_would_not_hold(
    start: StartHost, place: Path
) -> None:
    host = start("--permission-mode", ALWAYS)
    greet(host, hooks=hook_ids(PreToolUse="old"), disallowedTools=["Write"])
    assert greet(host, disallowedTools=["Write"])["hooks_applied"] is True
    assert "disallowedTools" in greet(host, hooks={}, disallowedTools=["Bash"])
    assert "settings" in greet(host, settings={"permissions": {"deny": ["Bash"]}})
    host.prompt(call("Bash", command="touch made"))
    hear(host, hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "deny"})
    host.until(type="result")
    assert not (place / "made").exists()


def test_what_a_session_has_is_told_with_its_details(start: StartHost, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "demo", "version": "1.2.3"}')
    host = start("--model", "claude-sonnet-4-5", "--add-dir", str(tmp_path), "--betas", "context-1m-2025-08-07")
    wanted = [{"type": "local", "path": str(plugin)}, {"type": "local", "path": str(tmp_path / "nothing")}]
    told = greet(host, agents=GREETER, plugins=wanted, mcpServers={"gone": {"command": "/nonexistent"}})
    assert told["account"]["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert {"name": "greeter", "description": "Greets", "model": "haiku"} in told["agents"]
    assert any(model.get("supportsEffort") for model in told["models"])
    assert (told["plugins_applied"], told["mcp_servers_applied"]) == (False, True)
    begun = host.say("SAY hi")
    first = next(line for line in begun if line.get("subtype") == "init")
    assert first["plugins"] == [{"name": "demo", "path": str(plugin), "version": "1.2.3"}]
    assert first["plugin_errors"] == [
        IsPartialDict(type="path-not-found", path=str(tmp_path / "nothing"), plugin="inline[0]")
    ]
    assert (first["betas"], first["additional_directories"]) == (["context-1m-2025-08-07"], [str(tmp_path)])
    assert first["mcp_servers"] == [{"name": "gone", "status": "failed", "source": "dynamic"}]
    assert begun[-1]["modelUsage"]["claude-sonnet-4-5"]["contextWindow"] == 1_000_000
    assert "nothing" in host.finish()[2]


def test_a_plugin_that_is_there_and_broken_stops_the_start(start: StartHost, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "hooks.json").write_text("{broken")
    host = start()
    assert "hooks.json" in greet(host, plugins=[{"type": "local", "path": str(tmp_path)}])
    assert host.finish()[0] == 2


def test_a_host_reads_files_within_the_rules(start: StartHost, place: Path) -> None:
    (place / "a.txt").write_bytes(b"caf\xe9 au lait")
    (place / "secret").write_text("key")
    host = start("--disallowed-tools", "Read(./secret)")
    assert host.control("read_file", path="a.txt") == {
        "absPath": str(place / "a.txt"), "contents": "caf\N{REPLACEMENT CHARACTER} au lait", "lossy": True,
    }  # fmt: skip
    cut = host.control("read_file", path=str(place / "a.txt"), encoding="base64", max_bytes=3)
    assert (base64.b64decode(cut["contents"]), cut["truncated"], cut["encoding"]) == (b"caf", True, "base64")
    assert "a rule keeps" in host.control("read_file", path="secret")
    for path in ("nothing", "."):
        assert "nothing" in (said := host.control("read_file", path=path)) or "is no file" in said
    assert "max_bytes" in host.control("read_file", path="a.txt", max_bytes=0)


def test_lists_are_made_anew_and_use_is_told(start: StartHost, tmp_path: Path) -> None:
    config = tmp_path / "config"
    (config / "skills").mkdir(parents=True)
    host = start(CLAUDE_CONFIG_DIR=str(config))
    host.say("SAY hi")
    skill = config / "skills" / "knit" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: knit\ndescription: Knits\n---\nKnit.\n")
    assert host.control("reload_skills")["skills"] == [{"name": "knit", "description": "Knits", "argumentHint": ""}]
    assert "knit" in {one["name"] for one in host.control("reload_plugins")["commands"]}
    assert host.control("reload_output_styles") == {"available_output_styles": ["default"]}
    assert host.control("get_usage")["session"] == IsPartialDict(total_lines_added=0, model_usage=IsPartialDict())
    assert host.control("list_permission_rules")["state"]["mode"] == "default"
    assert "there is no task" in host.control("get_task_output", task_id="b")


@pytest.mark.parametrize("content", ['{"action": "accept", "content": {"name": "Ada"}}', '{"action": "decline"}'])
def test_what_a_server_asks_for_is_asked_of_the_host_that_answers_no_other_question(
    start: StartHost, tmp_path: Path, content: str
) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server import MCPServer\nfrom mcp.server.mcpserver import Context\nfrom pydantic import BaseModel\n"
        "class Name(BaseModel):\n    name: str\nserver = MCPServer('asks')\n"
        "@server.tool()\nasync def ask(ctx: Context) -> str:\n"
        "    said = await ctx.elicit('Your name?', Name)\n    return str(said)\nserver.run('stdio')\n"
    )
    host = start("--allowed-tools", "mcp__asks")
    greet(host, mcpServers={"asks": {"command": sys.executable, "args": [str(script)], "protocol": "2025-06-18"}})
    host.prompt(call("mcp__asks__ask"))
    asked = host.until(type="control_request")[-1]
    assert asked["request"] == IsPartialDict(subtype="elicitation", mcp_server_name="asks", message="Your name?")
    host.reply(asked, **json.loads(content))
    told = str(results(host.until(type="result"))[0]["content"])
    assert ("Ada" in told) is ("Ada" in content)
