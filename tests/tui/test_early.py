"""The first prompt stands before anything is loaded: what is typed is drawn at once, and the screen takes all of it."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.tui.conftest import Terminal

from holdfast.cli.print import command
from holdfast.settings.sources import SettingsRoots, user_candidates
from holdfast.testing import started
from holdfast.testing.started import StartOptions
from holdfast.tui import early
from holdfast.tui.early import ALONE, MARK, STARTING, WAITING, WITH_A_WORD, looks, user_files, wants_screen
from holdfast.tui.show.themes import choose_theme

SCREEN = {"TERM": "screen-256color"}
GATE = """
import os, sys, time

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "prompt_toolkit":
            sys.meta_path.remove(self)
            open({here!r}, "w").close()
            ends = time.monotonic() + 60
            while not os.path.exists({gate!r}) and time.monotonic() < ends:
                if os.path.exists({fails!r}):
                    raise OSError("the disk is gone")
                try:
                    time.sleep(0.02)
                except KeyboardInterrupt:
                    if not os.path.exists({drops!r}):
                        raise
                    os.unlink({drops!r})

sys.meta_path.insert(0, Gate())
"""
"""Loading waits at the library of the screen until the test opens the gate."""


@pytest.fixture
def slow(terminal: Terminal) -> Terminal:
    """A terminal in which loading waits for a file named `go`."""
    folder = terminal.place / "before"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        GATE.format(
            gate=str(terminal.place / "go"),
            fails=str(terminal.place / "fail"),
            drops=str(terminal.place / "drop"),
            here=str(terminal.place / "here"),
        ),
        encoding="utf-8",
    )
    terminal.open(environ={"PYTHONPATH": str(folder)})
    return terminal


def settings_of_tty(terminal: Terminal, name: str) -> str:
    terminal.say(f"stty -a > {name}; echo {name}-is-written")
    terminal.until(lambda text: text.count(f"{name}-is-written") == 2)
    return (terminal.place / name).read_text("utf-8")


def test_keys_are_drawn_while_everything_loads_and_the_screen_takes_them(slow: Terminal) -> None:
    slow.holdfast("--model", slow.script({"expect": ["hello there"], "blocks": ["Heard."]}))
    slow.until(STARTING, WAITING)
    for letter in "helly":
        slow.type(letter)
    slow.press("BSpace")
    slow.type("o ther")
    shown = slow.until(f"{MARK}hello ther\n")
    assert "shift+tab" not in shown
    slow.press("Left", "Right")  # from here on the screen decides
    slow.type("e")
    slow.press("Enter")
    slow.type("and then")
    (slow.place / "go").touch()
    shown = slow.until("Heard.", f"{MARK}and then\n", "default (shift+tab)")
    assert shown.count("hello there") == 1
    assert STARTING not in shown
    assert WAITING not in shown


def test_what_is_pasted_in_the_meantime_comes_as_one_paste(slow: Terminal) -> None:
    slow.holdfast("--model", slow.script("Never."))
    slow.until(STARTING)
    slow.tmux("set-buffer", "one\ntwo\nthree")
    slow.tmux("paste-buffer", "-p", "-t", "a")
    (slow.place / "go").touch()
    slow.until(f"{MARK}one\n  two\n  three\n", "default (shift+tab)")


def test_wrong_use_takes_the_prompt_away_before_it_is_told(slow: Terminal) -> None:
    before = settings_of_tty(slow, "first")
    (slow.place / "go").touch()
    slow.holdfast("--effort", "enormous")
    shown = slow.until("'enormous' is not one of", lambda text: text.endswith("$"))
    assert STARTING not in shown
    assert settings_of_tty(slow, "second") == before


@pytest.mark.parametrize(("ends_by", "code"), [("C-c", 130), ("TERM", 143), ("HUP", 129)])
def test_an_end_in_the_meantime_leaves_the_terminal_as_it_was(slow: Terminal, ends_by: str, code: int) -> None:
    before = settings_of_tty(slow, "first")
    model = slow.script("Never.")
    # A shell that reads a script does not mend the terminal after a signal as the one of a person does.
    slow.say(f"sh -c '{slow.program} --model {model}; echo ended with $?; stty -a > second'")
    slow.until(STARTING)
    slow.type("abc")
    slow.until(f"{MARK}abc")
    if ends_by == "C-c":
        slow.press("C-c", "C-c")
    else:
        shell = int(slow.tmux("display", "-p", "-t", "a", "#{pane_pid}"))
        os.kill(child_of(child_of(shell)), getattr(signal, f"SIG{ends_by}"))
    shown = slow.until(f"ended with {code}", lambda text: text.endswith("$"))
    assert STARTING not in shown
    assert MARK not in shown
    assert (slow.place / "second").read_text("utf-8") == before


def test_an_interrupt_that_python_dropped_comes_again(slow: Terminal) -> None:
    (slow.place / "drop").touch()
    slow.holdfast("--model", slow.script("Never."))
    slow.until(STARTING, lambda _: (slow.place / "here").exists())
    slow.press("C-c", "C-c")
    slow.until(lambda text: STARTING not in text and text.endswith("$"))
    assert not (slow.place / "drop").exists()


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()[0])


def test_an_error_while_everything_loads_is_told_below_and_leaves_the_terminal_as_it_was(slow: Terminal) -> None:
    before = settings_of_tty(slow, "first")
    slow.holdfast("--model", slow.script("Never."))
    slow.until(STARTING)
    (slow.place / "fail").touch()
    shown = slow.until("holdfast: the disk is gone", lambda text: text.endswith("$"))
    assert STARTING not in shown
    assert MARK not in shown
    assert settings_of_tty(slow, "second") == before


def test_keys_that_do_more_than_write_keep_their_place(slow: Terminal) -> None:
    slow.say(f"touch begun; until test -e typed; do sleep 0.05; done; {slow.program} --model {slow.script('Heard.')}")
    slow.until(lambda _: (slow.place / "begun").exists())
    slow.say("said while the shell had the terminal")
    slow.until("said while the shell had the terminal")
    (slow.place / "typed").touch()
    slow.until(STARTING)
    slow.type("not this")
    slow.press("C-c")  # takes the line away
    slow.type("but that")
    (slow.place / "go").touch()
    slow.until(f"{MARK}said while the shell had the terminal\n", "Heard.", f"{MARK}but that\n", "default (shift+tab)")


def test_the_question_of_trust_comes_first_and_nothing_typed_before_answers_it(slow: Terminal) -> None:
    (slow.place / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    slow.say("export NO_COLOR=1")
    slow.holdfast("--model", slow.script("Heard."))
    slow.until(STARTING)
    assert "\x1b[38;" not in slow.screen(escapes=True)
    slow.say("2")
    slow.type("and half a line that is longer than the window will be")
    slow.tmux("resize-window", "-t", "a", "-x", "44", "-y", "20")
    (slow.place / "go").touch()
    shown = slow.answer("Trust this folder", "1")
    assert STARTING not in shown
    shown = slow.until(f"{MARK}2\n", "Heard.", f"{MARK}and half a line")
    assert WAITING not in slow.screen(all_of_it=True)


IN_PIECES = """
import fcntl, os, sys, termios, time
from holdfast.tui.early import EarlyPrompt

def wait_for(holds):
    ends = time.monotonic() + 60
    while not holds() and time.monotonic() < ends:
        time.sleep(0.001)

class Slow(EarlyPrompt):
    def _stop(self):
        super()._stop()
        print("nobody reads", file=sys.stderr, flush=True)
        wait_for(lambda: os.path.exists({rest!r}))

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
early = Slow()
assert early.begin()
print("stands", file=sys.stderr, flush=True)
wait_for(lambda: early._typed)
print(ascii(early.take()), file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        (b"caf\xc3", b"\xa9"),
        (b"\xe2\x9d", b"\xaf x"),
        (b"a\x1b[", b"Db"),
        (b"\x1b[200~", b"two\rlines\x1b[201~"),
    ],
)
def test_a_key_that_comes_in_pieces_is_taken_whole(tmp_path: Path, first: bytes, rest: bytes) -> None:
    person, terminal = pty.openpty()
    argv = [sys.executable, "-c", IN_PIECES.format(rest=str(tmp_path / "rest"))]
    pipes: StartOptions = {"stdin": terminal, "stdout": terminal, "stderr": subprocess.PIPE, "start_new_session": True}
    try:
        with started(argv, **pipes) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == b"stands\n"
            os.write(person, first)
            assert process.stderr.readline() == b"nobody reads\n"
            os.write(person, rest)
            (tmp_path / "rest").touch()
            assert process.stderr.readline().decode().strip() == ascii((first + rest).decode())
    finally:
        os.close(person)
        os.close(terminal)


def test_who_reads_lines_gets_no_prompt_drawn_by_hand(slow: Terminal) -> None:
    folder = Path(user_files({"HOME": str(slow.place)})[0]).parent
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"axScreenReader": true}', encoding="utf-8")
    slow.say(f"export CLAUDE_CONFIG_DIR={folder}")
    slow.holdfast("--model", slow.script("Never."))
    shown = slow.until("on by setting axScreenReader")
    assert STARTING not in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], True),
        (["--resume", "01a1"], True),
        (["--resume"], False),
        (["--continue"], True),
        (["--model", "x:y", "--permission-mode", "plan"], True),
        (["Why does it fail?"], True),
        (["Why?", "And how?"], False),
        (["doctor"], False),
        (["-p", "Why does it fail?"], False),
        (["--plain"], False),
        (["--model"], False),
        (["--model", "--continue"], False),
        (["--model=x:y"], False),
        (["--unknown"], False),
        (["--help"], False),
    ],
)
def test_only_words_that_certainly_begin_a_session_draw_it(words: list[str], *, expected: bool) -> None:
    assert wants_screen(words, SCREEN) is expected


def test_terminals_and_people_that_want_lines_get_none() -> None:
    assert not wants_screen([], {})
    assert not wants_screen([], {"TERM": "dumb"})
    for name in early.READERS:
        assert not wants_screen([], {**SCREEN, name: "1"})
        assert wants_screen([], {**SCREEN, name: "0"})


def test_the_words_it_knows_are_options_that_take_as_many_words() -> None:
    options = [param for param in command.params if isinstance(param, click.Option)]
    flags = {name for option in options if option.is_flag for name in option.opts}
    given = {name for option in options if not option.is_flag for name in option.opts}
    assert flags >= ALONE
    assert given >= WITH_A_WORD


@pytest.mark.parametrize(
    "environ",
    [
        SCREEN,
        {**SCREEN, "COLORFGBG": "0;15"},
        {**SCREEN, "COLORFGBG": "15;0"},
        {"TERM": "xterm"},
        {"TERM": "xterm", "COLORTERM": "truecolor"},
    ],
)
def test_it_looks_as_the_screen_does(environ: dict[str, str]) -> None:
    theme = choose_theme("auto", environ)
    assert looks(environ) == (theme["you"].sgr, theme["dim"].sgr)


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/ann"},
        {"HOME": "/home/ann", "XDG_CONFIG_HOME": "/x", "CLAUDE_CONFIG_DIR": "/c"},
        {"HOME": "/home/ann", "XDG_CONFIG_HOME": "x", "CLAUDE_CONFIG_DIR": "c"},
    ],
)
def test_it_looks_at_the_files_that_settings_are_read_from(environ: dict[str, str]) -> None:
    roots = SettingsRoots.from_environment(environ)
    assert list(user_files(environ)) == [candidate.path for candidate in user_candidates(roots)]
