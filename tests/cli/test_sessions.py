"""`holdfast sessions`, in process."""

import json
import os
import stat
import time
import tracemalloc
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from holdfast.cli.session_view import SessionView
from holdfast.cli.sessions import command
from holdfast.cli.tables import relative_time, size
from holdfast.events import CallFinished, CallQueued, CallStarted, TurnEnded
from holdfast.session import SessionStore, user_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return user_store()


@pytest.fixture
def recorded(store: SessionStore) -> str:
    with store.create(os.getcwd(), session_id="abc-1") as session:
        session.journal.record_message("user", "Fix \x1b[31mthe build")
        for event in (
            CallQueued("1", "Read", {"file_path": "a"}),
            CallStarted("1", "Read", read_only=True),
            CallFinished("1", "Read", "text", duration_ms=250.0),
            CallQueued("2", "Write", {}),
            CallStarted("2", "Write", read_only=False),
            TurnEnded(0),
        ):
            session.journal(event)
    return "abc-1"


def run(*arguments: str) -> Result:
    """As `holdfast` runs it: what a command returns is the exit code."""
    runner = CliRunner()
    result = runner.invoke(command, arguments, standalone_mode=False)
    if isinstance(result.exception, click.ClickException):
        result.exit_code = result.exception.exit_code
    elif result.exception is not None:
        raise result.exception
    else:
        result.exit_code = result.return_value
    return result


def test_an_empty_list_says_so_on_stderr(store: SessionStore) -> None:
    result = run("list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no sessions" in result.stderr
    assert run("list", "--json").stdout == ""


def test_the_list_shows_id_age_size_and_title_without_control_characters(recorded: str, store: SessionStore) -> None:
    result = run("list")
    head, line = result.stdout.splitlines()
    assert head.split() == ["SESSION", "LAST", "USED", "SIZE", "TITLE"]
    assert line.startswith(recorded)
    assert " ago" in line
    assert line.endswith("Fix \\x1b[31mthe build")
    with store.resume(recorded)[0]:
        assert " live " in run("list").stdout


def test_the_list_is_of_this_directory_unless_all_are_wanted(
    recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = os.getcwd()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert run("list").stdout == ""
    assert project in run("list", "--all").stdout
    found = [json.loads(line) for line in run("list", "-a", "--json").stdout.splitlines()]
    assert [(entry["id"], entry["project"], entry["live"]) for entry in found] == [(recorded, project, False)]


def test_show_tells_what_was_said_and_how_each_call_ended(recorded: str) -> None:
    for name in (recorded, "abc", "latest"):
        result = run("show", name)
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout
        assert "Fix \\x1b[31mthe build" in result.stdout
        calls = [line.split()[1:] for line in result.stdout.split("calls:\n")[1].splitlines()]
        assert calls[0][:2] == ["Read", "completed"]
        assert calls[1][:3] == ["Write", "outcome", "unknown"]
    assert [call["state"] for call in json.loads(run("show", recorded, "--json").stdout)["calls"]] == [
        "finished",
        "outcome unknown",
    ]


def test_export_writes_json_or_markdown_to_stdout_or_a_private_file(recorded: str, tmp_path: Path) -> None:
    assert json.loads(run("export", recorded).stdout)["session_id"] == recorded
    assert run("export", recorded, "--format", "markdown").stdout.startswith("# ")
    target = tmp_path / "out.json"
    result = run("export", recorded, "-o", str(target))
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(target.read_text("utf-8"))["session_id"] == recorded
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    failed = run("export", recorded, "-o", str(tmp_path / "missing" / "out.json"))
    assert failed.exit_code == 1
    assert "cannot be written" in failed.stderr


def test_prune_keeps_the_young_and_the_live_and_says_what_went(recorded: str, store: SessionStore) -> None:
    assert run("prune").stdout == ""
    assert recorded in run("prune", "--keep-count", "0", "--dry-run").stdout
    assert run("list").stdout != ""
    with store.resume(recorded)[0]:
        assert run("prune", "--keep-count", "0").stdout == ""
    result = run("prune", "--max-size", "0B", "--json")
    assert [entry["id"] for entry in json.loads(result.stdout)["removed"]] == [recorded]
    assert run("list").stdout == ""


def test_a_bad_size_is_wrong_use(store: SessionStore) -> None:
    assert run("prune", "--max-size", "much").exit_code == 2


def test_times_and_sizes_read_well() -> None:
    now = time.time()
    ages = [relative_time(now - seconds, now) for seconds in (-5, 3, 150, 7_300, 200_000)]
    assert ages == ["0 s ago", "3 s ago", "2 min ago", "2 h ago", "2 d ago"]
    assert relative_time(0, now).startswith("19")
    assert [size(count) for count in (0, 999, 1_500, 250_000, 12_000_000, 3_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "250 kB",
        "12.0 MB",
        "3.0 GB",
    ]


def test_latest_is_this_directorys_own_session_where_it_has_one(
    recorded: str, store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.create(str(tmp_path / "elsewhere"), session_id="later-2") as session:
        session.journal.record_message("user", "Something else")
    os.utime(Path(store.find("later-2")) / "journal.jsonl", (2e9, 2e9))
    assert f"session  {recorded}\n" in run("show", "latest").stdout
    monkeypatch.chdir(tmp_path)
    assert "session  later-2\n" in run("show", "latest").stdout


def test_a_title_is_what_was_asked_not_what_was_piped_in(store: SessionStore) -> None:
    with store.create(os.getcwd()) as session:
        session.journal.record_message("user", "<stdin>\nall of it\n</stdin>\n\nReview this")
    assert json.loads(run("list", "--json").stdout)["title"] == "Review this"


def answered(model: str, **usage: int) -> dict[str, object]:
    return {"asked": model, "usage": usage}


def test_show_tells_why_a_call_failed_and_which_models_answered_at_what_cost(store: SessionStore) -> None:
    with store.create(os.getcwd(), session_id="abc-2") as session:
        used = answered("claude-sonnet-4-5", input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=10)
        session.journal.record_message("assistant", "Done.", meta=used)
        for event in (
            CallQueued("1", "Edit", {"file_path": "a"}),
            CallFinished("1", "Edit", "<tool_use_error>a is gone\x1b[2J\nlook again</tool_use_error>", is_error=True),
            CallQueued("2", "Bash", {"command": "false"}),
            CallFinished("2", "Bash", [{"type": "text", "text": "Exit code 1"}], is_error=True),
            CallQueued("3", "Bash", {"command": "true"}),
            CallFinished("3", "Bash", "fine"),
            TurnEnded(0),
        ):
            session.journal(event)
    shown = run("show", "abc-2").stdout
    assert "model    claude-sonnet-4-5 (1 answer)\n" in shown
    assert "tokens   1,000,010 in, 100,000 out (10 read from the cache, 0 written to it)\n" in shown
    assert "cost     $4.5000 by the list prices of " in shown
    calls = [line.strip() for line in shown.split("calls:\n")[1].splitlines()]
    assert calls[1] == "a is gone\\x1b[2J look again"
    assert calls[3] == "Exit code 1"
    assert len(calls) == 5
    wire = json.loads(run("show", "abc-2", "--json").stdout)
    assert wire["models"] == {"claude-sonnet-4-5": 1}
    assert wire["cost_usd"] == pytest.approx(4.5, abs=1e-4)


def test_a_model_without_a_price_is_named_and_summaries_are_said_not_to_count(store: SessionStore) -> None:
    with store.create(os.getcwd(), session_id="abc-3") as session:
        session.journal.record_message("assistant", "Hm.", meta=answered("qwen3", output_tokens=5))
        session.journal.record_note("compaction", {"messages": []})
    assert (
        "cost     not known: no list price for this model; 1 request for a summary not counted\n"
        in run("show", "abc-3").stdout
    )
    with store.resume("abc-3")[0] as session:
        session.journal.record_message("assistant", "Hm.", meta=answered("gpt-5", output_tokens=1_000_000))
    assert "cost     $10.0000 by the list prices of " in run("show", "abc-3").stdout
    assert ", without qwen3" in run("show", "abc-3").stdout
    assert json.loads(run("show", "abc-3", "--json").stdout)["cost_usd"] is None


def test_show_of_a_long_session_needs_little_memory(store: SessionStore) -> None:
    with store.create(os.getcwd(), session_id="long-1") as session:
        for number in range(400):
            session.journal.record_message("user", "word " * 10_000)
            session.journal(CallQueued(f"{number}", "Read", {"file_path": "a" * 1_000}))
            session.journal(CallFinished(f"{number}", "Read", "line\n" * 4_000, is_error=number % 2 == 0))
            if number % 3 == 0:
                session.journal(TurnEnded(0))
        for number in range(3_000):  # none of which ever ends
            session.journal(CallQueued(f"open-{number}", "Read", {}))
        written = session.journal.size_bytes
    view = SessionView()
    tracemalloc.start()
    try:
        store.load("long-1", into=view)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        view.close()
    assert written > 20_000_000
    assert peak < 12_000_000, "as much as is laid aside before the disk is used, and a little more"
    shown = run("show", "long-1").stdout
    assert shown.count("\nuser:\n") == 400
    assert shown.count("not started") == 3_000
    assert shown.count("completed") == 400


def test_json_and_export_of_a_long_session_need_little_memory(store: SessionStore, tmp_path: Path) -> None:
    with store.create(os.getcwd(), session_id="long-2") as session:
        for number in range(400):
            session.journal.record_message("assistant" if number % 2 else "user", "word " * 10_000)
        assert session.journal.size_bytes > 18_000_000
    target = str(tmp_path / "out")
    for words in (["long-2"], ["long-2", "--format", "markdown"]):
        tracemalloc.start()
        try:
            assert run("export", *words, "-o", target).exit_code == 0
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert Path(target).stat().st_size > 18_000_000
        assert peak < 5_000_000
    shown = run("show", "long-2", "--json").stdout
    assert len(json.loads(shown)["messages"]) == 400
    assert shown.endswith("}\n")
    assert shown.count("\n") == 1
