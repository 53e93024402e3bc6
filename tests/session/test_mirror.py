"""The copy of a session where other programs look for conversations."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from holdfast.events import CallFinished
from holdfast.lib.uuids import part_uuid
from holdfast.session import SessionStore
from holdfast.session.agent_files import AgentAbout, AgentFiles
from holdfast.session.mirror import Mirror, mirror_path
from holdfast.session.records import COMPACTION, TITLE
from holdfast.session.retention import Retention, prune
from holdfast.session.transcript_lines import exported_lines

PROMPT, ANSWER, RESULT = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "abc")
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
DONE = {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}
Session = Any


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def begun(store: SessionStore, project: str, config: Path) -> tuple[Session, Mirror]:
    session = store.create(project, session_id="one")
    return session, Mirror(session, mirror_path(str(config), project, "one"), cwd=project, version="1")


def talk(session: Session) -> None:
    reminder = {"type": "text", "text": "<system-reminder>now</system-reminder>"}
    said = [{"type": "text", "text": "list them"}, reminder]
    journal = session.journal
    journal.record_message("user", said, meta={"uuid": "u", "prompts": [[PROMPT, 1]]})
    usage = {"input_tokens": 3, "cache_read_tokens": 2, "cache_write_tokens": 1}
    meta = {"uuid": ANSWER, "id": "msg_1", "model": "m", "usage": usage, "stop_reason": "tool_use"}
    journal.record_message("assistant", [{"type": "text", "text": "I look"}, CALL], meta=meta)
    journal.record(CallFinished("t1", "Bash", "a.txt", data={"stdout": "a.txt"}))
    journal.record_message("user", [DONE], meta={"uuid": RESULT})


def entries(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_each_block_is_an_entry_in_a_chain_with_the_name_of_its_line(
    store: SessionStore, project: str, config: Path
) -> None:
    session, mirror = begun(store, project, config)
    told: list[Any] = []
    mirror.on_entries = lambda path, new: told.extend((path, one["uuid"]) for one in new)
    with session:
        talk(session)
        mirror.refresh()
    found = entries(mirror.path)
    prompt, reminder, words, call, result = found
    assert (prompt["uuid"], prompt["message"]["content"], prompt["parentUuid"]) == (PROMPT, "list them", None)
    assert reminder["isMeta"]
    assert [words["uuid"], call["uuid"]] == [ANSWER, part_uuid(ANSWER, 1)]
    assert words["message"]["id"] == call["message"]["id"] == "msg_1"
    assert call["message"]["usage"] == {
        "input_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1,
    }  # fmt: skip
    assert [words["message"]["stop_reason"], call["message"]["stop_reason"]] == [None, "tool_use"]
    assert (result["uuid"], result["toolUseResult"]) == (RESULT, {"stdout": "a.txt"})
    assert [one["parentUuid"] for one in found[1:]] == [one["uuid"] for one in found[:-1]]
    assert told == [(mirror.path, one["uuid"]) for one in found]
    assert stat.S_IMODE(os.stat(mirror.path).st_mode) == 0o600


def test_a_resumed_session_tells_only_what_is_new_and_forgets_what_it_went_back_behind(
    store: SessionStore, project: str, config: Path
) -> None:
    session, mirror = begun(store, project, config)
    with session:
        talk(session)
        mirror.refresh()
        session.journal.record_note(TITLE, "Mine")
        session.journal.record_note(COMPACTION, {"messages": [], "until": PROMPT})
    told: list[Any] = []
    resumed, _ = store.resume("one")
    with resumed:
        again = Mirror(resumed, mirror.path, cwd=project, version="1")
        again.on_entries = lambda _path, new: told.extend(new)
        resumed.journal.record_message("user", "and now?", meta={"uuid": "w", "prompts": [["x", 1]]})
        again.refresh()
    assert [(one["uuid"], one["parentUuid"]) for one in told] == [("x", PROMPT)]
    found = entries(mirror.path)
    assert next(one for one in found if one["type"] == "custom-title")["customTitle"] == "Mine"
    assert len(found) == 7


def test_agents_have_files_of_their_own_that_say_which_call_began_them(
    store: SessionStore, project: str, config: Path
) -> None:
    session, mirror = begun(store, project, config)
    told: list[str] = []
    mirror.on_entries = lambda path, new: told.extend(f"{Path(path).name} {one['type']}" for one in new)
    with session:
        files = AgentFiles(session.path, "one", session.journal)
        about = AgentAbout("a1", "greeter", tool_use_id="t1", description="greet")
        journal = files.begin(about)
        journal.record_message("user", "hi", meta={"uuid": "p"})
        files.end(about, journal, {"outcome": "success"})
        mirror.refresh()
    place = Path(mirror.path).with_suffix("") / "subagents"
    assert json.loads((place / "agent-a1.meta.json").read_text()) == {
        "agentType": "greeter", "toolUseId": "t1", "description": "greet",
    }  # fmt: skip
    assert [(one["isSidechain"], one["agentId"]) for one in entries(str(place / "agent-a1.jsonl"))] == [(True, "a1")]
    assert told == ["agent-a1.jsonl agent_metadata", "agent-a1.jsonl user"]


def test_the_copy_goes_with_its_session_and_nothing_else_does(store: SessionStore, project: str, config: Path) -> None:
    session, mirror = begun(store, project, config)
    with session:
        talk(session)
        mirror.refresh()
    other = Path(mirror.path).with_name("other.jsonl")
    other.write_text("{}")
    (Path(mirror.path).with_suffix("") / "subagents").mkdir(parents=True)
    prune(store, Retention(keep_days=0), now=4_000_000_000.0)
    assert [path.name for path in other.parent.iterdir()] == ["other.jsonl"]


def test_a_link_that_leads_elsewhere_removes_nothing(store: SessionStore, project: str, tmp_path: Path) -> None:
    with store.create(project, session_id="one") as session:
        victim = tmp_path / "one.jsonl"
        victim.write_text("mine")
        os.symlink(victim, os.path.join(session.path, "mirror"))
    prune(store, Retention(keep_days=0), now=4_000_000_000.0)
    assert victim.read_text() == "mine"


def test_an_export_is_the_same_lines(store: SessionStore, project: str, config: Path) -> None:
    session, mirror = begun(store, project, config)
    with session:
        talk(session)
        mirror.refresh()
    exported = [json.loads(line) for line in exported_lines(store.find("one"), "1")]
    assert [one["message"] for one in exported] == [one["message"] for one in entries(mirror.path)]
    assert exported[0]["cwd"] == os.path.realpath(project)


def test_long_and_odd_folders_have_the_names_that_readers_compute() -> None:
    assert mirror_path("/c", "/home/me/my_app.v2", "s") == "/c/projects/-home-me-my-app-v2/s.jsonl"
    folder = mirror_path("/c", "/" + "x" * 250, "s").split("/")[3]
    assert folder == "-" + "x" * 199 + "-" + folder.rpartition("-")[2]
    assert folder.rpartition("-")[2].isalnum()
