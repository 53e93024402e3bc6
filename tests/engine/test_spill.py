import os
from pathlib import Path
from typing import Any

import pytest

from holdfast import ToolResult, tool
from holdfast.contract import Content, Image, OverflowStrategy, Text
from holdfast.engine.spill import SpillStore, shorten
from holdfast.testing import ToolRun, run_tool

LINES = "\n".join(f"line {number}" for number in range(1_000))


def run_with(content: Content, *, keep: OverflowStrategy, directory: Path | None, limit: int = 500) -> ToolRun:
    @tool(max_result_chars=limit)
    async def long() -> ToolResult[None]:
        """Return a long text."""
        return ToolResult(None, text=content)

    long.overflow = keep
    long.preview_chars = 100
    return run_tool(long, spill_directory=directory)


@pytest.mark.parametrize(
    ("keep", "has_start", "has_end"),
    [("keep-start", True, False), ("keep-end", False, True), ("keep-both", True, True)],
)
def test_the_full_text_goes_to_disk_and_the_model_reads_a_preview(
    tmp_path: Path, keep: OverflowStrategy, has_start: bool, has_end: bool
):
    run = run_with(LINES, keep=keep, directory=tmp_path / "results")
    path = run.reply.spilled_to
    assert path is not None
    assert Path(path).read_text() == LINES
    assert path in run.text
    assert f"{len(LINES):,} characters, 1,000 lines" in run.text
    assert ("line 0\n" in run.text, "line 999" in run.text) == (has_start, has_end)
    assert len(run.text) < 500 + len(path)
    assert not run.is_error


def test_the_file_and_its_directory_are_private(tmp_path: Path):
    run = run_with(LINES, keep="keep-start", directory=tmp_path / "new" / "results")
    assert run.reply.spilled_to is not None
    assert os.stat(run.reply.spilled_to).st_mode & 0o777 == 0o600
    assert os.stat(tmp_path / "new" / "results").st_mode & 0o777 == 0o700


def test_text_at_the_limit_is_sent_whole_and_no_limit_means_none(tmp_path: Path):
    assert run_with("x" * 500, keep="keep-start", directory=tmp_path).text == "x" * 500

    @tool(max_result_chars=None)
    async def unbounded() -> str:
        """Return a lot."""
        return "x" * 200_000

    run = run_tool(unbounded, spill_directory=tmp_path)
    assert len(run.text) == 200_000
    assert list(tmp_path.iterdir()) == []


def test_only_the_text_of_mixed_content_is_shortened(tmp_path: Path):
    picture = Image(b"x" * 2_000, "image/png")
    run = run_with((Text(LINES), picture, Text("end")), keep="keep-start", directory=tmp_path)
    content: Any = run.reply.content
    assert [block["type"] for block in content] == ["text", "image"]
    assert "Shown: the first" in content[0]["text"]
    small = run_with((Text("small"), picture), keep="keep-start", directory=tmp_path)
    assert small.reply.spilled_to is None
    assert [block["type"] for block in small.reply.content if isinstance(block, dict)] == ["text", "image"]


def test_a_directory_that_cannot_be_written_leaves_a_preview_that_says_so(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    run = run_with(LINES, keep="keep-start", directory=blocked / "results")
    assert run.outcome == "completed"
    assert run.reply.spilled_to is None
    assert "could not be saved" in run.text


def test_a_full_disk_leaves_a_preview_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    real_open = os.open

    def open_full(path: Any, flags: int, mode: int = 0o777) -> int:
        return real_open("/dev/full", os.O_WRONLY) if str(path).endswith(".txt") else real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", open_full)
    run = run_with(LINES, keep="keep-both", directory=tmp_path)
    assert run.reply.spilled_to is None
    assert "No space left" in run.text


def test_without_a_session_the_directory_is_temporary_and_goes_with_the_executor():
    run = run_with(LINES, keep="keep-start", directory=None)
    assert run.reply.spilled_to is not None
    assert not os.path.exists(os.path.dirname(run.reply.spilled_to))


def test_results_with_the_same_id_do_not_overwrite_each_other_and_odd_ids_make_plain_names(tmp_path: Path):
    store = SpillStore(tmp_path)
    first, second, odd, empty = (
        store.shorten(text, id_, limit=1, keep="keep-start", preview_chars=1).path
        for text, id_ in (("one", "a"), ("two", "a"), ("odd", "../../etc/passwd\0"), ("empty", ""))
    )
    assert [first, second] == [str(tmp_path / "a.txt"), str(tmp_path / "a-1.txt")]
    assert odd == str(tmp_path / "______etc_passwd_.txt")
    assert empty == str(tmp_path / "result.txt")
    assert store.shorten("x", "a", limit=1, keep="keep-start", preview_chars=1) == ("x", None)
    store.close()
    assert (tmp_path / "a.txt").exists()


def test_a_link_planted_in_the_way_is_not_followed(tmp_path: Path):
    target = tmp_path / "target"
    results = tmp_path / "results"
    results.mkdir()
    (results / "a.txt").symlink_to(target)
    SpillStore(results).shorten("text", "a", limit=1, keep="keep-start", preview_chars=1)
    assert not target.exists()
    assert (results / "a-1.txt").read_text() == "text"


def test_a_thousand_results_of_one_name_are_enough(tmp_path: Path):
    (tmp_path / "a.txt").touch()
    for number in range(1, 1_000):
        (tmp_path / f"a-{number}.txt").touch()
    preview = SpillStore(tmp_path).shorten("text", "a", limit=1, keep="keep-start", preview_chars=1)
    assert preview.path is None
    assert "could not be saved" in preview.text


def test_names_that_are_no_utf8_are_kept_byte_by_byte(tmp_path: Path):
    text = "caf\udce9 " * 200
    run = run_with(text, keep="keep-start", directory=tmp_path)
    assert run.reply.spilled_to is not None
    assert Path(run.reply.spilled_to).read_bytes() == b"caf\xe9 " * 200


def test_cuts_fall_on_line_ends_if_one_is_near():
    assert shorten("aaaa\nbbbbbbbb", "keep-start", 6, "").startswith("aaaa\n\n[Shown: the first 4 of")
    assert shorten("bbbbbbbb\naaaa", "keep-end", 6, "").endswith("\n\naaaa")
    assert shorten("a" * 20, "keep-both", 10, "").startswith("aaaaa\n\n[… 10 of")
