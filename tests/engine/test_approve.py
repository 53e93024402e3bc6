"""Hooks, rules and modes between a parsed call and its work."""

from typing import Any

import pytest

from holdfast import Tool, ToolContext, ToolResult
from holdfast.contract import (
    NO_OBJECTION,
    PASSTHROUGH,
    Answer,
    Args,
    ArgumentsInvalid,
    Effects,
    McpInfo,
    Opinion,
    PromptFacts,
    RuleSubject,
)
from holdfast.events import CallStarted, PermissionDecided, encode_event
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import Script, ScriptedAsker, play, run_tool

from .conftest import Reader, Write, WriteArgs, decided, refused, rules, saying

# Rules and modes.


def test_a_read_only_call_runs_and_a_change_without_anybody_to_ask_does_not():
    assert run_tool(Reader(), permission_mode="default").outcome == "completed"
    run = run_tool(Write(), permission_mode="default")
    assert refused(run)
    assert "nobody can be asked" in run.text
    assert decided(run) == ["deny"]


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_a_mode_refuses_a_change_without_asking(mode: str):
    asker = ScriptedAsker(["allow"])
    assert refused(run_tool(Write(), permission_mode=mode, asker=asker))
    assert asker.questions == []


@pytest.mark.parametrize("name", ["Write", "OldWrite"])
def test_a_deny_rule_on_any_name_denies(name: str):
    run = run_tool(Write(), permissions=rules(deny=name, allow="Write"))
    assert refused(run)
    assert name in run.text


def test_an_allow_rule_lets_a_change_through_and_an_ask_rule_beats_it():
    assert run_tool(Write(), permissions=rules(allow="Write")).outcome == "completed"
    asker = ScriptedAsker(["allow"])
    assert run_tool(Write(), permissions=rules(allow="Write", ask="Write"), asker=asker).outcome == "completed"
    assert len(asker.questions) == 1


def test_one_decision_serves_equal_calls_and_a_changed_context_is_noticed():
    script = Script().call_with("1", "Write", {}).end_turn().call_with("2", "Write", {}).end_turn()
    script = script.call_with("3", "Write", {})
    asker = ScriptedAsker([Answer("allow"), Answer("allow", rules=("Write",))])
    timeline = play(script, tools=[Write()], permission_mode="default", asker=asker)
    assert set(timeline.outcomes.values()) == {"completed"}
    assert [question.tool_use_id for question in asker.questions] == ["1", "2"]


class WordArgs(Args):
    command: str = ""
    colour: str = ""
    notes: tuple[str, ...] = ()


class Speak(Tool[WordArgs, str]):
    """Judged by its words, as a shell is; counts how often its effects are worked out."""

    name, args_type, output_type = "Speak", WordArgs, str
    max_result_chars = None

    def __init__(self, *, reads: bool = False) -> None:
        self.reads = reads
        self.looked = 0

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Speak."

    def is_read_only(self, args: WordArgs) -> bool:
        return True

    def effects(self, args: WordArgs, ctx: ToolContext) -> Effects:
        self.looked += 1
        return Effects(reads=["a"] if self.reads else [], known=True)

    def permission_matcher(self, args: WordArgs, ctx: ToolContext) -> RuleSubject:
        return RuleSubject("command", args.command)

    async def call(self, args: WordArgs, ctx: ToolContext) -> ToolResult[str]:
        return ToolResult("done")


@pytest.mark.parametrize(
    ("tool", "given", "looked"),
    [
        (Speak(), {"command": "true"}, 2),
        (Speak(), {"command": "true", "notes": ["x"]}, 4),
        (Speak(), {"command": "echo ~"}, 4),
        (Speak(reads=True), {"command": "true"}, 4),
    ],
    ids=["words alone", "what cannot be looked up", "the home has a say", "a file has a say"],
)
def test_a_command_that_touches_no_file_is_decided_once(tool: Speak, given: dict[str, Any], looked: int):
    script = Script()
    for number in range(4):
        script = script.call_with(str(number), "Speak", given).end_turn()
    timeline = play(script, tools=[tool], permission_mode="default")
    assert set(timeline.outcomes.values()) == {"completed"}
    assert tool.looked == looked


def test_a_remembered_command_is_known_by_all_of_its_input():
    script = Script()
    for number in range(3):
        script = script.call_with(str(number), "Speak", {"command": "true"}).end_turn()
    script = script.call_with("other", "Speak", {"command": "true", "colour": "never"})
    permissions = PermissionContext("default", [Rule.parse("deny", "Speak(colour:never)")])
    timeline = play(script, tools=[Speak()], permissions=permissions)
    assert timeline.outcomes == {"0": "completed", "1": "completed", "2": "completed", "other": "denied"}


def test_rules_about_the_input_are_asked_for_each_call():
    permissions = PermissionContext("bypassPermissions", [Rule.parse("deny", "Write(colour:never)")])
    script = Script().call_with("1", "Write", {}).call_with("2", "Write", {"path": "b"})
    assert set(play(script, tools=[Write()], permissions=permissions).outcomes.values()) == {"completed"}


def test_the_decision_and_its_trace_are_an_event_that_can_be_kept():
    run = run_tool(Write(), permissions=rules(deny="Write"))
    (event,) = [event for event in run.events if isinstance(event, PermissionDecided)]
    assert b'"deny"' in encode_event(event)
    assert b"Write" in encode_event(event)


# The tool's own opinion.


def with_opinion(opinion: Opinion, kind: type[Write] = Write) -> Write:
    class Opinionated(kind):
        async def check_permission(self, args: WriteArgs, ctx: ToolContext) -> Opinion:
            return opinion

    return Opinionated()


def test_a_tool_can_hold_back_but_never_grant():
    assert refused(run_tool(with_opinion(Opinion.deny("too big"), Reader), permission_mode="default"))
    asker = ScriptedAsker(["allow"])
    run = run_tool(with_opinion(Opinion.ask("sure?"), Reader), permission_mode="default", asker=asker)
    assert run.outcome == "completed"
    assert [question.reason for question in asker.questions] == ["sure?"]
    assert refused(run_tool(with_opinion(NO_OBJECTION), permission_mode="default"))
    assert run_tool(with_opinion(NO_OBJECTION, Reader), permission_mode="default").outcome == "completed"


def test_without_an_opinion_and_without_a_rule_it_is_asked():
    assert refused(run_tool(with_opinion(PASSTHROUGH, Reader), permission_mode="default"))


def test_a_tool_may_update_its_own_input():
    updated = Opinion("no_objection", updated_input={"path": "better"})
    assert run_tool(with_opinion(updated), permissions=rules(allow="Write")).data == "better"


# Hooks.


def test_a_hook_can_allow_deny_or_ask():
    assert run_tool(Write(), permission_mode="default", hooks=[saying(HookAnswer("allow"))]).outcome == "completed"
    assert refused(run_tool(Write(), hooks=[saying(HookAnswer("deny", "not today"))]))
    assert refused(run_tool(Reader(), permission_mode="default", hooks=[saying(HookAnswer("ask"))]))


def test_a_hook_that_says_nothing_changes_nothing():
    for answer in (None, HookAnswer()):
        assert run_tool(Reader(), permission_mode="default", hooks=[saying(answer)]).outcome == "completed"
        assert refused(run_tool(Write(), permission_mode="default", hooks=[saying(answer)]))


def test_the_strictest_hook_counts_whatever_the_order():
    allow, ask, deny = (saying(HookAnswer(behavior)) for behavior in ("allow", "ask", "deny"))
    assert refused(run_tool(Write(), permission_mode="default", hooks=[allow, deny]))
    assert refused(run_tool(Write(), permission_mode="default", hooks=[deny, allow]))
    asker = ScriptedAsker(["allow"])
    run = run_tool(Write(), permission_mode="default", hooks=[ask, allow], asker=asker)
    assert run.outcome == "completed"
    assert len(asker.questions) == 1


def test_no_hook_lowers_a_deny_an_ask_rule_or_a_modes_ceiling():
    allow = [saying(HookAnswer("allow"))]
    assert refused(run_tool(Write(), permissions=rules(deny="Write"), hooks=allow))
    assert refused(run_tool(Write(), permissions=rules(ask="Write"), hooks=allow))
    assert refused(run_tool(Write(), permission_mode="plan", hooks=allow))
    assert refused(run_tool(with_opinion(Opinion.deny("no")), hooks=allow))


def test_a_hooks_yes_counts_where_nobody_is_asked_but_no_rule_and_no_plan_yields_to_it():
    yes = [saying(HookAnswer("allow", "the hook knows"))]
    nobody_asked = PermissionContext("dontAsk")
    assert run_tool(Write(), {}, permissions=nobody_asked, hooks=yes).outcome == "completed"
    assert refused(run_tool(Write(), {}, permissions=nobody_asked))
    assert refused(run_tool(Write(), {}, permissions=nobody_asked, hooks=[saying(None)]))
    assert refused(run_tool(Write(), {}, permissions=nobody_asked, hooks=[saying(HookAnswer("ask", "look"))]))
    assert refused(run_tool(Write(), {}, permissions=nobody_asked, hooks=[saying(HookAnswer("allow"), "Other")]))
    for behavior in ("deny", "ask"):
        ruled = PermissionContext("dontAsk", rules(**{behavior: "Write"}).rules)
        assert refused(run_tool(Write(), {}, permissions=ruled, hooks=yes))
    assert refused(run_tool(Write(), {}, permissions=PermissionContext("plan"), hooks=yes))


def test_a_hooks_yes_also_counts_for_a_subagent_below_one_that_asks_nobody():
    yes = [saying(HookAnswer("allow", "the hook knows"))]
    child = PermissionContext("dontAsk").child("acceptEdits")
    assert run_tool(Write(), {}, permissions=child, hooks=yes).outcome == "completed"
    assert refused(run_tool(Write(), {}, permissions=PermissionContext("plan").child("dontAsk"), hooks=yes))


def test_hooks_hear_a_call_that_a_rule_denies_and_cannot_lift_that():
    heard: list[HookCall] = []

    async def listen(call: HookCall) -> HookAnswer | None:
        heard.append(call)
        return HookAnswer("allow")

    denied = PermissionContext("dontAsk", rules(deny="Write").rules)
    assert refused(run_tool(Write(), {}, permissions=denied, hooks=[Hook("PreToolUse", listen)]))
    assert [call.tool_name for call in heard] == ["Write"]


class Shown(Write):
    """Says what a classifier may see of a call, and that it touches nothing it should not."""

    name = "Shown"
    aliases = ()

    def effects(self, args: WriteArgs, ctx: ToolContext) -> Effects:
        return Effects()

    def classifier_input(self, args: WriteArgs) -> str | None:
        return None if args.path == "hidden" else args.path


def test_auto_mode_judges_what_a_tool_shows_to_a_classifier_and_asks_about_what_it_hides():
    auto = PermissionContext("auto")
    assert run_tool(Shown(), {"path": "seen"}, permissions=auto).outcome == "completed"
    hidden = run_tool(Shown(), {"path": "hidden"}, permissions=auto)
    assert refused(hidden)
    assert "does not say what a classifier may see" in hidden.text


def test_a_tool_that_shows_something_to_a_classifier_is_judged_call_by_call():
    class OnlyShown(Write):
        def classifier_input(self, args: WriteArgs) -> str | None:
            return args.path

    assert Write.judged_by_name
    assert not OnlyShown.judged_by_name


@pytest.mark.parametrize(("server", "outcome"), [("a__b", "completed"), ("a", "denied")])
def test_the_server_a_remote_tool_lives_on_decides_which_rule_for_a_server_allows_it(server: str, outcome: str):
    class Remote(Write):
        name = "mcp__a__b__c"
        aliases = ()
        mcp_info = McpInfo(server, "c")

    assert run_tool(Remote(), {}, permissions=rules(allow="mcp__a__b")).outcome == outcome


def test_a_hook_that_fails_leaves_a_question():
    async def fails(call: HookCall) -> HookAnswer:
        raise RuntimeError("hook bug")

    hooks = [Hook("PreToolUse", fails)]
    assert refused(run_tool(Reader(), permission_mode="default", hooks=hooks))
    asker = ScriptedAsker(["allow"])
    assert run_tool(Reader(), permission_mode="default", hooks=hooks, asker=asker).outcome == "completed"
    assert "hook bug" in asker.questions[0].reason
    assert refused(run_tool(Reader(), permission_mode="default", hooks=[saying(HookAnswer("deny")), *hooks]))


@pytest.mark.parametrize("rubbish", ["allow", HookAnswer("maybe")])  # pyright: ignore[reportArgumentType]
def test_a_hook_that_answers_rubbish_waves_nothing_through(rubbish: Any):
    run = run_tool(Write(), hooks=[saying(rubbish)])
    assert run.is_error
    assert not [event for event in run.events if isinstance(event, CallStarted)]


def test_hooks_match_any_name_and_receive_the_canonical_one():
    seen: list[HookCall] = []

    async def look(call: HookCall) -> None:
        seen.append(call)

    run_tool(Write(), {"path": "x"}, cwd="/somewhere", hooks=[Hook("PreToolUse", look, "OldWrite")])
    run_tool(Write(), {"path": "x"}, hooks=[Hook("PreToolUse", look, "Other")])
    [call] = seen
    assert (call.tool_name, call.tool_input, call.cwd) == ("Write", {"path": "x"}, "/somewhere")


def test_an_input_replaced_by_a_hook_is_parsed():
    assert run_tool(Write(), hooks=[saying(HookAnswer(updated_input={"path": "b"}))]).data == "b"
    for bad in ({"path": 5}, {"nonsense": 1}, {"approved_by": "the hook"}):
        run = run_tool(Write(), hooks=[saying(HookAnswer("allow", updated_input=bad))])
        assert run.outcome == "invalid"
        assert "changed input" in run.text


def test_an_input_replaced_by_a_hook_is_validated():
    class Picky(Write):
        async def validate(self, args: WriteArgs, ctx: ToolContext) -> None:
            if args.path == "bad":
                raise ArgumentsInvalid("that path is bad")

    assert run_tool(Picky(), {"path": "good"}).data == "good"
    run = run_tool(Picky(), {"path": "good"}, hooks=[saying(HookAnswer("allow", updated_input={"path": "bad"}))])
    assert run.outcome == "invalid"


def test_an_input_replaced_by_a_hook_is_judged():
    class ReadOnlyUnlessForced(Write):
        def is_read_only(self, args: WriteArgs) -> bool:
            return args.path != "forced"

    hooks = [saying(HookAnswer(updated_input={"path": "forced"}))]
    assert run_tool(ReadOnlyUnlessForced(), permission_mode="plan").outcome == "completed"
    assert refused(run_tool(ReadOnlyUnlessForced(), permission_mode="plan", hooks=hooks))
