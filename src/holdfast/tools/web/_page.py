"""From a web page to markdown that a model can read."""

import html
import re

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

__all__ = ["title_of", "to_markdown"]

_MAX_DEPTH = 1_000
_ODD_LINK = re.compile(
    r"(\][(:]\s*<?)(?!(?:[Hh][Tt][Tt][Pp][Ss]?|[Mm][Aa][Ii][Ll][Tt][Oo]):)[A-Za-z][A-Za-z0-9+.-]{0,30}:"
    r"|(<)(?i:javascript|vbscript|data|file|blob):"
)
"""The target of a link that is no web address; as a bare link only what a program could act on."""
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_TITLE_WITHIN_CHARS = 100_000
_TITLE_CHARS = 200
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


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


def title_of(page: str) -> str:
    """As the page calls itself: one line, without characters that have no shape."""
    found = _TITLE.search(page, 0, _TITLE_WITHIN_CHARS)
    if found is None:
        return ""
    words = " ".join(html.unescape(found[1]).split())
    return "".join(character for character in words if character.isprintable())[:_TITLE_CHARS]


def _without_odd_links(text: str) -> str:
    """Links that are no web addresses lose their target; code stays as it is to the byte."""
    if _ODD_LINK.search(text) is None:
        return text
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark is not None and mark[1].startswith(fence) else fence
        elif mark is not None:
            fence = mark[1]
        else:
            lines[number] = _ODD_LINK.sub(_blunted, line)
    return "\n".join(lines)


def _blunted(found: re.Match[str]) -> str:
    return f"{found[1] or found[2]}#not-a-web-link:"
