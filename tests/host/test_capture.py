import errno
import os
import random
from pathlib import Path

import pytest

from holdfast.host import capture
from holdfast.host.capture import Capture, Intake, Output, SpillFile


@pytest.mark.parametrize("seed", range(20))
def test_head_tail_and_counts_equal_the_naive_way(seed: int) -> None:
    dice = random.Random(seed)
    kept = dice.choice([1, 7, 64, 1000])
    stream = Capture(kept)
    whole = b""
    for _ in range(dice.randrange(1, 200)):
        piece = bytes(dice.choice(b"ab\n") for _ in range(dice.choice([1, 2, kept, 3 * kept])))
        stream.add(memoryview(piece) if dice.random() < 0.5 else piece)
        whole += piece
    head, dropped, tail = stream.kept()
    assert head == whole[:kept]
    assert tail == whole[kept:][-kept:]
    assert dropped == len(whole) - len(head) - len(tail) == stream.dropped_bytes
    assert (stream.total_bytes, stream.line_count) == (len(whole), whole.count(b"\n"))
    if not dropped:
        assert stream.text() == whole.decode()


def test_single_bytes_for_long_stay_bounded() -> None:
    stream = Capture(10_000)
    for _ in range(50_000):
        stream.add(b"x")
    assert len(stream._tail) <= 4097
    assert stream.tail == b"x" * 10_000


def test_text_never_shows_half_a_character_at_the_gap() -> None:
    stream = Capture(7)
    stream.add("ééééééééééé".encode() * 10)
    assert "\ufffd" not in stream.text()


def test_last_lines_of_short_and_long_streams() -> None:
    stream = Capture(10)
    assert stream.last_lines(3) == ""
    stream.add(b"a\nb\nc\n")
    assert stream.last_lines(2) == "b\nc"
    stream.add(b"d\n" * 20 + b"end")
    assert stream.last_lines(2) == "d\nend"


def test_lines_are_counted_only_as_far_as_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "LINES_COUNTED_WITHIN_BYTES", 10)
    stream = Capture(5)
    stream.add(b"\n" * 10)
    assert stream.is_line_count_exact
    stream.add(b"\n" * 10)
    assert (stream.line_count, stream.is_line_count_exact) == (10, False)


def output_with(path: Path, *, kept: int = 10, cap: int = 1000) -> Output:
    return Output(kept_bytes=kept, spill=SpillFile(str(path), cap), is_merged=False)


def test_the_file_begins_when_memory_is_not_enough_and_holds_everything(tmp_path: Path) -> None:
    output = output_with(tmp_path / "f")
    output.add(output.stderr, b"warn\n")
    output.add(output.stdout, b"0123456789")
    assert output.spill_path is None
    output.add(output.stdout, b"more")
    output.add(output.stderr, b"tail")
    assert (tmp_path / "f").read_bytes() == b"0123456789warn\nmoretail"
    assert output.is_complete_on_disk
    output.close()


def test_the_file_stops_at_its_cap_and_the_stream_goes_on(tmp_path: Path) -> None:
    output = output_with(tmp_path / "f", cap=25)
    for _ in range(10):
        output.add(output.stdout, b"0123456789")
    assert (tmp_path / "f").read_bytes() == (b"0123456789" * 3)[:25]
    assert output.total_bytes == 100
    assert not output.is_complete_on_disk
    output.close()


def test_moving_to_the_background_writes_what_was_kept(tmp_path: Path) -> None:
    output = Output(kept_bytes=4, spill=None, is_merged=False)
    output.add(output.stdout, b"abcdefghijkl")
    output.spill_from_now(str(tmp_path / "f"), 1000)
    output.add(output.stdout, b"mn")
    assert (tmp_path / "f").read_bytes() == b"abcd\n[... 4 bytes left out ...]\nijklmn"
    assert not output.is_complete_on_disk
    output.close()


@pytest.mark.parametrize("plant", ["file", "link", "directory"])
def test_a_planted_name_is_refused_and_the_output_still_kept(tmp_path: Path, plant: str) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    path = tmp_path / "f"
    {"file": lambda: path.write_text("x"), "link": lambda: path.symlink_to(target), "directory": path.mkdir}[plant]()
    output = output_with(path)
    output.add(output.stdout, b"0123456789abcdef")
    assert output.spill is not None
    assert isinstance(output.spill.error, FileExistsError)
    assert output.stdout.text() == "0123456789abcdef"
    assert target.read_text() == "precious"


def test_a_full_disk_ends_the_file_and_not_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = output_with(tmp_path / "f")
    output.add(output.stdout, b"0123456789abc")

    def full(_fd: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    output.add(output.stdout, b"def")
    monkeypatch.undo()
    output.add(output.stdout, b"ghi")
    assert output.spill is not None
    assert output.spill.error is not None
    assert output.spill.error.errno == errno.ENOSPC
    assert output.stdout.total_bytes == 19
    assert (tmp_path / "f").read_bytes() == b"0123456789abc"


def test_a_stream_is_skipped_only_where_nothing_but_its_end_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "LINES_COUNTED_WITHIN_BYTES", 20)
    monkeypatch.setattr(capture, "_WORTH_DROPPING_BYTES", 5)
    asked: list[int] = []

    def drop(count: int) -> int:
        asked.append(count)
        return count - 1  # the kernel may take less

    output = output_with(tmp_path / "f", cap=30)
    intake = Intake(output, output.stdout)
    intake.add(b"0123456789" * 2)
    assert not intake.skip(100, drop)  # its bytes still go to the disk
    intake.add(b"abcdefghij" * 2)
    assert not intake.skip(14, drop)  # hardly more than what is kept
    assert not Intake(output, output.stderr).skip(100, drop)  # its lines are still counted
    assert asked == []
    assert intake.skip(100, drop)
    assert asked == [90]
    assert output.total_bytes == 40 + 89
    assert output.stdout.last_lines(1).endswith("abcdefghij")  # as fresh as it was seen
    intake.add(b"the end")
    assert output.stdout.kept() == (b"0123456789", 40 + 89 + 7 - 10 - 7, b"the end")
    intake.add(b" is")
    assert output.stdout.kept() == (b"0123456789", 40 + 89 + 10 - 20, b"the end is")
    assert (tmp_path / "f").read_bytes() == b"0123456789" * 2 + b"abcdefghij"
    output.spill_from_now(str(tmp_path / "g"), 1000)
    output.close()


def test_what_was_dropped_behind_the_tail_is_left_out_of_a_file_that_begins_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "LINES_COUNTED_WITHIN_BYTES", 10)
    monkeypatch.setattr(capture, "_WORTH_DROPPING_BYTES", 5)
    output = Output(kept_bytes=4, spill=None, is_merged=False)
    output.add(output.stdout, b"abcdefghijkl")
    assert output.skip(output.stdout, 20, lambda count: count)
    assert output.stdout.text() == "abcd\n[... 20 bytes left out ...]\nijkl"
    output.spill_from_now(str(tmp_path / "f"), 1000)
    output.add(output.stdout, b"mn")
    assert (tmp_path / "f").read_bytes() == b"abcd\n[... 24 bytes left out ...]\nmn"
    output.close()
