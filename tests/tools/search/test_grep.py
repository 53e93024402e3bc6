"""Grep finds text, in three forms, page by page, and stops when it has enough."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import ArgumentsInvalid, ToolFailed
from holdfast.host import ripgrep
from holdfast.host.ripgrep import Ripgrep
from holdfast.tools.search.grep import Grep

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def grep() -> Grep:
    return Grep(Ripgrep())


def make(root: Path, **files: str) -> None:
    for age, (name, content) in enumerate(files.items()):
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1000 + age, 1000 + age))


def test_names_of_files_are_the_default(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="needle\n", src__b_py="hay\nneedle needle\n", c_txt="hay\n")
    result = session.call(grep, pattern="needle")
    assert result.data == {"mode": "files_with_matches", "numFiles": 2, "filenames": ["src/b.py", "a.py"]}
    assert result.text == "src/b.py\na.py"
    assert session.text(grep, pattern="nothing") == "No matches found."


def test_content_with_numbers_and_context(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="one\ntwo\nthree\nfour\nfive\nsix\nseven\ntwo\n")
    result = session.call(grep, pattern="two", output_mode="content", **{"-C": 1})
    assert result.text == "a.py-1-one\na.py:2:two\na.py-3-three\n--\na.py-7-seven\na.py:8:two"
    assert session.text(grep, pattern="t(w)o", output_mode="content", **{"-n": False}) == "a.py:two\na.py:two"
    after = session.text(grep, pattern="THREE", output_mode="content", **{"-i": True, "-A": 1})
    assert after == "a.py:3:three\na.py-4-four"
    assert session.text(grep, pattern="[fs]i", output_mode="content", **{"-o": True}) == "a.py:5:fi\na.py:6:si"


def test_counts_per_file(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="x x\n", b_py="x\n")
    result = session.call(grep, pattern="x", output_mode="count")
    assert result.text == "a.py:2\nb.py:1"
    assert (result.data["numMatches"], result.data["numFiles"]) == (3, 2)


def test_filters_by_path_glob_and_type(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="x\n", b_js="x\n", src__c_py="x\n", src__d_md="x\n")

    def names(**more: Any) -> set[str]:
        return set(session.call(grep, pattern="x", **more).data["filenames"])

    assert names(glob="*.py") == {"a.py", "src/c.py"}
    assert names(glob="*.{js,md}") == {"b.js", "src/d.md"}
    assert names(glob="*.js, *.md") == {"b.js", "src/d.md"}
    assert names(type="py", path="src") == {"src/c.py"}
    assert names(path="src/d.md") == {"src/d.md"}
    assert names(path=str(tmp_path / "src")) == {"src/c.py", "src/d.md"}


def test_multiline_matches_cross_lines(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="start\nmiddle\nend\n")
    assert session.text(grep, pattern="start.*end") == "No matches found."
    assert session.text(grep, pattern="start.*end", multiline=True) == "a.py"


def test_hidden_files_yes_ignored_files_and_version_control_no(session: Any, grep: Grep, tmp_path: Path) -> None:
    for name in (".env", "build/x", ".git/config", ".svn/y", "seen"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert set(session.call(grep, pattern="needle").data["filenames"]) == {".env", "seen"}


def test_pages_follow_each_other_without_gaps_or_repetition(session: Any, grep: Grep, tmp_path: Path) -> None:
    for n in range(60):
        (tmp_path / f"f{n}.txt").write_text("".join(f"match {n} {line}\n" for line in range(7)))
    seen: list[str] = []
    for offset in range(0, 420, 50):
        result = session.call(grep, pattern="match", output_mode="content", head_limit=50, offset=offset)
        seen += result.data["content"].splitlines()
        assert ("appliedLimit" in result.data) == (offset + 50 < 420)
    assert len(seen) == len(set(seen)) == 420
    names: list[str] = []
    for offset in (0, 25, 50):
        names += session.call(grep, pattern="match", head_limit=25, offset=offset).data["filenames"]
    assert len(names) == len(set(names)) == 60


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
def test_pages_follow_each_other_when_each_is_read_by_another_process(session: Any, tmp_path: Path, mode: str) -> None:
    for n in range(300):
        path = tmp_path / f"d{n % 7}" / f"{n % 3}" / f"f-{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"match {n}\n")
        os.utime(path, (1_000, 1_000 + n * 37 % 300))
    pages = [
        session.call(Grep(Ripgrep()), pattern="match", output_mode=mode, head_limit=40, offset=offset).data
        for offset in range(0, 300, 40)
    ]
    seen = [name for page in pages for name in page["filenames"]]
    assert len(seen) == len(set(seen)) == 300
    assert seen == sorted(seen, key=lambda name: name.split("/"))
    whole = session.call(Grep(Ripgrep()), pattern="match", output_mode=mode, head_limit=0).data["filenames"]
    assert (whole == seen) == (mode != "files_with_matches"), "names that fit on one page come newest first"


def test_a_tree_too_slow_to_sort_is_still_paged(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.tools.search.grep._BY_PATH_LIMIT_S", 0.1)
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\ncase \"$*\" in *--sort=path*) exec sleep 1000;; esac\nprintf './b\\0./a\\0./c\\0'\n")
    program.chmod(0o755)
    grep = Grep(Ripgrep(str(program)))
    assert session.call(grep, pattern="x", head_limit=2).data["filenames"] == ["b", "a"]
    assert session.call(grep, pattern="x", head_limit=2, offset=2).data["filenames"] == ["c"]


def test_the_limit_is_250_and_zero_means_all(session: Any, grep: Grep, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 1000)
    result = session.call(grep, pattern="x", output_mode="content")
    assert result.data["numLines"] == 250
    assert "offset 250" in result.text
    assert session.call(grep, pattern="x", output_mode="content", head_limit=0).data["numLines"] == 1000


def test_long_lines_are_cut(session: Any, grep: Grep, tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("x" * 100_000 + "\n")
    assert len(session.text(grep, pattern="x", output_mode="content")) < 700


def test_denied_files_stay_out_of_every_form(session: Any, grep: Grep, tmp_path: Path) -> None:
    make(tmp_path, a_py="needle\n", secret__b_py="needle\nmore\n")
    session.hide("/secret/")
    for mode in ("content", "files_with_matches", "count"):
        assert "secret" not in session.text(grep, pattern="needle", output_mode=mode, **{"-C": 2})


def test_odd_names_and_bytes_do_not_confuse_the_output(session: Any, grep: Grep, tmp_path: Path) -> None:
    for name in ("line\nbreak", "--", "a:3:b", "\udcff", "1-2-3"):
        (tmp_path / name).write_text("needle\n")
    (tmp_path / "latin").write_bytes(b"caf\xe9 needle\n")
    (tmp_path / "binary").write_bytes(b"needle\0needle\n")
    (tmp_path / "-pattern").write_text("x\n")
    result = session.call(grep, pattern="needle", output_mode="content", head_limit=0)
    assert all(part in result.text for part in ("line\\nbreak", "a:3:b", "caf\\xe9", "'\\xff'"))
    assert result.data["numFiles"] == 6
    assert "binary" in session.text(grep, pattern="needle", output_mode="content", path="binary")
    assert session.text(grep, pattern="-pattern|x", path="-pattern") == "-pattern"


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "[z-a]", "x\0", "y" * 200_000, r"(a)\1", "\ud800", "(?R" * 30_000])
def test_impossible_patterns_get_advice(session: Any, grep: Grep, tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ArgumentsInvalid):
        session.call(grep, pattern=pattern)


def test_unknown_types_and_missing_paths_are_named(session: Any, grep: Grep) -> None:
    with pytest.raises(ArgumentsInvalid, match="zzz"):
        session.call(grep, pattern="x", type="zzz")
    with pytest.raises(ToolFailed) as caught:
        session.call(grep, pattern="x", path="nowhere")
    assert caught.value.error_code == 1


def slow_rg(tmp_path: Path) -> Ripgrep:
    """A program that prints one match and then stays."""
    program = tmp_path / "slow-rg"
    program.write_text("#!/bin/sh\nprintf './found\\0'\nexec sleep 1000\n")
    program.chmod(0o755)
    return Ripgrep(str(program))


def test_a_runaway_search_is_stopped_and_says_so(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "TIME_LIMIT_S", 0.2)
    for limit in (0, 250):
        text = session.text(Grep(slow_rg(tmp_path)), pattern="x", head_limit=limit)
        assert text.startswith("found\n[The search was stopped")


def test_enough_ends_the_search_at_once(session: Any, tmp_path: Path) -> None:
    program = tmp_path / "many-rg"
    program.write_text("#!/bin/sh\nprintf './a\\0./b\\0./c\\0'\nexec sleep 1000\n")
    program.chmod(0o755)
    assert session.call(Grep(Ripgrep(str(program))), pattern="x", head_limit=2).data["filenames"] == ["a", "b"]


def test_a_cancelled_search_leaves_no_process(session: Any, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    program = tmp_path / "rg"
    os.mkfifo(marker)
    program.write_text(f"#!/bin/sh\necho $$ > {marker}\nexec sleep 1000\n")
    program.chmod(0o755)

    async def cancel() -> int:
        task = asyncio.ensure_future(session.run(Grep(Ripgrep(str(program))), {"pattern": "x"}))
        process = int(await asyncio.to_thread(marker.read_text))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return process

    process = asyncio.run(asyncio.wait_for(cancel(), 60))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
