"""A session for other programs (JSON) and for people (Markdown)."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.events import encode_json, to_builtins
from holdfast.lib.visible import visible
from holdfast.session.repair import repair
from holdfast.session.summaries import title_of
from holdfast.session.transcript import CallRecord, Transcript

__all__ = ["to_document", "to_json", "to_markdown"]

_TICKS = re.compile(r"`+")
EXPORT_VERSION = 1


def to_document(transcript: Transcript) -> dict[str, Any]:
    """Everything about a session as plain JSON values: who, the conversation, each call, what is damaged."""
    header = transcript.header
    return {
        "version": EXPORT_VERSION,
        "session_id": header.session_id if header else None,
        "created_at": header.created_at if header else None,
        "cwd": transcript.cwd,
        "parent": header.parent if header else None,
        "title": title_of(transcript),
        "turns": transcript.turns,
        "closed": transcript.closed,
        "messages": to_builtins(repair(transcript, whole=True).messages),
        "calls": [_call(call) for call in transcript.calls],
        "notes": [{"kind": note.kind, "data": note.data} for note in transcript.notes],
        "health": {
            "damaged_lines": transcript.damaged_lines,
            "unknown_lines": transcript.unknown_lines,
            "lost_lines": transcript.lost_lines,
            "torn_tail": transcript.torn_tail,
        },
    }


def to_json(transcript: Transcript) -> str:
    """The session as one JSON object."""
    return encode_json(to_document(transcript)).decode("utf-8")


def to_markdown(transcript: Transcript) -> str:
    """The session as a page for people; nothing in it can break out of its place."""
    header = transcript.header
    title = title_of(transcript) or (header.session_id if header else "Session")
    parts = [f"# {_inline(title)}"]
    if header is not None:
        moment = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(header.created_at))
        parts.append(f"Session {_code(header.session_id)}, begun {moment} in {_code(header.cwd or '?')}.")
    states = {call.id: call for call in transcript.calls}
    for message in repair(transcript, whole=True).messages:
        for block in message["content"]:
            parts += _SECTIONS.get(block.get("type", ""), _other)(block, message["role"], states)
    return "\n\n".join(parts) + "\n"


def _call(call: CallRecord) -> dict[str, Any]:
    reply = call.reply
    return {
        "id": call.id,
        "name": call.name,
        "input": to_builtins(call.input),
        "state": call.state,
        "at": call.at,
        "read_only": call.read_only,
        "decision": to_builtins(call.decision.decision) if call.decision else None,
        "outcome": reply.outcome if reply else None,
        "is_error": reply.is_error if reply else None,
        "duration_ms": reply.duration_ms if reply else None,
        "spilled_to": reply.spilled_to if reply else None,
    }


def _text(block: Mapping[str, Any], role: str, calls: Mapping[str, CallRecord]) -> list[str]:
    del calls
    return [f"## {'User' if role == 'user' else 'Assistant'}", _paragraphs(str(block.get("text", "")))]


def _use(block: Mapping[str, Any], role: str, calls: Mapping[str, CallRecord]) -> list[str]:
    del role
    call = calls.get(str(block.get("id")))
    decision = f" ({call.decision.behavior})" if call and call.decision else ""
    shown = encode_json(block.get("input", {})).decode("utf-8")
    return [f"### Call: {_code(str(block.get('name')))}{decision}", _fence(shown, "json")]


def _result(block: Mapping[str, Any], role: str, calls: Mapping[str, CallRecord]) -> list[str]:
    del role
    call = calls.get(str(block.get("tool_use_id")))
    took = f", {call.reply.duration_ms / 1000:.2f} s" if call and call.reply else ""
    content = block.get("content", "")
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text", f"[{part.get('type', 'block')}]")) for part in content)
    return [f"#### {'Error' if block.get('is_error') else 'Result'}{took}", _fence(content, "")]


def _other(block: Mapping[str, Any], role: str, calls: Mapping[str, CallRecord]) -> list[str]:
    del role, calls
    return [f"*[{_inline(str(block.get('type', 'block')))}]*"]


_SECTIONS: dict[str, Callable[[Mapping[str, Any], str, Mapping[str, CallRecord]], list[str]]] = {
    "text": _text,
    "tool_use": _use,
    "tool_result": _result,
}


def _paragraphs(text: str) -> str:
    """Text as it was written, which is Markdown as a rule; only headings are kept from posing as ours."""
    lines = (visible(line.replace("\t", "    ")) for line in text.split("\n"))
    return "\n".join(f"\\{line}" if line.startswith("#") else line for line in lines)


def _fence(text: str, language: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    body = "\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n"))
    return f"{ticks}{language}\n{body}\n{ticks}"


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', chr(39))}`"


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", visible(text))
