"""What a server sent, as text: HTML becomes markdown, other text stays, anything else is refused."""

import asyncio

from holdfast.contract import ToolFailed
from holdfast.lib.text import NotTextError
from holdfast.tools.web._body import decode_text
from holdfast.tools.web._cache import Page
from holdfast.tools.web._client import Fetched

__all__ = ["read_page", "unread"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_BEGINNINGS = (b"<!doctype html", b"<html")
_TEXT = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/x-javascript"),
        *("application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-sh"),
        *("application/rtf", "application/x-ndjson", "application/graphql", "image/svg+xml", "message/rfc822"),
    }
)


async def read_page(found: Fetched) -> Page:
    """The page as text; work on large pages happens in a thread.

    Raises:
        ToolFailed: It is not text.
    """
    kind = found.media_type
    is_html = kind in _HTML or (not kind and found.body[:400].lstrip().lower().startswith(_BEGINNINGS))
    if not is_html and not _is_text_type(kind):
        raise ToolFailed(
            f"{found.url} is {kind} with {len(found.body):,} bytes, which is not shown; pages, text, pictures and PDFs "
            "are. Download it with Bash if the user wants the file"
        )
    try:
        text = await asyncio.to_thread(_text_of, found, is_html=is_html)
    except NotTextError as error:
        raise ToolFailed(f"{found.url} says it is {kind or 'text'}, and is not: {error.reason}") from error
    return unread(found)._replace(text=text)


def unread(found: Fetched) -> Page:
    """The page without its text."""
    return Page(found.url, found.status, found.reason, found.media_type, len(found.body), "", found.is_cut)


def _is_text_type(kind: str) -> bool:
    return not kind or kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml", "+yaml"))


def _text_of(found: Fetched, *, is_html: bool) -> str:
    text = decode_text(found.body, found.headers.get("content-type", ""))
    if not is_html:
        return text
    from html_to_markdown.exceptions import ConversionError  # noqa: PLC0415 - loaded in the thread, with the first page

    from holdfast.tools.web._page import to_markdown  # noqa: PLC0415 - the same

    try:
        return to_markdown(text, found.url) or "[The page has no text that can be read without running its scripts.]"
    except ConversionError as error:
        raise ToolFailed(f"{found.url} is a page that cannot be read: {error}") from error
