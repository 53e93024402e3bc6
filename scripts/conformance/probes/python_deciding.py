# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""Tools, permission and hooks."""

import json
import typing
from typing import Any

import claude_agent_sdk as sdk
from python_lab import Lab, call, init_of, lines, probe, result_of, results, say, texts

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
        hooks={
            "PermissionRequest": [sdk.HookMatcher(hooks=[yes])],
            "PostToolUseFailure": [sdk.HookMatcher(hooks=[hear])],
        },
        can_use_tool=decide,
    )
    assert [one["hook_event_name"] for one in heard] == ["PermissionRequest", "PostToolUseFailure"], heard
    assert (lab.cwd / "made").exists() and "error" in heard[1]
