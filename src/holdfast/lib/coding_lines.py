"""Lines in which a file names its own encoding: of Python and Emacs, Vim, XML, HTML and CSS."""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["codec_of", "coding_line"]

_HEAD_BYTES: Final = 1024
_NAME: Final = rb"([A-Za-z0-9][-A-Za-z0-9_.]{0,39})"
_IN_TWO_LINES: Final = (
    re.compile(rb"^[ \t\f]*#[^\n]{0,200}?coding[:=][ \t]*" + _NAME, re.MULTILINE),
    re.compile(rb"-\*-[^\n]{0,200}?coding:[ \t]*" + _NAME),
    re.compile(rb"\b(?:vim?|ex):[^\n]{0,200}?\b(?:fileencoding|fenc)=" + _NAME),
)
_AT_START: Final = (
    re.compile(rb"\s{0,8}<\?xml[^>]{0,200}?encoding=[\"']" + _NAME),
    re.compile(rb"@charset \"" + _NAME + rb"\";"),
)
_HTML: Final = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?" + _NAME, re.IGNORECASE)


def coding_line(head: bytes) -> str | None:
    """The codec that the start of a file names; none if it names none that we know."""
    head = head[:_HEAD_BYTES]
    if b"coding" not in head and b"charset" not in head and b"fenc" not in head:
        return None
    lines = b"\n".join(head.split(b"\n", 2)[:2])
    found = next((match for pattern in _IN_TWO_LINES if (match := pattern.search(lines))), None)
    found = found or next((match for pattern in _AT_START if (match := pattern.match(head))), None)
    if found is not None:
        return codec_of(found[1].decode("ascii"))
    html = _HTML.search(head)
    codec = None if html is None else codec_of(html[1].decode("ascii"))
    return "cp1252" if codec == "iso8859-1" else codec  # so browsers read that name


def codec_of(name: str) -> str | None:
    """Python's name of a text codec with a name that people use; none if there is none."""
    lowered = name.lower().removesuffix("-unix").removesuffix("-dos").removesuffix("-mac")
    try:
        found = codecs.lookup(lowered)
        "".encode(found.name)  # codecs that are not for text, such as hex, refuse this
    except (LookupError, ValueError):
        return None
    return {"utf-8-sig": "utf-8", "ascii": "utf-8"}.get(found.name, found.name)
