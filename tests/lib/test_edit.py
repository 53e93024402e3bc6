"""Edits change what was asked for and no other byte."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.lib.diff import apply_spans
from holdfast.lib.edit import Editable, EditAmbiguousError, EditMissedError, plan_edit
from holdfast.lib.nearest import find_nearest
from holdfast.lib.text import NotEncodableError, NotTextError


def edit(data: bytes, old: str, new: str, *, replace_all: bool = False) -> tuple[bytes, str]:
    content = Editable.of(data, old, new)
    plan = plan_edit(content.utf8, old, new, replace_all=replace_all)
    own = content.own_spans(plan.spans)
    assert content.proves(plan.spans, own)
    return b"".join(apply_spans(data, own)), plan.forgiven


def test_an_exact_match_is_replaced_and_nothing_else() -> None:
    assert edit(b"one two three\n", "two", "2") == (b"one 2 three\n", "")


def test_all_places_are_replaced_on_request() -> None:
    assert edit(b"aXbXc", "X", "--", replace_all=True) == (b"a--b--c", "")
    assert edit(b"aaa", "aa", "b", replace_all=True) == (b"ba", "")


def test_several_places_are_named_by_line() -> None:
    with pytest.raises(EditAmbiguousError) as caught:
        edit(b"x\ny\nx\n\nx x\n", "x", "z")
    assert (caught.value.count, caught.value.lines) == (4, (1, 3, 5, 5))


TRAILING = "trailing white space"
INDENT = "tabs and spaces in the indentation"
NESTED = "if x:\n    a()\n    if y:\n        b()\n"


@pytest.mark.parametrize(
    ("data", "old", "new", "result", "forgiven"),
    [
        # line endings
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "a\nB\nB2\n", b"a\r\nB\r\nB2\r\nc\r\n", "line endings"),
        (b"a\nb\nc\n", "a\r\nb\r\n", "a\r\nB\r\n", b"a\nB\nc\n", "line endings"),
        (b"a\r\nb\nc\r\nd", "a\nb\nc\nd", "a\nX\nc\nd", b"a\r\nX\nc\r\nd", "line endings"),
        (b"a\rb\rc\r", "b\nc\n", "B\nc\n", b"a\rB\rc\r", "line endings"),
        (b"a\nlast", "a\nlast\n", "a\nLAST\n", b"a\nLAST", "line endings"),
        # the line ends of new text follow the place it goes to
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n", ""),
        (b"a\r\nb\r\n", "b\r\n", "b\nc\n", b"a\r\nb\nc\n", ""),
        # trailing white space
        (b"def f():   \n    x\t\n", "def f():\n    x\n", "def f():\n    y\n", b"def f():   \n    y\n", TRAILING),
        (b"a\n   \nb\n", "a\n\nb", "a\n\nB", b"a\n   \nB\n", TRAILING),
        # quotes
        ("say “hi” now".encode(), 'say "hi" now', 'say "hi" later', "say “hi” later".encode(), "quote style"),
        ("it\u2019s “x”".encode(), "it's \"x\"", "it's \"y\" or \"z\"", "it\u2019s “y” or “z”".encode(), "quote style"),
        (b'print("x")', "print(“x”)", "print(“y”)", b'print("y")', "quote style"),
        # indentation
        (b"if x:\n\ta()\n\tb()\n", "if x:\n    a()\n    b()\n", NESTED, b"if x:\n\ta()\n\tif y:\n\t\tb()\n", INDENT),
        (b"if x:\n  go()\n", "if x:\n\tgo()\n", "if x:\n\tgo(1)\n", b"if x:\n  go(1)\n", INDENT),
        (b"\t\tdeep()\n", "        deep()", "        deeper()", b"\t\tdeeper()\n", INDENT),
    ],
)  # fmt: skip
def test_unseen_differences_are_forgiven_and_the_files_style_stays(
    data: bytes, old: str, new: str, result: bytes, forgiven: str
) -> None:
    assert edit(data, old, new) == (result, forgiven)


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"a b c\n", "a  b c"),  # white space inside a line is content
        (b"if x:\n  go()\n", "if x:\n    go()\n"),  # other widths of spaces are content
        (b"Foo\n", "foo"),
        (b"", "anything"),
        ("“a”".encode(), "«a»"),
        (b"x\n\ty\n  z\n", "x\n    y\n    z\n"),  # no one tab width explains both lines
    ],
)
def test_visible_differences_are_not_forgiven(data: bytes, old: str) -> None:
    with pytest.raises(EditMissedError):
        edit(data, old, "new")


def test_a_forgiven_match_must_be_the_only_one() -> None:
    with pytest.raises(EditAmbiguousError) as caught:
        edit(b"a  \nb\nx\na\t\nb\n", "a\nb\n", "c\n")
    assert caught.value.lines == (1, 4)
    with pytest.raises(EditAmbiguousError):
        edit(b"a  \nb\nx\na\t\nb\n", "a\nb\n", "c\n", replace_all=True)


def test_line_endings_alone_are_forgiven_in_all_places_on_request() -> None:
    assert edit(b"a\r\nb\r\n-\r\na\r\nb\r\n", "a\nb\n", "c\n", replace_all=True)[0] == b"c\r\n-\r\nc\r\n"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "cp1252", "koi8-r", "shift_jis"])
def test_other_encodings_are_edited_in_their_own_bytes(codec: str) -> None:
    words = {"koi8-r": "Съешь ещё этих мягких булок, да выпей чаю", "shift_jis": "日本語の文章をここに書いています。"}
    text = words.get(codec, "Die schöne Straße führt über die Brücke nach Köln") + "\r\n"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0"}.get(codec, b"")
    data = mark + (text * 40 + "END one\r\n" + text * 40).encode(codec)
    edited, _ = edit(data, "END one\n", "END two\nand more\n")
    assert edited == mark + (text * 40 + "END two\r\nand more\r\n" + text * 40).encode(codec)


def test_a_mark_and_a_missing_final_newline_survive() -> None:
    assert edit(b"\xef\xbb\xbfa\nb", "b", "c")[0] == b"\xef\xbb\xbfa\nc"


def test_text_that_the_encoding_lacks_is_refused() -> None:
    data = ("Straße über Köln, schöne Grüße\n" * 30 + "END\n").encode("cp1252")
    with pytest.raises(NotEncodableError):
        edit(data, "END", "日本")
    with pytest.raises(NotEncodableError):
        edit(b"END", "END", "\ud800")


def test_invalid_bytes_elsewhere_are_kept() -> None:
    data = "Съешь ещё этих мягких булок\n".encode() * 3 + b"\xff\xfe here\n" + b"end\n"
    assert edit(data, "end", "конец")[0] == data[:-4] + "конец\n".encode()
    crlf = data.replace(b"\n", b"\r\n")
    assert edit(crlf, "end\n", "END\n")[0] == crlf[:-5] + b"END\r\n"


def test_binary_content_is_refused() -> None:
    with pytest.raises(NotTextError):
        edit(b"\0\1\2END", "END", "x")


LETTERS = "ab \t\n\"'“”é{}"
TEXT, SOME_TEXT = st.text(LETTERS, max_size=60), st.text(LETTERS, min_size=1, max_size=60)


@settings(max_examples=max(1500, settings().max_examples))
@given(TEXT, SOME_TEXT, TEXT, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_only_the_place_changes_whatever_was_forgiven(before: str, old: str, after: str, end: str, curly: bool) -> None:
    assume(old.strip())
    stored = old.replace('"', "”").replace("'", "\u2019") if curly else old
    data = (before + stored + after).replace("\n", end).encode()
    try:
        edited, _ = edit(data, old, "")
    except (EditMissedError, EditAmbiguousError):
        return
    kept = len(data) - len(edited)
    assert kept > 0
    cut = next((n for n in range(len(edited)) if data[n] != edited[n]), len(edited))
    # The result is the old content with one stretch taken out, about as long as what was asked for.
    assert any(data[:n] + data[n + kept :] == edited for n in range(cut + 1))


@settings(max_examples=max(700, settings().max_examples))
@given(TEXT, SOME_TEXT, TEXT, TEXT)
def test_crlf_files_edited_with_lf_text_equal_the_lf_edit(before: str, old: str, after: str, new: str) -> None:
    plain = before + old + after
    assume(plain.count(old) == 1 and old != new)
    expected, _ = edit(plain.encode(), old, new)
    assert expected == plain.replace(old, new).encode()
    assume("\n" in plain)
    found, _ = edit(plain.replace("\n", "\r\n").encode(), old, new)
    assert found == expected.replace(b"\n", b"\r\n")


def test_the_nearest_place_is_named_with_what_differs() -> None:
    lines = [f"def function_{n}(argument_{n}):\n    return argument_{n} + {n}\n" for n in range(500)]
    data = "\n".join(lines).encode()
    near = find_nearest(data, "def function_77(argument_77):\n    return argument_77 - 77\n")
    assert near is not None
    assert (near.first_line, near.last_line) == (232, 233)
    assert near.difference == "-     return argument_77 - 77\n+     return argument_77 + 77"


def test_invisible_differences_are_made_visible() -> None:
    near = find_nearest(b"\tvalue  = compute(item)\n", "    value = compute(item)")
    assert near is not None
    assert "→" in near.difference
    assert "··" in near.difference


def test_a_typo_is_recognised_without_a_word_in_common() -> None:
    near = find_nearest(b"first\nalpha = 1\nlast\n", "alhpa = 1")
    assert near is not None
    assert (near.first_line, near.difference) == (2, "- alhpa = 1\n+ alpha = 1")


def test_nothing_alike_is_no_candidate() -> None:
    assert find_nearest(b"completely different words here\n" * 100, "import antigravity from nowhere") is None
    assert find_nearest(b"", "x") is None


@pytest.mark.timeout(60)  # unbounded comparison would take far longer
def test_a_miss_in_a_large_file_costs_little() -> None:
    chance = random.Random(2)
    words = [b"alpha", b"beta", b"gamma", b"return", b"self.value"]
    data = b"\n".join(b" ".join(chance.choices(words, k=8)) for _ in range(300_000))
    with pytest.raises(EditMissedError):
        edit(data, "alpha beta gamma delta\nreturn self.value", "x")
    find_nearest(data, "alpha beta gamma delta\nreturn self.value\n" * 40)
