import pytest

from holdfast import ToolContext, ToolResult
from holdfast.contract import Args, ContextModifier, Granted, ModeChanged, PromptFacts, SessionFacts, Tool
from holdfast.engine.state import AgentState
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import run_tool


def state() -> AgentState:
    return AgentState("/here", PermissionContext("default"), SessionFacts())


def allowed(of: AgentState) -> list[str]:
    return [rule.text for rule in of.permissions.rules if rule.behavior == "allow"]


@pytest.mark.parametrize("tool", ["ExitPlanMode", "Skill"])
def test_grants_count_from_a_plan_or_a_skill(tool: str):
    session = state()
    session.apply(Granted(("Bash(make test)", "Edit")), tool)
    assert allowed(session) == ["Bash(make test)", "Edit"]


def test_a_grant_for_one_turn_of_the_user_ends_with_it_and_takes_no_other_rule_along():
    session = state()
    session.permissions = session.permissions.with_rules(Rule.parse("allow", "Bash(make test)"))
    session.apply(Granted(("Bash(make test)", "Edit"), turns=1), "Skill")
    session.apply(Granted(("Write",), turns=2), "Skill")
    session.apply(Granted(("WebFetch",)), "Skill")
    session.end_prompt()
    assert allowed(session) == ["Bash(make test)", "Write", "WebFetch"]
    session.end_prompt()
    session.end_prompt()
    assert allowed(session) == ["Bash(make test)", "WebFetch"]


@pytest.mark.parametrize("tool", ["Bash", "mcp__x__ExitPlanMode", "exitplanmode", ""])
def test_grants_of_any_other_tool_are_ignored_with_a_warning(tool: str, caplog: pytest.LogCaptureFixture):
    session = state()
    session.apply(Granted(("Bash",)), tool)
    assert allowed(session) == []
    assert "grants" in caplog.text


def test_a_rule_that_cannot_be_read_disables_only_itself(caplog: pytest.LogCaptureFixture):
    session = state()
    session.apply(Granted(("Bash(unclosed", "Edit")), "Skill")
    assert allowed(session) == ["Edit"]
    assert "Bash(unclosed" in caplog.text


def test_only_the_plan_tools_change_the_mode_and_never_to_bypass(caplog: pytest.LogCaptureFixture):
    session = state()
    session.apply(ModeChanged("plan"), "EnterPlanMode")
    assert session.permissions.mode == "plan"
    session.apply(ModeChanged("default"), "Skill")
    session.apply(ModeChanged("bypassPermissions"), "ExitPlanMode")
    assert session.permissions.mode == "plan"
    assert len(caplog.records) == 2


@pytest.mark.parametrize("modifier", [Granted(("Bash(broken",)), ModeChanged("no such mode")])
def test_a_change_that_cannot_be_made_does_not_keep_the_reply_back(modifier: ContextModifier):
    class NoArgs(Args):
        pass

    class ExitPlanMode(Tool[NoArgs]):
        name = "ExitPlanMode"
        args_type = NoArgs
        max_result_chars = 100

        def prompt(self, facts: PromptFacts | None = None) -> str:
            return "Leave."

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            return ToolResult("left", modifiers=(modifier,))

    assert run_tool(ExitPlanMode()).text == "left"


def test_what_was_read_is_a_view_that_tools_cannot_change():
    with pytest.raises(TypeError):
        state().file_reads["/x"] = None  # pyright: ignore[reportIndexIssue]
