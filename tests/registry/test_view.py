import pytest

from holdfast import Tool
from holdfast.contract import Args, McpInfo, PromptFacts, SessionFacts, UsageError
from holdfast.permissions import PermissionContext, Rule
from holdfast.registry import (
    ALIASES,
    BUILTIN_NAMES,
    AgentKind,
    ViewOptions,
    canonical_name,
    for_subagent,
    preset_names,
    tools_for,
)
from holdfast.registry.names import ASYNC_AGENT_TOOLS, NEVER_IN_SUBAGENTS, REPL_PRIMITIVES, TEAMMATE_TOOLS


class Named(Tool):
    args_type = Args
    max_result_chars = 100

    def __init__(self, name: str, *aliases: str, enabled: bool = True, remote: bool = False) -> None:
        self.name = name
        self.aliases = aliases
        self.enabled = enabled
        self.mcp_info = McpInfo("server", "tool") if remote else None

    def is_enabled(self, session: SessionFacts) -> bool:
        return self.enabled or session.prompt.interactive


ALL = [Named(name, *(old for old, new in ALIASES.items() if new == name)) for name in sorted(BUILTIN_NAMES)]
DEFAULT = PermissionContext()


def names(tools: list[Tool]) -> set[str]:
    return {tool.name for tool in tools}


def denying(*texts: str) -> PermissionContext:
    return PermissionContext("default", [Rule.parse("deny", text) for text in texts])


def test_without_options_every_enabled_tool_is_seen():
    assert names(tools_for(ALL, DEFAULT)) == BUILTIN_NAMES


def test_presets_and_simple_mode_narrow_the_list():
    assert names(tools_for(ALL, DEFAULT, ViewOptions(preset="minimal"))) == {"Bash", "Read", "Edit"}
    assert names(tools_for(ALL, DEFAULT, ViewOptions(simple=True))) == {"Bash", "Read", "Edit"}
    assert preset_names("full") is None
    with pytest.raises(UsageError, match="maximal"):
        tools_for(ALL, DEFAULT, ViewOptions(preset="maximal"))


def test_a_list_of_names_takes_old_names_too():
    only = ViewOptions(only=frozenset({"Task", "Read", "KillShell", "Nope"}))
    assert names(tools_for(ALL, DEFAULT, only)) == {"Agent", "Read", "TaskStop"}
    assert tools_for(ALL, DEFAULT, ViewOptions(only=frozenset())) == []


def test_repl_mode_hides_the_primitives():
    assert names(tools_for(ALL, DEFAULT, ViewOptions(repl_mode=True))) == BUILTIN_NAMES - REPL_PRIMITIVES


@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        ("Bash", {"Bash"}),
        ("Bash(*)", {"Bash"}),
        ("Task", {"Agent"}),
        ("Agent", {"Agent"}),
        ("BashOutputTool", {"TaskOutput"}),
        ("Bash(rm *)", set[str]()),
        ("Nope", set[str]()),
    ],
)
def test_a_blanket_deny_on_any_name_hides_the_tool(rule: str, hidden: set[str]):
    assert BUILTIN_NAMES - names(tools_for(ALL, denying(rule))) == hidden


def test_allow_and_ask_rules_hide_nothing():
    context = PermissionContext("default", [Rule.parse("allow", "Bash"), Rule.parse("ask", "Read")])
    assert names(tools_for(ALL, context)) == BUILTIN_NAMES


def test_a_disabled_tool_is_not_seen_and_the_session_decides():
    tools = [Named("Off", enabled=False)]
    assert tools_for(tools, DEFAULT) == []
    session = SessionFacts(prompt=PromptFacts(interactive=True))
    assert tools_for(tools, DEFAULT, ViewOptions(session=session)) == tools


def test_subagents_never_plan_ask_or_start_agents():
    assert names(for_subagent(ALL, AgentKind())) == BUILTIN_NAMES - NEVER_IN_SUBAGENTS
    assert {"EnterPlanMode", "ExitPlanMode", "AskUserQuestion", "Agent"} == NEVER_IN_SUBAGENTS


def test_nesting_and_required_plans_are_the_exceptions():
    assert "Agent" in names(for_subagent(ALL, AgentKind(nesting=True)))
    assert "Agent" not in names(for_subagent(ALL, AgentKind(nesting=True, background=True)))
    assert "ExitPlanMode" in names(for_subagent(ALL, AgentKind(teammate=True, plan_required=True)))
    assert "ExitPlanMode" not in names(for_subagent(ALL, AgentKind(plan_required=True)))
    assert "ExitPlanMode" not in names(for_subagent(ALL, AgentKind(teammate=True)))


def test_background_agents_and_teammates_have_their_own_sets():
    remote = Named("mcp__server__tool", remote=True)
    background = for_subagent([*ALL, remote], AgentKind(background=True))
    assert names(background) == ASYNC_AGENT_TOOLS | {"mcp__server__tool"}
    teammate = for_subagent([*ALL, remote], AgentKind(background=True, teammate=True))
    assert names(teammate) == ASYNC_AGENT_TOOLS | TEAMMATE_TOOLS | {"mcp__server__tool"}


def test_remote_tools_can_be_kept_from_subagents():
    assert for_subagent([Named("mcp__a__b", remote=True)], AgentKind(mcp_tools=False)) == []


def test_every_old_name_leads_to_a_tool_of_today():
    assert {canonical_name(old) for old in ALIASES} <= BUILTIN_NAMES
    assert canonical_name("Read") == "Read"
    assert not set(ALIASES) & BUILTIN_NAMES
