from typing import Any

import pytest

from holdfast.contract import UNKNOWN_EFFECTS, Effects, RuleSubject
from holdfast.permissions.classifier import ClassifierAnswer, SecondOpinion
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.tool_facts import facts_from_input

AUTO = PermissionContext("auto", working_directories=("/proj",), disk=NoDisk())


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (UNKNOWN_EFFECTS, "ask"),
        (Effects(), "allow"),
        (Effects(writes=["/proj/a"], reads=["/proj/b"]), "allow"),
        (Effects(writes=["/else/a"]), "ask"),
        (Effects(writes=["/proj/.git/config"]), "ask"),
        (Effects(reads=["/else/a"]), "ask"),
        (Effects(process=True), "ask"),
        (Effects(network=["example.com"]), "ask"),
    ],
)
def test_only_known_and_harmless_effects_pass_in_auto(effects: Effects, expected: str) -> None:
    call = CallFacts("Custom", ("Custom",), {}, "/proj", False, effects, RuleSubject(), classifier_input="x")
    assert decide(call, AUTO).behavior == expected
    assert decide(call._replace(classifier_input=None), AUTO).behavior == "ask"


def test_a_fetch_with_unknown_effects_is_asked_about() -> None:
    facts: dict[str, Any] = {"effects": UNKNOWN_EFFECTS, "subject": RuleSubject("domain", "https://example.com")}
    assert (
        decide(CallFacts("Fetch", ("Fetch",), {}, "/proj", True, **facts, classifier_input="x"), AUTO).behavior == "ask"
    )


def test_a_remote_tool_is_high_risk_whatever_it_shows() -> None:
    subject = RuleSubject("mcp", "")
    call = CallFacts("mcp__s__t", ("mcp__s__t",), {}, "/proj", True, Effects(), subject, classifier_input="x")
    assert decide(call, AUTO).behavior == "ask"


@pytest.mark.parametrize("answer", ["allow", "ask"])
def test_a_model_may_clear_only_what_is_not_known(answer: Any) -> None:
    said = SecondOpinion(ClassifierAnswer(answer, "it looks so", "small"))
    subject = RuleSubject("mcp", "")
    for kind, name in ((subject, "mcp__s__t"), (RuleSubject(), "mcp__s__t"), (subject, "ListMcpResourcesTool")):
        remote = CallFacts(name, (name,), {}, "/proj", True, Effects(), kind, classifier_input="x")
        assert decide(remote, AUTO).behavior == "ask"
        assert decide(remote, AUTO, classifier=said).behavior == answer
        assert decide(remote, AUTO).classified
    unknown = CallFacts("Mine", ("Mine",), {}, "/proj", False, UNKNOWN_EFFECTS, RuleSubject(), classifier_input="x")
    assert decide(unknown, AUTO, classifier=said).behavior == answer
    silent = decide(unknown._replace(classifier_input=None), AUTO, classifier=said)
    assert (silent.behavior, silent.classified) == ("ask", False)
    for effects in (Effects(writes=["/else/a"]), Effects(reads=["/else/a"]), Effects(network=["example.com"])):
        assert decide(unknown._replace(effects=effects), AUTO, classifier=said).behavior == "ask"


def test_what_another_classifier_says_is_shown_escaped_and_bounded() -> None:
    call = CallFacts("Mine", ("Mine",), {}, "/proj", False, UNKNOWN_EFFECTS, RuleSubject(), classifier_input="x")
    answer = ClassifierAnswer("ask", "r" * 300 + "XX\x1b", "m" * 80 + "YY")
    reason = decide(call, AUTO, classifier=SecondOpinion(answer)).reason
    assert f"model {'m' * 80}… (82 characters) said high risk because {'r' * 300}… (303 characters)" in reason
    reason = decide(call, AUTO, classifier=SecondOpinion.unanswered("\x1b" + "w" * 400)).reason
    assert reason.startswith(r"the classifier gave no answer: \x1bwww")
    assert len(reason) < 420


@pytest.mark.parametrize(
    ("command", "mode", "allowed", "expected"),
    [
        ("Get-Date", "auto", ("PowerShell",), "ask"),
        ("Get-Date", "default", ("PowerShell",), "allow"),
        ("Get-Date", "auto", ("PowerShell(Get-Date)",), "allow"),
        ("Get-Date; rm x", "auto", ("PowerShell(Get-Date)",), "ask"),
    ],
)
def test_so_broad_a_rule_as_powershell_is_set_aside_in_auto(
    command: str, mode: str, allowed: tuple[str, ...], expected: str
) -> None:
    context = AUTO.with_mode(mode).with_rules(*(Rule.parse("allow", text) for text in allowed))
    call = facts_from_input("PowerShell", {"command": command}, "/proj")._replace(classifier_input=command)
    assert decide(call, context).behavior == expected
    cleared = decide(call, context, classifier=SecondOpinion(ClassifierAnswer("allow", "fine"))).behavior
    assert cleared == ("ask" if ";" in command else "allow")
