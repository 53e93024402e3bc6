"""Go on with a conversation of which there is only a transcript in the layout that other programs write.

Such a file is read once and becomes a session of ours with the same id; the file itself stays as it is.
"""

import logging
import os
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.session.cutting import names_of
from holdfast.session.errors import SessionError
from holdfast.session.mirror import mirror_path
from holdfast.session.records import PARTS, PROMPTS, TITLE, MessageRecorded, Role

if TYPE_CHECKING:
    from holdfast.session.directory import Session, SessionStore
    from holdfast.session.transcript import Transcript

__all__ = ["adopt_transcript", "catch_up", "newest_transcript"]

_log = logging.getLogger(__name__)
Entry = dict[str, Any]
_LIMIT_BYTES = 256 << 20
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUFFIX = ".jsonl"
_INVENTED = "<synthetic>"
"""The model of messages that no model wrote."""
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Kinds of entries that name the conversation, from the weightiest."""


def newest_transcript(config: str, cwd: str) -> str | None:
    """The id of the conversation of this directory that was written to last."""
    folder = os.path.dirname(mirror_path(config, cwd, "x"))
    try:
        with os.scandir(folder) as entries:
            found = {
                one.name.removesuffix(_SUFFIX): one.stat(follow_symlinks=False).st_mtime_ns
                for one in entries
                if one.name.endswith(_SUFFIX) and _ID.fullmatch(one.name.removesuffix(_SUFFIX))
            }
    except OSError:
        return None
    return max(found, key=lambda id_: (found[id_], id_)) if found else None


def catch_up(session: "Session", remembered: "Transcript", config: str, cwd: str, session_id: str) -> int:
    """Take over what was said elsewhere since, where the transcript goes on from our last message; how many messages.

    Where it goes another way, the session goes on as it is here.
    """
    path = mirror_path(config, cwd, session_id)
    known = {name for message in remembered.messages for name in names_of(message)}
    try:
        said = _conversation(list(_entries(_read(path) or b""))) if known else []
    except SessionError as error:
        _log.warning("%s", error)
        return 0
    chain = [str(entry["uuid"]) for entry in said]
    news = [entry for entry, name in zip(said, chain, strict=True) if name not in known]
    last = set(names_of(remembered.messages[-1])) if known else set[str]()
    if not news:
        return 0
    if chain[: len(chain) - len(news)] and last & set(chain) and all(name in known for name in chain[: -len(news)]):
        for message in _records(news):
            session.journal.record(message)
            remembered.take(message)
        return len(news)
    _log.warning("%s: the conversation went another way there; it goes on as it is here", path)
    return 0


def adopt_transcript(store: "SessionStore", config: str, cwd: str, session_id: str) -> bool:
    """Make a session of the transcript of this id and directory; false where there is none.

    Raises:
        SessionError: There is one, and it cannot be read, or nothing was said in it.
    """
    if not _ID.fullmatch(session_id):
        return False
    path = mirror_path(config, cwd, session_id)
    data = _read(path)
    if data is None:
        return False
    entries = list(_entries(data))
    said = _conversation(entries)
    if not said:
        raise SessionError("the transcript holds no conversation", path=path)
    session = store.create(cwd, session_id=session_id)
    try:
        for message in _records(said):
            session.journal.record(message)
        if title := _title(entries):
            session.journal.record_note(TITLE, title)
    finally:
        session.close()
    return True


def _read(path: str) -> bytes | None:
    try:
        return read_guarded(path, limit_bytes=_LIMIT_BYTES, owner="me", follow=False)
    except OSError as error:
        raise SessionError(f"the transcript cannot be read: {error}", path=path) from error


def _records(said: list[Entry]) -> Iterator[MessageRecorded]:
    """The entries as messages: what belongs to one answer, and the results of its calls, stands together."""
    for (role, _), group in groupby(said, _belongs):
        entries = list(group)
        blocks = [block for entry in entries for block in _blocks(entry)]
        parts = [str(entry["uuid"]) for entry in entries for _ in _blocks(entry)]
        meta = _meta(entries[0])
        yield MessageRecorded(role, blocks, meta if len(entries) == 1 else {**meta, PARTS: parts})


def _belongs(entry: Entry) -> tuple[Role, str]:
    """Where an entry stands: entries side by side that are equal in this are one message."""
    if entry["type"] == "assistant":
        return "assistant", _answer_id(entry) or str(entry["uuid"])
    return "user", "results" if _ids(entry, "tool_result", "tool_use_id") else str(entry["uuid"])


def _entries(data: bytes) -> Iterator[Entry]:
    for line in data.splitlines():
        try:
            found: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue  # a line that was cut, or something else
        if isinstance(found, dict):
            yield cast("Entry", found)


def _conversation(entries: list[Entry]) -> list[Entry]:
    """The messages that lead to the last one, in their order: what was taken back or put aside is not among them."""
    named = {str(entry["uuid"]): entry for entry in entries if isinstance(entry.get("uuid"), str)}
    messages = [entry for entry in named.values() if _is_message(entry)]
    if not messages:
        return []
    kept: set[str] = set()
    at: Any = messages[-1]["uuid"]
    while isinstance(at, str) and at in named and at not in kept:
        kept.add(at)
        at = named[at].get("parentUuid")
    # Calls of one answer stand side by side, each with its result: only one of them leads on.
    answers = {id_ for one in messages if one["uuid"] in kept and (id_ := _answer_id(one))}
    kept |= {str(one["uuid"]) for one in messages if _answer_id(one) in answers}
    calls = {id_ for one in messages if one["uuid"] in kept for id_ in _ids(one, "tool_use", "id")}
    found = [one for one in messages if one["uuid"] in kept or calls & set(_ids(one, "tool_result", "tool_use_id"))]
    for name in kept:
        anchor, saved = _preserved(named[name])
        if anchor in kept and (more := [one for one in messages if one["uuid"] in saved and one not in found]):
            at_index = next((at for at, one in enumerate(found) if one["uuid"] == anchor), -1) + 1
            found[at_index:at_index] = more
    return found


def _preserved(entry: Entry) -> tuple[str, frozenset[str]]:
    """Where a conversation was shortened: the message behind which these earlier ones still count."""
    saved = _object(_object(entry.get("compactMetadata")).get("preservedMessages"))
    uuids: Any = saved.get("uuids")
    named = cast("list[Any]", uuids) if isinstance(uuids, list) else []
    return str(saved.get("anchorUuid")), frozenset(map(str, named))


def _object(value: Any) -> Entry:
    return cast("Entry", value) if isinstance(value, dict) else {}


def _is_message(entry: Entry) -> bool:
    message: Any = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or entry.get("isSidechain") is True:
        return False
    if not isinstance(message, dict) or cast("Entry", message).get("model") == _INVENTED:
        return False
    return bool(_blocks(entry))


def _answer_id(entry: Entry) -> str | None:
    found = entry["message"].get("id") if entry["type"] == "assistant" else None
    return found if isinstance(found, str) and found else None


def _ids(entry: Entry, kind: str, name: str) -> list[str]:
    return [str(block[name]) for block in _blocks(entry) if block.get("type") == kind and block.get(name)]


def _blocks(entry: Entry) -> list[Entry]:
    content: Any = entry["message"].get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("Entry", block) for block in blocks if isinstance(block, dict)]


def _meta(entry: Entry) -> Entry:
    """What is known of a message besides its words; it keeps its name, so that it is found again by it."""
    name = str(entry["uuid"])
    message: Entry = entry["message"]
    if entry["type"] == "assistant":
        model = str(message.get("model") or "")
        found = {"uuid": name, "model": model, "id": _answer_id(entry) or "", "stop_reason": message.get("stop_reason")}
        return {**found, "asked": f"anthropic:{model}"} if model else found
    is_prompt = not entry.get("isMeta") and not _ids(entry, "tool_result", "tool_use_id")
    return {"uuid": name, **({PROMPTS: [[name, len(_blocks(entry))]]} if is_prompt else {})}


def _title(entries: list[Entry]) -> str:
    """What the conversation is called, by whoever has said so last."""
    for kind, field in _TITLES.items():
        titles = [one[field] for one in entries if one.get("type") == kind and isinstance(one.get(field), str)]
        if titles and titles[-1].strip():
            return " ".join(titles[-1].split())
    return ""
