"""From a web page to markdown that a model can read."""

import re

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

__all__ = ["to_markdown"]

_MAX_DEPTH = 1_000
_SCHEME = re.compile(
    r"(\]\(\s*<?|\]:\s*<?|<)([A-Za-z][A-Za-z0-9+.-]{0,30}):(?!//)|(\]\(\s*<?)((?:file|ftp|blob|data)://)"
)
_KEPT_SCHEMES = ("http", "https", "mailto")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def to_markdown(html: str, url: str) -> str:
    """The page's text with headings, links, tables and code; hidden text, scripts and page furniture are left out."""
    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        base_url=url,
        max_depth=_MAX_DEPTH,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    found = convert(html, options).content
    return _without_odd_links(found or "")


def _without_odd_links(text: str) -> str:
    """Links that are no web addresses lose their target; code stays as it is to the byte."""
    if not any(_is_odd(found) for found in _SCHEME.finditer(text)):
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
            lines[number] = _SCHEME.sub(_blunted, line)
    return "\n".join(lines)


def _is_odd(found: re.Match[str]) -> bool:
    return (found[2] or "file").lower() not in _KEPT_SCHEMES


def _blunted(found: re.Match[str]) -> str:
    return f"{found[1] or found[3]}#not-a-web-link:" if _is_odd(found) else found[0]
