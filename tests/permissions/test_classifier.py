from typing import Any

import pytest

from holdfast.contract import UNKNOWN_EFFECTS, Effects, RuleSubject
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decide import CallFacts, decide
from holdfast.permissions.paths import NoDisk

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
