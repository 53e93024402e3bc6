"""The sparse index of line starts against plain searching, also while the file changes under it."""

from __future__ import annotations

import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

import pytest

from holdfast.lib import line_index
from holdfast.lib.line_index import BLOCK_BYTES, LineIndex, Scan, ScanStoppedError, after_nth, read_into

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READ_BYTES = 4 * BLOCK_BYTES


@cache
def mixed_lines(end: bytes = b"\n", *, seed: int = 3) -> bytes:
    """Stretches of several blocks with empty, short, long and enormous lines, so that every way to count is used."""
    chance = random.Random(seed)
    parts: list[bytes] = []
    for longest in (1, 30, 400, 2, 5_000, 90, 300_000, 20):
        size = 0
        while size < 3 * BLOCK_BYTES:
            parts.append(b"x" * chance.randrange(longest) + end)
            size += len(parts[-1])
    return b"".join(parts) + b"no end"


@cache
def places_after(data: bytes, end: bytes) -> list[int]:
    return [match.end() for match in re.finditer(end, data)]


def naive(data: bytes, wanted: int, end: bytes = b"\n") -> tuple[int, int]:
    ends = places_after(data, end)
    if wanted <= 0:
        return 0, 0
    return (ends[wanted - 1], wanted) if wanted <= len(ends) else (len(data), len(ends))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines"


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[bytes], int]]:
    handles: list[int] = []

    def store(data: bytes) -> int:
        path.write_bytes(data)
        handles.append(os.open(path, os.O_RDONLY))
        return handles[-1]

    yield store
    for handle in handles:
        os.close(handle)


def at_call(number: int, action: Callable[[], object]) -> Scan:
    """A scan that does something to the file once so many reads were made."""
    calls = 0

    def stopped() -> bool:
        nonlocal calls
        calls += 1
        if calls == number:
            action()
        return False

    return Scan(stopped=stopped)


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_every_way_to_count_finds_the_same_line_starts(opened: Callable[[bytes], int], end: bytes) -> None:
    data = mixed_lines(end)
    handle = opened(data)
    total = data.count(end)
    chance = random.Random(5)
    wanted = sorted(chance.randrange(total) for _ in range(12))
    grown, whole = LineIndex(end), LineIndex(end)
    assert whole.seek(handle, 2**62, Scan()) == (len(data), total)
    assert whole.total == total + 1
    for number in (0, 1, *wanted, total, total + 1):
        place = naive(data, number, end)
        assert grown.seek(handle, number, Scan()) == place
        assert whole.seek(handle, number, Scan()) == place


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, READ_BYTES, READ_BYTES + 1])
@pytest.mark.parametrize("last", [b"\n", b"x"])
def test_files_that_end_at_a_border_have_the_right_total(
    opened: Callable[[bytes], int], size: int, last: bytes
) -> None:
    data = (b"a" * 99 + b"\n") * (size // 100 + 1)
    data = (data[: size - 1] + last) if size else b""
    handle = opened(data)
    index = LineIndex(b"\n")
    assert index.seek(handle, 2**62, Scan()) == (size, data.count(b"\n"))
    assert index.total == data.count(b"\n") + (size > 0 and last != b"\n")


def test_a_known_place_costs_one_block(opened: Callable[[bytes], int]) -> None:
    data = b"some line of text\n" * 200_000
    handle = opened(data)
    index = LineIndex(b"\n")
    index.seek(handle, 190_000, Scan())
    assert index.seek(handle, 150_000, Scan(limit_bytes=BLOCK_BYTES)) == (150_000 * 18, 150_000)
    assert index.bytes_of(1_000) in range(17_900, 18_100)


def test_an_index_without_a_line_end_guesses_nothing(opened: Callable[[bytes], int]) -> None:
    index = LineIndex(b"\n")
    assert index.bytes_of(10) is None
    index.seek(opened(b"y" * READ_BYTES), 1, Scan())
    assert index.bytes_of(10) is None


def test_reads_that_bring_little_are_continued(opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed_lines()
    handle = opened(data)
    real = os.preadv
    sizes = random.Random(9)

    def stingy(fd: int, views: list[memoryview], position: int) -> int:
        return real(fd, [views[0][: sizes.randrange(1, 50_000)]], position)

    monkeypatch.setattr(line_index, "_preadv", stingy)
    index = LineIndex(b"\n")
    for wanted in (40_000, 2**62, 30_000):
        assert index.seek(handle, wanted, Scan()) == naive(data, wanted)


def test_systems_without_preadv_read_the_same(opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch) -> None:
    data = random.Random(2).randbytes(READ_BYTES)
    handle = opened(data)
    monkeypatch.setattr(line_index, "_preadv", line_index._pread_first)
    buffers = [bytearray(100_000) for _ in range(3)]
    assert read_into(handle, [memoryview(buffer) for buffer in buffers], 50_000) == len(data) - 50_000
    assert b"".join(buffers).rstrip(b"\0") == data[50_000:].rstrip(b"\0")


def test_a_file_cut_off_during_the_scan_ends_where_it_ends_now(opened: Callable[[bytes], int], path: Path) -> None:
    handle = opened(b"0123456789\n" * 200_000)
    index = LineIndex(b"\n")
    kept = READ_BYTES + 1_000
    assert index.seek(handle, 150_000, at_call(1, lambda: os.truncate(path, kept))) == (kept, kept // 11)
    assert index.total == kept // 11 + 1


def test_a_file_cut_off_after_the_scan_is_not_read_past_its_end(opened: Callable[[bytes], int], path: Path) -> None:
    handle = opened(b"0123456789\n" * 200_000)
    index = LineIndex(b"\n")
    index.seek(handle, 150_000, Scan())
    os.truncate(path, 1_100_005)
    assert index.seek(handle, 100_000, Scan()) == (1_100_000, 100_000)
    assert index.seek(handle, 100_001, Scan()) == (1_100_005, 100_000)
    os.truncate(path, 0)
    position, passed = index.seek(handle, 100_001, Scan())
    assert passed < 100_001
    assert position % BLOCK_BYTES == 0


def test_a_file_that_grows_during_the_scan_has_the_new_lines_too(opened: Callable[[bytes], int], path: Path) -> None:
    handle = opened(b"0123456789\n" * 50_000)

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"more\n" * 1_000)

    assert LineIndex(b"\n").seek(handle, 50_010, at_call(1, grow)) == (550_050, 50_010)


def test_an_error_during_the_scan_is_raised_and_the_index_stays_right(
    opened: Callable[[bytes], int], tmp_path: Path
) -> None:
    data = mixed_lines()
    handle = opened(data)
    broken = os.dup(handle)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        index = LineIndex(b"\n")
        with pytest.raises(IsADirectoryError):
            index.seek(broken, 2**62, at_call(2, lambda: os.dup2(directory, broken)))
    finally:
        os.close(broken)
        os.close(directory)
    assert index.total is None
    assert index.scanned_bytes == 2 * READ_BYTES
    assert index.seek(handle, 50_000, Scan()) == naive(data, 50_000)
    assert index.seek(handle, 2**62, Scan()) == naive(data, 2**62)


def test_a_stopped_scan_keeps_what_it_counted(opened: Callable[[bytes], int]) -> None:
    data = mixed_lines()
    handle = opened(data)
    index = LineIndex(b"\n")
    answers = iter([False, False, True])
    with pytest.raises(ScanStoppedError, match="cancelled"):
        index.seek(handle, 2**62, Scan(stopped=lambda: next(answers)))
    assert index.scanned_bytes == 2 * READ_BYTES
    left = len(data) - index.scanned_bytes
    with pytest.raises(ScanStoppedError, match="too far"):
        index.seek(handle, 2**62, Scan(limit_bytes=left - 1))
    assert index.seek(handle, 2**62, Scan(limit_bytes=left)) == naive(data, 2**62)


def test_threads_that_scan_one_file_at_once_agree(opened: Callable[[bytes], int]) -> None:
    data = mixed_lines()
    handle = opened(data)
    index = LineIndex(b"\n")
    chance = random.Random(11)
    wanted = [chance.randrange(1, data.count(b"\n")) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(index.seek, handle, number, Scan()) for number in wanted]
        places = [call.result(timeout=60) for call in calls]
    assert places == [naive(data, number) for number in wanted]


def test_the_place_after_a_line_end_is_found_among_many_and_few() -> None:
    data = mixed_lines(seed=8)[: 3 * BLOCK_BYTES]
    for nth in (1, 31, 32, 33, 1_000, data.count(b"\n")):
        assert after_nth(data, b"\n", nth) == naive(data, nth)[0]
