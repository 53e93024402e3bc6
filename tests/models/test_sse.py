from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.sse import EventSplitter, EventTooLarge, ServerEvent


def split(data: bytes, *, size: int | None = None, limit: int = 10_000) -> list[ServerEvent]:
    splitter = EventSplitter(max_event_bytes=limit)
    step = size or len(data) or 1
    found = [event for at in range(0, len(data), step) for event in splitter.feed(data[at : at + step])]
    return found + splitter.finish()


STREAM = (
    'event: a\ndata: {"x": "äöü 🦀"}\n\n: a comment\nid: 7\nretry: 3\ndata: one\ndata:two\ndata\n\ndata: last'.encode()
)
EXPECTED = [
    ServerEvent(b"a", '{"x": "äöü 🦀"}'.encode()),
    ServerEvent(b"", b"one\ntwo\n"),
    ServerEvent(b"", b"last"),
]


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_events_are_the_same_for_every_line_end_and_every_split(ending: bytes) -> None:
    data = STREAM.replace(b"\n", ending)
    for size in (None, *range(1, 20)):
        assert split(data, size=size) == EXPECTED


def test_a_carriage_return_at_the_end_of_a_piece_is_not_an_empty_line_with_the_next() -> None:
    splitter = EventSplitter(max_event_bytes=100)
    assert splitter.feed(b"data: a\r") == []
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\ndata: b\r") == []
    assert splitter.feed(b"\n\r\n") == [ServerEvent(b"", b"a\nb")]


def test_a_byte_order_mark_and_events_without_data_are_skipped() -> None:
    assert split(b"\xef\xbb\xbfdata: a\n\nevent: ping\n\n\n\ndata: b\n\n") == [
        ServerEvent(b"", b"a"),
        ServerEvent(b"", b"b"),
    ]


@pytest.mark.parametrize("data", [b"data: " + b"x" * 200, b"data: xxxxxxxx\n" * 40])
@pytest.mark.parametrize("size", [1, 7, None])
def test_an_event_larger_than_the_limit_is_refused(data: bytes, size: int | None) -> None:
    with pytest.raises(EventTooLarge):
        split(data, size=size, limit=100)


def test_many_events_together_may_be_larger_than_the_limit() -> None:
    assert len(split(b"data: 0123456789\n\n" * 100, limit=100)) == 100


LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=6), st.randoms(use_true_random=False))
def test_what_was_written_is_read_whatever_the_pieces(events: list[list[str]], random: Random) -> None:
    end = random.choice(["\n", "\r", "\r\n"])
    data = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in events).encode()
    pieces: list[bytes] = []
    while data:
        cut = random.randint(1, 9)
        pieces.append(data[:cut])
        data = data[cut:]
    splitter = EventSplitter(max_event_bytes=10_000)
    found = [event.data.decode() for piece in pieces for event in splitter.feed(piece)]
    assert found == ["\n".join(lines) for lines in events]
