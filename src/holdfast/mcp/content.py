"""What a remote call gave, as a reply of ours: text, pictures, resources. All of it is data, never an instruction."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.contract import Block, Content, Image, Text
from holdfast.lib.visible import visible
from holdfast.mcp.wire import NOTHING, McpError

__all__ = ["CallReply", "SaveBlob", "part_blocks", "read_reply", "to_content"]

SaveBlob = Callable[[bytes, str], str | None]
"""Keeps bytes in a file, given their media type, and says where; None when that is not possible."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_BLOCKS = 1000
_MAX_PICTURE_BYTES = 5 << 20
_NAME_CHARS = 300


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    uri: str = ""
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    resource: _Resource | None = None


class CallReply(msgspec.Struct, frozen=True):
    """The answer to `tools/call`."""

    content: list[_Part] = []
    structured: msgspec.Raw = msgspec.field(default=NOTHING, name="structuredContent")
    is_error: bool | None = msgspec.field(default=None, name="isError")
    meta: msgspec.Raw = msgspec.field(default=NOTHING, name="_meta")
    result_type: str | None = msgspec.field(default=None, name="resultType")
    input_requests: msgspec.Raw = msgspec.field(default=NOTHING, name="inputRequests")
    request_state: str | None = msgspec.field(default=None, name="requestState")


_reply = msgspec.json.Decoder(CallReply)
_part = msgspec.json.Decoder(_Part)


def read_reply(raw: msgspec.Raw) -> CallReply:
    """Read the answer to a call.

    Raises:
        McpError: It is not what the protocol says.
    """
    if not _is_there(raw):
        return CallReply()
    try:
        return _reply.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise McpError(f"the answer of the server is not what the protocol says: {error}") from error


def to_content(reply: CallReply, save: SaveBlob | None = None) -> Content:
    """The reply as the model reads it. Structured content stands for itself only where no text says the same."""
    blocks: list[Block] = []
    for part in reply.content[:_MAX_BLOCKS]:
        blocks += _blocks(part, save)
    if len(reply.content) > _MAX_BLOCKS:
        blocks.append(Text(f"[{len(reply.content) - _MAX_BLOCKS} more parts of the answer are left out]"))
    if _is_there(reply.structured) and not any(isinstance(block, Text) for block in blocks):
        blocks.insert(0, Text(bytes(reply.structured).decode("utf-8", "replace")))
    if not blocks:
        return "(the server answered with nothing)"
    if all(isinstance(block, Text) for block in blocks):
        return "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    return tuple(blocks)


def part_blocks(raw: msgspec.Raw, save: SaveBlob | None = None) -> list[Block]:
    """One part of what a server says, such as of a prompt.

    Raises:
        McpError: It is not what the protocol says.
    """
    try:
        return _blocks(_part.decode(raw), save)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise McpError(f"what the server says is not what the protocol says: {error}") from error


def _blocks(part: _Part, save: SaveBlob | None) -> list[Block]:
    if part.type == "text":
        return [Text(part.text or "")]
    if part.type == "image":
        return [_picture(part.data, part.mime_type, save)]
    if part.type == "audio":
        return [_kept("audio", part.data, part.mime_type, save)]
    if part.type == "resource_link":
        about = f": {part.description}" if part.description else ""
        title = part.title or part.name or ""
        return [Text(f"[resource {_short(part.uri)} {_short(title)}{_short(about)}]")]
    if part.type == "resource" and part.resource is not None:
        return [_resource(part.resource, save)]
    return [Text(f"[a part of the kind {_short(part.type)!r}, which cannot be shown]")]


def _resource(resource: _Resource, save: SaveBlob | None) -> Block:
    if resource.text is not None:
        return Text(f"[resource {_short(resource.uri)}]\n{resource.text}")
    if resource.mime_type in _PICTURES:
        return _picture(resource.blob, resource.mime_type, save)
    return _kept(f"resource {_short(resource.uri)}", resource.blob, resource.mime_type, save)


def _picture(data: str | None, media_type: str | None, save: SaveBlob | None) -> Block:
    found = _decoded(data)
    if found is None:
        return Text("[a picture whose data cannot be read]")
    if media_type not in _PICTURES or len(found) > _MAX_PICTURE_BYTES:
        return _kept("picture", data, media_type, save)
    return Image(found, media_type)


def _kept(what: str, data: str | None, media_type: str | None, save: SaveBlob | None) -> Text:
    found = _decoded(data)
    if found is None:
        return Text(f"[{what} whose data cannot be read]")
    kind = _short(media_type or "application/octet-stream")
    place = None if save is None else save(found, kind)
    where = f"saved to {place}" if place else "not shown"
    return Text(f"[{what}, {kind}, {len(found):,} bytes, {where}]")


def _decoded(data: str | None) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True) if data else None
    except (binascii.Error, ValueError):
        return None


def _short(text: str | None) -> str:
    return visible(text or "", limit_chars=_NAME_CHARS)


def _is_there(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"null")


def plain(raw: msgspec.Raw) -> Any:
    """A value that is passed through as it came."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
