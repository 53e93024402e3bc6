import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.visible import visible, without_controls


def test_plain_text_stays_as_it_is() -> None:
    assert visible("rm -rf 'build' — größe 日本") == "rm -rf 'build' — größe 日本"


def test_what_a_terminal_or_an_eye_could_misread_is_spelled_out() -> None:
    assert visible("a\x1b[2Jb\r\n\tc\x7f\x9b") == r"a\x1b[2Jb\r\n\tc" + "<U+007F><U+009B>"
    assert visible("x\u202ey\u200bz\u2066") == "x<U+202E>y<U+200B>z<U+2066>"
    assert visible("\u00a0\u2028\ufeff\U000e0041\u3164\ufe0f") == "<U+00A0><U+2028><U+FEFF><U+E0041><U+3164><U+FE0F>"
    assert visible("\udc80") == "<U+DC80>"


def test_a_cut_says_how_long_the_whole_is() -> None:
    assert visible("abcdef", limit_chars=3) == "abc… (6 characters)"
    assert visible("abc", limit_chars=3) == "abc"


@given(st.text())
def test_nothing_hidden_survives(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in shown)


def test_prose_keeps_its_lines_and_scripts_and_loses_what_a_terminal_obeys() -> None:
    prose = "one\n\ttwo ⚠️ 👩\u200d💻 größe"
    assert without_controls(prose) == prose
    assert without_controls("a\x1b]52;c;x\x07\rb\x9b\u202e") == r"a\x1b]52;c;x\x07\x0db\x9b" + "<U+202E>"
