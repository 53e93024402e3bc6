"""From a web page to markdown that a model can read."""

import re

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

__all__ = ["to_markdown"]

_MAX_DEPTH = 1_000
_ODD_LINK = re.compile(
    r"(\]\(\s*<?|\]:\s*<?)(?!(?:https?|mailto):)[A-Za-z][A-Za-z0-9+.-]{0,30}:|(<)(?:javascript|vbscript|data|file|blob):",
    re.IGNORECASE,
)
"""The target of a link that is no web address; as a bare link only what a program could act on."""
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
