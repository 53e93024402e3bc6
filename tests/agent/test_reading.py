"""What one instruction file says: its imports, its limits and its text."""

import os

from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.prompt.reading import (
    MAX_FILE_BYTES,
    _plain_text,  # a short cut that must not be another way
)
from holdfast.lib.text import detect_whole

from .conftest import Place, texts

# -- files that are imported


def test_an_imported_file_comes_before_the_one_that_imports_it(place: Place) -> None:
    place.write("CLAUDE.md", "See @docs/style.md, then go on.")
    style = place.write("docs/style.md", "style @more.md")
    place.write("docs/more.md", "more")
    found = place.load()
    assert texts(found) == ["more", "style @more.md", "See @docs/style.md, then go on."]
    assert [file.imported_by for file in found.files] == [str(style), str(place.project / "CLAUDE.md"), None]
    assert [file.reason for file in found.files] == ["include", "include", "session_start"]


def test_imports_go_four_hops_and_no_further(place: Place) -> None:
    place.write("CLAUDE.md", "0 @1.md")
    for number in range(1, 7):
        place.write(f"{number}.md", f"{number} @{number + 1}.md")
    found = place.load()
    assert [text[0] for text in texts(found)] == ["4", "3", "2", "1", "0"]
    assert "more than 4 imports away" in found.warnings[0]


def test_a_circle_of_imports_ends(place: Place) -> None:
    place.write("CLAUDE.md", "a @b.md")
    place.write("b.md", "b @CLAUDE.md @b.md")
    assert texts(place.load()) == ["b @CLAUDE.md @b.md", "a @b.md"]


def test_imports_in_code_and_comments_are_words_and_nothing_else(place: Place) -> None:
    place.write("no.md", "must not be read")
    place.write("yes.md", "read")
    text = (
        "`@no.md` and ``a ` @no.md`` and <!-- @no.md --> mail a@no.md\n\n```\n@no.md\n```\n\n    @no.md\n\n"
        "~~~py\n``` @no.md\n~~~\n\n- item\n\n      ```\n      @no.md\n      ```\n\n- @yes.md"
    )
    place.write("CLAUDE.md", text)
    assert texts(place.load())[0] == "read"
    assert len(place.load().files) == 2


def test_an_import_deep_inside_a_list_is_no_code(place: Place) -> None:
    place.write("yes.md", "read")
    place.write("CLAUDE.md", "- one\n\n    - @yes.md\n\nend")
    assert texts(place.load())[0] == "read"


def test_a_mention_of_a_person_or_package_is_no_import(place: Place) -> None:
    place.write("CLAUDE.md", "Ask @maria about @types/node and @media rules. See @missing.md.")
    found = place.load()
    assert len(found.files) == 1
    assert [warning.split(" (")[0] for warning in found.warnings] == ["missing.md."]


def test_spaces_fragments_and_punctuation_around_an_import_are_understood(place: Place) -> None:
    place.write("my notes.md", "notes")
    place.write("guide.md", "guide")
    place.write("CLAUDE.md", "(see\n@my\\ notes.md, @guide.md#section).")
    assert texts(place.load())[:2] == ["notes", "guide"]


# -- text


def test_block_comments_are_left_out_but_not_those_in_code(place: Place) -> None:
    place.write("CLAUDE.md", "a\n<!-- note\nfor people -->\nb <!-- inline -->\n```\n<!-- shown -->\n```\n<!-- x --> c")
    assert texts(place.load()) == ["a\nb <!-- inline -->\n```\n<!-- shown -->\n```\nc"]


def test_a_comment_that_never_ends_hides_nothing(place: Place) -> None:
    place.write("CLAUDE.md", "a\n<!-- open\nb")
    assert texts(place.load()) == ["a\n<!-- open\nb"]


def test_a_file_over_four_mebibytes_is_skipped_with_a_word(place: Place) -> None:
    place.write("CLAUDE.md", b"x" * (MAX_FILE_BYTES + 1))
    place.write("src/CLAUDE.md", "kept")
    found = place.load()
    assert texts(found) == ["kept"]
    assert "more than the limit" in found.warnings[0]


def test_a_file_of_exactly_the_limit_is_read_and_called_large(place: Place) -> None:
    place.write("CLAUDE.md", b"x" * MAX_FILE_BYTES)
    found = place.load()
    assert len(texts(found)[0]) == MAX_FILE_BYTES
    assert "every request pays" in found.warnings[0]


def test_a_byte_order_mark_other_encodings_and_line_ends_are_read_as_text(place: Place) -> None:
    place.write("CLAUDE.md", b"\xef\xbb\xbf---\r\npaths: x\r\n---\r\nmarked\r\nline")
    place.write("src/CLAUDE.md", "Grüße aus Köln, schöne Straße".encode("latin-1"))
    assert texts(place.load()) == ["marked\nline", "Grüße aus Köln, schöne Straße"]


def test_binary_content_is_not_told(place: Place) -> None:
    place.write("CLAUDE.md", b"\0\1\2\3" * 10)
    found = place.load()
    assert texts(found) == []
    assert "not text" in found.warnings[0]


def test_hidden_characters_are_spelled_out(place: Place) -> None:
    place.write("CLAUDE.md", "be nice\u202e\U000e0041 👩\u200d💻")
    found = place.load()
    assert texts(found) == ["be nice<U+202E><U+E0041> 👩\u200d💻"]
    assert "2 hidden characters" in found.warnings[0]


def test_pipes_devices_and_directories_under_these_names_neither_hang_nor_count(place: Place) -> None:
    os.mkfifo(place.project / "CLAUDE.md")
    (place.project / "AGENTS.md").mkdir()
    (place.project / "src" / "CLAUDE.md").symlink_to("/dev/zero")
    (place.cwd / "CLAUDE.md").symlink_to("CLAUDE.md")
    (place.cwd / "AGENTS.md").symlink_to("nowhere.md")
    found = place.load()
    assert texts(found) == []
    assert len(found.warnings) == 5


def test_names_in_warnings_are_safe_to_show(place: Place) -> None:
    odd = place.project / "a\x1b[31m\nb"
    place.write(odd / "CLAUDE.md", b"\0" * 10)
    found = place.load(cwd=odd)
    assert "\\x1b" in found.warnings[0]
    assert found.warnings[0].isprintable()


@given(
    st.binary(max_size=40)
    | st.text(max_size=40).map(str.encode)
    | st.sampled_from([b"# coding: utf-16\nab", b"\xef\xbb\xbfx"])
)
def test_text_that_is_taken_as_it_is_would_be_read_the_same(data: bytes) -> None:
    quick = _plain_text(data)
    if quick is not None:
        encoding = detect_whole(data)
        assert quick == encoding.show(data[len(encoding.mark) :])
