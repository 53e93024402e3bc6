"""What changed, as structured hunks and as a git-style diff, computed only where something changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.lib.text import UTF8, Encoding

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTEXT_LINES = 3
# Above this many lines on both sides the finest alignment is not worth quadratic time: the block is shown as replaced.
_MAX_ALIGNED_LINES = 3_000
_MAX_ALIGNED_PRODUCT = 2_000_000


class Span(msgspec.Struct, frozen=True):
    """Bytes `start:end` of the old content, and what stands there in the new one."""

    start: int
    end: int
    new: bytes


class Hunk(msgspec.Struct, frozen=True):
    """One place that changed, with context; the numbers count lines from 1, as in a unified diff."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    raw: tuple[bytes, ...]
    """Each line with its sign in front and its own line end behind."""

    def to_wire(self, encoding: Encoding = UTF8) -> dict[str, object]:
        """Return the hunk with the field names of the public tool contract; lines come without their ends."""
        return {
            "oldStart": self.old_start,
            "oldLines": self.old_lines,
            "newStart": self.new_start,
            "newLines": self.new_lines,
            "lines": [chr(line[0]) + encoding.show(line[1:].rstrip(b"\r\n")) for line in self.raw],
        }


def apply_spans(data: bytes, spans: Sequence[Span]) -> list[bytes | memoryview]:
    """Return the new content as parts, without copying what did not change."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    position = 0
    for span in spans:
        parts += (view[position : span.start], span.new)
        position = span.end
    parts.append(view[position:])
    return parts


def span_between(old: bytes, new: bytes) -> list[Span]:
    """Return the one stretch by which two contents differ, or nothing if they are equal."""
    if old == new:
        return []
    start = _common_start(old, new)
    limit = min(len(old), len(new)) - start
    tail = _common_end(old, new, limit)
    return [Span(start, len(old) - tail, new[start : len(new) - tail])]


def _common_start(old: bytes, new: bytes) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(old: bytes, new: bytes, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def hunks_of(data: bytes, spans: Sequence[Span]) -> list[Hunk]:
    """Turn byte spans, in order and apart, into hunks; reads only the lines around them."""
    hunks: list[Hunk] = []
    counted, line, shift = 0, 1, 0
    for start, end, inside in _blocks(data, spans):
        line += data.count(b"\n", counted, start)
        counted = start
        old = _lines(data[start:end])
        new = _lines(_patched(data, start, end, inside))
        hunks += _grouped(old, new, line, line + shift)
        shift += len(new) - len(old)
    return hunks


def _blocks(data: bytes, spans: Sequence[Span]) -> list[tuple[int, int, list[Span]]]:
    """Widen spans to whole lines with context, and join those that meet."""
    blocks: list[tuple[int, int, list[Span]]] = []
    for span in spans:
        start, end = span.start, span.end
        for _ in range(CONTEXT_LINES + 1):
            start = data.rfind(b"\n", 0, start) if start > 0 else -1
            if start < 0:
                break
        start += 1
        for _ in range(CONTEXT_LINES + 1):
            found = data.find(b"\n", end)
            end = found + 1 if found >= 0 else len(data)
        if blocks and start <= blocks[-1][1]:
            first, last, inside = blocks[-1]
            blocks[-1] = (first, max(end, last), [*inside, span])
        else:
            blocks.append((start, end, [span]))
    return blocks


def _patched(data: bytes, start: int, end: int, spans: Sequence[Span]) -> bytes:
    parts: list[bytes] = []
    for span in spans:
        parts += (data[start : span.start], span.new)
        start = span.end
    parts.append(data[start:end])
    return b"".join(parts)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    last = pieces.pop()
    lines = [piece + b"\n" for piece in pieces]
    if last:
        lines.append(last)
    return lines


_Edit = tuple[bool, int, int, int, int]
"""Equal or not, then the ranges of old and new lines."""


def _edits(old: list[bytes], new: list[bytes]) -> list[_Edit]:
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    old_end, new_end = len(old) - tail, len(new) - tail
    edits: list[_Edit] = [(True, 0, head, 0, head)]
    rows, columns = old_end - head, new_end - head
    if max(rows, columns) > _MAX_ALIGNED_LINES or rows * columns > _MAX_ALIGNED_PRODUCT:
        edits.append((False, head, old_end, head, new_end))
    else:
        from difflib import SequenceMatcher  # noqa: PLC0415 - with the first change

        matcher = SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
        edits += [
            (tag == "equal", head + i1, head + i2, head + j1, head + j2)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ]
    edits.append((True, old_end, len(old), new_end, len(new)))
    return [edit for edit in edits if edit[1] < edit[2] or edit[3] < edit[4]]


def _grouped(old: list[bytes], new: list[bytes], old_line: int, new_line: int) -> list[Hunk]:
    """Cut an alignment into hunks with context around each change."""
    hunks: list[Hunk] = []
    group: list[_Edit] = []
    edits = _edits(old, new)
    for position, (equal, i1, i2, j1, j2) in enumerate(edits):
        if not equal:
            group.append((equal, i1, i2, j1, j2))
            continue
        if group:
            stop = min(i2, i1 + CONTEXT_LINES)
            last = position == len(edits) - 1
            if not last and i2 - i1 <= 2 * CONTEXT_LINES:
                group.append((True, i1, i2, j1, j2))
                continue
            group.append((True, i1, stop, j1, j1 + stop - i1))
            hunks.append(_hunk(group, old, new, (old_line, new_line)))
        begin = max(i1, i2 - CONTEXT_LINES)
        group = [(True, begin, i2, j2 - (i2 - begin), j2)]
    if any(not edit[0] for edit in group):
        hunks.append(_hunk(group, old, new, (old_line, new_line)))
    return hunks


def _hunk(group: list[_Edit], old: list[bytes], new: list[bytes], lines: tuple[int, int]) -> Hunk:
    raw: list[bytes] = []
    for equal, i1, i2, j1, j2 in group:
        if equal:
            raw += [b" " + line for line in old[i1:i2]]
        else:
            raw += [b"-" + line for line in old[i1:i2]]
            raw += [b"+" + line for line in new[j1:j2]]
    old_count, new_count = group[-1][2] - group[0][1], group[-1][4] - group[0][3]
    # A side without lines is numbered by the line before it, as git does.
    old_start = lines[0] + group[0][1] - (old_count == 0)
    new_start = lines[1] + group[0][3] - (new_count == 0)
    return Hunk(old_start, old_count, new_start, new_count, tuple(raw))


def git_diff(path: str, hunks: Sequence[Hunk], *, created: bool = False, encoding: Encoding = UTF8) -> str:
    """Write hunks as a unified diff that `git apply` and `patch` accept for content in UTF-8."""
    if not hunks:
        return ""
    out = [f"diff --git a/{path} b/{path}\n"]
    if created:
        out.append("new file mode 100644\n")
    out += [f"--- {'/dev/null' if created else 'a/' + path}\n", f"+++ b/{path}\n"]
    for hunk in hunks:
        out.append(f"@@ -{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)} @@\n")
        for line in hunk.raw:
            out.append(encoding.show(line))
            if not line.endswith(b"\n"):
                out.append("\n\\ No newline at end of file\n")
    return "".join(out)


def _range(start: int, count: int) -> str:
    return f"{start}" if count == 1 else f"{start},{count}"
