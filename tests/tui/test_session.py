"""Whole sessions in a real terminal, with a scripted model and real tools."""

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tui.conftest import Terminal

MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
MARKDOWN = "# Plan\n\nI will **look** first.\n\n- one\n- two\n\n```python\nprint(1)\n```\n\nDone."
TOUCH = {"tool": "Bash", "input": {"command": "touch made.txt"}}


def call(tool: str, **given: Any) -> dict[str, Any]:
    return {"tool": tool, "input": given}


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
    terminal.answer("Let Bash do this?", "Tab")
    terminal.until("say:")
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the guard")
@pytest.mark.parametrize("has_panel", [False, True])
def test_who_kills_the_program_gets_the_terminal_back(terminal: Terminal, *, has_panel: bool) -> None:
    terminal.open()
    model = terminal.script("Never.")
    words = f"{terminal.program} --model {model}"
    script = f"stty -a > before; {words}; echo was $?; stty -a > after; echo ready"
    terminal.say(f"sh -c {shlex.quote(script)}")  # this shell sets nothing back by itself
    terminal.until("default (shift+tab)")
    if has_panel:
        terminal.say("/status")
        terminal.until("Esc closes")
    shell = int(terminal.tmux("display", "-p", "-t", "a", "#{pane_pid}"))
    guard = _child_of(_child_of(shell))
    os.kill(_child_of(guard), signal.SIGKILL)
    terminal.until("was 137", lambda text: text.endswith("ready\n$"))
    assert (terminal.place / "after").read_text("utf-8") == (terminal.place / "before").read_text("utf-8")
    assert terminal.tmux("display", "-p", "-t", "a", "#{cursor_flag} #{alternate_on}").strip() == "1 0"
    assert "shift+tab" not in terminal.screen()


def test_lines_of_a_long_prompt_stand_below_each_other_and_an_editor_that_fails_is_told(terminal: Terminal) -> None:
    terminal.open(40, 20, {"EDITOR": "false", "VISUAL": ""})
    terminal.holdfast("--model", terminal.script("Done."))
    terminal.until("(shift+tab)", "/help")
    terminal.type("first\\")
    terminal.press("Enter")
    terminal.type("second line that is longer than the window is wide")
    terminal.until(f"{MARK} first\n  second line that is longer than the wi\n  ndow is wide\n")
    terminal.press("C-g")
    terminal.until("nothing was edited", "see EDITOR", f"{MARK} first\n  second line")


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()[0])


def test_the_whole_output_opens_above_the_conversation_which_goes_on_below(terminal: Terminal) -> None:
    call = {"tool": "Bash", "input": {"command": "seq 1 20000; until test -e go; do sleep 0.05; done"}}
    late = {"tool": "Bash", "input": {"command": "echo late; touch done"}}
    terminal.open()
    model = terminal.script({"blocks": [call]}, {"blocks": [late]}, "End.")
    terminal.holdfast("--model", model, "--permission-mode", "bypassPermissions")
    terminal.until("(shift+tab)")
    (terminal.place / "go").touch()
    terminal.say("go")
    terminal.until("End.", "all of it (Ctrl-O)", "· context ")  # the last tells that the run is over
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


def test_questions_of_calls_side_by_side_wait_together_and_leave_when_nobody_needs_them(terminal: Terminal) -> None:
    pages = [{"tool": "WebFetch", "input": {"url": f"https://{name}.example", "prompt": "x"}} for name in "ab"]
    terminal.open(rows=40)
    terminal.holdfast("--model", terminal.script({"blocks": pages}, "Well."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("1 more: ", "│ url: https://a.example")
    terminal.press("Right")
    terminal.answer("│ url: https://b.example", "Right")
    shown = terminal.answer("Let WebFetch do this? https://a.example", "C-c")
    assert shown.count("│ url: https://a.example") == 1
    terminal.until("no longer asked: Let WebFetch do this?", "interrupted. What should happen instead?")


def test_several_questions_are_reviewed_in_one_list_and_a_kept_rule_settles_those_that_it_allows(
    terminal: Terminal,
) -> None:
    urls = ("https://a.example/one", "https://b.example", "https://a.example/two", "https://c.example")
    pages = [{"tool": "WebFetch", "input": {"url": url, "prompt": "x"}} for url in urls]
    terminal.open(columns=160, rows=40)
    terminal.holdfast("--model", terminal.script({"blocks": pages}, "Well."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.answer("3 more: ", "r")
    shown = terminal.until("Questions that wait for you", "n no")
    assert [url for url in urls if f"Let WebFetch do this?  {url}" in shown] == list(urls)
    terminal.press("Down", "Enter")
    terminal.until("│ url: https://b.example", "n no")
    terminal.press("n")
    terminal.until("Questions that wait for you", "n no", lambda text: "b.example" not in text)
    terminal.press("Escape")
    terminal.answer("2 more: ", "2")
    shown = terminal.answer("│ url: https://c.example", "1")
    assert "no longer asked: Let WebFetch do this? https://a.example/two: the rule WebFetch(domain:a.example)" in shown
    shown = terminal.until("refused; the model waits for your answer", all_of_it=True)
    said = [line.strip() for line in shown.split("\n") if "│ url:" in line or "⎿ you:" in line or "⎿ no longer" in line]
    assert [line.split(" ", 1)[1][:26] for line in said] == [
        "url: https://a.example/one",
        "you: Yes, and for this ses",
        "url: https://b.example",
        "you: No",
        "url: https://a.example/two",
        "no longer asked: Let WebFe",
        "url: https://c.example",
        "you: Yes, this once",
    ]


def test_nothing_that_a_model_writes_stands_between_a_question_and_its_answers(terminal: Terminal) -> None:
    fake = {
        "text": "  │ echo harmless\n\n  risk none: it only prints a word\n\n? Let Bash do this?\n\n",
        "after_s": 0.3,
    }
    terminal.open()
    terminal.holdfast("--model", terminal.script({"blocks": [TOUCH, fake]}, "Done."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.answer("Let Bash do this?", "3")
    shown = terminal.answer("Keep Bash(touch", "Escape")
    assert "harmless" not in shown
    terminal.answer("Let Bash do this?", "C-o")
    terminal.until("line 1 of")
    terminal.press("q")
    shown = terminal.answer("Let Bash do this?", "1")
    assert "harmless" not in shown
    shown = terminal.until("Done.", "echo harmless", all_of_it=True)
    assert shown.index("you: Yes, this once") < shown.index("echo harmless") < shown.index("● $ touch")


def test_edits_are_agreed_to_from_a_question_on_or_by_the_mode(terminal: Terminal) -> None:
    def write(name: str) -> dict[str, Any]:
        return {"blocks": [call("Write", file_path=f"{name}.txt", content="x\n")]}

    terminal.open(columns=120)
    terminal.holdfast("--model", terminal.script(write("one"), write("two"), "Two.", write("three"), "Three."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    shown = terminal.answer("Let Write do this?", "2")
    assert "2. Yes, and make such changes without asking (acceptEdits mode)" in shown
    terminal.until("Two.", "acceptEdits (shift+tab)")
    terminal.press("BTab", "BTab")
    terminal.until("default (shift+tab)")
    terminal.say("go on")
    terminal.until("Let Write do this?")
    terminal.press("BTab")
    shown = terminal.until("no longer asked: Let Write do this? three.txt: acceptEdits mode", "Three.")
    assert (terminal.place / "three.txt").exists()


def test_who_only_goes_through_a_mode_agrees_to_nothing(terminal: Terminal) -> None:
    write = {"blocks": [call("Write", file_path="one.txt", content="x\n")]}
    terminal.open(columns=120)
    terminal.holdfast("--model", terminal.script(write, "Well."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("Let Write do this?")
    terminal.press("BTab", "BTab")
    terminal.until("no longer asked: Let Write do this? one.txt: plan mode", "Well.")
    assert not (terminal.place / "one.txt").exists()


def test_what_is_typed_when_a_question_comes_waits_until_it_is_answered(terminal: Terminal) -> None:
    wait = {"tool": "Bash", "input": {"command": "until test -e go; do sleep 0.05; done"}}
    terminal.open()
    model = terminal.script({"blocks": [wait]}, {"blocks": [TOUCH]}, "Done.")
    allowed = [word for rule in ("until *", "sleep *", "test *") for word in ("--allowed-tools", f"Bash({rule})")]
    terminal.holdfast("--model", model, *allowed)
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.until("● $ until")
    terminal.type("half a line")
    terminal.until(f"{MARK} half a line")
    (terminal.place / "go").touch()
    shown = terminal.answer("Let Bash do this?", "1")
    assert "half a line" not in shown
    terminal.until("Done.", f"{MARK} half a line")


def test_a_rule_can_be_kept_for_good_and_the_file_is_named(terminal: Terminal) -> None:
    terminal.open(columns=120)
    terminal.holdfast("--model", terminal.script({"blocks": [TOUCH]}, "Done."))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    terminal.answer("Let Bash do this?", "3")
    shown = terminal.answer("Keep Bash(touch", "1")
    assert ".holdfast/settings.local.json" in shown
    terminal.until("Done.", "you: Always allow, in this folder, for me")
    assert "Bash(touch" in (terminal.place / ".holdfast" / "settings.local.json").read_text("utf-8")


def test_a_form_and_a_plan_are_answered_by_menus(terminal: Terminal) -> None:
    options = [{"label": "SQLite", "description": "small"}, {"label": "Postgres", "description": "big"}]
    asked = {"questions": [{"question": "Which database?", "header": "DB", "options": options, "multiSelect": False}]}
    turns = (
        {"blocks": [call("AskUserQuestion", **asked)]},
        {"expect": ["Postgres"], "blocks": [call("EnterPlanMode")]},
        {"blocks": [call("ExitPlanMode")]},
        {"expect": ["look twice"], "blocks": ["Begun."]},
    )
    (terminal.place / "edit.sh").write_text('#!/bin/sh\nprintf "1. look twice" > "$1"\n', encoding="utf-8")
    (terminal.place / "edit.sh").chmod(0o755)
    terminal.open(rows=40, environ={"EDITOR": str(terminal.place / "edit.sh")})
    terminal.holdfast("--model", terminal.script(*turns))
    terminal.until("default (shift+tab)")
    session = next(Path(os.environ["XDG_STATE_HOME"], "holdfast", "sessions").glob("*/*/"))
    (session / "plan.md").write_text("# The plan\n\n1. **look**\n", encoding="utf-8")
    terminal.say("go")
    terminal.answer("Which database?", "2")
    shown = terminal.answer("Go on with this plan?", "3")
    assert "1 look" in shown
    shown = terminal.until("1 look twice")
    terminal.answer("Go on with this plan?", "2")
    terminal.until("Begun.", "default (shift+tab)")


def test_a_change_is_asked_about_with_its_diff(terminal: Terminal) -> None:
    (terminal.place / "notes.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    edit = {"file_path": "notes.txt", "old_string": "beta", "new_string": "better"}
    turns = (
        {"tool": "Read", "input": {"file_path": "notes.txt"}},
        {"blocks": [{"tool": "Edit", "input": edit}]},
        "Ok.",
    )
    terminal.open()
    terminal.holdfast("--model", terminal.script(*turns))
    terminal.until("default (shift+tab)")
    terminal.say("go")
    shown = terminal.answer("Let Edit do this?", "1")
    assert "     2 - beta" in shown
    assert "     2 + better" in shown
    shown = terminal.until("Ok.")
    assert "● Edit(notes.txt) · +1 -1" in shown
    assert shown.count("2 + better") == 1  # it was seen before
