"""A request as Gemini wants it: a system instruction, and the conversation as contents of parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec

from holdfast.events import encode_json
from holdfast.models.interface import Effort, ModelRequest

__all__ = ["SIGNATURE", "gemini_body"]

SIGNATURE = "gemini_signature"
"""The key of a thinking block under which the signature of the part behind it is kept; it goes back with that part."""
_BUDGETS: dict[Effort | None, int] = {None: -1, "low": 2_048, "medium": 8_192, "high": 16_384}
"""Of models before Gemini 3, in tokens; -1: as the model sees fit."""
_LARGEST_BUDGET = 24_576


def gemini_body(
    request: ModelRequest, model: str, *, max_tokens: int | None, extra: Mapping[str, Any], for_counting: bool = False
) -> bytes:
    """The whole body."""
    body: dict[str, Any] = {"contents": list(_contents(request.messages))}
    if system := "\n\n".join(block.text for block in request.system if block.text.strip()):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if len(request.tools) > 2:
        body["tools"] = [{"functionDeclarations": _declarations(request.tools)}]
        if request.tool_choice != "auto":
            body["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
    if for_counting:
        return encode_json({"generateContentRequest": {"model": f"models/{model}", **body}})
    chosen: dict[str, Any] = {}
    if limit := request.max_output_tokens or max_tokens:
        chosen["maxOutputTokens"] = limit
    if request.stop_sequences:
        chosen["stopSequences"] = list(request.stop_sequences)
    if request.thinking or request.effort is not None:
        chosen["thinkingConfig"] = _thinking(model, request.effort, shown=request.thinking)
    if chosen:
        body["generationConfig"] = chosen
    return encode_json({**body, **extra, **(request.extra or {})})


@lru_cache(maxsize=4)
def _declarations(tools: bytes) -> list[dict[str, Any]]:
    """The tool list in this API's form; schemas go in as JSON Schema."""
    entries: list[dict[str, Any]] = msgspec.json.decode(tools)
    return [
        {
            "name": entry["function"]["name"],
            "description": entry["function"].get("description", ""),
            "parametersJsonSchema": entry["function"].get("parameters") or {"type": "object"},
        }
        for entry in entries
    ]


def _contents(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    names: dict[str, str] = {}
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        names |= {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
        if message["role"] == "assistant":
            parts, role = list(_said_by_model(blocks)), "model"
        else:
            parts, role = list(_said_by_user(blocks, names)), "user"
        if parts:
            yield {"role": role, "parts": parts}


def _said_by_model(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    signature: Any = None
    for block in blocks:
        kind = block["type"]
        if kind == "thinking":
            signature = block.get(SIGNATURE, signature)
            continue
        part: dict[str, Any] | None = None
        if kind == "text" and block["text"]:
            part = {"text": block["text"]}
        elif kind == "tool_use":
            part = {"functionCall": {"name": block["name"], "args": _arguments(block["input"])}}
        if part is not None:
            if signature is not None:
                part["thoughtSignature"], signature = signature, None
            yield part


def _arguments(given: Any) -> dict[str, Any]:
    """The input of a call; a text that is no JSON object goes back under a name."""
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"input": given}


def _said_by_user(blocks: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Results first, all in one content as the API wants them; pictures out of results follow."""
    said: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] != "tool_result":
            said += _parts([block])
            continue
        content = block.get("content") or ""
        parts = [{"text": content}] if isinstance(content, str) else list(_parts(content))
        text = "\n".join(part["text"] for part in parts if "text" in part)
        seen = [part for part in parts if "text" not in part]
        if seen:
            said += [{"text": f"What the call of {names.get(block['tool_use_id'], 'a tool')} gave to look at:"}, *seen]
        shown = text or ("The result follows as a picture." if seen else "(no output)")
        response = {"error" if block.get("is_error") else "output": shown}
        yield {"functionResponse": {"name": names.get(block["tool_use_id"], "unknown"), "response": response}}
    yield from said


def _parts(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        kind = block["type"]
        source: Mapping[str, Any] = block.get("source") or {}
        if kind == "text":
            yield {"text": block["text"]}
        elif kind == "document" and source.get("type") == "text":
            yield {"text": source["data"]}
        elif kind in {"image", "document"} and source.get("type") == "base64":
            yield {"inlineData": {"mimeType": source.get("media_type"), "data": source.get("data", "")}}
        elif kind in {"image", "document"} and source.get("type") == "url":
            yield {"fileData": {"fileUri": source["url"]}}
        elif kind == "tool_reference":
            yield {"text": f"The tool {block.get('tool_name')} can be called now."}
        elif kind not in {"thinking", "redacted_thinking"}:
            yield {"text": f"[a {kind} that this model cannot be shown]"}


def _tool_choice(choice: str) -> dict[str, Any]:
    if choice == "none":
        return {"mode": "NONE"}
    return {"mode": "ANY"} if choice == "any" else {"mode": "ANY", "allowedFunctionNames": [choice]}


def _thinking(model: str, effort: Effort | None, *, shown: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"includeThoughts": True} if shown else {}
    if model.startswith(("gemini-1", "gemini-2")):
        return {**told, "thinkingBudget": _BUDGETS.get(effort, _LARGEST_BUDGET)}
    if effort is not None:
        told["thinkingLevel"] = "low" if effort == "low" else "high"
    return told
