"""What a model reads: text, image, document and tool-reference blocks, and the tool call it sends."""

import base64
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.contract.errors import UsageError

__all__ = ["Block", "Content", "Document", "Image", "Text", "ToolReference", "ToolUse", "content_to_wire", "text_of"]

_PICTURES = ((b"\x89PNG\r\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


class Text(NamedTuple):
    """Plain text."""

    text: str

    def to_wire(self) -> dict[str, Any]:
        """The block as JSON for a model."""
        return {"type": "text", "text": self.text}


class Image(NamedTuple):
    """A picture, as encoded bytes."""

    data: bytes
    media_type: str

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Image":
        """A PNG, JPEG, GIF or WebP file as a picture for the model."""
        with open(path, "rb") as file:
            data = file.read()
        kind = next(
            (kind for start, kind in _PICTURES if data.startswith(start) and (kind != "webp" or data[8:12] == b"WEBP")),
            None,
        )
        if kind is None:
            raise UsageError(f"{os.fspath(path)!r} is not a PNG, JPEG, GIF or WebP file; convert it to one of these")
        return cls(data, f"image/{kind}")

    def to_wire(self) -> dict[str, Any]:
        """The block as JSON for a model."""
        return {"type": "image", "source": _base64_source(self.data, self.media_type)}


class Document(NamedTuple):
    """A document such as a PDF, as bytes."""

    data: bytes
    media_type: str = "application/pdf"
    title: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """The block as JSON for a model."""
        block: dict[str, Any] = {"type": "document", "source": _base64_source(self.data, self.media_type)}
        if self.title is not None:
            block["title"] = self.title
        return block


class ToolReference(NamedTuple):
    """Names a tool whose schema the provider should load."""

    tool_name: str

    def to_wire(self) -> dict[str, Any]:
        """The block as JSON for a model."""
        return {"type": "tool_reference", "tool_name": self.tool_name}


Block = Text | Image | Document | ToolReference
Content = str | tuple[Block, ...]
"""What one reply carries: plain text, or several blocks."""


class ToolUse(NamedTuple):
    """One call as a model sends it; `input` may still be raw JSON text."""

    id: str
    name: str
    input: Mapping[str, Any] | str


def content_to_wire(content: Content) -> str | list[dict[str, Any]]:
    """The content as JSON for a model: text stays a plain string."""
    return content if isinstance(content, str) else [block.to_wire() for block in content]


def text_of(content: Content) -> str:
    """All text in the content, joined by newlines; pictures and documents are left out."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))


def _base64_source(data: bytes, media_type: str) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
