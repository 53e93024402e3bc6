# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""Servers inside the program, agents, skills, plugins, results and limits."""

import json
import sys
from typing import Any

import claude_agent_sdk as sdk
from python_lab import PIXEL, SCHEMA, Lab, blocks, call, init_of, probe, result_of, results, say, texts, the

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
    assert called == ["add", "fail"] and "5" in str(told[0].content), told
    assert told[1].is_error and "so" in str(told[1].content)
    assert "image" in str(told[2].content)
    (server_told,) = init_of(found)["mcp_servers"]
    assert server_told["name"] == "calc" and server_told["status"] == "connected", server_told


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
    patient = json.dumps({"mcp": {"waitMs": 60_000}})  # the machine may be busy, and the library takes long to load
    async with lab.client(mcp_servers=servers, allowed_tools=["mcp__echo__echo"], settings=patient) as client:
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
        ".claude/skills/other/SKILL.md": "---\nname: other\ndescription: OTHERS\n---\nSAY other\n",
        ".claude/commands/shout.md": "---\ndescription: Shouts\nargument-hint: WORD\n---\nSAY shouted $ARGUMENTS\n",
        ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\n---\nYou help.\n",
    }.items():
        place = lab.cwd / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    lab.trust()


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
    found = await lab.ask("SYSTEM", skills=["speak"], system_prompt=preset)
    assert "speak" in texts(found) and "OTHERS" not in texts(found), texts(found)
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
            {
                "hooks": {
                    "UserPromptSubmit": [
                        {"hooks": [{"type": "command", "command": "touch $CLAUDE_PROJECT_DIR/hooked"}]}
                    ]
                }
            }
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
            found += [message]
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
