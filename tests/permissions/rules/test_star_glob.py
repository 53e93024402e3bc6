"""Patterns in which a star is any text, against the regular expression they stand for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.rules.globs import StarGlob


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("", "", True),
        ("*", "", True),
        ("*", "x\ny", True),
        ("a*", "a", True),
        ("a*", "ba", False),
        ("*a", "ba", True),
        ("*a", "ab", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "ac", False),
        ("a*b*c", "axc", False),
        ("a*b*c", "acb", False),
        ("*b*", "b", True),
        ("*b*", "a", False),
        ("*b*b*", "b", False),
        ("*b*b*", "bb", True),
        ("*ab*ba*", "aba", False),
        ("a*b", "ab*", False),
        ("a**b", "ab", True),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("A*", "a", False),
    ],
)
def test_everything_but_the_star_is_literal(pattern: str, text: str, fits: bool) -> None:
    assert StarGlob(pattern).matches(text) is fits


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_it_fits_what_the_regular_expression_fits(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
    assert StarGlob(pattern).matches(text) is expected


def test_two_of_the_same_text_are_equal() -> None:
    assert StarGlob("a*") == StarGlob("a*")
    assert hash(StarGlob("a*")) == hash(StarGlob("a*"))
    assert StarGlob("a*") != StarGlob("a")
    assert StarGlob("a*") != "a*"
    assert repr(StarGlob("a*")) == "StarGlob('a*')"


def test_the_time_is_linear() -> None:
    assert not StarGlob("*a" * 2_000 + "b").matches("a" * 100_000)
