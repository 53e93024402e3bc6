import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import UsageError
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.policy.cases import run_case
from holdfast.permissions.rules.grammar import Rule, RuleSource

BASE = PermissionContext(
    "acceptEdits", [Rule.parse("deny", "Read(/.env)", RuleSource("project", root="/proj"))], project_root="/proj"
)


def test_a_case_answers_with_verdict_layer_and_rule_as_written() -> None:
    case = {"command": "git push origin", "rules": {"deny": ["Bash(git  push:*)"]}, "cwd": "/none", "expect": "deny"}
    assert run_case(case, BASE).to_wire() == {
        "verdict": "deny",
        "layer": "deny",
        "rule": "Bash(git  push:*)",
        "read_only": False,
        "ok": True,
    }


def test_without_expectations_there_is_no_ok() -> None:
    answer = run_case({"tool": "Read", "input": {"file_path": "a"}, "cwd": "/none"}, BASE).to_wire()
    assert answer == {"verdict": "allow", "layer": "mode", "rule": None}


def test_rules_in_a_line_replace_the_settings_rules() -> None:
    case: dict[str, Any] = {"tool": "Read", "input": {"file_path": "/proj/.env"}, "cwd": "/proj"}
    assert run_case(case, BASE).decision.behavior == "deny"
    assert run_case({**case, "rules": {}}, BASE).decision.behavior == "allow"


def test_rules_in_a_line_are_anchored_at_the_project_root() -> None:
    case: dict[str, Any] = {
        "tool": "Edit",
        "input": {"file_path": "/proj/src/a"},
        "cwd": "/proj/deep",
        "rules": {"allow": ["Edit(/src/**)"]},
        "mode": "default",
    }
    assert run_case(case, BASE).decision.behavior == "ask"
    assert run_case({**case, "project_root": "/proj"}, BASE).decision.behavior == "allow"


def test_mode_comes_from_the_line_or_the_base() -> None:
    case: dict[str, Any] = {"tool": "Edit", "input": {"file_path": "a"}, "cwd": "/none"}
    verdicts = [
        run_case({**case, **more}, BASE).decision.behavior for more in ({}, {"mode": "plan"}, {"mode": "manual"})
    ]
    assert verdicts == ["allow", "deny", "ask"]


def test_unknown_keys_are_ignored_and_expectations_are_compared() -> None:
    case = {"command": "ls", "cwd": "/none", "why": "x", "expect": "deny", "read_only": False}
    result = run_case(case, BASE)
    assert result.ok is False
    assert len(result.failures) == 2
    assert run_case({"command": "ls", "cwd": "/none", "read_only": True}, BASE).ok is True


def test_a_directory_that_exists_is_read_from_disk(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "link").symlink_to("/usr")
    case: dict[str, Any] = {"tool": "Read", "input": {"file_path": "link/x"}, "mode": "default", "rules": {}}
    assert run_case({**case, "cwd": str(root)}, BASE).decision.behavior == "ask"
    assert run_case({**case, "cwd": "/none"}, BASE).decision.behavior == "allow"


def test_problems_of_a_lines_rules_are_returned() -> None:
    result = run_case({"command": "ls", "cwd": "/none", "rules": {"deny": ["Bash(", "Write(a)"]}}, BASE)
    assert [problem.kind for problem in result.problems] == ["malformed", "ignored"]


@pytest.mark.parametrize(
    "case",
    [
        {"tool": 5},
        {"input": "x"},
        {"rules": []},
        {"rules": {"deny": "Read"}},
        {"command": 1},
        {"cwd": 1},
        {"mode": "fast"},
    ],
)
def test_a_field_of_the_wrong_type_is_named(case: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run_case(case, BASE)
