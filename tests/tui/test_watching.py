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
