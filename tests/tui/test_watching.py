"""`-p` and the demo in a real terminal look as the session does."""

from tests.tui.conftest import Terminal


def test_a_run_that_somebody_watches_shows_calls_diffs_and_markdown(terminal: Terminal) -> None:
    (terminal.place / "notes.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    edit = {"file_path": "notes.txt", "old_string": "beta", "new_string": "better"}
    turns = ({"tool": "Read", "input": {"file_path": "notes.txt"}}, {"blocks": [{"tool": "Edit", "input": edit}]})
    terminal.open()
    model = terminal.script(*turns, "# Done\n\nIt is **better** now.")
    terminal.holdfast("-p", "go", "--permission-mode", "acceptEdits", "--model", model)
    shown = terminal.until("It is better now.", lambda text: text.endswith("$"))
    assert "● Read(notes.txt) · 2 lines" in shown
    assert "     2 + better" in shown
    assert "Ctrl-O" not in shown
    assert "**" not in shown
    assert shown.count("better now") == 1
    terminal.say(f'holdfast() {{ {terminal.program} "$@"; }}; clear')
    terminal.say(f"holdfast -p again --model {terminal.script('**Plain** text')} | cat; echo end")
    terminal.until("**Plain** text", lambda text: "\nend" in text)


def test_the_demo_is_steered_by_whoever_sits_there(terminal: Terminal) -> None:
    terminal.open(rows=40)
    terminal.holdfast("demo")
    shown = terminal.answer("Let Bash do this?", "2")
    assert "python3 -m unittest" in shown
    shown = terminal.until("The tests pass.", "1 allowed by a person", all_of_it=True)
    assert "● Edit(shop/orders.py) · +1 -4" in shown
    assert "refused" in shown


def test_the_demo_goes_along_where_somebody_says_no_and_stays_until_they_go_on(terminal: Terminal) -> None:
    terminal.open(rows=40)
    terminal.holdfast("demo")
    terminal.answer("Let Bash do this?", "Escape")
    terminal.until("the model waits for your answer", "Write anything, and it goes on", "(shift+tab)")
    terminal.say("/cost")
    terminal.until("tokens read")
    terminal.say("why should it?")
    shown = terminal.until("You took it another way", "refused by a person", all_of_it=True)
    assert "I cannot take in what you write" in shown
    assert "You said no, so I do not run the tests." in shown
    assert "Whether the tests pass now you see with" in shown
    assert "expected" not in shown  # no word of a script that went wrong
    terminal.say("echo it was $?")
    terminal.until("it was 0")


def test_a_newcomer_sees_the_demo_without_a_key_and_hears_how_to_go_on(terminal: Terminal) -> None:
    terminal.open(rows=40)
    terminal.holdfast()
    terminal.answer("Which model should work here?", "1")
    terminal.answer("Let Bash do this?", "2")
    shown = terminal.until("Now with a real model", all_of_it=True)
    assert "all three tests pass" in " ".join(shown.split())
    assert "export ANTHROPIC_API_KEY" in shown
