"""Mistakes of a program that makes an agent are told at once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent, tool
from holdfast.contract import UsageError
from holdfast.testing import ScriptedModel


@tool(read_only=True)
def add_up(a: int) -> int:
    """Add."""
    return a


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"builtin_tools": ["Raed"]}, "Did you mean 'Read'?"),
        ({"builtin_tools": "Read,Bahs"}, "Did you mean 'Bash'?"),
        (
            {"allowed_tools": ["Bsah(git *)"]},
            "allowed_tools names 'Bsah', and no tool is called so. Did you mean 'Bash'?",
        ),
        ({"allowed_tools": "ad_up"}, "Did you mean 'add_up'?"),
        ({"disallowed_tools": ["bash"]}, "disallowed_tools names 'bash'"),
        ({"disallowed_tools": ["Bash(rm"]}, "the closing ')' is missing"),
    ],
)
def test_a_name_that_no_tool_has_is_told_when_the_agent_is_made(choices: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        Agent("scripted:x", tools=[add_up], **choices)
    assert told in str(caught.value)


def test_names_that_tools_have_are_taken() -> None:
    rules = ["Bash(git *)", "Task", "add_up", "mcp__shop__buy", "mcp__shop__*", "Read, Edit(src/**)"]
    Agent(
        "scripted:x", tools=[add_up], allowed_tools=rules, builtin_tools=["Read", "KillShell"], disallowed_tools=["*"]
    )


@pytest.mark.parametrize("said", [None, "yes", 1, {"behavior": "allow"}])
def test_an_approver_that_answers_nonsense_says_no_and_is_named(
    tmp_path: Path, said: object, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel([[{"tool": "Bash", "input": {"command": "touch x"}}], "Done."])

    def approver(question: object) -> Any:
        return said

    async def scene() -> None:
        async with Agent(model, cwd=tmp_path, approver=approver) as agent:
            assert len((await agent.run("go")).denials) == 1

    asyncio.run(asyncio.wait_for(scene(), 60))
    assert not (tmp_path / "x").exists()
    assert f"the approver returned {said!r}" in caplog.text


def test_a_keyword_that_tool_does_not_know_is_told_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="Did you mean 'read_only'"):
        tool(read_ony=True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(UsageError, match="does not know 'call'"):
        tool(call=1)  # pyright: ignore[reportCallIssue]


def test_parameters_without_a_name_are_told_when_the_tool_is_made() -> None:
    def many(*args: int) -> int:
        """Many."""
        return len(args)

    def more(**options: int) -> int:
        """More."""
        return len(options)

    for function in (many, more):
        with pytest.raises(UsageError, match="must be a plain named one"):
            tool(function)
