"""Write new text in the style of the place it goes to, keeping every character that the edit did not mean to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lib.lenient import Level, split_lines, straight, take_apart

if TYPE_CHECKING:
    from holdfast.lib.lenient import Match

_MAX_ALIGNED_PRODUCT = 1_000_000
_OPENING_AFTER = " \t([{-\u2013\u2014/"


def restyle(match: Match, old: str, new: str) -> bytes:
    """Return the bytes for a match: lines that both texts share stay as they are in the file, the rest is adapted."""
    asked, wanted = split_lines(old), split_lines(new)
    kept = _aligned(asked, wanted)
    style = _Style(match)
    out: list[str] = []
    end = next((line.end for line in match.lines if line.end), "\n")
    for number, text in enumerate(wanted):
        source = kept.get(number)
        if source is None:
            out.append(style.line(text))
        else:
            index, equal = source
            line = match.lines[index]
            out.append(line.text if equal else style.changed(text, asked[index], line.text))
            if index < len(match.lines) - 1:
                end = line.end or end
        if number < len(wanted) - 1 and not (match.lost_final_end and number == len(wanted) - 2 and not wanted[-1]):
            out.append(end)
    # Surrogates can only be undecodable bytes of the file here; they go back as they were.
    return "".join(out).encode("utf-8", "surrogateescape")


def _aligned(asked: list[str], wanted: list[str]) -> dict[int, tuple[int, bool]]:
    """Pair lines of the new text with lines of the old: which one, and whether they are equal."""
    pairs: dict[int, tuple[int, bool]] = {}
    if len(asked) * len(wanted) > _MAX_ALIGNED_PRODUCT:
        return {number: (number, asked[number] == text) for number, text in enumerate(wanted) if number < len(asked)}
    from difflib import SequenceMatcher  # noqa: PLC0415 - only where a text was found by overlooking something

    for tag, i1, i2, j1, j2 in SequenceMatcher(None, asked, wanted, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs.update((j1 + step, (i1 + step, True)) for step in range(j2 - j1))
        elif tag == "replace":
            pairs.update((j1 + step, (i1 + step, False)) for step in range(min(i2 - i1, j2 - j1)))
    return pairs


class _Style:
    """What the matched place looks like, learnt from the match."""

    def __init__(self, match: Match) -> None:
        text = "".join(line.text for line in match.lines)
        self._width = match.tab_width
        self._indents = {wanted: found for found, wanted in match.indents}
        self._tabs = any("\t" in found for found, _ in match.indents)
        quotes = match.level.rank >= Level.QUOTES.rank
        self._curly_double = quotes and '"' not in text and any(char in text for char in "\u201c\u201d")
        self._curly_single = quotes and "'" not in text and any(char in text for char in "\u2018\u2019")
        self._straight = quotes and straight(text) == text

    def line(self, text: str) -> str:
        """Adapt a line that is new altogether."""
        indent, core, trail = take_apart(text)
        return self._indent(indent) + self._quoted(core, "") + trail

    def changed(self, text: str, asked: str, found: str) -> str:
        """Adapt a line that replaces another: what both share at its ends stays as the file has it."""
        asked_indent, asked_core, _ = take_apart(asked)
        found_indent, found_core, _ = take_apart(found)
        indent, core, trail = take_apart(text)
        if not asked_core or len(asked_core) != len(found_core):
            return self.line(text)
        head = _common(asked_core, core)
        tail = _common(asked_core[head:][::-1], core[head:][::-1])
        middle = self._quoted(core[head : len(core) - tail], found_core[:head])
        restored = found_core[:head] + middle + found_core[len(found_core) - tail :]
        return (found_indent if indent == asked_indent else self._indent(indent)) + restored + trail

    def _indent(self, indent: str) -> str:
        if not self._width:
            return indent
        if indent in self._indents:
            return self._indents[indent]
        columns = len(indent.expandtabs(self._width))
        if self._tabs:
            return "\t" * (columns // self._width) + " " * (columns % self._width)
        return " " * columns

    def _quoted(self, text: str, before: str) -> str:
        if self._straight:
            return straight(text)
        if not (self._curly_double or self._curly_single):
            return text
        out: list[str] = []
        previous = before[-1:] or " "
        for char in text:
            styled = char
            opens = previous in _OPENING_AFTER
            if char == '"' and self._curly_double:
                styled = "\u201c" if opens else "\u201d"
            elif char == "'" and self._curly_single:
                styled = "\u2018" if opens else "\u2019"
            out.append(styled)
            previous = styled
        return "".join(out)


def _common(left: str, right: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
