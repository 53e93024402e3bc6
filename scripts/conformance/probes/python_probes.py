"""What the Python SDK offers, each feature once, against the agent that `AGENT` names.

    AGENT=/path/to/holdfast ANTHROPIC_BASE_URL=... python python_probes.py [WORD ...]
"""

import asyncio
import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk
from python_lab import Lab, blocks, call, init_of, lines, main, probe, result_of, results, say, texts, the

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


# -- asking


@probe
async def a_prompt_is_answered(lab: Lab) -> None:
    found = await lab.ask("SAY hello")
    assert [type(one).__name__ for one in found] == ["SystemMessage", "AssistantMessage", "ResultMessage"], found
    ended = result_of(found)
    assert (ended.subtype, ended.is_error, ended.result, ended.num_turns) == ("success", False, "hello", 1)
    assert ended.terminal_reason == "completed"
    assert ended.total_cost_usd and ended.usage["input_tokens"] == 1000
    assert not lab.errors, lab.errors


@probe
async def a_stream_of_prompts_is_answered_one_by_one(lab: Lab) -> None:
    found = await lab.ask(lines("SAY one", "SAY two"))
    assert [one.result for one in found if isinstance(one, sdk.ResultMessage)] == ["one", "two"]


@probe
async def a_session_of_a_client_goes_on(lab: Lab) -> None:
    async with lab.client() as client:
        first = result_of(await say(client, "SAY one"))
        second = result_of(await say(client, "SAY two"))
    assert (first.result, second.result, first.session_id) == ("one", "two", second.session_id)


@probe
async def a_picture_is_sent(lab: Lab) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    found = await lab.ask(lines([{"type": "text", "text": "SAY seen"}, picture]))
    assert result_of(found).result == "seen"


@probe
async def the_origin_and_the_uuid_of_a_prompt_come_back(lab: Lab) -> None:
    uuid = "11111111-2222-4333-8444-555555555555"
    found = await lab.ask(lines({"content": "SAY hi", "origin": {"kind": "human"}, "uuid": uuid}))
    ended = result_of(found)
    assert (ended.origin, ended.user_message_uuid) == ({"kind": "human"}, uuid)
    assert the(found, sdk.AssistantMessage).user_message_uuid == uuid


@probe
async def a_verbatim_prompt_is_no_command(lab: Lab) -> None:
    async with lab.client(verbatim_prompts=True) as client:
        first = result_of(await say(client, "SAY hi"))
        found = await say(client, "/clear")
    assert "You said: /clear" in texts(found) and result_of(found).session_id == first.session_id


@probe
async def clear_begins_a_new_conversation(lab: Lab) -> None:
    async with lab.client() as client:
        first = result_of(await say(client, "SAY secret"))
        found = await say(client, "/clear")
        reset = the(found, sdk.ConversationResetMessage)
        after = await say(client, "what did you say?")
    assert reset.session_id == first.session_id
    assert result_of(found).session_id == result_of(after).session_id == reset.new_conversation_id
    assert reset.new_conversation_id != first.session_id


# -- what it is told


@probe
async def a_system_prompt_takes_the_place_of_ours(lab: Lab) -> None:
    assert result_of(await lab.ask("WHO", system_prompt="You are PIRATE-7.")).result.startswith("SYSTEM: You are PIRATE-7.")


@probe
async def a_preset_with_more_words_keeps_ours(lab: Lab) -> None:
    preset = {"type": "preset", "preset": "claude_code", "append": "PIRATE-8 stands behind."}
    said = result_of(await lab.ask("WHOLE SYSTEM", system_prompt=preset)).result
    assert "PIRATE-8 stands behind." in said and "tool" in said


@probe
async def a_system_prompt_comes_from_a_file(lab: Lab) -> None:
    (lab.cwd / "words.md").write_text("You are PIRATE-9.")
    prompt = {"type": "file", "path": str(lab.cwd / "words.md")}
    assert result_of(await lab.ask("WHO", system_prompt=prompt)).result.startswith("SYSTEM: You are PIRATE-9.")


@probe
async def the_dynamic_parts_leave_the_system_prompt(lab: Lab) -> None:
    preset = {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True}
    said = result_of(await lab.ask("WHOLE SYSTEM", system_prompt=preset)).result
    assert str(lab.cwd) not in said, said
    assert str(lab.cwd) in result_of(await lab.ask("FIRST MESSAGE", system_prompt=preset)).result


@probe
async def the_words_of_a_project_count_when_its_settings_are_asked_for(lab: Lab) -> None:
    (lab.cwd / "CLAUDE.md").write_text("The password is swordfish.")
    preset = {"type": "preset", "preset": "claude_code"}
    said = result_of(await lab.ask("WHOLE SYSTEM", system_prompt=preset, setting_sources=["project"])).result
    assert "swordfish" in said
    without = result_of(await lab.ask("WHOLE SYSTEM", system_prompt=preset, setting_sources=[])).result
    assert "swordfish" not in without


# -- tools and permission


@probe
async def tools_can_be_chosen(lab: Lab) -> None:
    assert set(init_of(await lab.ask("SAY x", tools=["Read", "Grep"]))["tools"]) == {"Read", "Grep"}
    assert init_of(await lab.ask("SAY x", tools=[]))["tools"] == []
    preset = {"type": "preset", "preset": "claude_code"}
    assert {"Bash", "Edit", "Read", "Write"} <= set(init_of(await lab.ask("SAY x", tools=preset))["tools"])


@probe
async def an_allowed_tool_runs(lab: Lab) -> None:
    found = await lab.ask(call("Bash", command="touch made"), allowed_tools=["Bash"])
    assert (lab.cwd / "made").exists() and not results(found)[0].is_error


@probe
async def what_nobody_allows_is_refused_and_told(lab: Lab) -> None:
    found = await lab.ask(call("Bash", command="touch made"))
    assert not (lab.cwd / "made").exists() and results(found)[0].is_error
    assert result_of(found).permission_denials[0]["tool_name"] == "Bash"


@probe
async def a_disallowed_tool_is_not_offered(lab: Lab) -> None:
    found = await lab.ask("SAY x", disallowed_tools=["Bash"], permission_mode="bypassPermissions")
    assert "Bash" not in init_of(found)["tools"]


@probe
async def a_callback_decides(lab: Lab) -> None:
    asked: list[Any] = []

    async def decide(name: str, given: dict[str, Any], context: sdk.ToolPermissionContext) -> Any:
        asked.append((name, given, context))
        if "no" in given["command"]:
            return sdk.PermissionResultDeny(message="not that one")
        return sdk.PermissionResultAllow()

    prompt = "\n".join([call("Bash", command="touch no"), call("Bash", command="touch yes")])
    found = await lab.ask(prompt, can_use_tool=decide)
    assert [(lab.cwd / name).exists() for name in ("no", "yes")] == [False, True]
    assert "not that one" in str(results(found)[0].content)
    context = asked[0][2]
    assert context.tool_use_id and context.title and context.display_name == "Bash" and context.description
    assert context.suggestions, "nothing is suggested to be saved"


@probe
async def a_callback_changes_the_input(lab: Lab) -> None:
    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={"command": "touch changed"})

    await lab.ask(call("Bash", command="touch asked"), can_use_tool=decide)
    assert [(lab.cwd / name).exists() for name in ("asked", "changed")] == [False, True]


@probe
async def a_callback_saves_what_was_suggested(lab: Lab) -> None:
    asked: list[str] = []

    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(given["command"])
        return sdk.PermissionResultAllow(updated_permissions=context.suggestions)

    prompt = "\n".join([call("Bash", command="touch a"), call("Bash", command="touch a")])
    await lab.ask(prompt, can_use_tool=decide)
    assert asked == ["touch a"], asked


@probe
async def a_callback_adds_rules_and_modes_for_the_session(lab: Lab) -> None:
    asked: list[str] = []

    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(name)
        update = sdk.PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
        return sdk.PermissionResultAllow(updated_permissions=[update])

    writes = [call("Write", file_path=str(lab.cwd / name), content="x") for name in ("a", "b")]
    found = await lab.ask("\n".join(writes), can_use_tool=decide)
    assert asked == ["Write"] and (lab.cwd / "b").exists(), (asked, texts(found))


@probe
async def a_callback_ends_the_run(lab: Lab) -> None:
    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultDeny(message="stop", interrupt=True)

    async with lab.client(can_use_tool=decide) as client:
        found = await say(client, call("Bash", command="touch x"))
        assert result_of(found).subtype == "error_during_execution" and result_of(found).is_error
        assert result_of(await say(client, "SAY alive")).result == "alive"


@probe
async def a_callback_that_fails_is_a_no(lab: Lab) -> None:
    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        raise RuntimeError("broken callback")

    found = await lab.ask(call("Bash", command="touch x"), can_use_tool=decide)
    assert not (lab.cwd / "x").exists() and "broken callback" in str(results(found)[0].content)


@probe
async def a_blocked_path_is_named(lab: Lab) -> None:
    seen: list[Any] = []

    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        seen.append(context)
        return sdk.PermissionResultDeny(message="no")

    await lab.ask(call("Write", file_path="/var/elsewhere.txt", content="x"), can_use_tool=decide)
    assert seen[0].blocked_path == "/var/elsewhere.txt" and seen[0].decision_reason


@probe
async def another_permission_prompt_tool_is_asked(lab: Lab) -> None:
    asked: list[dict[str, Any]] = []

    @sdk.tool("approve", "Decides", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def approve(given: dict[str, Any]) -> dict[str, Any]:
        asked.append(given)
        answer = {"behavior": "allow", "updatedInput": {"command": "touch approved"}}
        return {"content": [{"type": "text", "text": json.dumps(answer)}]}

    server = sdk.create_sdk_mcp_server("gate", tools=[approve])
    await lab.ask(
        lines(call("Bash", command="touch asked")),
        mcp_servers={"gate": server},
        permission_prompt_tool_name="mcp__gate__approve",
    )
    assert asked and asked[0]["tool_name"] == "Bash" and asked[0]["input"] == {"command": "touch asked"}, asked
    assert (lab.cwd / "approved").exists() and not (lab.cwd / "asked").exists()


@probe
async def more_directories_may_be_worked_in(lab: Lab) -> None:
    more = lab.cwd / "more"
    inner = lab.cwd / "inner"
    more.mkdir()
    inner.mkdir()
    prompt = call("Write", file_path=str(more / "x.txt"), content="x")
    await lab.ask(prompt, cwd=str(inner), add_dirs=[more], permission_mode="acceptEdits")
    assert (more / "x.txt").exists()


@probe
async def the_mode_changes_on_the_way(lab: Lab) -> None:
    async with lab.client() as client:
        await say(client, call("Write", file_path=str(lab.cwd / "a"), content="x"))
        await client.set_permission_mode("acceptEdits")
        found = await say(client, call("Write", file_path=str(lab.cwd / "b"), content="x"))
        assert init_of(found)["permissionMode"] == "acceptEdits"
        await client.set_permission_mode("plan")
        await client.set_permission_mode("default")
    assert [(lab.cwd / name).exists() for name in "ab"] == [False, True]


@probe
async def bypass_must_be_allowed_at_the_start(lab: Lab) -> None:
    async with lab.client() as client:
        try:
            await client.set_permission_mode("bypassPermissions")
        except Exception as error:
            assert "bypass" in str(error)
        else:
            raise AssertionError("the mode was entered")
    async with lab.client(extra_args={"allow-dangerously-skip-permissions": None}) as client:
        await client.set_permission_mode("bypassPermissions")
        await say(client, call("Bash", command="touch made"))
    assert (lab.cwd / "made").exists()


# -- hooks


@probe
async def hooks_of_the_program_are_heard(lab: Lab) -> None:
    heard: list[str] = []

    async def hear(given: Any, tool_use_id: str | None, context: Any) -> Any:
        assert given["session_id"] and given["cwd"] and "transcript_path" in given
        heard.append(given["hook_event_name"])
        return {}

    events = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
    async with lab.client(
        hooks={event: [sdk.HookMatcher(hooks=[hear])] for event in events}, allowed_tools=["Bash"]
    ) as client:
        await say(client, call("Bash", command="echo hi"))
    assert heard == ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"], heard


@probe
async def every_event_of_the_sdk_can_be_registered(lab: Lab) -> None:
    import typing

    async def hear(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return {}

    events = [one for part in typing.get_args(sdk.types.HookEvent) for one in (typing.get_args(part) or (part,))]
    assert len(events) >= 10
    hooks = {event: [sdk.HookMatcher(hooks=[hear])] for event in events}
    async with lab.client(hooks=hooks) as client:
        assert result_of(await say(client, "SAY hi")).result == "hi"


@probe
async def a_hook_refuses_a_call(lab: Lab) -> None:
    async def refuse(given: Any, tool_use_id: str | None, context: Any) -> Any:
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "by hook"}
        return {"hookSpecificOutput": said}

    found = await lab.ask(
        call("Bash", command="touch x"),
        hooks={"PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[refuse])]},
        permission_mode="bypassPermissions",
    )
    assert not (lab.cwd / "x").exists() and "by hook" in str(results(found)[0].content)


@probe
async def a_hook_allows_and_changes_a_call(lab: Lab) -> None:
    async def change(given: Any, tool_use_id: str | None, context: Any) -> Any:
        said = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": {"command": "touch changed"},
        }
        return {"hookSpecificOutput": said}

    await lab.ask(call("Bash", command="touch x"), hooks={"PreToolUse": [sdk.HookMatcher("Bash", [change])]})
    assert (lab.cwd / "changed").exists() and not (lab.cwd / "x").exists()


@probe
async def a_guard_that_fails_blocks_where_it_must(lab: Lab) -> None:
    async def fail(given: Any, tool_use_id: str | None, context: Any) -> Any:
        raise RuntimeError("broken guard")

    await lab.ask(
        call("Bash", command="touch x"),
        hooks={"PreToolUse": [sdk.HookMatcher("Bash", [fail], on_failure="block")]},
        permission_mode="bypassPermissions",
    )
    assert not (lab.cwd / "x").exists()


@probe
async def a_hook_adds_to_the_prompt_and_stops_the_run(lab: Lab) -> None:
    async def add(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "EXTRA-WORDS"}}

    async def halt(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"continue_": False, "stopReason": "enough"}

    hooks = {"UserPromptSubmit": [sdk.HookMatcher(hooks=[add])], "PostToolUse": [sdk.HookMatcher(hooks=[halt])]}
    async with lab.client(hooks=hooks, allowed_tools=["Bash"]) as client:
        assert "EXTRA-WORDS" in texts(await say(client, "FIRST MESSAGE"))
        ended = result_of(await say(client, call("Bash", command="true") + "\nSAY never"))
    assert "never" not in (ended.result or "") and ended.terminal_reason == "hook_stopped"


@probe
async def lines_about_hooks_are_sent_where_they_are_wanted(lab: Lab) -> None:
    async def hear(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return {}

    found = await lab.ask(
        call("Bash", command="echo hi"),
        hooks={"PreToolUse": [sdk.HookMatcher(hooks=[hear])]},
        include_hook_events=True,
    )
    told = [one for one in found if isinstance(one, sdk.HookEventMessage)]
    assert {one.subtype for one in told} == {"hook_started", "hook_response"}, found
    assert all(one.hook_event_name == "PreToolUse" for one in told)


@probe
async def permission_requests_and_failures_reach_hooks(lab: Lab) -> None:
    heard: list[dict[str, Any]] = []

    async def hear(given: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append(given)
        return {}

    async def yes(given: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append(given)
        said = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
        return {"hookSpecificOutput": said}

    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultDeny(message="never asked")

    await lab.ask(
        call("Bash", command="touch made; exit 3"),
        hooks={"PermissionRequest": [sdk.HookMatcher(hooks=[yes])], "PostToolUseFailure": [sdk.HookMatcher(hooks=[hear])]},
        can_use_tool=decide,
    )
    assert [one["hook_event_name"] for one in heard] == ["PermissionRequest", "PostToolUseFailure"], heard
    assert (lab.cwd / "made").exists() and "error" in heard[1]


# -- servers inside the program


def _calculator() -> tuple[Any, list[str]]:
    called: list[str] = []

    @sdk.tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        called.append("add")
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    @sdk.tool("fail", "Always fails", {"why": str})
    async def fail(given: dict[str, Any]) -> dict[str, Any]:
        called.append("fail")
        return {"content": [{"type": "text", "text": given["why"]}], "is_error": True}

    @sdk.tool("draw", "Gives a picture", {})
    async def draw(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}

    return sdk.create_sdk_mcp_server("calc", "2.0.0", [add, fail, draw]), called


@probe
async def tools_of_the_program_are_called(lab: Lab) -> None:
    server, called = _calculator()
    prompt = "\n".join([call("mcp__calc__add", a=2, b=3), call("mcp__calc__fail", why="so"), call("mcp__calc__draw")])
    found = await lab.ask(prompt, mcp_servers={"calc": server}, allowed_tools=["mcp__calc"])
    told = results(found)
    assert called == ["add", "fail"] and "5.0" in str(told[0].content), told
    assert told[1].is_error and "so" in str(told[1].content)
    assert "image" in str(told[2].content)
    assert init_of(found)["mcp_servers"] == [{"name": "calc", "status": "connected"}]


@probe
async def the_state_of_servers_is_told(lab: Lab) -> None:
    server, _ = _calculator()
    async with lab.client(mcp_servers={"calc": server, "gone": {"command": "/nonexistent-server"}}) as client:
        told = {one["name"]: one for one in (await client.get_mcp_status())["mcpServers"]}
    assert told["calc"]["status"] == "connected" and told["calc"]["serverInfo"]["version"] == "2.0.0", told
    assert {one["name"] for one in told["calc"]["tools"]} == {"add", "fail", "draw"}
    assert told["gone"]["status"] == "failed" and told["gone"]["error"]


@probe
async def a_server_is_switched_off_and_on(lab: Lab) -> None:
    server, called = _calculator()
    async with lab.client(mcp_servers={"calc": server}, allowed_tools=["mcp__calc"]) as client:
        await client.toggle_mcp_server("calc", False)
        told = (await client.get_mcp_status())["mcpServers"][0]
        assert told["status"] == "disabled", told
        off = await say(client, call("mcp__calc__add", a=1, b=1))
        assert not called and results(off)[0].is_error
        assert "mcp__calc__add" not in init_of(off)["tools"]
        await client.toggle_mcp_server("calc", True)
        await client.reconnect_mcp_server("calc")
        await say(client, call("mcp__calc__add", a=1, b=1))
    assert called == ["add"]


@probe
async def a_stdio_server_is_started_and_an_unknown_one_refused(lab: Lab) -> None:
    script = lab.cwd / "server.py"
    script.write_text(
        "from mcp.server import MCPServer\nserver = MCPServer('echo')\n"
        "@server.tool()\ndef echo(text: str) -> str:\n    return 'echo ' + text\nserver.run('stdio')\n"
    )
    servers = {"echo": {"type": "stdio", "command": sys.executable, "args": [str(script)]}}
    async with lab.client(mcp_servers=servers, allowed_tools=["mcp__echo__echo"]) as client:
        found = await say(client, call("mcp__echo__echo", text="hi"))
        assert "echo hi" in str(results(found)[0].content), results(found)
        try:
            await client.reconnect_mcp_server("nobody")
        except Exception as error:
            assert "nobody" in str(error)
        else:
            raise AssertionError("an unknown server was reconnected")


# -- agents, skills, commands, plugins


@probe
async def agents_of_the_program_work_for_it(lab: Lab) -> None:
    agents = {"greeter": sdk.AgentDefinition(description="Greets", prompt="You greet.", tools=["Read"], model="haiku")}
    prompt = call("Agent", description="greet", prompt="SAY hi there", subagent_type="greeter") + "\nSAY DONE"
    found = await lab.ask(prompt, agents=agents, forward_subagent_text=True)
    inner = [one for one in found if isinstance(one, sdk.AssistantMessage) and one.parent_tool_use_id]
    assert "hi there" in texts(inner) and "greeter" in init_of(found)["agents"]
    assert result_of(found).result == "DONE"


@probe
async def the_words_of_a_subagent_stay_with_it_unless_asked_for(lab: Lab) -> None:
    agents = {"reader": sdk.AgentDefinition(description="Reads", prompt="You read.", tools=["Glob"])}
    inner = 'CALL Glob {\\"pattern\\": \\"*\\"}\\nSAY hidden words'
    prompt = f'CALL Agent {{"description": "d", "subagent_type": "reader", "prompt": "{inner}"}}\nSAY DONE'
    found = await lab.ask(prompt, agents=agents)
    told = [one for one in found if isinstance(one, sdk.AssistantMessage) and one.parent_tool_use_id]
    assert [block.name for block in blocks(told, sdk.ToolUseBlock)] == ["Glob"], told
    assert "hidden words" not in texts(told)


@probe
async def events_of_subagents_reach_hooks(lab: Lab) -> None:
    heard: list[Any] = []

    async def hear(given: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append((given["hook_event_name"], given["agent_type"]))
        return {}

    agents = {"greeter": sdk.AgentDefinition(description="Greets", prompt="You greet.")}
    prompt = call("Agent", description="greet", prompt="SAY hi", subagent_type="greeter") + "\nSAY DONE"
    hooks = {event: [sdk.HookMatcher(hooks=[hear])] for event in ("SubagentStart", "SubagentStop")}
    await lab.ask(prompt, agents=agents, hooks=hooks)
    assert heard == [("SubagentStart", "greeter"), ("SubagentStop", "greeter")], heard


def _project(lab: Lab) -> None:
    for path, text in {
        ".claude/skills/speak/SKILL.md": "---\nname: speak\ndescription: Speaks\n---\nSAY spoken by skill\n",
        ".claude/skills/other/SKILL.md": "---\nname: other\ndescription: Other\n---\nSAY other\n",
        ".claude/commands/shout.md": "---\ndescription: Shouts\nargument-hint: WORD\n---\nSAY shouted $ARGUMENTS\n",
        ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\n---\nYou help.\n",
    }.items():
        place = lab.cwd / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@probe
async def what_a_project_defines_is_told_and_runs(lab: Lab) -> None:
    _project(lab)
    async with lab.client(setting_sources=["project"]) as client:
        info = await client.get_server_info()
        assert info is not None
        named = {one["name"]: one for one in info["commands"]}
        assert named["shout"]["description"] == "Shouts" and named["shout"]["argumentHint"] == "WORD", named
        assert "helper" in {one["name"] for one in info["agents"]}
        found = await say(client, "/shout loud")
    assert "shouted loud" in texts(found), texts(found)
    assert "helper" in init_of(found)["agents"] and "speak" in init_of(found)["skills"]


@probe
async def only_the_chosen_skills_are_loaded(lab: Lab) -> None:
    _project(lab)
    preset = {"type": "preset", "preset": "claude_code"}
    found = await lab.ask("WHOLE SYSTEM", skills=["speak"], system_prompt=preset)
    assert "speak" in texts(found) and "Other" not in texts(found), texts(found)
    called = await lab.ask(call("Skill", skill="speak"), skills=["speak"])
    assert not results(called)[0].is_error, results(called)


@probe
async def a_plugin_is_loaded(lab: Lab) -> None:
    root = lab.cwd / "plugin"
    for path, text in {
        ".claude-plugin/plugin.json": '{"name": "demo", "version": "1.2.3"}',
        "commands/greet.md": "---\ndescription: Greets\n---\nSAY greeted $ARGUMENTS\n",
        "skills/knit/SKILL.md": "---\nname: knit\ndescription: Knits\n---\nSAY knitted\n",
        "agents/aide.md": "---\nname: aide\ndescription: Aids\n---\nYou aid.\n",
        "hooks/hooks.json": json.dumps(
            {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch $CLAUDE_PROJECT_DIR/hooked"}]}]}}
        ),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    found = await lab.ask("/demo:greet you", plugins=[{"type": "local", "path": str(root)}])
    first = init_of(found)
    assert [one["name"] for one in first["plugins"]] == ["demo"], first["plugins"]
    assert "demo:greet" in first["slash_commands"] and "demo:knit" in first["skills"], first
    assert "demo:aide" in first["agents"]
    assert "greeted you" in texts(found)
    assert (lab.cwd / "hooked").exists(), lab.errors


# -- results and limits


@probe
async def structured_output_fits_its_schema(lab: Lab) -> None:
    found = await lab.ask("Give a number", output_format={"type": "json_schema", "schema": SCHEMA})
    assert result_of(found).structured_output == {"n": 2}


@probe
async def a_limit_of_turns_ends_the_run(lab: Lab) -> None:
    prompt = "\n".join([call("Bash", command="echo 1")] * 3)
    try:
        found = await lab.ask(prompt, max_turns=1)
    except sdk.ResultError as error:
        assert error.subtype == "error_max_turns"
    else:
        assert result_of(found).subtype == "error_max_turns"


@probe
async def a_limit_of_money_ends_the_run(lab: Lab) -> None:
    prompt = "\n".join([call("Bash", command="echo 1")] * 3)
    try:
        found = await lab.ask(prompt, max_budget_usd=0.0001, model="claude-sonnet-4-5")
    except sdk.ResultError as error:
        assert error.subtype == "error_max_budget_usd"
    else:
        assert result_of(found).subtype == "error_max_budget_usd"


@probe
async def a_failure_of_the_provider_is_a_result_and_an_error(lab: Lab) -> None:
    found: list[Any] = []
    try:
        async for message in sdk.query(prompt="SAY x", options=lab.options(model="claude-nonexistent")):
            found.append(message)
    except sdk.ResultError as error:
        assert (error.subtype, error.terminal_reason, error.api_error_status) == ("success", "api_error", 404)
    else:
        raise AssertionError("nothing was raised")
    assert the(found, sdk.AssistantMessage).error and result_of(found).is_error


@probe
async def partial_messages_are_sent_where_they_are_wanted(lab: Lab) -> None:
    found = await lab.ask("SAY hello there", include_partial_messages=True)
    kinds = [one.event["type"] for one in found if isinstance(one, sdk.StreamEvent)]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop" and "content_block_delta" in kinds
    assert not [one for one in await lab.ask("SAY hello") if isinstance(one, sdk.StreamEvent)]


@probe
async def thinking_is_asked_for_and_told(lab: Lab) -> None:
    for given in (
        {"thinking": {"type": "adaptive"}},
        {"thinking": {"type": "enabled", "budget_tokens": 4000}},
        {"max_thinking_tokens": 4000},
        {"env": {"MAX_THINKING_TOKENS": "4000"}},
    ):
        assert blocks(await lab.ask("SAY x", **given), sdk.ThinkingBlock), given
    assert not blocks(await lab.ask("SAY x", thinking={"type": "disabled"}), sdk.ThinkingBlock)


@probe
async def effort_betas_fallback_user_budget_and_display_are_taken(lab: Lab) -> None:
    found = await lab.ask(
        "SAY hi",
        effort="high",
        betas=["context-1m-2025-08-07"],
        fallback_model="claude-haiku-4-5",
        task_budget={"total": 50000},
        thinking={"type": "adaptive", "display": "summarized"},
    )
    assert result_of(found).result == "hi"


@probe
async def the_model_changes_on_the_way(lab: Lab) -> None:
    async with lab.client(model="claude-sonnet-4-5") as client:
        assert init_of(await say(client, "SAY 1"))["model"] == "claude-sonnet-4-5"
        await client.set_model("claude-haiku-4-5")
        found = await say(client, "SAY 2")
        assert init_of(found)["model"] == the(found, sdk.AssistantMessage).model == "claude-haiku-4-5"
        await client.set_model(None)
        assert init_of(await say(client, "SAY 3"))["model"] == "claude-sonnet-4-5"


@probe
async def an_interrupt_ends_the_run_and_the_session_goes_on(lab: Lab) -> None:
    async with lab.client(include_partial_messages=True) as client:
        await client.query("SLOWLY " + " ".join(map(str, range(2000))))
        async for message in client.receive_messages():
            if isinstance(message, sdk.StreamEvent) and message.event["type"] == "content_block_delta":
                break
        await client.interrupt()
        rest = [message async for message in client.receive_response()]
        assert result_of(rest).subtype == "error_during_execution"
        assert result_of(await say(client, "SAY alive")).result == "alive"


@probe
async def the_context_is_told(lab: Lab) -> None:
    async with lab.client() as client:
        await say(client, "SAY hi")
        told = await client.get_context_usage()
    assert told["totalTokens"] > 0 and told["maxTokens"] > told["totalTokens"] and told["categories"]
    assert told["model"] and told["percentage"] >= 0


@probe
async def what_the_server_can_do_is_told(lab: Lab) -> None:
    async with lab.client() as client:
        told = await client.get_server_info()
    assert told is not None and told["commands"] is not None and told["output_style"] == "default"
    assert told["models"] and {"value", "displayName", "description"} <= set(told["models"][0])


@probe
async def a_background_task_is_told_and_stopped(lab: Lab) -> None:
    async with lab.client(allowed_tools=["Bash"]) as client:
        found = await say(client, call("Bash", command="sleep 300", run_in_background=True))
        started = the(found, sdk.TaskStartedMessage)
        await client.stop_task(started.task_id)
        async for message in client.receive_messages():
            if isinstance(message, sdk.TaskNotificationMessage):
                assert (message.task_id, message.status) == (started.task_id, "stopped")
                break


# -- files and sessions


@probe
async def files_are_rewound_to_a_prompt(lab: Lab) -> None:
    (lab.cwd / "kept.txt").write_text("before")
    options = {
        "enable_file_checkpointing": True,
        "permission_mode": "acceptEdits",
        "extra_args": {"replay-user-messages": None},
    }
    async with lab.client(**options) as client:
        first = await say(client, call("Read", file_path=str(lab.cwd / "kept.txt")))
        uuid = next(one.uuid for one in first if isinstance(one, sdk.UserMessage) and isinstance(one.content, str))
        assert uuid
        changes = [
            call("Write", file_path=str(lab.cwd / "kept.txt"), content="after"),
            call("Write", file_path=str(lab.cwd / "new.txt"), content="new"),
        ]
        second = await say(client, "\n".join(changes))
        assert (lab.cwd / "kept.txt").read_text() == "after", results(second)
        await client.rewind_files(uuid)
    assert (lab.cwd / "kept.txt").read_text() == "before" and not (lab.cwd / "new.txt").exists()


@probe
async def a_session_is_resumed_forked_and_continued(lab: Lab) -> None:
    first = result_of(await lab.ask("SAY the word is blue"))
    resumed = await lab.ask("HISTORY", resume=first.session_id)
    assert result_of(resumed).session_id == first.session_id and "blue" in result_of(resumed).result
    forked = await lab.ask("HISTORY", resume=first.session_id, fork_session=True)
    assert result_of(forked).session_id != first.session_id and "blue" in result_of(forked).result
    went_on = await lab.ask("HISTORY", continue_conversation=True)
    assert "blue" in result_of(went_on).result


@probe
async def a_session_has_the_id_that_was_chosen(lab: Lab) -> None:
    import uuid

    chosen = str(uuid.uuid4())
    assert result_of(await lab.ask("SAY x", session_id=chosen)).session_id == chosen


@probe
async def an_unknown_session_is_an_error_with_words(lab: Lab) -> None:
    try:
        await lab.ask("SAY x", resume="99999999-9999-4999-8999-999999999999")
    except Exception as error:
        assert "99999999" in str(error), error
    else:
        raise AssertionError("nothing was raised")


@probe
async def a_store_hears_the_session_and_gives_it_back(lab: Lab) -> None:
    store = sdk.InMemorySessionStore()
    config = lab.cwd / "config"
    config.mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(config)}
    first = result_of(await lab.ask("SAY the word is green", session_store=store, env=env))
    listed = await sdk.list_sessions_from_store(store, directory=str(lab.cwd))
    assert [one.session_id for one in listed] == [first.session_id], listed
    told = await sdk.get_session_messages_from_store(store, first.session_id, directory=str(lab.cwd))
    assert [one.type for one in told] == ["user", "assistant"], told
    resumed = result_of(await lab.ask("HISTORY", session_store=store, env=env, resume=first.session_id))
    assert "green" in (resumed.result or "") and resumed.session_id == first.session_id


@probe
async def sessions_are_listed_from_their_transcripts(lab: Lab) -> None:
    config = lab.cwd / "config"
    env = {"CLAUDE_CONFIG_DIR": str(config)}
    settings = json.dumps({"transcripts": {"mirror": True}})
    found = await lab.ask("SAY listed", env=env, settings=settings)
    session = result_of(found).session_id
    os.environ["CLAUDE_CONFIG_DIR"] = str(config)
    try:
        listed = sdk.list_sessions(directory=str(lab.cwd))
        told = sdk.get_session_messages(session, directory=str(lab.cwd))
    finally:
        del os.environ["CLAUDE_CONFIG_DIR"]
    assert [one.session_id for one in listed] == [session] and listed[0].first_prompt == "SAY listed", listed
    assert [one.type for one in told] == ["user", "assistant"]
    assert the(found, sdk.AssistantMessage).uuid == told[-1].uuid


# -- surroundings


@probe
async def settings_count_from_text_and_from_a_file(lab: Lab) -> None:
    rules = {"permissions": {"allow": ["Bash(touch *)"]}}
    await lab.ask(call("Bash", command="touch text"), settings=json.dumps(rules))
    (lab.cwd / "s.json").write_text(json.dumps(rules))
    await lab.ask(call("Bash", command="touch file"), settings=str(lab.cwd / "s.json"))
    assert (lab.cwd / "text").exists() and (lab.cwd / "file").exists()


@probe
async def the_sandbox_of_the_options_counts(lab: Lab) -> None:
    sandbox = {"enabled": True, "autoAllowBashIfSandboxed": True}
    outside = Path.home() / "outside-of-the-sandbox"
    found = await lab.ask(call("Bash", command=f"touch inside; touch {outside}"), sandbox=sandbox)
    assert not outside.exists(), results(found)
    assert (lab.cwd / "inside").exists() or "sandbox" in str(lab.errors + results(found)), lab.errors


@probe
async def variables_reach_commands(lab: Lab) -> None:
    found = await lab.ask(call("Bash", command="echo v=$OF_THE_HOST"), env={"OF_THE_HOST": "yes"})
    assert "v=yes" in str(results(found)[0].content)


@probe
async def extra_arguments_are_taken(lab: Lab) -> None:
    found = await lab.ask("SAY hi", extra_args={"debug-to-stderr": None, "replay-user-messages": None})
    echoed = [one for one in found if isinstance(one, sdk.UserMessage)]
    assert echoed and echoed[0].uuid and echoed[0].content == "SAY hi"
    assert lab.errors, "nothing stands on standard error"


@probe
async def an_option_of_tomorrow_is_told_and_left_out(lab: Lab) -> None:
    found = await lab.ask("SAY hi", extra_args={"brand-new-thing": "value"})
    assert result_of(found).result == "hi" and any("brand-new-thing" in line for line in lab.errors)


@probe
async def long_lines_fit_into_the_buffer(lab: Lab) -> None:
    (lab.cwd / "big.txt").write_text("word " * 200_000)
    prompt = [
        call("Write", file_path=str(lab.cwd / "new.txt"), content="x" * 400_000),
        call("Bash", command="cat big.txt"),
    ]
    found = await lab.ask("\n".join(prompt), permission_mode="bypassPermissions")
    assert result_of(found).subtype == "success" and (lab.cwd / "new.txt").exists()


@probe
async def a_picture_that_was_read_comes_back(lab: Lab) -> None:
    (lab.cwd / "dot.png").write_bytes(base64.b64decode(PIXEL))
    found = await lab.ask(call("Read", file_path=str(lab.cwd / "dot.png")))
    assert "image" in str(results(found)[0].content)


@probe
async def several_sessions_run_side_by_side(lab: Lab) -> None:
    ended = await asyncio.gather(*(lab.ask(f"SAY {number}") for number in range(3)))
    assert [result_of(one).result for one in ended] == ["0", "1", "2"]


@probe
async def a_client_that_leaves_early_leaves_nothing_behind(lab: Lab) -> None:
    async with lab.client(permission_mode="bypassPermissions") as client:
        await client.query(call("Bash", command="sleep 987"))
        async for message in client.receive_messages():
            if isinstance(message, sdk.AssistantMessage):
                break
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            assert b"sleep\x00987" not in words, "the command still runs"


if __name__ == "__main__":
    main(sys.argv[1:])
