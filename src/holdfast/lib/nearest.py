"""When a text is not in a file: where is the closest thing to it, and what differs.

Cost is bounded on files of any size: rare words of the wanted text lead to a few places, and only those are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher, get_close_matches
from typing import Final

import msgspec

_MAX_WORDS = 12
_MAX_PLACES_PER_WORD = 40
_MAX_COMPARED = 12
_MAX_COMPARED_TOKENS = 400
_MAX_LINES = 60
_MAX_LINE_CHARS = 400
_MIN_ALIKE = 0.5
_SHORT_CHARS = 400
_MAX_SPELT_BYTES = 100_000
_WORD: Final = re.compile(r"[^\W_][\w.-]{2,}")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_VISIBLE: Final = str.maketrans({" ": "·", "\t": "→   ", "\r": "␍", "\u00a0": "⍽"})


class Candidate(msgspec.Struct, frozen=True):
    """The closest place."""

    first_line: int
    last_line: int
    alike: float
    """From 0 to 1."""
    difference: str
    """A few lines: `-` what was asked for, `+` what the file has."""


def find_nearest(data: bytes, old: str) -> Candidate | None:
    """Find the part of UTF-8 content that is most like a text, or nothing if it is not at least half alike."""
    asked = [line[:_MAX_LINE_CHARS] for line in old.splitlines()[:_MAX_LINES]]
    best: tuple[float, int, list[str]] | None = None
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    by_character = sum(map(len, asked)) <= _SHORT_CHARS
    matcher.set_seq2(_comparable(asked, by_character=by_character))
    for start in _starts(data, asked):
        found = _lines_from(data, start, len(asked))
        matcher.set_seq1(_comparable(found, by_character=by_character))
        if best is not None and (matcher.real_quick_ratio() <= best[0] or matcher.quick_ratio() <= best[0]):
            continue
        alike = matcher.ratio()
        if best is None or alike > best[0]:
            best = (alike, start, found)
    if best is None or best[0] < _MIN_ALIKE:
        return None
    alike, start, found = best
    first = data.count(b"\n", 0, start) + 1
    return Candidate(first, first + len(found) - 1, alike, _difference(asked, found))


def _comparable(lines: list[str], *, by_character: bool) -> list[str]:
    """Take text apart for comparing: short text by character, so that a typo shows, longer text by words."""
    text = "\n".join(lines)
    return list("\n".join(map(str.strip, lines))) if by_character else _TOKEN.findall(text)[:_MAX_COMPARED_TOKENS]


def _starts(data: bytes, asked: list[str]) -> list[int]:
    """Guess where the text would start: each place of a rare word, moved up by the word's own line number."""
    votes: Counter[int] = Counter()
    for line, word in _rare_words(data, asked):
        position = data.find(word)
        places = 0
        while position >= 0 and places < _MAX_PLACES_PER_WORD:
            votes[_line_start(data, position, up=line)] += 1
            places += 1
            position = data.find(word, position + len(word))
    return [start for start, _ in votes.most_common(_MAX_COMPARED)] or _similar_lines(data, asked)


def _similar_lines(data: bytes, asked: list[str]) -> list[int]:
    """Without a word in common, as after a typo, look for a line that is spelt alike; only in files of usual size."""
    if len(data) > _MAX_SPELT_BYTES or not asked:
        return []
    number, longest = max(enumerate(asked), key=lambda pair: len(pair[1].strip()))
    places: dict[str, int] = {}
    position = 0
    for raw in data.split(b"\n"):
        places.setdefault(raw[:_MAX_LINE_CHARS].decode("utf-8", "replace").strip(), position)
        position += len(raw) + 1
    near = get_close_matches(longest.strip(), [line for line in places if line], n=3, cutoff=_MIN_ALIKE)
    return [_line_start(data, places[line], up=number) for line in near]


def _rare_words(data: bytes, asked: list[str]) -> list[tuple[int, bytes]]:
    words: dict[bytes, int] = {}
    for number, line in enumerate(asked):
        for word in _WORD.findall(line):
            words.setdefault(word.encode("utf-8", "surrogatepass"), number)
    # Longer words are rarer; counting all of them in a large file would cost more than it tells.
    longest = sorted(words, key=len, reverse=True)[:_MAX_WORDS]
    found = [(data.count(word), word) for word in longest] if len(data) < 4_000_000 else [(1, word) for word in longest]
    return [(words[word], word) for count, word in sorted(found) if count]


def _line_start(data: bytes, position: int, *, up: int) -> int:
    start = data.rfind(b"\n", 0, position) + 1
    for _ in range(up):
        if start == 0:
            break
        start = data.rfind(b"\n", 0, start - 1) + 1
    return start


def _lines_from(data: bytes, start: int, count: int) -> list[str]:
    lines: list[str] = []
    while len(lines) < count and start < len(data):
        newline = data.find(b"\n", start)
        stop = newline if newline >= 0 else len(data)
        # One byte more than shown, so that a long line is seen to be long.
        lines.append(data[start : min(stop, start + _MAX_LINE_CHARS * 4)].decode("utf-8", "replace")[:_MAX_LINE_CHARS])
        start = stop + 1
    return lines


def _difference(asked: list[str], found: list[str]) -> str:
    out: list[str] = []
    found = [line.rstrip("\r") for line in found]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, asked, found, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        invisible = [line.split() for line in asked[i1:i2]] == [line.split() for line in found[j1:j2]]
        for sign, lines in (("-", asked[i1:i2]), ("+", found[j1:j2])):
            out += [f"{sign} {line.translate(_VISIBLE) if invisible else line}" for line in lines]
    if len(out) > 20:
        out = [*out[:20], f"… {len(out) - 20} more lines differ"]
    return "\n".join(out)
