"""Rules for tools that are gone: deny and ask go on to hold, allow does not and says what to write."""

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.grammar import RuleProblem, RuleSource, parse_rule

CALLS = {
    "MultiEdit": ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}),
    "MultiEdit(src/**)": ("Write", {"file_path": "src/a.py", "content": "x"}),
    "NotebookRead": ("Read", {"file_path": "/elsewhere/a.ipynb"}),
    "NotebookRead(src/**)": ("Read", {"file_path": "src/a.ipynb"}),
    "LS": ("Glob", {"pattern": "*"}),
    "LS(src/**)": ("Glob", {"pattern": "*", "path": "src/lib"}),
}


@pytest.mark.parametrize("rule", CALLS)
def test_deny_and_ask_hold_for_the_tool_of_today(rule: str) -> None:
    tool, call = CALLS[rule]
    denied = judge(tool, call, deny=[rule], mode="bypassPermissions")
    assert denied.behavior == "deny"
    assert denied.rule is not None
    assert denied.rule.text == rule
    assert judge(tool, call, ask=[rule], mode="bypassPermissions").behavior == "ask"


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("MultiEdit", "write Edit"),
        ("MultiEdit(src/**)", "write Edit(src/**)"),
        ("NotebookRead(*)", "write Read(//**/*.ipynb)"),
        ("LS", "write Glob"),
        ("LS(//etc/**)", "write Read(//etc/**)"),
    ],
)
def test_an_allow_rule_grants_nothing_and_is_named_with_the_rule_to_write(rule: str, written: str) -> None:
    found = parse_rule(rule, "allow", RuleSource(), aliases={})
    assert isinstance(found, RuleProblem)
    assert (found.kind, found.reason.endswith(written)) == ("ignored", True)


def test_a_retired_reader_of_notebooks_denies_no_other_file() -> None:
    assert judge("Read", {"file_path": "src/a.py"}, deny=["NotebookRead"]).behavior == "allow"
