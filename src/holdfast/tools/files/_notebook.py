"""A notebook as a model reads it: cells with their names, sources, outputs and pictures. Runs in a limited process."""

import base64
import binascii
import os
import re
from collections.abc import Generator
from typing import Any, cast

from holdfast.host.parsing import ParseError
from holdfast.lib.ipynb import BrokenNotebookError, Cell, Notebook, joined, parse_notebook
from holdfast.lib.tokens import estimate_tokens

_MAX_OUTPUT_CHARS = 10_000
_MAX_IMAGE_BYTES = 1_500_000
_MAX_IMAGES = 20
_ANSI = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")


Part = tuple[str, bytes]
"""A media type and its bytes; text comes as `text/plain`."""


def read_cells(fd: int, request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the parts to show for cells from `first` (from 1), and what is in the notebook."""
    try:
        with os.fdopen(fd, "rb", closefd=False) as file:
            book = parse_notebook(file.read().decode("utf-8-sig"))
    except (BrokenNotebookError, UnicodeDecodeError) as error:
        raise ParseError(f"the file is not a notebook that can be shown: {error}") from error
    first, limit = request["first"], request["limit"]
    parts, shown = _show_cells(book, first=first, limit=limit, max_tokens=request["max_tokens"])
    chosen = book.cells[first - 1 : first - 1 + shown]
    cells = [{"id": cell.name, "cellType": cell.kind, "source": cell.source} for cell in chosen]
    return {"parts": parts, "shown": shown, "count": len(book.cells), "cells": cells}


def _text(lines: list[str]) -> Part:
    return "text/plain", "\n".join(lines).encode("utf-8", "backslashreplace")


def _show_cells(book: Notebook, *, first: int, limit: int, max_tokens: int) -> tuple[list[Part], int]:
    parts: list[Part] = []
    texts: list[str] = []
    spent = shown = images = 0
    for cell in book.cells[first - 1 : first - 1 + limit]:
        text, pictures = _show(cell, book.language)
        cost = estimate_tokens(text)
        if shown and spent + cost > max_tokens:
            break
        texts.append(text)
        spent += cost
        shown += 1
        for picture in pictures:
            images += 1
            if images <= _MAX_IMAGES:
                parts += (_text(texts), picture)
                texts = []
    if texts:
        parts.append(_text(texts))
    return parts, shown


def _show(cell: Cell, language: str) -> tuple[str, list[Part]]:
    kind = f"code, {language}" if cell.kind == "code" else cell.kind
    lines = [f'<cell id="{cell.name}" type="{kind}">', cell.source, "</cell>"]
    pictures: list[Part] = []
    outputs = cell.data.get("outputs")
    if isinstance(outputs, list):
        for output in cast("list[object]", outputs):
            if isinstance(output, dict):
                for part in _show_output(cast("dict[str, Any]", output)):
                    if isinstance(part, tuple):
                        pictures.append(part)
                    else:
                        lines.append(f"<output>\n{_cut(part)}\n</output>")
    return "\n".join(lines), pictures


def _cut(text: str) -> str:
    if len(text) <= _MAX_OUTPUT_CHARS:
        return text
    return f"{text[:_MAX_OUTPUT_CHARS]}\n… [output cut: it has {len(text):,} characters]"


def _show_output(output: dict[str, Any]) -> Generator[str | Part]:
    kind = output.get("output_type")
    if kind == "stream":
        yield joined(output.get("text", "")).rstrip("\n")
    elif kind == "error":
        trace = _ANSI.sub("", "\n".join(map(str, output.get("traceback") or ())))
        yield trace or f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    elif isinstance(output.get("data"), dict):
        yield from _show_data(cast("dict[str, Any]", output["data"]))


def _show_data(data: dict[str, Any]) -> Generator[str | Part]:
    for media_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if media_type in data:
            picture = _picture(joined(data[media_type]), media_type)
            yield picture if picture is not None else f"[a picture of type {media_type} that cannot be shown]"
    if "text/plain" in data:
        yield joined(data["text/plain"])
    elif "text/html" in data:
        yield joined(data["text/html"])
    elif not any(key.startswith("image/") for key in data):
        yield f"[output of type {', '.join(map(str, data))[:200]}]"


def _picture(encoded: str, media_type: str) -> Part | None:
    if len(encoded) > _MAX_IMAGE_BYTES * 4 // 3:
        return None
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return (media_type, data) if data else None
