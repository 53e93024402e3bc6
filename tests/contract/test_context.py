import os
from pathlib import Path

from holdfast import ToolContext


def test_relative_paths_start_at_the_sessions_directory(tmp_path: Path):
    ctx = ToolContext(tmp_path)
    assert ctx.resolve("a/b") == tmp_path / "a/b"
    assert ctx.resolve(Path("/abs")) == Path("/abs")
    assert ctx.resolve("~/x") == Path.home() / "x"


def test_dots_are_left_to_the_kernel():
    assert str(ToolContext("/a").resolve("link/../b")) == "/a/link/../b"


def test_without_a_directory_it_is_the_current_one():
    assert ToolContext().cwd == os.getcwd()


def test_progress_that_nobody_watches_does_no_harm():
    ctx = ToolContext("/a")
    ctx.progress("anything")
    assert ctx.cancelled is False
    assert dict(ctx.file_reads) == {}
