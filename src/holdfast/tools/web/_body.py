"""Bytes from the web as text: by a mark, the header, the document's own word, or what the bytes are."""

import codecs
import re

from holdfast.lib.text import detect

__all__ = ["decode_text"]

_META_BYTES = 4_096
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
# What pages that say latin-1 are written in: browsers read them so too.
_AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def decode_text(body: bytes, content_type: str) -> str:
    """The text of a body: by a byte order mark, the header, the document's own word, then by what the bytes are.

    Raises:
        NotTextError: It is no text.
    """
    for mark, codec in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    said = _HEADER_CHARSET.search(content_type)
    inside = _META_CHARSET.search(body, 0, _META_BYTES) or _XML_ENCODING.match(body)
    for name in (said[1] if said else None, inside[1].decode("ascii") if inside else None):
        codec = None if name is None else _codec(name)
        if codec is not None:
            return body.decode(codec, "replace")
    encoding = detect(body, complete=True)
    return body.decode(encoding.codec, "replace")


def _codec(name: str) -> str | None:
    try:
        known = codecs.lookup(name)
    except LookupError:
        return None
    if not known._is_text_encoding:  # noqa: SLF001 - `rot13` and `zip` are codecs too, and nothing public says so
        return None
    return _AS_BROWSERS_DO.get(known.name, known.name)
