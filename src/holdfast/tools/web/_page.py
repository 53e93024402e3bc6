"""From a web page to markdown that a model can read."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

__all__ = ["to_markdown"]

_MAX_DEPTH = 300
"""What lies deeper is left out: no page that people read has so many levels."""
_WEB = r"(?![Hh][Tt][Tt][Pp][Ss]?:|[Mm][Aa][Ii][Ll][Tt][Oo]:)"
_ODD_LINK = re.compile(rf"(\][(:][\x00-\x20]*<?[\x00-\x20]*){_WEB}[A-Za-z][A-Za-z0-9+.\s-]{{0,30}}:")
"""The target of a link that is no web address; white space in a scheme is nothing to browsers."""
_ODD_BARE_LINK = re.compile(rf"(<){_WEB}[A-Za-z][A-Za-z0-9+.-]{{1,31}}:(?=[^\s<>:][^\s<>]*>)")
"""The same without words of its own; `<std::string>` is no link."""
_ODD_LINKS = (_ODD_LINK, _ODD_BARE_LINK)
"""Two patterns, because one that begins with a single character is found ten times as fast."""
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[\s>]+)*(`{3,}|~{3,})(.*)")
"""Where code begins or ends, also in a list or a quotation."""


def to_markdown(page: str, url: str) -> str:
    """The page's text with headings, links, tables and code; hidden text, scripts and page furniture are left out."""
    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        base_url=url,
        max_depth=_MAX_DEPTH,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    found = convert(page, options).content
    return _without_odd_links(found or "")


def _without_odd_links(text: str) -> str:
    """Links that are no web addresses lose their target; code stays as it is to the byte."""
    if all(odd.search(text) is None for odd in _ODD_LINKS):
        return text
    parts: list[str] = []
    for is_code, lines in groupby(_marked_lines(text), itemgetter(0)):
        part = "\n".join(line for _, line in lines)
        parts.append(part if is_code else _ODD_BARE_LINK.sub(_blunted, _ODD_LINK.sub(_blunted, part)))
    return "\n".join(parts)


def _marked_lines(text: str) -> Iterator[tuple[bool, str]]:
    """Each line, and whether it is code; the line that ends code belongs to it."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        is_code = bool(fence)
        if fence:
            fence = "" if mark is not None and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark is not None:
            fence = mark[1]
        yield is_code, line


def _blunted(found: re.Match[str]) -> str:
    return f"{found[1]}#not-a-web-link:"
