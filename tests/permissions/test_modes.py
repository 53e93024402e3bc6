from typing import get_args

import pytest

from holdfast.permissions.context import MODES, PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.modes import TABLE, Cell, cell, guard_of_write, row_of_read, row_of_write, table_row
from holdfast.permissions.paths import NoDisk, PathFacts
from holdfast.permissions.policy.cases import judge
from holdfast.permissions.tool_facts import facts_from_input

# call, then default, plan, acceptEdits, auto, dontAsk, bypassPermissions: the table of the specification
CASES: list[tuple[str, dict[str, object], str]] = [
    ("Read", {"file_path": "src/a"}, "allow allow allow allow allow allow"),
    ("Grep", {"pattern": "x"}, "allow allow allow allow allow allow"),
    ("TodoWrite", {"todos": []}, "allow allow allow allow allow allow"),
    ("TaskCreate", {"subject": "s", "description": "d"}, "allow allow allow allow allow allow"),
    ("TaskOutput", {"task_id": "b1"}, "allow allow allow allow allow allow"),
    ("BashOutput", {"bash_id": "b1"}, "allow allow allow allow allow allow"),
    ("ToolSearch", {"query": "x"}, "allow allow allow allow allow allow"),
    ("Sleep", {"duration_seconds": 1}, "allow allow allow allow allow allow"),
    ("CronList", {}, "allow allow allow allow allow allow"),
    ("SendUserMessage", {"message": "x"}, "allow allow allow allow allow allow"),
    ("ExitPlanMode", {}, "allow allow allow allow allow allow"),
    ("AskUserQuestion", {"questions": []}, "allow allow allow allow allow allow"),
    ("StructuredOutput", {}, "allow allow allow allow allow allow"),
    ("Agent", {"prompt": "p"}, "allow allow allow allow allow allow"),
    ("Read", {"file_path": "/usr/share/doc/a"}, "ask ask ask allow deny allow"),
    ("Read", {"file_path": "~/.ssh/id_ed25519"}, "ask ask ask ask deny allow"),
    ("Read", {"file_path": "/elsewhere/.env"}, "ask ask ask ask deny allow"),
    ("Edit", {"file_path": "src/a"}, "ask deny allow allow deny allow"),
    ("Write", {"file_path": "new"}, "ask deny allow allow deny allow"),
    ("NotebookEdit", {"notebook_path": "n.ipynb"}, "ask deny allow allow deny allow"),
    ("Edit", {"file_path": "/elsewhere/a"}, "ask deny ask ask deny allow"),
    ("Edit", {"file_path": "../project-evil/a"}, "ask deny ask ask deny allow"),
    ("Write", {"file_path": ".git/hooks/pre-commit"}, "ask deny ask ask deny allow"),
    ("Write", {"file_path": ".holdfast/settings.json"}, "ask deny ask ask deny allow"),
    ("WebFetch", {"url": "https://example.com"}, "ask ask ask allow deny allow"),
    ("WebFetch", {"url": "http://localhost"}, "deny deny deny deny deny deny"),
    ("WebSearch", {"query": "x"}, "ask ask ask allow deny allow"),
    ("Bash", {"command": "ls"}, "allow allow allow allow allow allow"),
    ("Bash", {"command": "touch new"}, "ask deny allow allow deny allow"),
    ("Bash", {"command": "make"}, "ask deny ask allow deny allow"),
    ("Bash", {"command": "git push --force"}, "ask deny ask ask deny allow"),
    ("mcp__server__tool", {}, "ask ask ask ask deny allow"),
    ("ReadMcpResourceTool", {"server": "s", "uri": "u"}, "ask ask ask ask deny allow"),
    ("Custom", {}, "ask deny ask ask deny allow"),
    ("Skill", {"skill": "s"}, "allow allow allow allow allow allow"),
    ("Config", {"setting": "theme"}, "allow allow allow allow allow allow"),
    ("Config", {"setting": "theme", "value": "dark"}, "ask deny ask ask deny allow"),
]


@pytest.mark.parametrize(("tool", "arguments", "expected"), CASES)
def test_without_rules_the_mode_answers_as_the_table_says(
    tool: str, arguments: dict[str, object], expected: str
) -> None:
    answers = [judge(tool, arguments, mode=mode).behavior for mode in MODES]
    assert " ".join(answers) == expected


def test_manual_is_default() -> None:
    assert judge("Edit", {"file_path": "a"}, mode="manual") == judge("Edit", {"file_path": "a"})


def test_every_row_has_an_answer_for_every_mode() -> None:
    assert {row: tuple(cells) for row, cells in TABLE.items()} == dict.fromkeys(TABLE, MODES)
    assert {answer for cells in TABLE.values() for answer in cells.values()} == set(get_args(Cell))
    assert cell("shell", "auto") == "classifier"


ROOTS = PermissionContext(
    working_directories=("/proj", "/also"), readable=("/kept",), plan_file="/state/plan.md", disk=NoDisk()
)


def facts(given: str, target: str | None = None, *, links: int = 1) -> PathFacts:
    target = target or given
    return PathFacts(given, target, tuple(dict.fromkeys((given, target))), links=links)


@pytest.mark.parametrize(
    ("given", "target", "row"),
    [
        ("/proj/a", "/proj/a", "free"),
        ("/proj", "/proj", "free"),
        ("/proj/a", "/also/b", "free"),
        ("/proj/a", "/kept/b", "free"),
        ("/kept/b", "/kept/b", "free"),
        ("/state/plan.md", "/state/plan.md", "free"),
        ("/dev/null", "/dev/null", "free"),
        ("/proj/a", "/else/a", "read outside"),
        ("/else/a", "/proj/a", "read outside"),
        ("/else/a", "/else/a", "read outside"),
        ("/else/a", "/else/b", "read outside"),
        ("/project/a", "/project/a", "read outside"),
        ("/else/null", "/dev/null", "read outside"),
        ("/dev/null", "/else/null", "read outside"),
        ("/dev/zero", "/dev/zero", "read outside"),
    ],
)
def test_a_read_is_inside_when_both_its_name_and_its_target_are(given: str, target: str, row: str) -> None:
    assert row_of_read(facts(given, target), ROOTS) == row


def test_the_plan_file_may_be_written_in_plan_mode_too() -> None:
    call = facts_from_input("Write", {"file_path": "/state/plan.md"}, "/proj")
    answers = [decide(call, ROOTS.with_mode(mode)).behavior for mode in MODES]
    assert answers == ["ask", "allow", "allow", "allow", "deny", "allow"]


@pytest.mark.parametrize(
    ("given", "target", "row"),
    [
        ("/proj/a", "/proj/a", "edit inside"),
        ("/proj/a", "/also/b", "edit inside"),
        ("/proj/a", "/else/b", "edit outside or protected"),
        ("/else/a", "/proj/b", "edit outside or protected"),
        ("/else/a", "/else/a", "edit outside or protected"),
        ("/kept/a", "/kept/a", "edit outside or protected"),
        ("/proj/a", "/proj/.git/config", "edit outside or protected"),
        ("/proj/.git/config", "/proj/a", "edit outside or protected"),
        ("/state/plan.md", "/state/plan.md", "edit of the plan file"),
        ("/state/plan.md", "/proj/a", "edit outside or protected"),
        ("/state/plan.md", "/etc/passwd", "edit outside or protected"),
        ("/proj/link", "/state/plan.md", "edit outside or protected"),
    ],
)
def test_a_write_is_inside_when_both_its_name_and_its_target_are(given: str, target: str, row: str) -> None:
    assert row_of_write(facts(given, target), ROOTS) == row


def test_a_file_with_a_second_name_is_guarded_and_the_plan_file_is_not() -> None:
    assert guard_of_write(facts("/proj/a"), ROOTS) == ""
    assert "has 2 names" in guard_of_write(facts("/proj/a", links=2), ROOTS)
    assert "is protected" in guard_of_write(facts("/proj/.git/config", links=2), ROOTS)
    assert guard_of_write(facts("/state/plan.md", links=2), ROOTS) == ""
    assert "has 2 names" in guard_of_write(facts("/proj/x", "/state/plan.md", links=2), ROOTS)


GOVERNED = ROOTS.with_options(governing=("/proj/Cfg",))


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("/proj/Cfg/settings.json", "/proj/Cfg/settings.json"),
        ("/proj/Cfg", "/proj/Cfg"),
        ("/proj/link", "/proj/Cfg/settings.json"),
        ("/proj/Cfg/settings.json", "/proj/elsewhere"),
    ],
)
def test_a_write_where_the_settings_lie_is_protected_by_any_of_its_names(given: str, target: str) -> None:
    assert row_of_write(facts(given, target), GOVERNED) == "edit outside or protected"
    assert "is protected (/proj/Cfg" in guard_of_write(facts(given, target), GOVERNED)
    assert row_of_write(facts(given, target), ROOTS) == "edit inside"


def test_where_the_disk_folds_the_settings_are_protected_in_any_case() -> None:
    shouted = facts("/proj/CFG/settings.json")
    assert "is protected" in guard_of_write(shouted._replace(folds=True), GOVERNED)
    assert guard_of_write(shouted, GOVERNED) == ""
    assert guard_of_write(facts("/proj/Cfgs/a")._replace(folds=True), GOVERNED) == ""


def test_what_is_protected_by_its_name_stays_so_beside_the_settings() -> None:
    assert "is protected (.git governs" in guard_of_write(facts("/proj/.git/config"), GOVERNED)


def test_a_row_without_an_answer_for_some_mode_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="shorter"):
        table_row("allow", "ask")
