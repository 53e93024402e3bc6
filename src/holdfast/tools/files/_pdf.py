"""Pages of a PDF as text and pictures. Taking the file apart runs in a limited process."""

import io
import os
from importlib import import_module
from typing import Any

from holdfast.host.parsing import ParseError

MAX_PAGES = 20
PAGES_WITHOUT_ASKING = 10
_MAX_PAGE_CHARS = 60_000
_PASSWORD, _FORMAT = "password", "format"


def is_pdf(head: bytes) -> bool:
    """Tell by its first bytes whether a file is a PDF."""
    return b"%PDF-" in head[:1024]


def read_pages(fd: int, request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the text and a picture of each wanted page, and how many pages there are."""
    pypdfium2: Any = import_module("pypdfium2")

    first, last = request["first"], request["last"]
    try:
        document = pypdfium2.PdfDocument(os.fdopen(fd, "rb", closefd=False))
    except pypdfium2.PdfiumError as error:
        raise ParseError(_why(str(error))) from error
    count = len(document)
    if first is None:
        if count > PAGES_WITHOUT_ASKING:
            raise ParseError(
                f"the PDF has {count:,} pages; say which with `pages`, for example '1-{PAGES_WITHOUT_ASKING}', "
                f"at most {MAX_PAGES} a call"
            )
        first, last = 1, count
    if first > count:
        raise ParseError(f"the PDF has only {count:,} pages; page {first:,} does not exist")
    last = min(last or first + MAX_PAGES - 1, first + MAX_PAGES - 1, count)
    side = 1400 if last - first < 5 else 1000
    pages = [_page(document, number, side) for number in range(first, last + 1)]
    return {"count": count, "pages": pages}


def _page(document: Any, number: int, side: int) -> dict[str, Any]:
    pypdfium2: Any = import_module("pypdfium2")

    answer: dict[str, Any] = {"number": number, "text": "", "image": None}
    try:
        page = document[number - 1]
        text: str = page.get_textpage().get_text_range()
        answer["text"] = text[:_MAX_PAGE_CHARS].replace("\r\n", "\n").replace("\0", "")
        width, height = page.get_size()
        scale = min(2.0, side / max(width, height, 1.0))
        if min(width, height) * scale >= 1:
            out = io.BytesIO()
            page.render(scale=scale).to_pil().convert("RGB").save(out, "JPEG", quality=80)
            answer["image"] = out.getvalue()
    except (pypdfium2.PdfiumError, ValueError, OSError) as error:
        answer["problem"] = f"this page is broken: {error}"
    return answer


def _why(message: str) -> str:
    lowered = message.lower()
    if _PASSWORD in lowered:
        return "the PDF is encrypted and needs a password; ask the user for a decrypted copy"
    if _FORMAT in lowered:
        return "the file starts like a PDF but is broken or cut off; it cannot be opened"
    return f"the PDF cannot be opened: {message}"
