"""Find a text in a file and replace it, changing no byte outside.

The exact text is looked for first. If it is not there, differences that people and models cannot see are forgiven one
after the other (line endings, trailing white space, quote style, tabs against spaces), but only where that leads to
exactly one place, and the file's own style stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.lib.diff import Span
from holdfast.lib.lenient import LEVELS, Level, find_lenient
from holdfast.lib.restyle import restyle
from holdfast.lib.text import SAMPLE_BYTES, UTF8, Encoding, NotTextError, detect, detect_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.lib.text import Declared

_SHOWN_PLACES = 10


class EditMissedError(ValueError):
    """The text to replace is not in the file."""


class EditAmbiguousError(ValueError):
    """The text to replace is in the file more than once; `lines` are the first places."""

    def __init__(self, count: int, lines: Sequence[int], *, forgiven: str = "") -> None:
        super().__init__(f"found {count} times")
        self.count = count
        self.lines = tuple(lines)
        self.forgiven = forgiven


class Plan(msgspec.Struct, frozen=True):
    """Where to change what, in content that is UTF-8 without byte order mark."""

    spans: tuple[Span, ...]
    forgiven: str = ""
    """What had to be overlooked to find the place, in words; empty for an exact match."""


def plan_edit(data: bytes, old: str, new: str, *, replace_all: bool = False) -> Plan:
    """Decide which bytes of UTF-8 content to replace.

    Raises:
        EditMissedError: The text is not there.
        EditAmbiguousError: It is there more than once and `replace_all` was not asked for.
        NotEncodableError: The new text has no UTF-8 form (a lone surrogate).
    """
    UTF8.encode(new)
    needle = old.encode("utf-8", "surrogatepass")
    if not _splits_line_end(data, needle):
        spans = _exact(data, needle, new, replace_all=replace_all)
        if spans:
            return Plan(tuple(spans))
    for asked, given in _other_line_ends(data, old, new):
        spans = _exact(data, asked, given, replace_all=replace_all)
        if spans:
            return Plan(tuple(spans), Level.LINE_ENDINGS.words)
    for level in LEVELS:
        found = find_lenient(data, old, level)
        if not found:
            continue
        if len(found) > 1 and not (replace_all and level is Level.LINE_ENDINGS):
            lines = [line_at(data, match.start) for match in found[:_SHOWN_PLACES]]
            raise EditAmbiguousError(len(found), lines, forgiven=level.words)
        spans = [Span(match.start, match.end, restyle(match, old, new)) for match in found]
        return Plan(tuple(spans), level.words)
    raise EditMissedError


def _exact(data: bytes, needle: bytes, new: str, *, replace_all: bool) -> list[Span]:
    first = data.find(needle) if needle else -1
    if first < 0:
        return []
    second = data.find(needle, first + len(needle))
    if second < 0:
        return [Span(first, first + len(needle), _in_local_style(data, first, needle, new))]
    if not replace_all:
        raise EditAmbiguousError(data.count(needle), _places(data, needle))
    spans: list[Span] = []
    position = first
    while position >= 0:
        end = position + len(needle)
        spans.append(Span(position, end, _in_local_style(data, position, needle, new)))
        position = data.find(needle, end)
    return spans


def _splits_line_end(data: bytes, needle: bytes) -> bool:
    """Whether a text that starts with a newline would be found in the middle of a CRLF pair."""
    return needle.startswith(b"\n") and b"\r" not in needle and b"\r" + needle in data


def _other_line_ends(data: bytes, old: str, new: str) -> list[tuple[bytes, str]]:
    """Spell both texts with the line ends that the file has and the texts have not."""
    plain_old, plain_new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if "\r" in plain_old or "\n" not in plain_old:
        return []
    ends = [end for end in ("\r\n", "\n", "\r") if end.encode() in data]
    return [
        (plain_old.replace("\n", end).encode("utf-8", "surrogatepass"), plain_new.replace("\n", end))
        for end in ends
        if plain_old.replace("\n", end) != old
    ]


def _in_local_style(data: bytes, position: int, needle: bytes, new: str) -> bytes:
    """Encode the new text; line ends in it follow the line it goes into, unless the texts name theirs."""
    encoded = UTF8.encode(new)
    if b"\n" not in encoded or b"\r" in encoded or b"\n" in needle or b"\r" in needle:
        return encoded
    local = _line_end_near(data, position)
    return encoded if local == b"\n" else encoded.replace(b"\n", local)


def _line_end_near(data: bytes, position: int) -> bytes:
    """Return the line end of the line at a position, or of the line before if it is the last."""
    newline = data.find(b"\n", position)
    if newline < 0:
        newline = data.rfind(b"\n", 0, position)
    if newline < 0:
        return b"\r" if b"\r" in data else b"\n"
    return b"\r\n" if newline > 0 and data[newline - 1 : newline] == b"\r" else b"\n"


def _places(data: bytes, needle: bytes) -> list[int]:
    lines: list[int] = []
    line, counted = 1, 0
    position = data.find(needle)
    while position >= 0 and len(lines) < _SHOWN_PLACES:
        line += data.count(b"\n", counted, position)
        counted = position
        lines.append(line)
        position = data.find(needle, position + len(needle))
    return lines


def line_at(data: bytes, position: int) -> int:
    """Number of the line, from 1, in which a byte stands."""
    return data.count(b"\n", 0, position) + 1


class Editable(msgspec.Struct, frozen=True):
    """A file's content in the form the edit works on, and the way back to its own bytes."""

    raw: bytes
    encoding: Encoding
    utf8: bytes
    """The content as UTF-8 without mark; the raw bytes themselves where they already are that."""

    @classmethod
    def of(cls, raw: bytes, *texts: str, declared: Declared | None = None) -> Editable:
        """Prepare content for edits with the given texts.

        Plain ASCII texts can be edited into UTF-8 content without reading all of it first; otherwise the whole content
        must prove its encoding.

        Raises:
            NotTextError: It is binary, or would not survive being decoded and encoded again.
        """
        encoding = detect(raw[:SAMPLE_BYTES], complete=len(raw) <= SAMPLE_BYTES, declared=declared)
        if encoding.codec != "utf-8" or not all(text.isascii() for text in texts):
            encoding = detect_whole(raw, declared=declared)
        body = raw[len(encoding.mark) :] if encoding.mark else raw
        if encoding.codec == "utf-8":
            return cls(raw, encoding, body)
        text = body.decode(encoding.codec)
        if text.encode(encoding.codec) != body:
            raise NotTextError(f"its bytes would not survive being read as {encoding.label} and written again")
        return cls(raw, encoding, text.encode("utf-8"))

    def own_spans(self, spans: Sequence[Span]) -> list[Span]:
        """Translate spans of the UTF-8 form into spans of the file's own bytes.

        Raises:
            NotEncodableError: New text has no form in the file's encoding.
        """
        shift = len(self.encoding.mark)
        if self.encoding.codec == "utf-8":
            return [Span(span.start + shift, span.end + shift, span.new) for span in spans] if shift else list(spans)
        if self.encoding.guessed:
            self.encoding.require_known(b"".join(span.new for span in spans).decode("utf-8"), self.utf8.decode("utf-8"))
        own: list[Span] = []
        position, at = 0, shift
        for span in spans:
            at += self._own_length(position, span.start)
            end = at + self._own_length(span.start, span.end)
            own.append(Span(at, end, self.encoding.encode(span.new.decode("utf-8"))))
            position, at = span.end, end
        return own

    def _own_length(self, start: int, end: int) -> int:
        return len(self.encoding.encode(self.utf8[start:end].decode("utf-8")))

    def proves(self, spans: Sequence[Span], own: Sequence[Span]) -> bool:
        """Whether the edited bytes, decoded, are exactly the edited text; always true for UTF-8."""
        if self.encoding.codec == "utf-8":
            return True
        edited = b"".join(_spliced(self.raw, own))[len(self.encoding.mark) :]
        try:
            return edited.decode(self.encoding.codec).encode("utf-8") == b"".join(_spliced(self.utf8, spans))
        except UnicodeDecodeError:
            return False


def _spliced(data: bytes, spans: Sequence[Span]) -> list[bytes]:
    parts: list[bytes] = []
    position = 0
    for span in spans:
        parts += (data[position : span.start], span.new)
        position = span.end
    parts.append(data[position:])
    return parts
