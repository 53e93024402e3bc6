"""Front matter as people write it: valid YAML, nearly YAML, and what was made to do harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.front_matter import HEAD_BYTES, _simple, read_front_matter, texts


def test_scalars_stay_the_text_that_was_written() -> None:
    fields = read_front_matter("---\nversion: 3.0\ndate: 2026-01-02\nok: yes\nnone: ~\nhint: [file]\n---\n").fields
    assert fields == {"version": "3.0", "date": "2026-01-02", "ok": "yes", "none": "~", "hint": ["file"]}


def test_lists_and_mappings_are_read_as_deep_as_they_go() -> None:
    text = "---\ntools:\n  - Read\n  - Bash(git *)\nmetadata:\n  author: me\n  more: {a: [1, 2]}\n---\nbody\n"
    found = read_front_matter(text)
    assert found.fields == {"tools": ["Read", "Bash(git *)"], "metadata": {"author": "me", "more": {"a": ["1", "2"]}}}
    assert found.body == "body\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a\n---\nbody",
        "\ufeff---\nname: a\n---\nbody",
        "---\r\nname: a\r\n---\r\nbody",
        "\n  \n\n---\nname: a\n---\nbody",
        "---  \nname: a\n...\nbody",
        "---\n# a remark\n\nname: 'a'  \n---\nbody",
    ],
)
def test_marks_line_ends_and_blank_lines_hide_nothing(text: str) -> None:
    found = read_front_matter(text)
    assert (found.fields, found.body, found.problem) == ({"name": "a"}, "body", "")


@pytest.mark.parametrize("text", ["", "words", "---\nname: a\nno end", "----\na\n---\n", "x\n---\nname: a\n---\n"])
def test_without_both_of_its_lines_everything_is_body(text: str) -> None:
    found = read_front_matter(text)
    assert (found.fields, found.body, found.found) == ({}, text, False)


def test_what_yaml_refuses_is_read_line_by_line() -> None:
    text = (
        "---\nname: a\ndescription: Use it so: always. Context: none\ntools: *\npaths:\n  - **/*.ts\n  - b\n"
        "long: first: and\n  second\nname: again\n---\n"
    )
    found = read_front_matter(text)
    assert found.problem.startswith("line 3: ")
    assert found.fields == {
        "name": "a",
        "description": "Use it so: always. Context: none",
        "tools": "*",
        "paths": ["**/*.ts", "b"],
        "long": "first: and second",
    }


@pytest.mark.parametrize(
    "inner",
    [
        "a: &x [1]\nb: *x",
        "a: &a [x, x]\n" + "\n".join(f"k{n}: &k{n} [{', '.join(['*a'] * 9)}]" for n in range(9)),
        "a: " + "[" * 30_000,
        "a:\n  " + "- " * 15_000,
        "a: " + "{b: " * 8_000,
        "- a\n- b",
        "a: 1\n--- \nb: 2\n" + "c: '",
        "? [a]\n: b\nname: \x07x",
    ],
)
def test_hostile_yaml_becomes_texts_or_nothing(inner: str) -> None:
    found = read_front_matter(f"---\nname: n\n{inner}\n---\nbody")
    assert found.fields.get("name", "n") == "n"
    assert len(str(found.fields)) < 3 * HEAD_BYTES


def test_tags_make_nothing() -> None:
    found = read_front_matter("---\nname: !!python/object/apply:os.system ['touch pwned']\n---\n")
    assert found.fields == {"name": ["touch pwned"]}


def test_the_end_is_looked_for_in_the_first_64_kb_only() -> None:
    text = "---\nname: a\nlong: " + "x" * HEAD_BYTES + "\n---\nbody"
    assert not read_front_matter(text).found


_CHARS = "abc:#-?'\"[]{},&*!|>%@` \\\n\t0_~.\u00e9\u2028\U0001f600"


_LINE = st.tuples(
    st.sampled_from(["name: ", "b-c: ", "d_e:", "list:", "  - ", "  k: ", "   x: ", "- ", "  ", "", "# "]),
    st.one_of(st.text(_CHARS, max_size=12), st.sampled_from(["[a, b-c]", "[]", "[a,]", "'x'", '"y z"', "plain text"])),
)


@given(st.lists(_LINE, max_size=6))
def test_what_needs_no_parser_is_what_a_parser_would_read(pairs: list[tuple[str, str]]) -> None:
    yaml = pytest.importorskip("yaml")
    inner = "".join(f"{key}{value}\n" for key, value in pairs)
    simple = _simple(inner)
    if simple is not None:
        assert simple == (yaml.load(inner, Loader=yaml.BaseLoader) or {})


@given(st.text(_CHARS + "-", max_size=200))
def test_any_text_is_taken_apart(inner: str) -> None:
    found = read_front_matter(f"---\n{inner}\n---\nbody")
    assert found.body.endswith("body")


def test_a_field_is_a_list_in_every_form() -> None:
    assert texts("a, b") == texts("[a, 'b']") == texts(["a", "b"]) == ["a", "b"]
    assert texts("{a,b}/c, d") == ["{a,b}/c", "d"]
    assert texts("don't, you're") == ["don't", "you're"]
    assert texts(None) == texts("") == texts({"a": "b"}) == []
