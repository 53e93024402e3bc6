"""One component against one pattern: bracket expressions as git reads them, and the search between stars."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.wildmatch import read_segment


def fits(pattern: str, text: str) -> bool | None:
    segment = read_segment(pattern)
    return None if segment is None else segment.matches(text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("[a-c]", "abc", "d`"),
        ("[!a]", "b\x01\xff", "a\u0100"),
        ("[!0-9]", "a\x10", "059"),
        ("[^a-c]", "d", "abc"),
        ("[]a]", "]a", "b"),
        ("[!]a]", "b", "]a"),
        ("[\\a]", "a", "\\"),
        ("[\\]]", "]", "\\"),
        ("[a\\-c]", "a-c", "b"),
        ("[a-\\c]", "abc", "-d"),
        ("[a-]", "a-", "b"),
        ("[-a]", "a-", "b"),
        ("[[:]", "[:", "a"),
        ("[[:a]", "[:a", "b"),
        ("[[:ab]", "[:ab", "c"),
        ("[[:digit:]]", "09", "a:"),
        ("[[:digit:]a-c]", "5abc", "d"),
        ("[[:cntrl:]]", "\x01\x02\x1f\x7f", " \x80~"),
        ("[[:blank:]]", " \t", "\n"),
        ("[[:xdigit:]]", "aF9", "g"),
        ("[/a]", "a", "/"),
    ],
)
def test_a_bracket_accepts_what_git_accepts(pattern: str, yes: str, no: str) -> None:
    assert [char for char in yes if not fits(pattern, char)] == []
    assert [char for char in no if fits(pattern, char)] == []


@pytest.mark.parametrize(
    "pattern", ["[", "[a", "[]", "[!", "[a-", "[a-c", "[\\", "[a-\\", "[[:", "[[:no:]]", "[[::]]", "\\", ""]
)
def test_a_broken_pattern_fits_nothing(pattern: str) -> None:
    assert read_segment(pattern) is None


PLACES = ("?", "[ab]", "a", "b")


@given(st.lists(st.sampled_from((*PLACES, "*")), min_size=1, max_size=12), st.text("abc", max_size=16))
def test_it_fits_what_the_regular_expression_fits(items: list[str], text: str) -> None:
    expression = "".join({"?": ".", "*": ".*"}.get(item, item) for item in items)
    assert fits("".join(items), text) is (re.fullmatch(expression, text, re.DOTALL) is not None)


@given(st.integers(30, 40), st.data())
def test_a_long_run_of_places_is_found_where_a_slow_search_finds_it(length: int, data: st.DataObject) -> None:
    run = data.draw(st.text("?x", min_size=length, max_size=length)).replace("x", "[ab]")
    text = data.draw(st.text("ab", min_size=length, max_size=length + 6))
    at = data.draw(st.integers(0, len(text) - 1))
    text = text[:at] + data.draw(st.sampled_from("abc")) + text[at + 1 :]
    expression = f".*{run.replace('?', '.')}.*"
    assert fits(f"*{run}*", text) is (re.fullmatch(expression, text, re.DOTALL) is not None)


def test_a_long_run_must_fit_from_its_first_place() -> None:
    run = "[x]" + "[ab]" * 40
    assert fits(f"*[xy]{'[ab]' * 40}*", "x" + "a" * 40)
    for text in ("a" * 40, "b" + "a" * 40, "x" + "a" * 39, "x" + "a" * 20 + "c" + "a" * 20):
        assert not fits(f"*[xy]{'[ab]' * 40}*", text)
    assert fits(f"*{run}*{run}", ("x" + "a" * 40) * 2)
    assert not fits(f"*{run}*{run}", "x" + "a" * 40 + "b" + "a" * 40)
