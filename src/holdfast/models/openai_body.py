"""A request as chat.completions wants it: our messages translated, the tool list put in as the bytes it is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.events import encode_json
from holdfast.models.interface import Effort, ModelRequest
from holdfast.models.strict import without_strict

__all__ = ["Dialect", "arguments_text", "chat_body", "chat_messages", "data_url", "effort_word"]

_REASONERS = ("o1", "o3", "o4", "gpt-5", "gpt-6")


class Dialect(NamedTuple):
    """What this server wants to read. Servers of the same wire differ in these."""

    is_openai: bool = False
    """OpenAI itself: pictures, documents and the newest fields are known there."""
    names_completion_tokens: bool = False
    """`max_completion_tokens` instead of `max_tokens`."""
    takes_stream_options: bool = True
    wants_reasoning: bool = False
    """Thinking goes back as `reasoning_content`; else it is left out."""


def chat_body(
    request: ModelRequest, model: str, dialect: Dialect, *, max_tokens: int | None, extra: Mapping[str, Any]
) -> bytes:
    """The whole body."""
    head: dict[str, Any] = {"model": model}
    if request.is_streaming:
        head["stream"] = True
        if dialect.takes_stream_options:
            head["stream_options"] = {"include_usage": True}
    limit = request.max_output_tokens or max_tokens
    if limit is not None:
        head["max_completion_tokens" if dialect.names_completion_tokens else "max_tokens"] = limit
    if request.effort is not None and (not dialect.is_openai or model.startswith(_REASONERS)):
        head["reasoning_effort"] = effort_word(request.effort, model, is_openai=dialect.is_openai)
    if request.stop_sequences:
        head["stop"] = list(request.stop_sequences)
    has_tools = len(request.tools) > 2
    if has_tools and request.tool_choice != "auto":
        head["tool_choice"] = _tool_choice(request.tool_choice)
    added = {**extra, **(request.extra or {})}
    parts = [encode_json({**head, **added})[:-1]]
    if has_tools and "tools" not in added:
        parts += (b',"tools":', request.tools if dialect.is_openai else without_strict(request.tools))
    if "messages" not in added:
        parts += (b',"messages":', encode_json(chat_messages(request, dialect)))
    parts.append(b"}")
    return b"".join(parts)


def chat_messages(request: ModelRequest, dialect: Dialect) -> list[dict[str, Any]]:
    """The system prompt and the conversation as chat messages."""
    told: list[dict[str, Any]] = []
    if system := "\n\n".join(block.text for block in request.system if block.text.strip()):
        told.append({"role": "system", "content": system})
    for message in request.messages:
        content = message["content"]
        if isinstance(content, str):
            told.append({"role": message["role"], "content": content})
        elif message["role"] == "assistant":
            told += _assistant(content, dialect)
        else:
            told += _user(content, dialect)
    return told


def _assistant(blocks: Sequence[Mapping[str, Any]], dialect: Dialect) -> Iterator[dict[str, Any]]:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    message: dict[str, Any] = {"role": "assistant", "content": text}
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": arguments_text(block["input"])},
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    if calls:
        message["tool_calls"] = calls
    if dialect.wants_reasoning:
        thoughts = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        if thoughts:
            message["reasoning_content"] = thoughts
    if text or calls:
        yield message


def _user(blocks: Sequence[Mapping[str, Any]], dialect: Dialect) -> Iterator[dict[str, Any]]:
    """Results first, each a message of its own; what else the user says follows, with pictures out of the results."""
    said: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] != "tool_result":
            said += _parts([block], dialect)
            continue
        content = block.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(_parts(content, dialect))
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        seen = [part for part in parts if part["type"] != "text"]
        if seen:
            said += [{"type": "text", "text": f"What the call {block['tool_use_id']} gave to look at:"}, *seen]
        shown = text or ("The result follows as a picture." if seen else "(no output)")
        yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": shown}
    if said:
        is_text = all(part["type"] == "text" for part in said)
        # Many servers know only text content: parts are sent where there is something else than text.
        yield {"role": "user", "content": "\n\n".join(part["text"] for part in said) if is_text else said}


def _parts(blocks: Iterable[Mapping[str, Any]], dialect: Dialect) -> Iterator[dict[str, Any]]:
    for block in blocks:
        kind = block["type"]
        source: Mapping[str, Any] = block.get("source") or {}
        if kind == "text":
            yield {"type": "text", "text": block["text"]}
        elif kind == "image":
            url = source["url"] if source.get("type") == "url" else data_url(source)
            yield {"type": "image_url", "image_url": {"url": url}}
        elif kind == "document" and source.get("type") == "text":
            yield {"type": "text", "text": source["data"]}
        elif kind == "document" and source.get("type") == "base64" and dialect.is_openai:
            name = block.get("title") or "document.pdf"
            yield {"type": "file", "file": {"filename": name, "file_data": data_url(source)}}
        elif kind == "tool_reference":
            yield {"type": "text", "text": f"The tool {block.get('tool_name')} can be called now."}
        elif kind not in {"thinking", "redacted_thinking"}:
            yield {"type": "text", "text": f"[a {kind} that this model cannot be shown]"}


def data_url(source: Mapping[str, Any]) -> str:
    """Bytes as an address that holds them."""
    return f"data:{source.get('media_type', 'application/octet-stream')};base64,{source.get('data', '')}"


def arguments_text(value: Any) -> str:
    """The input of a call as the text that it was."""
    return value if isinstance(value, str) else encode_json(value).decode()


def _tool_choice(choice: str) -> Any:
    if choice == "none":
        return "none"
    return "required" if choice == "any" else {"type": "function", "function": {"name": choice}}


def effort_word(effort: Effort, model: str, *, is_openai: bool) -> str:
    """The effort in the provider's words."""
    if effort not in {"xhigh", "max"}:
        return effort
    is_old = model.startswith(("o", "gpt-5-")) or model in {"gpt-5", "gpt-5.1"}
    return "high" if is_old or not is_openai else "xhigh"
