"""What a server sent, as text: HTML becomes markdown, other text stays, anything else is refused."""

import asyncio
import os
import tempfile

from holdfast.contract import ToolFailed
from holdfast.host.bounded import run_bounded
from holdfast.host.parsing import ParseError
from holdfast.lib.text import NotTextError
from holdfast.tools.web._body import decode_text
from holdfast.tools.web._cache import Page
from holdfast.tools.web._client import Fetched

__all__ = ["read_page", "unread"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_OWN_PROCESS_BYTES = 1024 * 1024
_MAX_HTML_BYTES = 2 * 1024 * 1024
"""A page that is all tags needs far more memory than its size; the rest of a longer one is left out, and it is said."""
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
        if is_html and len(found.body) > _OWN_PROCESS_BYTES:
            text, title = await _in_a_limited_process(found)
        else:
            text, title = await asyncio.to_thread(
                _text_of, found.body, found.headers.get("content-type", ""), found.url, is_html=is_html
            )
    except NotTextError as error:
        raise ToolFailed(f"{found.url} says it is {kind or 'text'}, and is not: {error.reason}") from error
    is_cut = found.is_cut or (is_html and len(found.body) > _MAX_HTML_BYTES)
    return unread(found)._replace(text=text, is_cut=is_cut, title=title)


def unread(found: Fetched) -> Page:
    """The page without its text."""
    return Page(found.url, found.status, found.reason, found.media_type, len(found.body), "", found.is_cut)


def _is_text_type(kind: str) -> bool:
    return not kind or kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml", "+yaml"))


async def _in_a_limited_process(found: Fetched) -> tuple[str, str]:
    """A large page takes many times its size to take apart: it has memory and time of its own."""
    with tempfile.TemporaryFile() as file:
        file.write(found.body[:_MAX_HTML_BYTES])
        file.flush()
        request = {"content_type": found.headers.get("content-type", ""), "url": found.url}
        answer = await run_bounded("holdfast.tools.web._read", "page_text", file.fileno(), request)
    return str(answer["text"]), str(answer["title"])


def page_text(fd: int, request: dict[str, str]) -> dict[str, str]:
    """The same inside that process; `host.bounded` calls it by name."""
    with os.fdopen(fd, "rb", closefd=False) as file:
        body = file.read()
    try:
        text, title = _text_of(body, request["content_type"], request["url"], is_html=True)
    except NotTextError as error:
        raise ParseError(f"it says it is a page, and is not: {error.reason}") from error
    except ToolFailed as error:
        raise ParseError(str(error)) from error
    return {"text": text, "title": title}


def _text_of(body: bytes, content_type: str, url: str, *, is_html: bool) -> tuple[str, str]:
    """What a model reads of it, and its title."""
    text = decode_text(body, content_type)
    if not is_html:
        return text, ""
    from html_to_markdown.exceptions import ConversionError  # noqa: PLC0415 - loaded in the thread, with the first page

    from holdfast.tools.web._page import title_of, to_markdown  # noqa: PLC0415 - the same

    try:
        shown = to_markdown(text, url) or "[The page has no text that can be read without running its scripts.]"
    except ConversionError as error:
        raise ToolFailed(f"{url} is a page that cannot be read: {error}") from error
    return shown, title_of(text)
