"""A light terminal gets light colours, and what it answers is no key."""

import pytest
from tests.tui.conftest import Terminal

from holdfast.tui.background import BackgroundReply, may_be_asked, shade

REPLY = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ("rgb:ffff/ffff/ffff", "light"),
        ("rgb:fd/f6/e3", "light"),
        ("rgb:0/0/0", "dark"),
        ("rgba:1e1e/1e1e/1e1e/ffff", "dark"),
        ("RGB:00/2b/36", "dark"),
        ("white", ""),
        ("", ""),
    ],
)
def test_colours_are_light_or_dark(colour: str, expected: str) -> None:
    assert shade(colour) == expected


@pytest.mark.parametrize("end", ["\x1b\\", "\x07"])
@pytest.mark.parametrize("cut", range(2, len(REPLY)))
def test_an_answer_is_taken_out_wherever_it_is_cut_and_no_key_is_lost(cut: int, end: str) -> None:
    keys: list[str] = []
    told: list[str] = []
    reply = BackgroundReply(keys.append, told.append)
    reply.asked()
    read = REPLY.replace("\x1b\\", end)
    for part in ("ab", f"c{read[:cut]}", f"{read[cut:]}d\x1b[A", "\x1b]11;rgb:0/0/0"):
        reply.feed(part)
    assert "".join(keys) == "abcd\x1b[A\x1b]11;rgb:0/0/0"  # who was not asked again writes what it likes
    assert told == ["light"]


def test_keys_that_only_begin_like_an_answer_are_keys() -> None:
    keys: list[str] = []
    reply = BackgroundReply(keys.append, keys.append)
    reply.feed("\x1b]1")
    assert keys == ["\x1b]1"]  # nobody has asked
    reply.asked()
    reply.feed("\x1b")
    reply.feed("x\x1b]")
    reply.feed("y")
    assert "".join(keys) == "\x1b]1\x1bx\x1b]y"


def test_terminals_that_have_said_it_or_do_not_know_the_question_are_not_asked() -> None:
    assert may_be_asked({"TERM": "xterm-256color"})
    assert not may_be_asked({"TERM": "xterm-256color", "COLORFGBG": "0;15"})
    assert not may_be_asked({"TERM": "linux"})


@pytest.mark.parametrize(("background", "accent"), [("white", "38;5;25m"), ("black", "38;5;80m")])
def test_the_colours_fit_the_terminal(terminal: Terminal, background: str, accent: str) -> None:
    terminal.open()
    terminal.tmux("set", "-g", "window-style", f"bg={background}")
    terminal.holdfast("--model", terminal.script("A `word`."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("A word.")
    drawn = terminal.screen(escapes=True)
    assert accent in next(line for line in drawn.split("\n") if "A " in line)
    assert "rgb:" not in drawn


def test_without_colours_nobody_is_asked(terminal: Terminal) -> None:
    terminal.open(environ={"NO_COLOR": "1"})
    terminal.tmux("set", "-g", "window-style", "bg=white")
    terminal.holdfast("--model", terminal.script("A `word`."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("A word.")
    assert "38;5;" not in terminal.screen(escapes=True)
