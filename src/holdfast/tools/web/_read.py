"""What a server sent, as text: HTML becomes markdown, other text stays, anything else is refused."""

import asyncio
import html
import re
import tempfile

from holdfast.contract import ToolFailed
from holdfast.host.bounded import run_bounded
from holdfast.lib.text import NotTextError
from holdfast.tools.web._body import decode_text
from holdfast.tools.web._cache import Page
from holdfast.tools.web._client import Fetched

__all__ = ["read_page", "unread"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_NOTHING = "[The page has no text that can be read without running its scripts.]"
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_TITLE_WITHIN_CHARS = 100_000
_TITLE_CHARS = 200
_BEGINNINGS = (b"<!doctype html", b"<html")
_TEXT = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/x-javascript"),
        *("application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-sh"),
        *("application/rtf", "application/x-ndjson", "application/graphql", "image/svg+xml", "message/rfc822"),
    }
)


async def read_page(found: Fetched) -> Page:
    """The page as text; the work happens beside the event loop.

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
        text = await asyncio.to_thread(decode_text, found.body, found.headers.get("content-type", ""))
    except NotTextError as error:
        raise ToolFailed(f"{found.url} says it is {kind or 'text'}, and is not: {error.reason}") from error
    page = unread(found)._replace(text=text)
    return await _read_markup(page) if is_html else page


def unread(found: Fetched) -> Page:
    """The page without its text."""
    return Page(found.url, found.status, found.reason, found.media_type, len(found.body), "", found.is_cut)


def _is_text_type(kind: str) -> bool:
    return not kind or kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml", "+yaml"))


async def _read_markup(page: Page) -> Page:
    """A page of HTML as markdown: in a thread, or where it could cost too much in a limited process."""
    from holdfast.tools.web._heavy import is_heavy  # noqa: PLC0415 - with the first page

    markup, is_cut = page.text, page.is_cut
    if is_heavy(markup):
        with tempfile.TemporaryFile() as file:
            file.write(markup.encode("utf-8", "replace"))
            file.flush()
            try:
                answer = await run_bounded("holdfast.tools.web._heavy", "page_text", file.fileno(), {"url": page.url})
            except ToolFailed as error:
                raise ToolFailed(f"{page.url} cannot be read: {error}") from error
        text, is_cut = str(answer["text"]), is_cut or bool(answer["is_cut"])
    else:
        text = await asyncio.to_thread(_markdown, markup, page.url)
    return page._replace(text=text or _NOTHING, is_cut=is_cut, title=title_of(markup))


def _markdown(markup: str, url: str) -> str:
    from html_to_markdown.exceptions import ConversionError  # noqa: PLC0415 - loaded in the thread, with the first page

    from holdfast.tools.web._page import to_markdown  # noqa: PLC0415 - the same

    try:
        return to_markdown(markup, url)
    except ConversionError as error:
        raise ToolFailed(f"{url} is a page that cannot be read: {error}") from error


def title_of(markup: str) -> str:
    """As the page calls itself: one line, without characters that have no shape."""
    found = _TITLE.search(markup, 0, _TITLE_WITHIN_CHARS)
    if found is None:
        return ""
    words = " ".join(html.unescape(found[1]).split())
    return "".join(character for character in words if character.isprintable())[:_TITLE_CHARS]
