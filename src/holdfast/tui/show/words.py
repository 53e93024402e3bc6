"""Words on the screen: pieces of text with a style, safe to look at whoever wrote them."""

import re
import unicodedata
from typing import TYPE_CHECKING

from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from holdfast.tui.show.themes import Theme

__all__ = [
    "HINT",
    "Line",
    "as_ansi",
    "as_text",
    "broken",
    "cells",
    "cut",
    "fragments",
    "prose",
    "shown_lines",
    "spelled",
    "wrapped",
]

Line = list[tuple[str, str]]
"""Pieces of one line: the name of a style, and text that is safe already."""

HINT = ("hint", " (Ctrl-O)")
"""Behind what can be opened whole; a face without that key says another way, or nothing."""
_JOINER = "\u200c\u200d\ufe0e\ufe0f"
_JOINED = re.compile(
    rf"(?<=[^\x00-\xff{_JOINER}])(?:\ufe0f?\u200d|\u200c)(?=[^\x00-\xff{_JOINER}])|(?<=[^\x00-\xff{_JOINER}])[\ufe0e\ufe0f]"
    rf"|(?<=[#*0-9])\ufe0f(?=\u20e3)|([{_JOINER}])"
)
"""A joiner, and before it where it is a part of ordinary emoji and scripts; alone it could hide something."""
_WORDS = re.compile(r"\s*\S+\s*|\s+")
_INSET = re.compile(r"[ ?✻●⎿│├└❯]*(?:\d+ [-+ ] )?")  # noqa: RUF001 - the mark people know
"""What stands before the words of a line: marks, branches, the number of a line in a diff."""


class _Prose(dict[int, str]):
    """Every character as prose shows it; each is judged once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in "\n\t" or char in _JOINER or unicodedata.category(char) == "Zs":
            shown = char
        elif code < 0x20 or 0x7F <= code < 0xA0:
            shown = f"\\x{code:02x}"
        else:
            shown = visible(char)
        self[code] = shown
        return shown


_PROSE = _Prose()


def prose(text: str) -> str:
    """A text for people, with its lines and tabs; what a terminal would obey or hide is spelled out."""
    if text.isascii():
        return text if text.isprintable() else text.translate(_PROSE).expandtabs(4)
    return _JOINED.sub(_joiner, text.translate(_PROSE)).expandtabs(4)


def _joiner(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else visible(found[1])


def spelled(text: str) -> dict[int, str]:
    """What `prose` would spell out of a line, by its place in it; control characters are left to whoever draws it."""
    found = {at: shown for at, char in enumerate(text) if char >= "\xa0" and (shown := _PROSE[ord(char)]) != char}
    return found | {one.start(1): visible(one[1]) for one in _JOINED.finditer(text) if one[1] is not None}


def shown_lines(text: str, *, most: int | None = None) -> list[str]:
    """The lines of a text from outside, each spelled out; behind `most` of them their number."""
    lines = text.expandtabs(4).split("\n")
    if most is None or len(lines) <= most + 1:  # a line that says so takes as much room
        return [visible(line) for line in lines]
    return [*(visible(line) for line in lines[:most]), f"… {len(lines) - most} more lines"]


def cells(text: str) -> int:
    """How many columns a safe line takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # noqa: PLC0415 - only for text beyond ASCII, and a screen has it already

    return max(wcswidth(text), 0) or len(text)


def cut(text: str, columns: int) -> str:
    """As much of one safe line as fits into so many columns."""
    if cells(text) <= columns:
        return text
    return f"{_fitting(text, columns - 1)}…"


def wrapped(line: Line, columns: int, *, inset: int | None = None) -> list[Line]:
    """The line in as many as it needs, broken between words; the further ones are set in like the first, or so far."""
    if cells(as_text(line)) <= columns:
        return [line]
    whole = as_text(line)
    found_inset = _INSET.match(whole)
    if inset is None:
        inset = found_inset.end() if found_inset else 0
    before = " " * min(inset, columns // 2)
    found: list[Line] = [[]]
    room = columns
    for style, text in line:
        for word in _WORDS.findall(text):
            width = cells(word)
            if cells(word.rstrip()) > room and as_text(found[-1]).strip():
                found.append([("", before)])
                room = columns - len(before)
            found[-1].append((style, word))
            room -= width
    return found


def broken(line: Line, columns: int) -> list[Line]:
    """The same, with words broken that are too long for a row: where every row counts."""
    found: list[Line] = []
    for part in wrapped(line, columns):
        row: Line = []
        room = columns
        for style, text in part:
            for piece in _pieces(text.rstrip() if cells(text) > room else text, room, columns):
                if cells(piece) > room and row:
                    found.append(row)
                    row, room = [], columns
                row.append((style, piece))
                room -= cells(piece)
        found.append(row)
    return found


def _pieces(text: str, room: int, columns: int) -> list[str]:
    """The text in parts: the first has room, the others a row each."""
    if cells(text) <= room:
        return [text]
    if text.isascii():
        return [
            part for part in (text[:room], *(text[at : at + columns] for at in range(room, len(text), columns))) if part
        ]
    parts: list[str] = []
    part = ""
    for char in text:
        if room < cells(char) and part:
            parts.append(part)
            part, room = "", columns
        part += char
        room -= cells(char)
    return [*parts, part]


def _fitting(text: str, room: int) -> str:
    """As much of a text as has room."""
    kept = 0
    for char in text:
        room -= cells(char)
        if room < 0:
            break
        kept += 1
    return text[:kept]


def as_ansi(line: Line, theme: "Theme | None") -> str:
    """The line for a terminal; without a theme it has no colours."""
    if theme is None:
        return "".join(_harmless(text) for _, text in line)
    return "".join(
        f"\x1b[{codes}m{_harmless(text)}\x1b[0m" if (codes := theme[style].sgr) else _harmless(text)
        for style, text in line
    )


def as_text(line: Line) -> str:
    """The line without its styles."""
    return "".join(text for _, text in line)


def fragments(lines: list[Line]) -> "StyleAndTextTuples":
    """The lines as prompt_toolkit reads them."""
    found: StyleAndTextTuples = []
    for place, line in enumerate(lines):
        if place:
            found.append(("", "\n"))
        found += [(f"class:hf-{style}" if style else "", _harmless(text)) for style, text in line]
    return found


def _harmless(text: str) -> str:
    """Every text is safe by now; should one have been forgotten, nothing of it is obeyed and nothing turns or hides."""
    return text if text.isascii() and text.isprintable() else text.translate(_PROSE)
