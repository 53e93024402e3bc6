import pytest

from holdfast.permissions.context import MODES
from holdfast.permissions.modes import TABLE, cell
from holdfast.permissions.policy_tests import judge

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
    ("mcp__server__tool", {}, "ask ask ask ask deny allow"),
    ("ReadMcpResourceTool", {"server": "s", "uri": "u"}, "ask ask ask ask deny allow"),
    ("Custom", {}, "ask deny ask ask deny allow"),
    ("Skill", {"skill": "s"}, "ask deny ask ask deny allow"),
    ("Config", {"key": "k"}, "ask deny ask ask deny allow"),
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
    assert cell("shell", "auto") == "classifier"
