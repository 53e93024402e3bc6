"""What every request carries before the user's first word stays small: each tool has a limit of its own."""

import pytest

from holdfast.agent.prompt import PromptParts, build_system_prompt
from holdfast.app import all_tools
from holdfast.app.subagents import AGENT_TYPES
from holdfast.contract import PromptFacts, SessionFacts, Tool
from holdfast.lib.tokens import estimate_bytes, estimate_tokens
from holdfast.registry import project_bytes
from holdfast.registry.deferral import told_by_name
from holdfast.tools.lists.todo_write import TodoWrite
from holdfast.tools.search.tool_search import ToolSearch

TOOLS = {tool.name: tool for tool in (*all_tools(), ToolSearch(), TodoWrite())}
LIMITS = {"Bash": 900, "Agent": 900}
SESSIONS = {
    "headless": PromptFacts(AGENT_TYPES, background=True),
    "interactive": PromptFacts(AGENT_TYPES, background=True, interactive=True),
    "interactive in the sandbox": PromptFacts(AGENT_TYPES, background=True, interactive=True, sandbox=True),
}


def tokens(tool: Tool, facts: PromptFacts) -> int:
    return estimate_bytes(project_bytes(tool, facts=facts))


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_tool_costs_at_most_its_share_of_tokens(name: str) -> None:
    assert tokens(TOOLS[name], SESSIONS["interactive in the sandbox"]) <= LIMITS.get(name, 450)


@pytest.mark.parametrize("session", sorted(SESSIONS))
def test_a_session_costs_at_most_7500_tokens_before_the_first_word(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tool of the product is in, the rare ones by name only."""
    monkeypatch.setenv("BRAVE_API_KEY", "x")  # WebSearch wants a service
    facts = SESSIONS[session]
    offered = [
        tool for tool in TOOLS.values() if tool.is_enabled(SessionFacts(prompt=facts)) and tool.name != "TodoWrite"
    ]
    waiting = sorted(tool.name for tool in offered if tool.should_defer and not tool.always_load)
    parts = PromptParts(tools=frozenset(tool.name for tool in offered), facts=facts, appended=told_by_name(waiting))
    prompt = sum(estimate_tokens(block.text) for block in build_system_prompt(parts))
    schemas = {tool.name: tokens(tool, facts) for tool in offered if tool.name not in waiting}
    total = prompt + sum(schemas.values())
    assert total <= 7_500, f"{total} tokens, {prompt} of them the prompt: {schemas}; let rare tools wait (should_defer)"
