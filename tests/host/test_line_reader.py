"""Whole lines from pieces, however they are cut."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.host.line_reader import LineReader


def read(pieces: list[bytes], limit: int = 100) -> tuple[list[bytes], list[tuple[bytes, bytes, int]]]:
    lines: list[bytes] = []
    longs: list[tuple[bytes, bytes, int]] = []

    def too_long(head: bytes, tail: bytes, length: int) -> None:
        longs.append((head, tail, length))

    reader = LineReader(limit, lines.append, too_long)
    for piece in pieces:
        reader.feed(piece)
    reader.finish()
    return lines, longs


@given(st.lists(st.binary(max_size=20)))
def test_pieces_give_the_same_lines_as_the_whole(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    expected = expected[:-1] if not expected[-1] else expected
    assert read(pieces, limit=10_000)[0] == expected


def test_a_line_over_the_limit_is_told_by_its_ends_and_the_next_one_is_read() -> None:
    lines, longs = read([b"a" * 60, b"b" * 60, b"c" * 10_000, b"\nnext\n"])
    assert lines == [b"next"]
    assert longs == [(b"a" * 60 + b"b" * 60, b"c" * 4096, 10_120)]


def test_a_long_line_in_one_piece_is_over_the_limit_too() -> None:
    lines, longs = read([b"x" * 101 + b"\n" + b"y" * 100 + b"\n"])
    assert lines == [b"y" * 100]
    assert longs[0][2] == 101
