"""Errors of ours while the terminal is drawn: a real terminal, and a program whose drawing is broken on purpose."""

import asyncio
import shlex
import sys

import pytest
from tests.tui.conftest import Terminal

from holdfast.tui.bugs import telling_of_bugs

_BROKEN = """\
import pathlib, sys
import holdfast.tui.screen as screen
from holdfast.tui.show.view import View
well, told = screen.Screen._status, View._text

def status(self):
    if pathlib.Path("broken").exists():
        raise ZeroDivisionError("the last line")
    return well(self)

def text(self, event):
    if pathlib.Path("mute").exists():
        raise ZeroDivisionError("an answer")
    told(self, event)

screen.Screen._status, View._text = status, text
from holdfast.__main__ import main
main()
"""


class Told:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, style: str, text: str) -> None:
        del style
        self.said.append(text)


def _broken(terminal: Terminal) -> None:
    (terminal.place / "broken.py").write_text(_BROKEN, encoding="utf-8")
    terminal.open()
    terminal.say(f"{shlex.quote(sys.executable)} broken.py --model {terminal.script('One.', 'Two.')}; echo was $?")
    terminal.until("(shift+tab)", "/help")


def test_a_screen_that_cannot_be_drawn_tells_it_once_and_is_left(terminal: Terminal) -> None:
    _broken(terminal)
    terminal.say("hello")
    terminal.until("One.", "· context ")
    (terminal.place / "broken").touch()
    shown = terminal.until("cannot be drawn any more", "to go on: holdfast --resume", "was 1", all_of_it=True)
    assert shown.count("an error in Holdfast: the last line; the log has more, and the session goes on") == 1


def test_keys_leave_a_screen_that_cannot_be_drawn(terminal: Terminal) -> None:
    _broken(terminal)
    (terminal.place / "broken").touch()
    terminal.until("an error in Holdfast: the last line")
    terminal.press("C-d")
    terminal.until("was ", lambda text: text.endswith("$"))


def test_a_drawing_that_is_mended_goes_on(terminal: Terminal) -> None:
    _broken(terminal)
    (terminal.place / "broken").touch()
    terminal.until("an error in Holdfast: the last line")
    (terminal.place / "broken").unlink()
    terminal.say("hello")
    terminal.until("One.", "(shift+tab)")


def test_an_error_in_showing_an_answer_says_how_to_go_on(terminal: Terminal) -> None:
    _broken(terminal)
    (terminal.place / "mute").touch()
    terminal.say("hello")
    terminal.until("to go on: holdfast --resume", "ZeroDivisionError: an answer", "was 1", all_of_it=True)
    (terminal.place / "mute").unlink()
    terminal.holdfast("--continue", "--model", terminal.script("Again."))
    terminal.until("hello", "(shift+tab)")


def test_each_kind_is_told_once_and_rare_ones_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    told, left, now = Told(), list[str](), [0.0]
    monkeypatch.setattr("holdfast.tui.bugs.time.monotonic", lambda: now[0])

    async def run() -> str:
        with telling_of_bugs(told, lambda: left.append("left")) as bugs:
            for _ in range(40):
                now[0] += 10
                bugs.take({"message": "a timer"})
            assert not left
            for _ in range(40):
                bugs.take({"message": "another"})
            return bugs.farewell

    assert "another" in asyncio.run(run())
    assert left == ["left"]
    assert [words.split(";")[0] for words in told.said] == [
        "an error in Holdfast: a timer",
        "an error in Holdfast: another",
    ]
