"""Pictures, PDFs and notebooks as Read shows them."""

import base64
import os
import re
from typing import Any

from holdfast.contract import ArgumentsInvalid, Block, FileRead, FileStamp, Image, Text, ToolFailed, ToolResult
from holdfast.host.bounded import run_bounded
from holdfast.host.file_state import stamp_read
from holdfast.host.parsing import ParseError
from holdfast.tools.files._notebook import read_cells
from holdfast.tools.files._pdf import MAX_PAGES
from holdfast.tools.files._text import MAX_TOKENS

_PAGES = re.compile(r"\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?\s*)?")
_MAX_NOTEBOOK_BYTES = 100 * 1024 * 1024
_TRUSTED_NOTEBOOK_BYTES = 2 * 1024 * 1024


async def show_notebook(
    handle: int, real: str, shown_as: str, *, window: tuple[int, int], before: FileStamp | None
) -> ToolResult[dict[str, Any]]:
    """Show cells of a notebook with their outputs; a large one is taken apart in a limited process."""
    size = os.fstat(handle).st_size
    if size > _MAX_NOTEBOOK_BYTES:
        raise ToolFailed(f"{shown_as!r} has {size:,} bytes; notebooks up to {_MAX_NOTEBOOK_BYTES:,} are read")
    first, limit = window
    request = {"first": first, "limit": limit, "max_tokens": MAX_TOKENS}
    if size > _TRUSTED_NOTEBOOK_BYTES:
        found = await run_bounded("holdfast.tools.files._notebook", "read_cells", handle, request)
    else:
        try:
            found = read_cells(handle, request)
        except ParseError as error:
            raise ToolFailed(str(error)) from error
    blocks: list[Block] = [
        Text(data.decode("utf-8")) if kind == "text/plain" else Image(data, kind) for kind, data in found["parts"]
    ]
    whole = first == 1 and found["shown"] == found["count"]
    if not whole:
        until = first - 1 + found["shown"]
        blocks.append(Text(f"[Cells {first} to {until} of {found['count']}; read on with offset {until + 1}.]"))
    stamp = stamp_read(handle, shown=(0, size if whole else 0), window=window, whole=whole, before=before)
    data = {"type": "notebook", "file": {"filePath": real, "cells": found["cells"]}}
    return ToolResult(data, tuple(blocks) or "[The notebook has no cells.]", modifiers=(FileRead(real, stamp),))


async def show_image(handle: int, real: str, shown_as: str) -> ToolResult[dict[str, Any]]:
    """Show a picture, scaled down to what a model can afford."""
    found = await run_bounded("holdfast.tools.files._image", "shrink", handle, {})
    size = os.fstat(handle).st_size
    dimensions = {
        "originalWidth": found["width"],
        "originalHeight": found["height"],
        "displayWidth": found["shown_width"],
        "displayHeight": found["shown_height"],
    }
    note = f"[{shown_as}: {found['width']} by {found['height']} pixels, {size:,} bytes"
    if (found["width"], found["height"]) != (found["shown_width"], found["shown_height"]):
        note += f"; shown at {found['shown_width']} by {found['shown_height']}"
    if found["frames"] > 1:
        note += f"; the first of {found['frames']} frames"
    file = {
        "filePath": real,
        "base64": base64.b64encode(found["data"]).decode("ascii"),
        "type": found["media_type"],
        "originalSize": size,
        "dimensions": dimensions,
    }
    blocks = (Text(f"{note}.]"), Image(found["data"], found["media_type"]))
    return ToolResult({"type": "image", "file": file}, blocks)


async def show_pdf(handle: int, real: str, wanted: str | None) -> ToolResult[dict[str, Any]]:
    """Show pages of a PDF as text and pictures."""
    first, last = (None, None) if wanted is None else _page_range(wanted)
    found = await run_bounded("holdfast.tools.files._pdf", "read_pages", handle, {"first": first, "last": last})
    blocks: list[Block] = []
    pages: list[dict[str, Any]] = []
    for page in found["pages"]:
        text = page["text"].strip() or page.get("problem") or "(no text on this page)"
        blocks.append(Text(f"[Page {page['number']} of {found['count']}]\n{text}"))
        if page["image"] is not None:
            blocks.append(Image(page["image"], "image/jpeg"))
        pages.append({"number": page["number"], "text": page["text"]})
    file = {"filePath": real, "originalSize": os.fstat(handle).st_size, "count": found["count"], "pages": pages}
    return ToolResult({"type": "parts", "file": file}, tuple(blocks) or "[The PDF has no pages.]")


def _page_range(text: str) -> tuple[int, int | None]:
    found = _PAGES.fullmatch(text)
    if found is None:
        raise ArgumentsInvalid(f"`pages` must look like '3' or '2-5', got {text!r}")
    first = int(found[1])
    last = first if found[2] is None else int(found[3]) if found[3] else None
    if first < 1 or (last is not None and last < first):
        raise ArgumentsInvalid(f"`pages` start at 1, got {text!r}")
    if last is not None and last - first >= MAX_PAGES:
        raise ArgumentsInvalid(f"`pages` may name at most {MAX_PAGES} pages a call, got {text!r}; ask in parts")
    return first, last
