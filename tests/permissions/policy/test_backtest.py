"""Recorded calls under other rules."""

from typing import Any

import msgspec
import pytest

from holdfast.contract import Opinion
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import Decision, HookOpinion, Step, decide
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.backtest import RecordedCall, compare, old_verdict
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import facts_from_input

RULE = Rule.parse("allow", "Bash(make *)", RuleSource("user", "/u/settings.json", 3))
OLD = PermissionContext(rules=[RULE], working_directories=("/proj",), disk=NoDisk())


def kept(decision: Decision) -> Any:
    """As a journal keeps it."""
    return msgspec.json.decode(msgspec.json.encode(decision))


def recorded(command: str = "make all", where: PermissionContext = OLD, **said: Any) -> RecordedCall:
    facts = facts_from_input("Bash", {"command": command}, "/proj")
    decision = decide(facts, where, **said)
    return RecordedCall("1", "Bash", facts.input, "/proj", decision.behavior, kept(decision))


def answered(call: RecordedCall, behavior: Any) -> RecordedCall:
    """The same after a person's answer, as the engine records it."""
    old = msgspec.convert(call.decision, Decision)
    trace = (*old.trace, Step("ask", behavior, "the user said so"))
    settled = Decision(behavior, "ask", "the user said so", old.rule, trace)
    return call._replace(behavior=behavior, decision=kept(settled))


def test_the_same_rules_change_nothing() -> None:
    for command in ("make all", "ls", "git push", "rm -rf /"):
        for mode in ("default", "plan", "auto", "dontAsk", "bypassPermissions"):
            found = compare(recorded(command, OLD.with_mode(mode)), OLD.with_mode(mode))
            assert not found.changed, (command, mode)


def test_a_change_names_both_verdicts_and_both_rules_with_their_places() -> None:
    deny = Rule.parse("deny", "Bash(make all)", RuleSource("project", "/proj/.holdfast/settings.json", 7))
    found = compare(recorded(), OLD.with_rules(deny))
    assert found.changed
    assert found.to_wire() == {
        "type": "call",
        "id": "1",
        "tool": "Bash",
        "input": {"command": "make all"},
        "cwd": "/proj",
        "changed": True,
        "old": {"verdict": "allow", "layer": "allow", "rule": "Bash(make *)", "source": "/u/settings.json:3"},
        "new": {
            "verdict": "deny",
            "layer": "deny",
            "rule": "Bash(make all)",
            "source": "/proj/.holdfast/settings.json:7",
            "reason": "the rule Bash(make all) denies it",
        },
    }


@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_a_persons_answer_is_not_the_verdict_of_the_rules(answer: Any) -> None:
    call = answered(recorded("git push"), answer)
    old = old_verdict(call)
    assert (old.behavior, old.answered, old.layer) == ("ask", answer, "mode")
    found = compare(call, OLD)
    assert not found.changed
    assert found.to_wire()["old"]["answered"] == answer
    assert compare(call, OLD.with_rules(Rule.parse("allow", "Bash(git push)"))).changed


def test_an_ask_rule_keeps_its_rule_when_a_person_answered() -> None:
    ask = Rule.parse("ask", "Bash(git push)", RuleSource("user", "/u/settings.json", 9))
    old = old_verdict(answered(recorded("git push", OLD.with_rules(ask)), "allow"))
    assert (old.behavior, old.answered, old.layer, old.rule) == ("ask", "allow", "ask", ask)
    live = recorded()._replace(decision=decide(facts_from_input("Bash", {"command": "make all"}, "/proj"), OLD))
    assert old_verdict(live).rule == RULE


def test_an_ask_rule_in_a_mode_that_asks_nobody_was_a_deny_and_no_answer() -> None:
    ask = Rule.parse("ask", "Bash(git push)")
    where = OLD.with_mode("dontAsk").with_rules(ask)
    old = old_verdict(recorded("git push", where, hook=HookOpinion("ask", "wait")))
    assert (old.behavior, old.answered, old.rule) == ("deny", None, ask)


@pytest.mark.parametrize("decision", [None, "x", {}, {"behavior": "perhaps"}, {"trace": 1}, [1]])
@pytest.mark.parametrize(("ended", "taken"), [("allow", "allow"), ("ask", "ask"), ("deny", "deny"), ("?", "deny")])
def test_a_record_that_cannot_be_read_still_tells_how_the_call_ended(decision: Any, ended: str, taken: str) -> None:
    old = old_verdict(recorded()._replace(behavior=ended, decision=decision))
    assert (old.behavior, old.answered, old.layer, old.rule) == (taken, None, "", None)


@pytest.mark.parametrize("said", ["allow", "ask", "deny"])
def test_what_hooks_said_then_is_taken_as_said(said: Any) -> None:
    call = recorded("git push", hook=HookOpinion(said, "policy"))
    assert compare(call, OLD).new.behavior == said
    denied = compare(call, OLD.with_rules(Rule.parse("deny", "Bash(git *)"))).new
    assert denied.behavior == "deny"


def test_what_the_tool_said_then_is_taken_as_said() -> None:
    for opinion, behavior in ((Opinion.ask("odd"), "ask"), (Opinion.deny("odd"), "deny")):
        call = recorded("make all", opinion=opinion)
        assert compare(call, OLD).new.behavior == behavior


def test_a_call_is_judged_in_the_mode_it_had() -> None:
    call = recorded("git push", OLD.with_mode("plan"))
    assert compare(call, OLD).changed
    assert not compare(call._replace(mode="plan"), OLD).changed


def test_a_tool_of_the_users_own_that_only_read_still_only_reads() -> None:
    call = RecordedCall("1", "Mine", {}, "/proj", "allow")
    assert compare(call, OLD).new.behavior == "ask"
    assert compare(call._replace(read_only=True), OLD).new.behavior == "allow"
    edit = RecordedCall("1", "Edit", {"file_path": "/proj/a"}, "/proj", "allow", read_only=True)
    assert compare(edit, OLD).new.behavior == "ask"
