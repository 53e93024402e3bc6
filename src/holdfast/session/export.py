"""A session for other programs (JSON) and for people (Markdown)."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.events import encode_json, to_builtins
from holdfast.lib.visible import visible
from holdfast.session.held import loaded
from holdfast.session.repair import whole_conversation
from holdfast.session.summaries import title_of
from holdfast.session.transcript import CallRecord, Transcript

__all__ = ["json_parts", "markdown_parts", "to_document", "to_json", "to_markdown"]

_TICKS = re.compile(r"`+")
EXPORT_VERSION = 1
_PLAIN = (str, int, float, bool, dict, list, type(None))


def to_document(transcript: Transcript) -> dict[str, Any]:
    """Everything about a session as plain JSON values: who, the conversation, each call, what is damaged."""
    return {name: value if isinstance(value, _PLAIN) else list(value) for name, value in _members(transcript)}


def to_json(transcript: Transcript) -> str:
    """The session as one JSON object."""
    return b"".join(json_parts(transcript)).decode("utf-8")


def to_markdown(transcript: Transcript) -> str:
    """The session as a page for people; nothing in it can break out of its place."""
    return "".join(markdown_parts(transcript))


def json_parts(transcript: Transcript, more: Mapping[str, Any] | None = None) -> Iterator[bytes]:
    """The session as one JSON object, in parts that are never all in memory; `more` are further members of it."""
    before = b"{"
    for name, value in (*_members(transcript), *(more or {}).items()):
        yield before + encode_json(name) + b":"
        before = b","
        if isinstance(value, _PLAIN):
            yield encode_json(value)
            continue
        between = b"["
        for item in value:
            yield between + encode_json(item)
            between = b","
        yield b"]" if between == b"," else b"[]"
    yield b"}"


def markdown_parts(transcript: Transcript) -> Iterator[str]:
    """The page, in parts."""
    header = transcript.header
    title = title_of(transcript) or (header.session_id if header else "Session")
    yield f"# {_inline(title)}"
    if header is not None:
        moment = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(header.created_at))
        yield f"\n\nSession {_code(header.session_id)}, begun {moment} in {_code(header.cwd or '?')}."
    states = {call.id: call for call in transcript.calls}
    for message in whole_conversation(transcript):
        for block in message["content"]:
            for part in _SECTIONS.get(block.get("type", ""), _other)(block, message["role"], states):
                yield f"\n\n{part}"
    yield "\n"


def _members(transcript: Transcript) -> Iterator[tuple[str, Any]]:
    """What the object says, name by name; long lists as iterators."""
    header = transcript.header
    yield "version", EXPORT_VERSION
    yield "session_id", header.session_id if header else None
    yield "created_at", header.created_at if header else None
    yield "cwd", transcript.cwd
    yield "parent", header.parent if header else None
    yield "title", title_of(transcript)
    yield "turns", transcript.turns
    yield "closed", transcript.closed
    yield "messages", map(to_builtins, whole_conversation(transcript))
    yield "calls", map(_call, transcript.calls)
    yield "notes", ({"kind": note.kind, "data": loaded(note.data)} for note in transcript.notes)
    yield (
        "health",
        {
            "damaged_lines": transcript.damaged_lines,
            "unknown_lines": transcript.unknown_lines,
            "lost_lines": transcript.lost_lines,
            "torn_tail": transcript.torn_tail,
        },
    )


def _call(call: CallRecord) -> dict[str, Any]:
    reply = call.reply
    return {
        "id": call.id,
        "name": call.name,
        "input": to_builtins(loaded(call.input)),
        "state": call.state,
        "at": call.at,
        "read_only": call.read_only,
        "decision": to_builtins(loaded(call.decision.decision)) if call.decision else None,
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
