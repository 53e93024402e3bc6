"""A line break ends a command as `;` does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import Analysis, analyse

DATA = Path(__file__).parents[3] / "data" / "shell"
PIPES = [
    "ls | sort | head", "a && b | c | d", "! a | b | c", "cat <x | a | b", "a | b | (c)", "(a | b | c)",
    "x=$(a | b | c)",
    "ls > /dev/null", "a | b | while read -r x; do c; done", "export A=1", "[ a ] | b | c",
    "for i in 1; do a | b | c; done",
    "cat <<< x | a | b", "echo 'a b' | b | \"c\"", "if a; then b | c | d; fi",
]  # fmt: skip
REMOVALS = [
    "rm -rf / 2>/dev/null", "rm -rf ~ >/dev/null 2>&1", "rm -rf .git > x", "\\rm -rf / 2>x",
    "export A=1; rm -rf /etc 2>x",
    "(rm -rf / 2>/dev/null)", "{ rm -rf /; } 2>/dev/null", "sudo rm -rf / &>/dev/null", "rm -rf / 2>&1 | cat",
]  # fmt: skip


def certain_lines() -> list[str]:
    found: list[str] = []
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[::7]:
            case: dict[str, Any] = json.loads(line)
            text: str = case["command"]
            odd = "\n" in text or "#" in text or "<<" in text or text.rstrip().endswith(("\\", "&", ";", "$"))
            if not odd and text.strip() and len(text) < 200 and not analyse(text).doubt:
                found.append(text)
    return found


LINES = certain_lines()


def judged(text: str) -> tuple[object, ...]:
    found: Analysis = analyse(text, cwd="/w")
    words = [tuple(part.texts) for part in found.parts]
    return found.read_only, bool(found.doubt), critical_removal(found, cwd="/w"), words


@given(st.sampled_from([*PIPES, *LINES]), st.sampled_from([*REMOVALS, *LINES]))
def test_two_lines_are_judged_as_two_commands(one: str, two: str) -> None:
    assert judged(f"{one}\n{two}") == judged(f"{one}; {two}")


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("pipe", PIPES)
def test_no_pipe_hides_the_removal_on_the_next_line(pipe: str, removal: str) -> None:
    found = judged(f"{pipe}\n{removal}")
    assert found == judged(f"{pipe}; {removal}")
    assert found[2] is not None


@pytest.mark.parametrize(
    "around",
    [
        "for i in 1; do {}\ndone", "({})", "{{ {}\n}}", "x=$({})", "if true; then {}; fi", "bash -c '{}'", "{}\nls",
        "\n\n{}\n",
        "f() {{ {}\n}}", "cat <<E\nx\nE\n{}", "ls \\\n -l\n{}", "echo 'a\nb'\n{}", "case a in a) {};; esac",
        "echo é\n{}",
        "time {{ {}\n}}", "{} # why",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", " # a word\n", "\n\n  # a word\n\n", " \t\n"])
def test_the_removal_is_seen_wherever_the_lines_stand(around: str, end: str) -> None:
    text = around.format(f"ls | sort | head{end}rm -rf / 2>/dev/null")
    assert critical_removal(analyse(text, cwd="/w"), cwd="/w") is not None


@pytest.mark.parametrize(
    "text",
    [
        "cat <<E | a | b\nrm -rf / 2>x\nE\nls", "echo 'ls | a | b\nrm -rf / 2>x'", "ls | a | b # \\\n# rm -rf / 2>x",
        'git commit -m "a\n\nrm -rf / 2>x"',
    ],
)  # fmt: skip
def test_text_that_is_no_command_removes_nothing(text: str) -> None:
    assert critical_removal(analyse(text, cwd="/w"), cwd="/w") is None


def test_each_line_of_a_doubted_text_is_looked_at_alone() -> None:
    text = "echo ${x@P}\nls\nrm -rf / 2>x"
    found = analyse(text, cwd="/w")
    assert found.doubt
    assert critical_removal(found._replace(parts=found.parts[:1]), cwd="/w") is not None
