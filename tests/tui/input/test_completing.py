"""What the input line offers."""

from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from tests.tui.conftest import Terminal

from holdfast.tui.input.completing import InputCompleter, Offers
from holdfast.tui.input.file_names import score
from holdfast.tui.input.mentions import find_mentions


def offered(place: Path, text: str, hidden: str = "") -> list[str]:
    def hides(path: str) -> bool:
        return bool(hidden) and path.endswith(hidden)

    offers = Offers(
        cwd=lambda: str(place),
        hides=hides,
        commands=lambda: [("context", "what fills"), ("config", "settings"), ("recon", "of somebody")],
        resources=lambda: [("docs:file:///guide", "Guide")],
    )
    return [found.text for found in InputCompleter(offers).get_completions(Document(text), CompleteEvent())]


def test_commands_are_offered_at_the_beginning_only(tmp_path: Path) -> None:
    assert offered(tmp_path, "/con") == ["/context", "/config", "/recon"]
    assert offered(tmp_path, "say /con") == []


def test_files_are_found_anywhere_by_some_of_their_letters(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "node_modules").mkdir()
    for name in ("src/deep/screen.py", "src/scroll.py", "node_modules/screen.py", "README.md", ".hidden"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert offered(tmp_path, "see @scr") == ["src/scroll.py", "src/deep/screen.py"]
    assert offered(tmp_path, "see @screen", hidden="screen.py") == []
    assert offered(tmp_path, "see @") == ["docs:file:///guide", "README.md", "node_modules/", "src/"]
    assert offered(tmp_path, "see @src/") == ["src/deep/", "src/scroll.py"]
    assert offered(tmp_path, "see @docs:") == ["docs:file:///guide"]
    assert offered(tmp_path, "mail@scr") == []


def test_names_with_blanks_are_offered_as_they_must_be_written(tmp_path: Path) -> None:
    (tmp_path / "my plans").mkdir()
    (tmp_path / "my plans" / "next year.md").write_text("", encoding="utf-8")
    assert offered(tmp_path, "see @year") == ['"my plans/next year.md"']
    assert offered(tmp_path, "see @my") == ['"my plans/"', '"my plans/next year.md"']
    assert offered(tmp_path, 'see @"my plans/n') == ['my plans/next year.md"']
    assert offered(tmp_path, 'see @"next y') == ['my plans/next year.md"']
    (mention,) = find_mentions('see @"my plans/next year.md"', str(tmp_path))
    assert mention.arguments == {"file_path": f"{tmp_path}/my plans/next year.md"}


def test_the_only_offer_is_taken_at_once(terminal: Terminal) -> None:
    (terminal.place / "orders.py").write_text("", encoding="utf-8")
    terminal.open()
    terminal.holdfast("--model", terminal.script("Done."))
    terminal.until("(shift+tab)", "/help")
    terminal.type("see @ord")
    terminal.until("  orders.py")
    terminal.press("Tab")
    terminal.type("now")
    terminal.until("see @orders.py now")
    terminal.press("Enter")
    terminal.until("Done.")


def test_the_nearest_names_come_first() -> None:
    names = ["tests/tui/test_screen.py", "screen.py", "a/screenshot.py", "src/some_creed.py"]
    scored = {name: score(name, "scree") for name in names}
    assert min(names, key=lambda name: scored[name] or 0) == "screen.py"
    assert score("readme.md", "xyz") is None
