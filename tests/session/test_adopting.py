"""Conversations of which there is only a transcript in the layout of other programs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.session import SessionError, SessionStore
from holdfast.session.adopting import adopt_transcript, catch_up, newest_transcript
from holdfast.session.mirror import Mirror, mirror_path
from holdfast.session.records import TITLE
from holdfast.session.repair import repair
from holdfast.session.retention import Retention, prune

ID = "7081e914-dd46-4117-a753-988c8ee3bcd7"
Entry = dict[str, Any]


class File:
    """A transcript as another program writes it."""

    def __init__(self, config: Path, project: str, session_id: str = ID) -> None:
        self.path = Path(mirror_path(str(config), os.path.realpath(project), session_id))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._last: str | None = None
        self._count = 0

    def add(self, kind: str, message: Any = None, parent: str | None = "", **fields: Any) -> str:
        self._count += 1
        uuid = f"{self._count:08}-0000-4000-8000-000000000000"
        about = {"type": kind, "uuid": uuid, "parentUuid": self._last if parent == "" else parent, **fields}
        with self.path.open("a") as file:
            file.write(json.dumps(about if message is None else {**about, "message": message}) + "\n")
        self._last = uuid
        return uuid

    def say(self, text: str, **fields: Any) -> str:
        return self.add("user", {"role": "user", "content": text}, **fields)

    def answer(self, *blocks: Entry, id_: str = "msg_1", model: str = "claude-x", **fields: Any) -> str:
        return self.add("assistant", {"role": "assistant", "id": id_, "model": model, "content": [*blocks]}, **fields)

    def words(self, text: str, **fields: Any) -> str:
        return self.answer({"type": "text", "text": text}, **fields)

    def result(self, call: str, text: str, **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.add("user", {"role": "user", "content": [block]}, **fields)


def use(id_: str) -> Entry:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": id_}}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def file(config: Path, project: str) -> File:
    return File(config, project)


def said(store: SessionStore, name: str = ID) -> list[tuple[str, list[str]]]:
    """The conversation: who said what."""
    return [
        (one["role"], [str(block.get("text", block.get("content", block.get("id")))) for block in one["content"]])
        for one in repair(store.load(name)).messages
    ]


def adopt(store: SessionStore, config: Path, project: str, name: str = ID) -> bool:
    return adopt_transcript(store, str(config), os.path.realpath(project), name)


def test_a_conversation_goes_on_where_another_program_left_it(
    store: SessionStore, config: Path, project: str, file: File
) -> None:
    prompt = file.say("list them")
    file.add("attachment", attachment={"type": "date"})
    first = file.answer(use("a"))
    second = file.answer(use("b"))
    file.result("b", "two", parent=second)
    file.result("a", "one", parent=first)
    answer = file.words("both", id_="msg_2")
    file.add("custom-title", customTitle="My  title")
    assert adopt(store, config, project)
    assert said(store) == [
        ("user", ["list them"]), ("assistant", ["a", "b"]), ("user", ["one", "two"]), ("assistant", ["both"]),
    ]  # fmt: skip
    found = store.load(ID)
    assert found.messages[0].prompts == ((prompt, 1),)
    assert (found.messages[-1].uuid, found.messages[-1].model) == (answer, "anthropic:claude-x")
    assert [note.data for note in found.notes if note.kind == TITLE] == ["My title"]


def test_what_was_put_aside_does_not_come_back(store: SessionStore, config: Path, project: str, file: File) -> None:
    first = file.say("one")
    file.words("old answer")
    file.say("inner", parent=first, isSidechain=True)
    file.answer({"type": "text", "text": "API Error"}, model="<synthetic>", parent=first)
    file.words("new answer", parent=first, id_="msg_9")
    with file.path.open("ab") as broken:
        broken.write(b'not json\n[1]\n{"type": "user", "uuid": "x", "mess')
    assert adopt(store, config, project)
    assert said(store) == [("user", ["one"]), ("assistant", ["new answer"])]


def test_a_shortened_conversation_begins_with_its_summary(
    store: SessionStore, config: Path, project: str, file: File
) -> None:
    file.say("long ago")
    kept = file.words("kept words")
    saved = {"anchorUuid": "00000004-0000-4000-8000-000000000000", "uuids": [kept]}
    file.add("system", parent=None, subtype="compact_boundary", compactMetadata={"preservedMessages": saved})
    file.say("the summary", isCompactSummary=True)
    file.say("and now")
    assert adopt(store, config, project)
    assert said(store) == [("user", ["the summary"]), ("assistant", ["kept words"]), ("user", ["and now"])]


def test_nothing_is_made_of_files_that_hold_no_conversation(
    store: SessionStore, config: Path, project: str, file: File
) -> None:
    assert not adopt(store, config, project, "../../etc/passwd")
    assert not adopt(store, config, project)
    file.add("summary", summary="nothing was said")
    with pytest.raises(SessionError, match="no conversation"):
        adopt(store, config, project)
    file.path.unlink()
    file.path.symlink_to("/etc/hostname")
    with pytest.raises(SessionError, match="cannot be read"):
        adopt(store, config, project)
    assert list(store.paths()) == []


def test_the_newest_transcript_of_a_folder_is_found(config: Path, project: str, file: File) -> None:
    assert newest_transcript(str(config), "/elsewhere") is None
    file.say("one")
    os.utime(file.path, (1, 1))
    other = File(config, project, ID.replace("7", "8"))
    other.say("two")
    (other.path.parent / "agent-x.jsonl").write_text("{}")
    assert newest_transcript(str(config), os.path.realpath(project)) == other.path.stem


def test_what_was_said_elsewhere_since_is_taken_over_and_another_way_is_not(
    store: SessionStore, config: Path, project: str, file: File
) -> None:
    place = os.path.realpath(project)
    start = file.say("one")
    last = file.words("two")
    adopt(store, config, project)
    session, remembered = store.resume(ID)
    with session:
        assert catch_up(session, remembered, str(config), place, ID) == 0
        file.say("three")
        file.words("four", id_="msg_2")
        assert catch_up(session, remembered, str(config), place, ID) == 2
        assert catch_up(session, remembered, str(config), place, ID) == 0
    assert said(store)[2:] == [("user", ["three"]), ("assistant", ["four"])]
    file.say("instead", parent=start)
    session, remembered = store.resume(ID)
    with session:
        assert catch_up(session, remembered, str(config), place, ID) == 0
    assert len(said(store)) == 4
    assert last


def test_a_copy_adds_to_what_others_have_written_and_leaves_it_when_the_session_goes(
    store: SessionStore, config: Path, project: str, file: File
) -> None:
    file.say("one")
    file.words("two")
    before = file.path.read_text()
    file.path.write_text(before + '{"type": "user", "cut')
    adopt(store, config, project)
    session, _ = store.resume(ID)
    with session:
        mirror = Mirror(session, str(file.path), cwd=os.path.realpath(project), version="1")
        session.journal.record_message("user", "three", meta={"uuid": "u", "prompts": [["new", 1]]})
        mirror.refresh()
    lines = file.path.read_text().splitlines()
    assert lines[: len(before.splitlines())] == before.splitlines()
    assert [json.loads(line)["uuid"] for line in lines[3:]] == ["new"]
    assert json.loads(lines[-1])["parentUuid"] == json.loads(lines[1])["uuid"]
    prune(store, Retention(keep_days=0), now=4_000_000_000.0)
    assert file.path.exists()
