# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""What the first Python SDK offered (`claude-code-sdk`), against the program `claude` of the search path.

PATH=/folder/with/claude:$PATH ANTHROPIC_BASE_URL=... python old_probes.py [WORD ...]
"""

import asyncio
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import claude_code_sdk as sdk

_LIMIT_S = 60


async def a_prompt_is_answered(cwd: Path) -> None:
    found = [one async for one in sdk.query(prompt="SAY hello", options=sdk.ClaudeCodeOptions(cwd=cwd))]
    assert isinstance(found[-1], sdk.ResultMessage) and found[-1].result == "hello"
    assert [type(one).__name__ for one in found] == ["SystemMessage", "AssistantMessage", "ResultMessage"]


async def an_allowed_tool_runs_and_any_other_does_not(cwd: Path) -> None:
    prompt = 'CALL Bash {"command": "touch yes"}\nCALL Bash {"command": "chmod 700 yes"}'
    options = sdk.ClaudeCodeOptions(cwd=cwd, allowed_tools=["Bash(touch *)"])
    found = [one async for one in sdk.query(prompt=prompt, options=options)]
    blocks = [b for one in found if isinstance(one, sdk.UserMessage) for b in one.content]
    assert [bool(b.is_error) for b in blocks] == [False, True] and (cwd / "yes").exists()


async def a_client_asks_twice_and_changes_the_prompt(cwd: Path) -> None:
    options = sdk.ClaudeCodeOptions(cwd=cwd, system_prompt="You are PIRATE-7.", max_turns=3)
    async with sdk.ClaudeSDKClient(options) as client:
        for words, wanted in (("SYSTEM", "PIRATE-7"), ("HISTORY", "PIRATE-7")):
            await client.query(words)
            said = [one async for one in client.receive_response()]
            assert wanted in said[-1].result, said[-1].result


async def a_callback_decides(cwd: Path) -> None:
    async def decide(name, given, context):
        if "no" in given["command"]:
            return sdk.PermissionResultDeny(message="not that one")
        return sdk.PermissionResultAllow()

    async with sdk.ClaudeSDKClient(sdk.ClaudeCodeOptions(cwd=cwd, can_use_tool=decide)) as client:
        await client.query('CALL Bash {"command": "touch no"}\nCALL Bash {"command": "touch yes"}')
        _ = [one async for one in client.receive_response()]
    assert [(cwd / name).exists() for name in ("no", "yes")] == [False, True]


async def a_tool_of_the_program_is_called_and_hooks_are_heard(cwd: Path) -> None:
    heard = []

    @sdk.tool("add", "Adds", {"a": float, "b": float})
    async def add(given):
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    async def hear(given, tool_use_id, context):
        heard.append(given["tool_name"])
        return {}

    options = sdk.ClaudeCodeOptions(
        cwd=cwd,
        mcp_servers={"calc": sdk.create_sdk_mcp_server("calc", tools=[add])},
        allowed_tools=["mcp__calc__add"],
        hooks={"PreToolUse": [sdk.HookMatcher(hooks=[hear])]},
    )
    async with sdk.ClaudeSDKClient(options) as client:
        await client.query('CALL mcp__calc__add {"a": 2, "b": 3}')
        found = [one async for one in client.receive_response()]
    assert heard == ["mcp__calc__add"] and "5" in str(found)


_PROBES = (
    a_prompt_is_answered,
    an_allowed_tool_runs_and_any_other_does_not,
    a_client_asks_twice_and_changes_the_prompt,
    a_callback_decides,
    a_tool_of_the_program_is_called_and_hooks_are_heard,
)


async def _run(function) -> dict:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        try:
            async with asyncio.timeout(_LIMIT_S):
                await function(Path(os.path.realpath(place)))
        except Exception as error:
            where = "".join(traceback.format_exception(error)[-2:]).strip()
            return {"case": function.__name__, "ok": False, "detail": where}
    return {"case": function.__name__, "ok": True}


if __name__ == "__main__":
    for one in _PROBES:
        if not sys.argv[1:] or any(word in one.__name__ for word in sys.argv[1:]):
            print(json.dumps(asyncio.run(_run(one))), flush=True)
