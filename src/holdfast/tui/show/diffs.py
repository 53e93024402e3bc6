"""A diff for people: line numbers, colour, and the words that changed."""

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any, cast

from holdfast.lib.visible import visible
from holdfast.tui.show.words import Line

__all__ = ["count_changes", "diff_lines", "is_diff"]

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_CHARS = 400
"""Longer lines are not compared word by word."""


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    return text.startswith(("diff --git ", "--- ")) and "\n@@ " in text


def count_changes(hunks: Iterable[Any]) -> tuple[int, int]:
    """How many lines the hunks of a patch add, and how many they take away."""
    lines = [
        str(line)
        for hunk in hunks
        if isinstance(hunk, Mapping)
        for line in cast("list[Any]", cast("Mapping[str, Any]", hunk).get("lines") or [])
    ]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def diff_lines(diff: str, *, most: int | None = None) -> list[Line]:
    """The changed lines with their numbers; behind `most` of them how many more there are."""
    shown = _numbered(diff.split("\n"))
    if most is None or len(shown) <= most + 1:
        return shown
    return [*shown[:most], [("dim", f"  … {len(shown) - most} more lines of this diff")]]


def _numbered(lines: list[str]) -> list[Line]:
    shown: list[Line] = []
    old = new = 0
    removed: list[tuple[int, str]] = []
    added: list[tuple[int, str]] = []
    is_inside = False
    for line in lines:
        found = _HUNK.match(line)
        if found or line[:1] not in ("-", "+"):
            shown += _changed(removed, added)
            removed, added = [], []
        if found:
            if is_inside:
                shown.append([("dim", "      ⋮")])
            old, new, is_inside = int(found[1]), int(found[2]), True
        elif not is_inside:
            continue
        elif line.startswith("-"):
            removed.append((old, line[1:]))
            old += 1
        elif line.startswith("+"):
            added.append((new, line[1:]))
            new += 1
        elif line.startswith(" "):
            shown.append([("dim", f"{new:>6}   {_safe(line[1:])}")])
            old, new = old + 1, new + 1
        elif line.startswith("\\"):
            shown.append([("dim", f"         {_safe(line)}")])
    return shown + _changed(removed, added)


def _changed(removed: list[tuple[int, str]], added: list[tuple[int, str]]) -> list[Line]:
    pairs = len(removed) == len(added)
    lines: list[Line] = []
    for index, (number, text) in enumerate(removed):
        other = added[index][1] if pairs else None
        lines.append([("del", f"{number:>6} - "), *_words(text, other, "del")])
    for index, (number, text) in enumerate(added):
        other = removed[index][1] if pairs else None
        lines.append([("add", f"{number:>6} + "), *_words(text, other, "add")])
    return lines


def _words(text: str, other: str | None, style: str) -> Line:
    if other is None or len(text) > _MOST_CHARS or len(other) > _MOST_CHARS:
        return [(style, _safe(text))]
    mine, theirs = _WORDS.findall(text), _WORDS.findall(other)
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if matcher.ratio() < 0.5:
        return [(style, _safe(text))]
    pieces: Line = []
    for tag, start, end, _, _ in matcher.get_opcodes():
        words = "".join(mine[start:end])
        if words:
            pieces.append((style if tag == "equal" else f"{style}-word", _safe(words)))
    return pieces


def _safe(text: str) -> str:
    return visible(text.expandtabs(4).rstrip("\r"))
