"""A notebook as a model reads it: cells with their names, sources, outputs and pictures."""

import base64
import binascii
import re
from collections.abc import Generator
from typing import Any, cast

from holdfast.contract import Block, Image, Text
from holdfast.lib.ipynb import Cell, Notebook, joined
from holdfast.lib.tokens import estimate_tokens

_MAX_OUTPUT_CHARS = 10_000
_MAX_IMAGE_BYTES = 1_500_000
_MAX_IMAGES = 20
_ANSI = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")


def show_cells(book: Notebook, *, first: int, limit: int, max_tokens: int) -> tuple[list[Block], int]:
    """Return the blocks for cells from `first` (from 1), and how many cells they cover."""
    blocks: list[Block] = []
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
                blocks += (Text("\n".join(texts)), picture)
                texts = []
    if texts:
        blocks.append(Text("\n".join(texts)))
    return blocks, shown


def _show(cell: Cell, language: str) -> tuple[str, list[Image]]:
    kind = f"code, {language}" if cell.kind == "code" else cell.kind
    lines = [f'<cell id="{cell.name}" type="{kind}">', cell.source, "</cell>"]
    pictures: list[Image] = []
    outputs = cell.data.get("outputs")
    if isinstance(outputs, list):
        for output in cast("list[object]", outputs):
            if isinstance(output, dict):
                for part in _show_output(cast("dict[str, Any]", output)):
                    if isinstance(part, Image):
                        pictures.append(part)
                    else:
                        lines.append(f"<output>\n{_cut(part)}\n</output>")
    return "\n".join(lines), pictures


def _cut(text: str) -> str:
    if len(text) <= _MAX_OUTPUT_CHARS:
        return text
    return f"{text[:_MAX_OUTPUT_CHARS]}\n… [output cut: it has {len(text):,} characters]"


def _show_output(output: dict[str, Any]) -> Generator[str | Image]:
    kind = output.get("output_type")
    if kind == "stream":
        yield joined(output.get("text", "")).rstrip("\n")
    elif kind == "error":
        trace = _ANSI.sub("", "\n".join(map(str, output.get("traceback") or ())))
        yield trace or f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    elif isinstance(output.get("data"), dict):
        yield from _show_data(cast("dict[str, Any]", output["data"]))


def _show_data(data: dict[str, Any]) -> Generator[str | Image]:
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


def _picture(encoded: str, media_type: str) -> Image | None:
    if len(encoded) > _MAX_IMAGE_BYTES * 4 // 3:
        return None
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(data, media_type) if data else None
