"""Lines instead of a screen: the same session for pipes, dumb terminals and screen readers."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tui.conftest import Terminal

from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.plain import PlainFace

TOUCH = {"tool": "Bash", "input": {"command": "touch made.txt"}}


def script(place: Path, *turns: object) -> str:
    path = place / "script.jsonl"
    path.write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    return f"scripted:{path}"


def piped(place: Path, typed: str, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(argv, input=typed, capture_output=True, text=True, cwd=place, timeout=60, check=False)


def test_without_a_terminal_lines_are_read_and_written(tmp_path: Path) -> None:
    done = piped(tmp_path, "hello\n", "--model", script(tmp_path, "Hello **you** \x1b[31m."))
    assert done.returncode == 0
    assert "Hello **you** \\x1b[31m." in done.stdout
    assert "\x1b" not in done.stdout


def test_when_the_input_is_over_nobody_can_say_yes(tmp_path: Path) -> None:
    done = piped(tmp_path, "go\n", "--model", script(tmp_path, {"blocks": [TOUCH]}, "Then not."))
    assert done.returncode == 0
    assert "refused" in done.stdout
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (("--plain",), {}),
        (("--ax-screen-reader",), {}),
        ((), {"TERM": "dumb"}),
        ((), {"CLAUDE_AX_SCREEN_READER": "1"}),
    ],
    ids=["--plain", "--ax-screen-reader", "dumb", "variable"],
)
def test_plain_lines_where_a_screen_is_not_wanted(
    terminal: Terminal, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    terminal.open(environ=environ)
    terminal.holdfast(*words, "--model", terminal.script({"blocks": [TOUCH]}, "Plainly done."))
    terminal.until("/help")
    terminal.say("go")
    shown = terminal.until("Permission required", "1. Yes, this once")
    assert "shift+tab" not in shown
    terminal.say("1")
    terminal.until("tool: $ touch made.txt", "Plainly done.")
    assert (terminal.place / "made.txt").exists()
    terminal.say("/exit")
    terminal.until(lambda text: text.endswith("$"))


def test_other_words_than_a_number_are_a_no_that_the_model_hears(terminal: Terminal) -> None:
    terminal.open()
    turns = ({"blocks": [TOUCH]}, {"expect": ["choose another name"], "blocks": ["Understood."]})
    terminal.holdfast("--plain", "--model", terminal.script(*turns))
    terminal.until("/help")
    terminal.say("go")
    terminal.until("Permission required")
    shown = terminal.until("5. No\n")  # no key is named that nobody could press here
    assert "Tab" not in shown
    terminal.say("choose another name")
    terminal.until("Understood.")
    assert not (terminal.place / "made.txt").exists()


def test_no_colour_where_nobody_wants_it(terminal: Terminal) -> None:
    terminal.open(environ={"NO_COLOR": "1"})
    terminal.holdfast("--model", terminal.script({"blocks": ["# Head\n\n`code`\n\n```python\nprint(1)\n```", TOUCH]}))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("Let Bash do this?")
    shown = terminal.screen(escapes=True, all_of_it=True)
    assert not any(f"\x1b[{code}m" in shown for code in (*range(30, 38), *range(90, 98)))
    assert "\x1b[38;" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([Option("Here", "a"), Option("Nowhere (Esc)", "")], "2. Nowhere\nA number and Enter; anything else dismisses"),
        (
            [Option("One", "a"), Option("Another (Tab)", "b", wants_text=True)],
            "2. Another\nA number and Enter, or words",
        ),
        (
            [Option("No (Tab)", "why", wants_text=True), Option("No (Esc)", "no")],
            "2. No\nPermission required: a",
        ),
        ([Option("Write it", "text", wants_text=True)], "What?\nWrite it, and Enter"),
    ],
)
def test_each_question_says_how_it_is_answered(
    capsys: pytest.CaptureFixture[str], options: list[Option], said: str
) -> None:
    async def run() -> str | None:
        face = PlainFace()
        asked = asyncio.ensure_future(face.choose(Menu("What?", options)))
        await asyncio.sleep(0)
        assert face.take("1 words")
        return (await asked).value

    assert asyncio.run(run()) == options[0].value
    assert said in capsys.readouterr().out
