"""What the input line draws of characters that hide or turn text."""

from typing import Any

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import Transformation, TransformationInput
from tests.tui.conftest import Terminal
from tests.tui.deceptions import HIDDEN

from holdfast.tui.input.spelling import SpellingOut


def drawn(text: str) -> Transformation:
    given = TransformationInput(BufferControl(Buffer()), Document(text), 0, lambda at: at, [("", text)], 80, 1)
    return SpellingOut().apply_transformation(given)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_hides_or_turns_text_is_spelled_out(hidden: str) -> None:
    shown = fragment_list_to_text(drawn(f"rm {hidden} safe").fragments)
    assert not set(shown) & set(hidden)
    assert shown.startswith("rm <U+")


def test_every_place_of_the_text_has_its_own_on_the_screen_and_the_other_way() -> None:
    text = "a\u202eb\u200bc"
    change: Any = drawn(text)
    shown = fragment_list_to_text(change.fragments)
    assert shown == "a<U+202E>b<U+200B>c"
    assert [shown[change.source_to_display(at)] for at in (0, 2, 4)] == ["a", "b", "c"]
    assert change.source_to_display(len(text)) == len(shown)
    assert [change.display_to_source(at) for at in (0, 1, 5, 9, len(shown))] == [0, 1, 1, 2, len(text)]


def test_ordinary_letters_of_any_script_stay_as_they_are() -> None:
    for text in ("plain", "größer", "日本語", "👩\u200d💻 ok", "\u0645\u06cc\u200c\u062e\u0648\u0627", "❤\ufe0f"):
        assert fragment_list_to_text(drawn(text).fragments) == text


def test_nothing_that_is_pasted_turns_or_hides_the_line(terminal: Terminal) -> None:
    terminal.open()
    terminal.tmux("pipe-pane", "-t", "a", f"cat > {terminal.place}/raw")
    terminal.holdfast("--model", terminal.script("Done."))
    terminal.until("(shift+tab)", "/help")
    terminal.tmux("set-buffer", "ls \u202e txt.exe\x1b]0;evil\x07 \u200bend")
    terminal.tmux("paste-buffer", "-p", "-t", "a")
    terminal.until("ls <U+202E> txt.exe", "<U+200B>end")
    terminal.press("Enter")
    terminal.until("Done.")
    raw = (terminal.place / "raw").read_text("utf-8")
    assert not {"\u202e", "\u200b"} & set(raw)
    assert "\x1b]0;evil" not in raw
