"""Whole sessions in a real terminal, with a scripted model and real tools."""

import os
import signal
from pathlib import Path

import pytest
from tests.tui.conftest import Terminal

MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
MARKDOWN = "# Plan\n\nI will **look** first.\n\n- one\n- two\n\n```python\nprint(1)\n```\n\nDone."
TOUCH = {"tool": "Bash", "input": {"command": "touch made.txt"}}


def test_an_answer_streams_into_the_scrollback_and_the_screen_stays_after_the_end(terminal: Terminal) -> None:
    terminal.open()
    terminal.holdfast("--model", terminal.script({"blocks": [{"text": MARKDOWN, "chunk": 5}]}))
    terminal.until(MARK, "default (shift+tab)")
    terminal.say("please begin")
    shown = terminal.until("Done.", "print(1)", "• one", lambda text: text.rstrip().endswith("%"))
    assert "**" not in shown
    assert "```" not in shown
    terminal.press("C-d")
    shown = terminal.until("to go on: holdfast --resume", lambda text: text.endswith("$"))
    assert shown.count("Done.") == 1
    assert shown.count(f"{MARK} please begin") == 1
    assert "shift+tab" not in shown


def test_calls_are_lines_and_a_yes_runs_what_was_asked(terminal: Terminal) -> None:
    (terminal.place / "notes.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    first = [{"tool": "Read", "input": {"file_path": "notes.txt"}}, TOUCH]
    terminal.open()
    terminal.holdfast("--model", terminal.script({"blocks": first}, "All done."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    shown = terminal.answer("Let Bash do this?", "1")
    assert "● Read(notes.txt) · 2 lines" in shown
    assert "│ touch made.txt" in shown
    assert "asked because" in shown
    assert f"{MARK} 5. No (Esc)" in shown
    shown = terminal.until("All done.")
    assert "you: Yes, this once" in shown
    assert "● $ touch made.txt" in shown
    assert (terminal.place / "made.txt").exists()


def test_a_no_with_words_reaches_the_model(terminal: Terminal) -> None:
    turns = ({"blocks": [TOUCH]}, {"expect": ["use another name"], "blocks": ["Understood."]})
    terminal.open()
    terminal.holdfast("--model", terminal.script(*turns))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.answer("Esc: no · Tab", "Tab")
    terminal.say("use another name")
    shown = terminal.until("Understood.")
    assert "refused" in shown
    assert not (terminal.place / "made.txt").exists()


def test_an_offered_rule_is_kept_for_the_session_and_asked_for_no_more(terminal: Terminal) -> None:
    turns = ({"blocks": [TOUCH]}, {"blocks": [TOUCH]}, "Twice done.")
    terminal.open()
    terminal.holdfast("--model", terminal.script(*turns))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    shown = terminal.answer("Let Bash do this?", "2")
    assert "for this session allow Bash(touch" in shown
    shown = terminal.until("Twice done.")
    assert shown.count("asked because") == 1


def test_escape_interrupts_and_ends_the_command(terminal: Terminal) -> None:
    command = "echo $$ > pid; echo begun; exec sleep 300"
    terminal.open()
    model = terminal.script({"blocks": [{"tool": "Bash", "input": {"command": command}}]}, "Later.")
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    terminal.say("go")
    terminal.until("⎿ begun", "Esc interrupts")
    terminal.press("Escape")
    terminal.until("interrupted. What should happen instead?", "stopped")
    pid = int((terminal.place / "pid").read_text("utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    terminal.say("and now")
    terminal.until("Later.")


def test_a_line_typed_during_a_run_is_told_between_two_turns(terminal: Terminal) -> None:
    slow = {"tool": "Bash", "input": {"command": "touch begun; until test -e go; do sleep 0.05; done"}}
    terminal.open()
    model = terminal.script({"blocks": [slow]}, {"expect": ["one more thing"], "blocks": ["Heard."]})
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    terminal.say("begin")
    terminal.until("● $ touch begun")
    terminal.say("one more thing")
    terminal.until("queued: one more thing")
    (terminal.place / "go").touch()
    shown = terminal.until("Heard.", f"{MARK} one more thing")
    assert "queued:" not in shown


def test_nothing_that_a_model_or_a_command_writes_reaches_the_terminal_as_a_command(terminal: Terminal) -> None:
    evil = "before \x1b]0;evil\x07 \x1b[2J \x9b31m \u202eafter"
    (terminal.place / "evil.txt").write_text(evil, encoding="utf-8")
    call = {"tool": "Bash", "input": {"command": "cat evil.txt; touch seen"}}  # what only reads shows no output
    terminal.open(columns=200)
    terminal.tmux("set", "-g", "set-titles", "on")
    model = terminal.script({"blocks": [evil + "\n\n```\n" + evil + "\n```\n", call]}, "End.")
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    terminal.say("go")
    shown = terminal.until("End.")
    for spelled in (r"\x1b]0;evil\x07", r"\x1b[2J", "<U+202E>after"):
        assert shown.count(spelled) == 3
    assert shown.count(r"\x9b31m") + shown.count("<U+009B>31m") == 3
    assert terminal.tmux("display", "-p", "-t", "a", "#{pane_title}").strip() != "evil"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(terminal: Terminal, number: signal.Signals) -> None:
    terminal.open()
    terminal.say("stty -a > before")
    terminal.until(lambda _: Path(terminal.place, "before").exists())
    terminal.holdfast("--model", terminal.script("Never."))
    terminal.until("default (shift+tab)")
    shell = int(terminal.tmux("display", "-p", "-t", "a", "#{pane_pid}"))
    child = int(Path(f"/proc/{shell}/task/{shell}/children").read_text("utf-8").split()[0])
    os.kill(child, number)
    terminal.until(lambda text: text.endswith("$"))
    terminal.say("echo was $?; stty -a > after; echo ready")
    terminal.until(f"was {128 + number}", lambda text: text.count("ready") == 2)
    assert (terminal.place / "after").read_text("utf-8") == (terminal.place / "before").read_text("utf-8")
    assert terminal.tmux("display", "-p", "-t", "a", "#{cursor_flag}").strip() == "1"


def test_the_whole_output_opens_above_the_conversation_which_goes_on_below(terminal: Terminal) -> None:
    call = {"tool": "Bash", "input": {"command": "seq 1 20000; until test -e go; do sleep 0.05; done"}}
    late = {"tool": "Bash", "input": {"command": "echo late; touch done"}}
    terminal.open()
    model = terminal.script({"blocks": [call]}, {"blocks": [late]}, "End.")
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    (terminal.place / "go").touch()
    terminal.say("go")
    terminal.until("End.", "all of it (Ctrl-O)")
    before = terminal.screen(all_of_it=True)
    terminal.press("C-o")
    terminal.until("$ echo late", "(2 of 2)")
    terminal.press("Left")
    terminal.until("(1 of 2)", "of 20,001")
    terminal.say("/19999")
    terminal.until("19999", "20000")
    terminal.press("q")
    terminal.until("(shift+tab)")
    assert terminal.screen(all_of_it=True) == before
