import json

from holdfast.events import CallFinished, CallQueued, CallStarted, PermissionDecided, TurnEnded
from holdfast.session.export import to_json, to_markdown
from holdfast.session.records import MessageRecorded, NoteRecorded, SessionOpened
from holdfast.session.transcript import Transcript

EVIL = "```\n# Fake heading\n\x1b[31mred\n````"


def transcript() -> Transcript:
    loaded = Transcript()
    for record in (
        SessionOpened(1, "the-id", 1_700_000_000.0, "/project"),
        NoteRecorded("title", "A *bold* title"),
        MessageRecorded("user", "# Look\nplease"),
        CallQueued("1", "Bash", {"command": "ls"}),
        PermissionDecided("1", "Bash", "allow", {"layer": "mode"}),
        CallStarted("1", "Bash", read_only=True),
        MessageRecorded(
            "assistant",
            [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "2", "name": "Write", "input": {}},
            ],
        ),
        CallFinished("1", "Bash", EVIL, duration_ms=1500.0, data={"exit": 0}),
        CallQueued("2", "Write", {}),
        TurnEnded(0),
    ):
        loaded.take(record)
    return loaded


def test_json_holds_the_conversation_each_call_and_the_health() -> None:
    document = json.loads(to_json(transcript()))
    assert document["version"] == 1
    assert document["session_id"] == "the-id"
    assert [message["role"] for message in document["messages"]] == ["user", "assistant", "user"]
    assert [(call["id"], call["state"], call["decision"]) for call in document["calls"]] == [
        ("1", "finished", {"layer": "mode"}),
        ("2", "not started", None),
    ]
    assert document["health"] == {"damaged_lines": 0, "unknown_lines": 0, "lost_lines": 0, "torn_tail": False}


def test_markdown_shows_everything_and_nothing_breaks_out_of_its_place() -> None:
    page = to_markdown(transcript())
    lines = page.splitlines()
    assert lines[0] == "# A \\*bold\\* title"
    assert [line for line in lines if line.startswith("#")] == [
        "# A \\*bold\\* title",
        "## User",
        "## Assistant",
        "### Call: `Bash` (allow)",
        "### Call: `Write`",
        "#### Result, 1.50 s",
        "# Fake heading",
        "#### Error",
    ]
    start = lines.index("#### Result, 1.50 s")
    assert lines[start + 2] == "`````"
    assert lines[start + 7] == "`````"
    assert "\x1b" not in page
    assert "\\# Look" in page
    assert "not started" in page


def test_an_empty_session_can_be_exported() -> None:
    assert json.loads(to_json(Transcript()))["messages"] == []
    assert to_markdown(Transcript()) == "# Session\n"
