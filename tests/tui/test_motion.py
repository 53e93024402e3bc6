"""While much happens: no committed line is doubled or lost, no typed key is lost or changes its place."""

import re
import string
from itertools import cycle

from tests.tui.conftest import Terminal

SIZES = [(100, 30), (40, 12), (120, 40), (60, 14), (41, 33), (80, 24)]
COUNT = 300


def numbered(count: int) -> str:
    return "".join(f"word-{number:04}\n\n" for number in range(count))


def test_lines_of_an_answer_stand_once_each_whatever_the_window_does(terminal: Terminal) -> None:
    answer = {"text": numbered(COUNT), "chunk": 11, "pace_s": 0.004}
    terminal.open(columns=100)
    terminal.tmux("set", "-g", "history-limit", "20000")
    terminal.holdfast("--model", terminal.script({"blocks": [answer, "The end."]}))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("word-0003", all_of_it=True)
    typed = ""
    for letter, (columns, rows) in zip(string.ascii_letters[:36], cycle(SIZES), strict=False):
        terminal.tmux("resize-window", "-t", "a", "-x", str(columns), "-y", str(rows))
        terminal.type(letter)
        typed += letter
    terminal.until("The end.", f" {typed}", "default (shift+tab)")
    shown = terminal.screen(all_of_it=True)
    assert re.findall(r"word-\d{4}", shown) == [f"word-{number:04}" for number in range(COUNT)]
    assert shown.count("(shift+tab)") == 1


def test_keys_keep_their_order_while_a_command_floods_the_terminal(terminal: Terminal) -> None:
    flood = {"tool": "Bash", "input": {"command": "while :; do seq 100000 100200; sleep 0.01; done"}}
    terminal.open(columns=100)
    model = terminal.script({"blocks": [flood]})
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    terminal.say("go")
    terminal.until("100200", " lines")
    typed = string.digits + string.ascii_letters
    for letter in typed:
        terminal.type(letter)
    terminal.until(f" {typed}\n")
    terminal.press("C-u")
    terminal.press("Escape")
    terminal.until("interrupted. What should happen instead?")
