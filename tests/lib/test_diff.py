"""Hunks say what changed: applying them with git gives the new bytes."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lib.diff import Hunk, Span, apply_spans, git_diff, hunks_of, span_between

if TYPE_CHECKING:
    from pathlib import Path


def rebuild(old: bytes, hunks: list[Hunk]) -> bytes:
    """Apply hunks the plain way, checking every line they claim about the old content."""
    lines = old.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    out: list[bytes] = []
    at = 0
    for hunk in hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        out += lines[at:start]
        assert len(out) == (hunk.new_start - 1 if hunk.new_lines else hunk.new_start)
        assert sum(line[:1] in b" -" for line in hunk.raw) == hunk.old_lines
        assert sum(line[:1] in b" +" for line in hunk.raw) == hunk.new_lines
        at = start
        for line in hunk.raw:
            if line[:1] in b" -":
                assert lines[at] == line[1:]
                at += 1
            if line[:1] in b" +":
                out.append(line[1:])
    return b"".join(out + lines[at:])


LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"c\r", b"longer"]), max_size=40).map(b"\n".join)


@settings(max_examples=max(1000, settings().max_examples))
@given(LINES, LINES)
def test_hunks_between_any_two_contents_rebuild_the_new_one(old: bytes, new: bytes) -> None:
    spans = span_between(old, new)
    assert b"".join(apply_spans(old, spans)) == new
    assert rebuild(old, hunks_of(old, spans)) == new


@settings(max_examples=max(500, settings().max_examples))
@given(LINES, st.lists(st.tuples(st.integers(0, 120), st.integers(0, 9), st.binary(max_size=4)), max_size=6))
def test_hunks_of_several_spans_rebuild_the_new_content(old: bytes, raw: list[tuple[int, int, bytes]]) -> None:
    spans: list[Span] = []
    position = 0
    for gap, length, new in raw:
        start = min(len(old), position + gap)
        end = min(len(old), start + length)
        if spans and start == spans[-1].end:
            continue
        spans.append(Span(start, end, new))
        position = end
    assert rebuild(old, hunks_of(old, spans)) == b"".join(apply_spans(old, spans))


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_git_applies_the_diff(tmp_path: Path, ending: bytes) -> None:
    chance = random.Random(5)
    old = b"\n".join(b"line %d" % n for n in range(200)) + ending
    spans = [Span(p, p + 3, b"X\nY") for p in sorted(chance.sample(range(0, 1500, 40), 9))]
    new = b"".join(apply_spans(old, spans))
    (tmp_path / "f.txt").write_bytes(old)
    patch = git_diff("f.txt", hunks_of(old, spans))
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "f.txt").read_bytes() == new


def test_the_contract_names_and_lines_without_ends() -> None:
    old = b"one\r\ntwo\r\n"
    (hunk,) = hunks_of(old, [Span(5, 8, b"zwei")])
    assert hunk.to_wire() == {
        "oldStart": 1,
        "oldLines": 2,
        "newStart": 1,
        "newLines": 2,
        "lines": [" one", "-two", "+zwei"],
    }


def test_a_new_file_is_one_hunk_from_nothing() -> None:
    hunks = hunks_of(b"", span_between(b"", b"a\nb\n"))
    assert [(h.old_start, h.old_lines, h.new_start, h.new_lines) for h in hunks] == [(0, 0, 1, 2)]
    assert git_diff("n", hunks, created=True).splitlines()[2:4] == ["--- /dev/null", "+++ b/n"]


@pytest.mark.timeout(60)  # a quadratic alignment would take far longer
def test_large_and_very_different_contents_cost_no_quadratic_time() -> None:
    chance = random.Random(1)
    old = b"\n".join(b"%d" % chance.randrange(50) for _ in range(100_000))
    new = b"\n".join(b"%d" % chance.randrange(50) for _ in range(100_000))
    hunks = hunks_of(old, span_between(old, new))
    assert rebuild(old, hunks) == new
