"""The replay model: a recorded session's answers, again, against the world as it is now."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import UsageError
from holdfast.events import AssistantReplied, CallFinished, CallQueued, ResultsSent, SessionStarted, encode_event
from holdfast.models import BlockEnded, ModelError, ModelRequest, StreamEnded, Usage
from holdfast.models.replay import ReplayModel
from holdfast.session import load_transcript
from holdfast.session.directory import SessionStore
from holdfast.session.export import to_json

OLD = "/home/old/shop"
READ: dict[str, Any] = {"type": "tool_use", "id": "a1", "name": "Read", "input": {"file_path": f"{OLD}/orders.py"}}
RUN: dict[str, Any] = {"type": "tool_use", "id": "a2", "name": "Bash", "input": {"command": f"cd {OLD} && ls {OLD}2"}}
FIRST: list[dict[str, Any]] = [{"type": "text", "text": "Let me look."}, READ, RUN]
LAST: list[dict[str, Any]] = [{"type": "text", "text": "Done."}]


def results(*, failed: bool = True, ids: tuple[str, str] = ("a1", "a2")) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": ids[0], "content": "x = 1"},
        {"type": "tool_result", "tool_use_id": ids[1], "content": "no", "is_error": failed},
    ]


MESSAGES: list[tuple[Any, Any]] = [("user", "fix it"), ("assistant", FIRST), ("user", results()), ("assistant", LAST)]


def journal(directory: Path) -> Path:
    """A session as the store writes it; returns its directory."""
    session = SessionStore(directory).create(OLD)
    for role, content in MESSAGES:
        session.journal.record_message(role, content)
    session.close()
    return Path(session.path)


def stream_json(path: Path) -> Path:
    """The shape other programs read; each block of the first answer on a line of its own."""
    lines: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "cwd": OLD}]
    lines += [{"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [b]}} for b in FIRST]
    lines += [{"type": "assistant", "parent_tool_use_id": "a9", "message": {"role": "assistant", "content": LAST}}]
    lines += [{"type": "user", "message": {"role": "user", "content": results()}}]
    lines += [{"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": LAST}}, {"type": "result"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def events(path: Path) -> Path:
    """Our own events, as a listener would write them."""
    lines = [
        SessionStarted("s", cwd=OLD),
        AssistantReplied("m1", FIRST, "m", "tool_use", {"input_tokens": 5, "output_tokens": 6}),
        CallQueued("a1", "Read", {}),
        CallFinished("a1", "Read", "x"),
        ResultsSent(results()),
        AssistantReplied("m2", LAST, "m", "end_turn", {}),
    ]
    path.write_bytes(b"".join(encode_event(line) + b"\n" for line in lines))
    return path


def recorded(form: str, directory: Path) -> Path:
    if form == "stream-json":
        return stream_json(directory / "run.jsonl")
    if form == "events":
        return events(directory / "events.jsonl")
    session = journal(directory)
    if form == "directory":
        return session
    if form == "journal":
        return session / "journal.jsonl"
    exported = directory / "export.json"
    exported.write_text(to_json(load_transcript(session / "journal.jsonl")), encoding="utf-8")
    return exported


def blocks(model: ReplayModel, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    async def listen() -> list[dict[str, Any]]:
        stream = model.stream(ModelRequest(messages=messages))
        return [event.block async for event in stream if isinstance(event, BlockEnded)]

    return asyncio.run(listen())


def conversation(*, failed: bool = True) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = [{**READ, "id": "replay_1"}, {**RUN, "id": "replay_2"}]
    return [
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": results(failed=failed, ids=("replay_1", "replay_2"))},
    ]


@pytest.mark.parametrize("form", ["directory", "journal", "export", "stream-json", "events"])
def test_every_form_of_a_recording_gives_the_same_answers_with_new_ids_in_the_new_place(
    tmp_path: Path, form: str
) -> None:
    model = ReplayModel.from_file(recorded(form, tmp_path), cwd="/new")
    assert blocks(model, [{"role": "user", "content": "fix it"}]) == [
        FIRST[0],
        {**READ, "id": "replay_1", "input": {"file_path": "/new/orders.py"}},
        {**RUN, "id": "replay_2", "input": {"command": f"cd /new && ls {OLD}2"}},
    ]
    assert blocks(model, conversation()) == LAST
    asyncio.run(model.close())
    assert model.divergences == []


def test_a_result_that_differs_is_told_and_the_replay_goes_on(tmp_path: Path) -> None:
    model = ReplayModel.from_file(journal(tmp_path))
    blocks(model, [{"role": "user", "content": "fix it"}])
    assert blocks(model, conversation(failed=False)) == LAST
    (told,) = model.divergences
    assert "Bash" in told
    assert "answer 2" in told


def test_strict_ends_at_the_first_difference(tmp_path: Path) -> None:
    model = ReplayModel.from_file(journal(tmp_path), is_strict=True)
    blocks(model, [{"role": "user", "content": "fix it"}])
    with pytest.raises(ModelError) as caught:
        blocks(model, conversation(failed=False))
    assert caught.value.kind == "invalid_request"


def test_more_and_fewer_prompts_than_recorded_are_told(tmp_path: Path) -> None:
    model = ReplayModel.from_file(journal(tmp_path))
    blocks(model, [{"role": "user", "content": "fix it"}])
    asyncio.run(model.close())
    assert model.divergences == ["1 recorded answers were not asked for"]
    again = ReplayModel.from_file(journal(tmp_path))
    blocks(again, [{"role": "user", "content": "fix it"}])
    blocks(again, [{"role": "user", "content": "and then?"}])
    assert any("a prompt that the recording does not have" in text for text in again.divergences)
    with pytest.raises(ModelError, match="longer than"):
        blocks(again, [{"role": "user", "content": "and then?"}])


def test_ids_are_new_also_when_the_conversation_has_replayed_ones(tmp_path: Path) -> None:
    model = ReplayModel.from_file(journal(tmp_path))
    (_, first, second) = blocks(model, [*conversation(), {"role": "assistant", "content": "x"}])
    assert (first["id"], second["id"]) == ("replay_3", "replay_4")


def test_recorded_usage_and_stop_reason_are_kept(tmp_path: Path) -> None:
    model = ReplayModel.from_file(events(tmp_path / "events.jsonl"))

    async def last() -> object:
        return [event async for event in model.stream(ModelRequest(messages=[{"role": "user", "content": "x"}]))][-1]

    assert asyncio.run(last()) == StreamEnded("tool_use", Usage(5, 6))


def test_a_torn_line_is_left_out_and_a_file_without_answers_is_refused(tmp_path: Path) -> None:
    path = stream_json(tmp_path / "run.jsonl")
    path.write_text(path.read_text(encoding="utf-8") + '{"type":"assistant","mess', encoding="utf-8")
    assert ReplayModel.from_file(path).turns_left == 2
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"type":"call_queued"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="no answer"):
        ReplayModel.from_file(empty)
    with pytest.raises(UsageError, match="cannot be read"):
        ReplayModel.from_file(tmp_path / "none")


def test_broken_input_is_replayed_as_the_text_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call = {"type": "tool_use", "id": "a", "name": "Read", "input": '{"file_path": '}
    path.write_text(json.dumps({"type": "assistant", "content": [call]}), encoding="utf-8")
    (block,) = blocks(ReplayModel.from_file(path), [{"role": "user", "content": "x"}])
    assert block["input"] == '{"file_path": '


def test_what_has_no_end_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'/dev/zero' cannot be read: it is neither a file nor a pipe"):
        ReplayModel.from_file("/dev/zero")
    monkeypatch.setattr("holdfast.models.recording._MAX_BYTES", 10)
    with pytest.raises(UsageError, match="more than 10 bytes"):
        ReplayModel.from_file(stream_json(tmp_path / "said.jsonl"))
