"""Encodings are told apart, and bytes come back as they were."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lib.text import Encoding, NotEncodableError, NotTextError, TextFile, detect, detect_whole, newline_of

GERMAN = "Die Straße führt über die Brücke; schöne Grüße aus Köln, und viele Bäume wachsen dort. " * 20
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний. " * 20
JAPANESE = "日本語の文章をここに書いています。これは文字コードの判定を試すためのものです。よろしくお願いします。" * 20
CHINESE = "我们正在测试中文文本的编码检测功能,这是一个简单的例子,希望它能够正确识别。" * 20


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GERMAN, "utf-8"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (CHINESE, "gb18030"),
        (RUSSIAN, "utf-16-le"),
        (JAPANESE, "utf-8"),
        ("plain ascii\n" * 50, "utf-16-be"),
        ("plain ascii\n" * 50, "utf-16-le"),
        ("plain ascii\n" * 50, "ascii"),
    ],
)
def test_known_encodings_are_read_right(text: str, codec: str) -> None:
    data = text.encode(codec)
    if codec == "utf-16-le" and not text.isascii():
        data = b"\xff\xfe" + data
    file = TextFile.decode(data)
    assert file.text == text
    assert file.encode(file.text) == data


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff", "utf-32-be"),
    ],
)
def test_marks_decide_and_survive(mark: bytes, codec: str) -> None:
    data = mark + "häuser\r\n".encode(codec)
    file = TextFile.decode(data)
    assert (file.text, file.encoding, file.newline) == ("häuser\r\n", Encoding(codec, mark), "\r\n")
    assert file.encode("häuser\r\n") == data


def test_latin_umlauts_are_shown_right() -> None:
    data = GERMAN.encode("latin-1")
    assert TextFile.decode(data).text == GERMAN


@pytest.mark.parametrize("data", [b"\x00\x01\x02\x03" * 100, b"text with a NUL \0 in it", bytes(range(256)) * 40])
def test_binary_content_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(NotTextError) as caught:
        detect(data, complete=True)
    assert caught.value.reason


def test_utf8_with_a_few_broken_bytes_is_not_taken_for_something_else() -> None:
    data = RUSSIAN.encode() + b"\xff\n" + RUSSIAN.encode()
    encoding = detect_whole(data)
    assert (encoding.codec, encoding.damaged) == ("utf-8", True)
    assert "\\xff" in encoding.show(data)
    with pytest.raises(NotTextError):
        TextFile.decode(data)


def test_a_late_surprise_is_seen_only_by_the_whole_check() -> None:
    data = b"ascii line\n" * 20_000 + GERMAN.encode("latin-1")
    assert detect(data[:65536], complete=False).codec == "utf-8"
    assert TextFile.decode(data).text.endswith(GERMAN)


def test_a_character_cut_by_the_sample_is_no_damage() -> None:
    data = ("ä" * 40_000).encode()
    assert detect(data[:65535], complete=False).codec == "utf-8"


@pytest.mark.parametrize(
    ("data", "newline"),
    [
        (b"", "none"),
        (b"a", "none"),
        (b"a\nb\n", "\n"),
        (b"a\r\nb\r\n", "\r\n"),
        (b"a\rb\r", "\r"),
        (b"a\r\nb\n", "mixed"),
        (b"a\rb\n", "mixed"),
        (b"a\r\nb\r", "\r\n"),
    ],
)
def test_line_endings_are_named(data: bytes, newline: str) -> None:
    assert newline_of(data) == newline


def test_text_outside_the_encoding_is_refused() -> None:
    file = TextFile.decode(RUSSIAN.encode("cp1251"))
    with pytest.raises(NotEncodableError) as caught:
        file.encode("日本")
    assert caught.value.character == "日"


@settings(max_examples=max(1000, settings().max_examples))
@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "cp1252", "utf-8-sig", "shift_jis"]))
def test_whatever_decodes_encodes_to_the_same_bytes(text: str, codec: str) -> None:
    data = text.encode(codec, "ignore")
    try:
        file = TextFile.decode(data)
    except NotTextError:
        return
    assert file.encode(file.text) == data


@settings(max_examples=max(500, settings().max_examples))
@given(st.binary(max_size=400))
def test_any_bytes_are_either_refused_or_survive(data: bytes) -> None:
    try:
        file = TextFile.decode(data)
    except NotTextError:
        return
    assert file.encode(file.text) == data


def test_random_binary_never_raises_anything_else() -> None:
    chance = random.Random(3)
    for size in (1, 2, 3, 7, 100, 5_000):
        for _ in range(20):
            with suppress(NotTextError):
                detect_whole(chance.randbytes(size))
