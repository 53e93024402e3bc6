"""What an editor sends as a prompt, as blocks for the model."""

from typing import Any
from urllib.parse import unquote, urlsplit

from holdfast.acp.wire import INVALID_PARAMS, RpcError, as_object

__all__ = ["prompt_of", "text_block"]

Block = dict[str, Any]


def text_block(text: str) -> Block:
    """A text as the protocol writes it."""
    return {"type": "text", "text": text}


def prompt_of(blocks: list[Any]) -> str | list[Block]:
    """The prompt; a plain text where it is nothing else, because such a text can be a command.

    Raises:
        RpcError: A block is of a kind that was not offered, or is broken.
    """
    found = [_block(block) for block in blocks]
    if not found:
        raise RpcError(INVALID_PARAMS, "the prompt is empty")
    if all(block["type"] == "text" for block in found):
        return "\n".join(str(block["text"]) for block in found)
    return found


def _block(block: Any) -> Block:
    given = as_object(block)
    kind = given.get("type")
    make = _KINDS.get(str(kind))
    if make is None:
        raise RpcError(INVALID_PARAMS, f"prompts of the type {kind!r} are not taken; text, image and resources are")
    try:
        return make(given)
    except (KeyError, TypeError, ValueError) as error:
        raise RpcError(INVALID_PARAMS, f"a block of the type {kind!r} is broken: {error}") from error


def _text(block: Block) -> Block:
    return {"type": "text", "text": str(block["text"])}


def _image(block: Block) -> Block:
    source = {"type": "base64", "media_type": str(block["mimeType"]), "data": str(block["data"])}
    return {"type": "image", "source": source}


def _link(block: Block) -> Block:
    return {"type": "text", "text": f"@{_path_of(str(block['uri']))}"}


def _resource(block: Block) -> Block:
    """A file that the editor sends along: data, under its name."""
    resource = block["resource"]
    uri = _path_of(str(resource["uri"]))
    if "text" not in resource:
        media_type = str(resource.get("mimeType") or "")
        if media_type.startswith("image/"):
            return _image({"mimeType": media_type, "data": resource["blob"]})
        return {"type": "text", "text": f"[{uri}: {media_type or 'binary'} content that cannot be shown]"}
    from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - initialize is answered without it

    return {"type": "text", "text": f"<context ref={uri!r}>\n{defused(str(resource['text']))}\n</context>"}


_KINDS = {"text": _text, "image": _image, "resource_link": _link, "resource": _resource}


def _path_of(uri: str) -> str:
    """The path of a local file; any other address as it is."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    line = f"#{parts.fragment}" if parts.fragment else ""
    return unquote(parts.path) + line
