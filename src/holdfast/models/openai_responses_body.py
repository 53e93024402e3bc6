"""A request as the Responses API wants it: instructions, and the conversation as items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from holdfast.events import encode_json
from holdfast.models.interface import ModelRequest
from holdfast.models.openai_body import arguments_text, data_url, effort_word

__all__ = ["REASONING", "responses_body"]

REASONING = "openai_reasoning"
"""The key of a thinking block under which the provider's own, encrypted item is kept; it goes back as it came."""
_REASONERS = ("o1", "o3", "o4", "gpt-5", "gpt-6", "codex")


def responses_body(request: ModelRequest, model: str, *, max_tokens: int | None, extra: Mapping[str, Any]) -> bytes:
    """The whole body. Nothing is stored at the provider: the conversation is ours."""
    head: dict[str, Any] = {"model": model, "store": False}
    if request.is_streaming:
        head["stream"] = True
    if system := "\n\n".join(block.text for block in request.system if block.text.strip()):
        head["instructions"] = system
    limit = request.max_output_tokens or max_tokens
    if limit is not None:
        head["max_output_tokens"] = limit
    if model.rpartition("/")[2].startswith(_REASONERS):
        effort = {} if request.effort is None else {"effort": effort_word(request.effort, model, is_openai=True)}
        head["reasoning"] = {**effort, **({"summary": "auto"} if request.thinking else {})}
        head["include"] = ["reasoning.encrypted_content"]
    has_tools = len(request.tools) > 2
    if has_tools and request.tool_choice != "auto":
        head["tool_choice"] = _tool_choice(request.tool_choice)
    added = {**extra, **(request.extra or {})}
    parts = [encode_json({**head, **added})[:-1]]
    if has_tools and "tools" not in added:
        parts += (b',"tools":', _flat(request.tools))
    if "input" not in added:
        parts += (b',"input":', encode_json(list(_items(request.messages))))
    parts.append(b"}")
    return b"".join(parts)


@lru_cache(maxsize=4)
def _flat(tools: bytes) -> bytes:
    """The tool list in this API's form: what chat.completions puts under `function` stands at the top."""
    entries: list[dict[str, Any]] = msgspec.json.decode(tools)
    return encode_json([{"type": "function", "strict": False, **entry["function"]} for entry in entries])


def _items(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            yield from _assistant(blocks)
        else:
            yield from _user(blocks)


def _assistant(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        kind = block["type"]
        if kind == "text" and block["text"]:
            yield {"role": "assistant", "content": block["text"]}
        elif kind == "tool_use":
            arguments = arguments_text(block["input"])
            yield {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
        elif kind == "thinking" and isinstance(block.get(REASONING), Mapping):
            yield dict(block[REASONING])


def _user(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Results first, each an item of its own, pictures in it; what else the user says follows."""
    said: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] != "tool_result":
            said += _parts([block])
            continue
        content = block.get("content") or "(no output)"
        output = content if isinstance(content, str) else list(_parts(content))
        yield {"type": "function_call_output", "call_id": block["tool_use_id"], "output": output}
    if said:
        yield {"role": "user", "content": said}


def _parts(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        kind = block["type"]
        source: Mapping[str, Any] = block.get("source") or {}
        if kind == "text":
            yield {"type": "input_text", "text": block["text"]}
        elif kind == "image":
            url = source["url"] if source.get("type") == "url" else data_url(source)
            yield {"type": "input_image", "image_url": url}
        elif kind == "document" and source.get("type") == "text":
            yield {"type": "input_text", "text": source["data"]}
        elif kind == "document" and source.get("type") == "base64":
            yield {
                "type": "input_file",
                "filename": block.get("title") or "document.pdf",
                "file_data": data_url(source),
            }
        elif kind == "tool_reference":
            yield {"type": "input_text", "text": f"The tool {block.get('tool_name')} can be called now."}
        elif kind not in {"thinking", "redacted_thinking"}:
            yield {"type": "input_text", "text": f"[a {kind} that this model cannot be shown]"}


def _tool_choice(choice: str) -> Any:
    if choice == "none":
        return "none"
    return "required" if choice == "any" else {"type": "function", "name": choice}
