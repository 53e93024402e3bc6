"""Windows of lines against the obvious way of reading them."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lib.line_index import BLOCK_BYTES
from holdfast.lib.lines import CHUNK_BYTES, LineReader, Scan, ScanStoppedError, Window, number_lines
from holdfast.lib.text import Encoding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[list[int]]:
    handles: list[int] = []
    yield handles
    for handle in handles:
        os.close(handle)


def store(tmp_path: Path, opened: list[int], data: bytes) -> int:
    path = tmp_path / f"file{len(opened)}"
    path.write_bytes(data)
    opened.append(os.open(path, os.O_RDONLY))
    return opened[-1]


def expected(data: bytes, first: int, limit: int) -> list[bytes]:
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines[first - 1 : first - 1 + limit]


def test_windows_anywhere_equal_the_naive_split(tmp_path: Path, opened: list[int]) -> None:
    chance = random.Random(7)
    data = b"\n".join(b"x" * chance.randrange(120) for _ in range(20_000))
    reader = LineReader()
    for ending in (b"", b"\n"):
        handle = store(tmp_path, opened, data + ending)
        total = len(expected(data + ending, 1, 10**9))
        for _ in range(60):
            first, limit = chance.randrange(1, total + 20), chance.randrange(1, 3000)
            window = reader.window(handle, first=first, limit=limit)
            wanted = expected(data + ending, first, limit)
            assert window.lines == wanted
            assert window.ended == (first - 1 + limit >= total)
            assert window.total == total
            assert (data + ending)[window.start_byte : window.end_byte].rstrip(b"\n") == b"\n".join(wanted).rstrip(
                b"\n"
            )


@settings(max_examples=max(300, settings().max_examples))
@given(
    data=st.binary(max_size=300).map(lambda raw: raw.replace(b"a", b"\n")),
    first=st.integers(1, 40),
    limit=st.integers(1, 9),
)
def test_small_windows_equal_the_naive_split(data: bytes, first: int, limit: int) -> None:
    handle = os.memfd_create("lines")
    try:
        os.write(handle, data)
        window = LineReader().window(handle, first=first, limit=limit)
    finally:
        os.close(handle)
    assert window.lines == expected(data, first, limit)
    assert window.total == len(expected(data, 1, 10**9))


def test_line_ends_on_chunk_borders_are_counted_once(tmp_path: Path, opened: list[int]) -> None:
    data = b"a" * (CHUNK_BYTES - 1) + b"\n" + b"b" * (CHUNK_BYTES - 1) + b"\n" + b"c\n"
    reader = LineReader()
    handle = store(tmp_path, opened, data)
    for _ in range(2):
        window = reader.window(handle, first=3, limit=5)
        assert window.lines == [b"c"]
        assert (window.total, window.ended) == (3, True)


def test_a_huge_line_is_kept_short_and_its_length_told(tmp_path: Path, opened: list[int]) -> None:
    handle = store(tmp_path, opened, b"y" * 3_000_000 + b"\nend\n")
    window = LineReader().window(handle, first=1, limit=10)
    assert window.overlong == {0: 3_000_000}
    assert len(window.lines[0]) < 10_000
    shown = number_lines(window, max_tokens=25_000)
    assert (shown.cut, shown.shown) == (1, 2)
    assert "3,000,000" in shown.text
    assert shown.text.endswith("     2\tend")


def test_the_token_budget_stops_at_a_line(tmp_path: Path, opened: list[int]) -> None:
    handle = store(tmp_path, opened, b"word word word word\n" * 100)
    shown = number_lines(LineReader().window(handle, first=1, limit=100), max_tokens=80)
    assert shown.over_budget
    assert 5 < shown.shown < 15


def test_wide_encodings_and_lone_carriage_returns_have_lines(tmp_path: Path, opened: list[int]) -> None:
    text = "".join(f"zeile {n} äöü\n" for n in range(50_000))
    for codec, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b""), ("utf-32-le", b"")):
        handle = store(tmp_path, opened, mark + text.encode(codec))
        window = LineReader().window(handle, first=49_999, limit=5, encoding=Encoding(codec, mark))
        assert [line.decode() for line in window.lines] == ["zeile 49998 äöü", "zeile 49999 äöü"]
    handle = store(tmp_path, opened, b"one\rtwo\rthree")
    window = LineReader().window(handle, first=2, limit=5, end=b"\r")
    assert window.lines == [b"two", b"three"]


def test_reading_is_bounded_on_endless_looking_files(tmp_path: Path, opened: list[int]) -> None:
    path = tmp_path / "sparse"
    path.write_bytes(b"text\n")
    os.truncate(path, 2**40)
    opened.append(os.open(path, os.O_RDONLY))
    with pytest.raises(ScanStoppedError):
        LineReader().window(opened[-1], first=10, limit=5, scan=Scan(limit_bytes=10_000_000))
    calls = iter([False] * 5)
    with pytest.raises(ScanStoppedError):
        LineReader().window(opened[-1], first=10, limit=5, scan=Scan(stopped=lambda: next(calls, True)))


def test_a_changed_file_is_not_read_through_its_old_index(tmp_path: Path, opened: list[int]) -> None:
    reader = LineReader()
    path = tmp_path / "log"
    path.write_bytes(b"a\n" * 300_000)
    opened.append(os.open(path, os.O_RDONLY))
    assert reader.window(opened[0], first=250_000, limit=1).lines[0] == b"a"
    path.write_bytes(b"bb\n" * 300_000)
    assert reader.window(opened[0], first=250_000, limit=1).start_byte == 249_999 * 3


def test_a_later_window_reads_one_block_and_its_own_lines(tmp_path: Path, opened: list[int]) -> None:
    handle = store(tmp_path, opened, b"a line of twenty-one.\n" * 400_000)
    reader = LineReader()
    reader.window(handle, first=300_000, limit=1)
    window = reader.window(handle, first=200_000, limit=2_000, scan=Scan(limit_bytes=BLOCK_BYTES + 60_000))
    assert window.start_byte == 199_999 * 22
    assert window.lines == [b"a line of twenty-one."] * 2_000


def test_lines_longer_than_those_before_are_read_whole(tmp_path: Path, opened: list[int]) -> None:
    data = b"short\n" * 100_000 + (b"z" * 1_500 + b"\n") * 500
    handle = store(tmp_path, opened, data)
    window = LineReader().window(handle, first=99_999, limit=400)
    assert window.lines == [b"short"] * 2 + [b"z" * 1_500] * 398
    assert data[window.start_byte : window.end_byte].count(b"\n") == 400


@pytest.mark.parametrize("line", [b"", b"\r", b"plain\r", b"a\0b", b"e" * 1_999 + b"\r", b"e" * 2_000, b"e" * 2_001])
def test_plain_lines_are_shown_alike_in_every_encoding(line: bytes) -> None:
    window = Window(7, [b"first", line], {}, 0, 0, None, ended=True)
    quick = number_lines(window, max_tokens=25_000)
    assert quick == number_lines(window, encoding=Encoding("iso8859-1"), max_tokens=25_000)
    text = line.removesuffix(b"\r").decode().replace("\0", "\u2400")
    shown = text if len(text) <= 2_000 else f"{text[:2000]}… [line is 2,001 bytes long]"
    assert quick.text == f"     7\tfirst\n     8\t{shown}"
    assert quick.cut == (len(text) > 2_000)
