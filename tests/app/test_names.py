"""Mistakes of a program that makes an agent are told at once."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent, tool
from holdfast.app.agent_choices import AgentChanges, AgentChoices
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
            "allowed_tools names 'Bsah', and no tool has that name. Did you mean 'Bash'?",
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


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"max_turns": 0}, "max_turns must be a whole number of at least 1, not 0"),
        ({"max_turns": "3"}, "max_turns must be a whole number of at least 1, not '3'"),
        ({"max_total_tokens": True}, "max_total_tokens must be a whole number"),
        ({"max_budget_usd": -1}, "max_budget_usd must be a number of at least 0, not -1"),
        ({"max_budget_usd": float("nan")}, "max_budget_usd must be a number of at least 0, not nan"),
        ({"permission_mode": "acceptedits"}, "Did you mean 'acceptEdits'?"),
        ({"effort": "extreme"}, "there is no effort 'extreme'; use one of low, medium, high, xhigh, max"),
        ({"model": 3}, "model must be a string such as 'anthropic:sonnet', or a model object, not 3"),
        ({"fallback_model": 3}, "fallback_model must be a string"),
        ({"approver": 3}, "approver must be a function, not 3"),
        ({"hooks": [print]}, "hooks must hold Hook objects"),
        ({"history": ["hello"]}, "history[0] must be a message with `role` and `content`"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_when_the_agent_is_made(choices: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        Agent(choices.pop("model", "scripted:x"), **choices)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("choices", "told"),
    [({"max_turns": 0}, "of at least 1"), ({"effort": "hard"}, "no effort"), ({"model": 3}, "a model object")],
)
def test_so_is_one_for_a_run_before_anything_is_opened(choices: dict[str, Any], told: str) -> None:
    agent = Agent(ScriptedModel(["x"]))
    with pytest.raises(UsageError, match=told):
        agent.run("?", **choices)
    for prompt in (None, 3):
        with pytest.raises(UsageError, match="a string or a list of content blocks"):
            agent.run(prompt)  # pyright: ignore[reportArgumentType]


def test_a_rule_for_an_own_tool_is_not_called_a_mistake(tmp_path: Path) -> None:
    @tool
    def outer() -> str:
        """Do something."""
        return "done"

    model = ScriptedModel([[{"tool": "outer", "input": {}}], "Done."])
    with Agent(model, tools=[outer], allowed_tools=["outer"], cwd=tmp_path) as agent:
        result = agent.run_sync("go")
    assert (result.output, result.warnings) == ("Done.", ())


def test_every_choice_of_an_agent_is_known_to_type_checkers() -> None:
    taken = inspect.signature(Agent).parameters
    assert {*AgentChanges.__annotations__, "output_type", "deps_type"} == set(taken)
    assert set(AgentChanges.__annotations__) - set(AgentChoices.__annotations__) == {"model", "tools"}
