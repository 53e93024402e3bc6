import pytest

from holdfast.permissions.shell.words.lookalikes import deception, show, visible

HIDDEN = ["\x00", "\x08", "\x1b", "\r", "\x7f", "\x85", "\x9b", "\u00a0", "\u00ad", "\u061c", "\u180e", "\u200b",
"\u200f", "\u2028", "\u202e", "\u2060", "\u2066", "\u3000", "\ufe0f", "\ufeff", "\U000e0001", "\U000e007f",
"\u2800", "\u0600", "\U0001bca0", "\U0001d159", "\U0001d173"]  # fmt: skip


@pytest.mark.parametrize("char", HIDDEN)
def test_every_hidden_character_is_named_and_shown(char: str) -> None:
    text = f"ls {char} rm"
    assert deception(text)
    shown = visible(text)
    assert char not in shown
    assert f"{ord(char):02x}" in shown.lower()


def test_newline_and_tab_are_ordinary() -> None:
    assert deception("ls\n\tpwd") is None


@pytest.mark.parametrize("text", ["grep 'привет' f", "echo '日本語'", "cat café.txt", "echo ελλάδα"])
def test_one_script_per_word_is_ordinary(text: str) -> None:
    assert deception(text) is None
    assert visible(text) == text


@pytest.mark.parametrize(
    "text", ["cat p\u0430ypal", "l\u0455", "echo \uff4c\uff53", "echo \U0001d41a\U0001d41b", "gi\u03c4"]
)
def test_look_alike_letters_are_told_and_shown(text: str) -> None:
    assert deception(text)
    assert "U+" in visible(text)


def test_the_real_size_is_told() -> None:
    shown = show("a\u200b\nb\x1b")
    assert (shown.lines, shown.characters, shown.escaped) == (2, 5, 2)
    assert shown.text == "aU+200B\nb\\x1b"
