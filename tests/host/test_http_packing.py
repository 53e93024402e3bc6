"""Packed bodies: in any pieces, in several parts, with something behind them, and without a limit of their own."""

import gzip
import random
import zlib

import pytest

from holdfast.host.http_errors import HttpError
from holdfast.host.http_packing import Unpacker, unpacker_for

WORDS = b"".join(b"%d bottles, " % number for number in range(40_000))


def unpacked(unpacker: Unpacker, packed: bytes, cuts: list[int]) -> bytes:
    found = b""
    for start, end in zip([0, *cuts], [*cuts, len(packed)], strict=True):
        unpacker.feed(packed[start:end])
        while piece := unpacker.take():
            assert len(piece) <= 64 * 1024
            found += piece
    return found


@pytest.mark.parametrize("body", [b"", b"x", WORDS, b"\0" * 3_000_000], ids=["nothing", "one", "words", "zeros"])
def test_every_way_to_cut_packed_bytes_unpacks_to_the_same(body: bytes) -> None:
    for packed, name in ((gzip.compress(body), "gzip"), (zlib.compress(body), "deflate")):
        for seed in range(20):
            cuts = sorted(random.Random(seed).sample(range(len(packed) + 1), 3))
            unpacker = unpacker_for(name)
            assert unpacker is not None
            assert unpacked(unpacker, packed, cuts) == body
            assert unpacker.is_whole


def test_several_packed_parts_are_one_body_wherever_they_are_cut() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")
    for cut in range(len(packed)):
        unpacker = Unpacker(may_repeat=True)
        assert unpacked(unpacker, packed, [cut]) == b"one two"
        assert unpacker.is_whole


@pytest.mark.parametrize("behind", [b"\0" * 100, b"x" * 100_000, b"\x1fx"])
def test_what_stands_behind_the_end_is_neither_read_nor_kept(behind: bytes) -> None:
    unpacker = Unpacker(may_repeat=True)
    unpacker.feed(gzip.compress(b"page") + behind)
    assert (unpacker.take(), unpacker.take()) == (b"page", b"")
    assert unpacker.is_over
    assert unpacker.is_whole


def test_a_part_that_is_missing_its_end_is_not_whole() -> None:
    unpacker = Unpacker(may_repeat=True)
    unpacker.feed(gzip.compress(WORDS)[:-1])
    while unpacker.take():
        pass
    assert not unpacker.is_whole


@pytest.mark.parametrize("name", ["br", "zstd", "compress", "gzip, gzip", "gzip, br", "deflate, gzip"])
def test_packings_that_nobody_bounds_are_refused(name: str) -> None:
    with pytest.raises(HttpError, match="not asked for"):
        unpacker_for(name)


@pytest.mark.parametrize("name", ["", "identity", " Identity ", ","])
def test_what_is_not_packed_needs_no_unpacking(name: str) -> None:
    assert unpacker_for(name) is None
