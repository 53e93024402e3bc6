"""What people answer between a parsed call and its work."""

import asyncio
import os
from pathlib import Path

import pytest

from holdfast import Executor, ToolContext, ToolResult
from holdfast.contract import (
    Answer,
    DirectoryUpdate,
    Effects,
    ModeUpdate,
    Opinion,
    PermissionUpdate,
    Question,
    RuleUpdate,
    SessionFacts,
)
from holdfast.events import CallFinished, ContextChanged, PermissionAsked
from holdfast.permissions import PermissionContext, Rule, RuleSource
from holdfast.testing import Script, ScriptedAsker, play, run_tool

from .conftest import (
    Reader,
    Write,
    WriteArgs,
    answer_all,
    decided,
    refused,
)


def test_a_yes_runs_the_call_and_the_question_is_an_event():
    asker = ScriptedAsker(["allow"])
    run = run_tool(Write(), {"path": "x"}, permission_mode="default", asker=asker)
    assert run.data == "x"
    (asked,) = [event for event in run.events if isinstance(event, PermissionAsked)]
    assert (asked.tool_use_id, asked.name, asked.input) == ("call-1", "Write", {"path": "x"})
    assert asked.request_id == asker.questions[0].id
    assert decided(run) == ["allow"]


def test_a_no_without_a_word_ends_the_turn_and_one_with_feedback_does_not():
    script = Script().call_with("1", "Write", {}).call_with("2", "Reader", {})
    tools = [Write(), Reader()]
    silent = play(script, tools=tools, permission_mode="default", asker=ScriptedAsker(["deny"]))
    assert silent.outcomes == {"1": "denied", "2": "cancelled"}
    spoken = play(
        script, tools=tools, permission_mode="default", asker=ScriptedAsker([Answer(message="use the other file")])
    )
    assert spoken.outcomes == {"1": "denied", "2": "completed"}
    assert "use the other file" in str(spoken.reply("1").content)


def test_in_a_subagent_a_no_concerns_only_that_call():
    script = Script().call_with("1", "Write", {}).call_with("2", "Reader", {})
    timeline = play(
        script,
        tools=[Write(), Reader()],
        permission_mode="default",
        asker=ScriptedAsker(["deny"]),
        session=SessionFacts(agent_id="child"),
    )
    assert timeline.outcomes == {"1": "denied", "2": "completed"}


def test_an_answer_may_change_the_input_which_is_parsed_and_judged_again():
    change = ScriptedAsker([Answer("allow", updated_input={"path": "b"})])
    assert run_tool(Write(), permission_mode="default", asker=change).data == "b"
    bad = ScriptedAsker([Answer("allow", updated_input={"path": 5})])
    assert run_tool(Write(), permission_mode="default", asker=bad).outcome == "invalid"


def test_a_yes_to_a_changed_input_that_is_denied_stays_denied():
    class Guarded(Write):
        def is_read_only(self, args: WriteArgs) -> bool:
            return args.path != "forced"

        async def check_permission(self, args: WriteArgs, ctx: ToolContext) -> Opinion:
            return Opinion.ask("sure?")

    asker = ScriptedAsker([Answer("allow", updated_input={"path": "forced"})])
    assert refused(run_tool(Guarded(), permission_mode="plan", asker=asker))
    assert len(asker.questions) == 1


def test_always_is_remembered_in_the_session_for_yes_and_for_no():
    script = Script().call_with("1", "Write", {}).end_turn().call_with("2", "Write", {})
    yes = ScriptedAsker([Answer("allow", rules=("Write",))])
    timeline = play(script, tools=[Write()], permission_mode="default", asker=yes)
    assert set(timeline.outcomes.values()) == {"completed"}
    no = ScriptedAsker([Answer("deny", message="never", rules=("Write",))])
    timeline = play(script, tools=[Write()], permission_mode="default", asker=no)
    assert set(timeline.outcomes.values()) == {"denied"}
    assert (len(yes.questions), len(no.questions)) == (1, 1)


def test_each_rule_update_of_an_answer_has_its_own_behavior_and_place():
    kept: list[PermissionUpdate] = []
    updates = (
        RuleUpdate("allow", ("Write",), "localSettings"),
        RuleUpdate("deny", ("Reader",), "userSettings"),
        RuleUpdate("ask", ("Other",)),
    )

    def keep(update: PermissionUpdate) -> tuple[str, ...]:
        kept.append(update)
        return ()

    def rules_after(answer: Answer) -> list[tuple[str, str]]:
        async def scene() -> list[tuple[str, str]]:
            asker = ScriptedAsker([answer])
            async with Executor([Write()], permission_mode="default", asker=asker, keep_rules=keep) as executor:
                executor.add({"type": "tool_use", "id": "1", "name": "Write", "input": {}})
                _ = [event async for event in executor.results()]
                return [(rule.behavior, rule.text) for rule in executor.state.permissions.rules]

        return asyncio.run(scene())

    assert rules_after(Answer("allow", updates=updates)) == [("allow", "Write"), ("deny", "Reader"), ("ask", "Other")]
    assert kept == list(updates[:2])
    kept.clear()
    assert rules_after(Answer("deny", message="no", updates=updates)) == [("deny", "Reader"), ("ask", "Other")]
    assert kept == [updates[1]]


def test_an_answer_may_replace_the_allow_rules_of_one_place():
    file = "/x/settings.local.json"
    here = [Rule.parse("allow", "Reader"), Rule.parse("allow", "Kept", RuleSource(kept_in="localSettings"))]
    filed = [Rule.parse("allow", name, RuleSource("local", path)) for name, path in (("Filed", file), ("Other", "/y"))]
    permissions = PermissionContext("default", [*here, *filed, Rule.parse("deny", "Plain")])

    def rules_after(answer: Answer, *files: str) -> list[str]:
        async def scene() -> list[str]:
            asker = ScriptedAsker([answer])
            async with Executor(
                [Write()], permissions=permissions, asker=asker, keep_rules=lambda update: files
            ) as executor:
                executor.add({"type": "tool_use", "id": "1", "name": "Write", "input": {}})
                _ = [event async for event in executor.results()]
                return [rule.text for rule in executor.state.permissions.rules]

        return asyncio.run(scene())

    in_session = RuleUpdate("allow", ("New",), replaces=True)
    assert rules_after(Answer("allow", updates=(in_session,))) == ["Kept", "Filed", "Other", "Plain", "New"]
    in_file = in_session._replace(destination="localSettings")
    assert rules_after(Answer("allow", updates=(in_file,)), file) == ["Reader", "Other", "Plain", "New"]
    assert rules_after(Answer("allow", updates=(in_file,))) == ["Reader", "Filed", "Other", "Plain", "New"]
    nothing = in_session._replace(rules=())
    assert rules_after(Answer("allow", updates=(nothing,))) == ["Kept", "Filed", "Other", "Plain"]
    # A no changes nothing, and no answer takes a refusal away.
    everything = ["Reader", "Kept", "Filed", "Other", "Plain"]
    assert rules_after(Answer("deny", message="no", updates=(in_session, nothing))) == everything
    refusal = in_session._replace(behavior="deny")
    assert rules_after(Answer("allow", updates=(refusal,))) == [*everything, "New"]
    assert rules_after(Answer("allow", updates=(refusal._replace(rules=()),)), file) == everything


def rights_after(*updates: PermissionUpdate, began: PermissionContext, yes: bool = True) -> PermissionContext:
    """The rights after one call was answered with these updates; a yes lets the call run whatever the mode is then."""
    answer = Answer("allow" if yes else "deny", message="no", updates=updates)

    async def scene() -> PermissionContext:
        async with Executor([Write()], permissions=began, asker=ScriptedAsker([answer])) as executor:
            executor.add({"type": "tool_use", "id": "1", "name": "Write", "input": {}})
            (done,) = [event async for event in executor.results() if isinstance(event, CallFinished)]
            assert done.is_error is not yes
            return executor.state.permissions

    return asyncio.run(scene())


@pytest.mark.parametrize("mode", ["plan", "acceptEdits", "dontAsk"])
def test_an_answer_may_set_the_mode_of_what_follows(mode: str):
    began = PermissionContext("default")
    assert rights_after(ModeUpdate(mode), began=began).mode == mode
    assert rights_after(ModeUpdate(mode), began=began, yes=False).mode == "default"


def test_a_changed_mode_is_an_event():
    asker = ScriptedAsker([Answer("allow", updates=(ModeUpdate("acceptEdits"), ModeUpdate("acceptEdits")))])
    run = run_tool(Write(), permission_mode="default", asker=asker)
    changes = [(event.change, event.value) for event in run.events if isinstance(event, ContextChanged)]
    assert changes == [("ModeChanged", {"mode": "acceptEdits"})]


def test_an_answer_enters_bypass_only_where_the_user_began_with_it(caplog: pytest.LogCaptureFixture):
    wish = ModeUpdate("bypassPermissions")
    assert rights_after(wish, began=PermissionContext("default")).mode == "default"
    assert "began with it" in caplog.text
    ask = Rule.parse("ask", "Write")
    began = PermissionContext("bypassPermissions", [ask])
    assert rights_after(ModeUpdate("plan"), wish, began=began).mode == "bypassPermissions"
    forbidden = PermissionContext("bypassPermissions", [ask], disabled_modes=["bypassPermissions"])
    assert rights_after(ModeUpdate("acceptEdits"), wish, began=forbidden).mode == "acceptEdits"


def test_an_answer_adds_directories_and_takes_away_only_those(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    began = PermissionContext.started_in("/proj")
    place = os.path.realpath(tmp_path)
    added = rights_after(DirectoryUpdate((place, "/")), began=began)
    assert added.added_directories == ((place,),)
    assert "'/' is not added" in caplog.text
    assert rights_after(DirectoryUpdate((place,)), began=began, yes=False).added_directories == ()
    gone = rights_after(DirectoryUpdate((place, "/proj"), removes=True), began=added)
    assert (gone.added_directories, "/proj" in gone.roots.working) == ((), True)


def test_an_answer_removes_allow_rules_and_no_others():
    rules = [Rule.parse("allow", "Reader"), Rule.parse("deny", "Plain"), Rule.parse("ask", "Write")]
    began = PermissionContext("default", rules)
    names = ("Reader", "Plain", "Write")
    updates = tuple(RuleUpdate(behavior, names, removes=True) for behavior in ("allow", "deny", "ask"))
    assert list(rights_after(*updates, began=began).rules) == rules[1:]
    assert list(rights_after(*updates, began=began, yes=False).rules) == rules


def test_what_is_no_rule_is_kept_nowhere():
    kept: list[PermissionUpdate] = []

    def keep(update: PermissionUpdate) -> tuple[str, ...]:
        kept.append(update)
        return ()

    bad = RuleUpdate("allow", ("Write(((",), "localSettings", replaces=True)
    asker = ScriptedAsker([Answer("allow", updates=(bad,))])

    async def scene() -> list[CallFinished]:
        async with Executor([Write()], permission_mode="default", asker=asker, keep_rules=keep) as executor:
            executor.add({"type": "tool_use", "id": "1", "name": "Write", "input": {}})
            return [event async for event in executor.results() if isinstance(event, CallFinished)]

    assert asyncio.run(scene())[0].is_error
    assert kept == []


def test_a_face_that_fails_to_ask_is_a_no_and_not_the_tools_fault(caplog: pytest.LogCaptureFixture):
    class Broken:
        async def ask(self, question: Question) -> Answer:
            raise ConnectionError("the window is gone")

    run = run_tool(Write(), permission_mode="default", asker=Broken())
    assert refused(run)
    assert decided(run) == ["deny"]
    assert "could not be asked" in caplog.text


def test_a_question_does_not_count_against_the_time_limit():
    class Slow:
        async def ask(self, question: Question) -> Answer:
            await asyncio.sleep(1_000)
            return Answer("allow")

    timeline = play(
        Script().call("a", read_only=False, seconds=1), permission_mode="default", asker=Slow(), timeout_s=2
    )
    assert timeline.outcomes == {"a": "completed"}


def test_a_relative_directory_means_the_processs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class Outside(Reader):
        def effects(self, args: WriteArgs, ctx: ToolContext) -> Effects:
            assert ctx.cwd == str(tmp_path)
            return Effects(reads=["/etc/hostname"])

    assert refused(run_tool(Outside(), cwd=".", permission_mode="default"))


def test_a_deny_that_comes_while_the_question_is_open_holds() -> None:
    """Two questions are open at once; the first is answered "deny always", the second with a yes."""

    class Safe(Write):
        concurrency_safe = True

    class SlowPerson:
        async def ask(self, question: Question) -> Answer:
            first = question.tool_use_id == "1"
            await asyncio.sleep(1 if first else 2)  # virtual time
            return Answer("deny", message="never", rules=("Write",)) if first else Answer("allow")

    script = Script().call_with("1", "Write", {}).call_with("2", "Write", {})
    timeline = play(script, tools=[Safe()], permission_mode="default", asker=SlowPerson())
    assert len([event for _, event in timeline.events if isinstance(event, PermissionAsked)]) == 2
    assert timeline.outcomes == {"1": "denied", "2": "denied"}


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_yes_that_nobody_gave_is_what_the_rights_say_and_no_persons_word(mode: str):
    seen: list[tuple[bool, str]] = []

    class Watching(Write):
        async def call(self, args: WriteArgs, ctx: ToolContext) -> ToolResult[str]:
            seen.append((ctx.asked, ctx.granted))
            return await super().call(args, ctx)

    class Settled(ScriptedAsker):
        async def ask(self, question: Question) -> Answer:
            executor.state.permissions = executor.state.permissions.with_mode(mode)
            return await super().ask(question)

    asker = Settled([Answer("allow", by_nobody=True), Answer(message="no")])
    executor = Executor([Watching()], permission_mode="default", asker=asker)
    (done,) = asyncio.run(answer_all(executor, {"type": "tool_use", "id": "1", "name": "Write", "input": {}}))
    if mode == "default":  # nothing has changed: it is asked again
        assert (len(asker.questions), done.outcome, seen) == (2, "denied", [])
    else:
        assert (len(asker.questions), done.outcome, seen) == (1, "completed", [(False, "mode")])
