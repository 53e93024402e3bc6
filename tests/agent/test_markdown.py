"""Front matter, braces, code and comments as the reader of instruction files sees them."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.prompt.markdown import (
    _without_front_matter,  # a short cut that must not be another way
    expand_braces,
    read_markdown,
    without_code_spans,
)
from holdfast.lib.front_matter import read_front_matter, texts


def test_the_globs_of_a_rule_are_read_in_every_form_people_write() -> None:
    for written in ("paths: a, b", "paths: [a, 'b']", 'paths: "a", "b"', "paths:\n  - a\n  - b", "globs: a,b"):
        assert read_markdown(f"---\n{written}\n---\nx").paths == ("a", "b")
    assert read_markdown("---\npaths: **/*.ts, src/{a,b}.py\n---\nx").paths == ("**/*.ts", "src/{a,b}.py")
    assert read_markdown("---\npaths: a\nno end").paths is None


def test_braces_give_their_alternatives_and_stay_bounded() -> None:
    assert expand_braces("a{b,c}/{d,e}") == ["ab/d", "ab/e", "ac/d", "ac/e"]
    assert expand_braces("a{b") == ["a{b"]
    assert len(expand_braces("{a,b}" * 40)) <= 128


def test_code_spans_end_at_a_run_of_the_same_length() -> None:
    assert without_code_spans("a `b` c ``d ` e`` f `g") == "a ` c ` f `g"


@given(st.text(alphabet="`~<!->@a. \n\t-", max_size=200))
def test_any_text_is_read_without_losing_words_outside_of_comments(text: str) -> None:
    found = read_markdown(text)
    if "<!--" not in text and not text.startswith("---"):
        assert found.text == text.strip("\n")
    assert all(name in text for name in found.imports)


@given(st.text(alphabet="-\ufeff \t\n\rpaths: x.", max_size=60))
def test_the_quick_look_for_front_matter_finds_what_the_reader_of_it_finds(text: str) -> None:
    whole = read_front_matter(text)
    with_words = _without_front_matter(text)
    assert with_words == (whole.body, tuple(texts(whole.fields.get("paths"))))
