"""The composition root: settings, rights, sessions and tools together, on real files."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from holdfast.app import Options, all_tools, load_rights, open_session
from holdfast.app.keep_rules import RuleKeeper
from holdfast.contract import RuleUpdate, UsageError
from holdfast.events import CallFinished
from holdfast.session import user_store
from holdfast.settings import SettingsError


def settings(folder: Path, **permissions: list[str]) -> None:
    file = folder / ".holdfast" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"permissions": permissions}), encoding="utf-8")


def run(folder: Path, *calls: tuple[str, dict[str, object]], **options: object) -> list[CallFinished]:
    async def session() -> list[CallFinished]:
        replies: list[CallFinished] = []
        async with open_session(Options(cwd=str(folder), **options)) as opened:  # pyright: ignore[reportArgumentType]
            for number, (name, arguments) in enumerate(calls):
                opened.executor.add({"type": "tool_use", "id": str(number), "name": name, "input": arguments})
                replies += [event async for event in opened.executor.results() if isinstance(event, CallFinished)]
                opened.executor.end_turn()
        return replies

    return asyncio.run(session())


def test_rules_of_an_untrusted_folder_deny_but_do_not_allow(tmp_path: Path) -> None:
    settings(tmp_path, allow=["Bash(touch *)"], deny=["Read(secret.txt)"])
    (tmp_path / "secret.txt").write_text("x", encoding="utf-8")
    touched, read = run(tmp_path, ("Bash", {"command": "touch made"}), ("Read", {"file_path": "secret.txt"}))
    assert (touched.outcome, read.outcome) == ("denied", "denied")
    assert not (tmp_path / "made").exists()


def test_a_denied_file_is_hidden_from_searches(tmp_path: Path) -> None:
    settings(tmp_path, deny=["Read(secret.txt)"])
    for name in ("secret.txt", "open.txt"):
        (tmp_path / name).write_text("needle\n", encoding="utf-8")
    glob, grep = run(tmp_path, ("Glob", {"pattern": "*.txt"}), ("Grep", {"pattern": "needle"}))
    assert (glob.content, grep.content) == ("open.txt", "open.txt")


def test_a_settings_file_that_changes_counts_from_the_next_turn_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")

    async def session() -> list[str]:
        outcomes: list[str] = []
        async with open_session(Options(cwd=str(tmp_path))) as opened:
            for number in range(2):
                opened.executor.add({"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "a.txt"}})
                outcomes += [
                    event.outcome async for event in opened.executor.results() if isinstance(event, CallFinished)
                ]
                if number == 0:
                    settings(tmp_path, deny=["Read(a.txt)"])
                opened.executor.end_turn()
        return outcomes

    assert asyncio.run(session()) == ["completed", "denied"]


def test_a_broken_settings_file_stops_with_its_place(tmp_path: Path) -> None:
    settings(tmp_path)
    (tmp_path / ".holdfast" / "settings.json").write_text('{"permissions": {"deny": [}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"settings\.json"):
        load_rights(Options(cwd=str(tmp_path)))


def test_a_malformed_rule_disables_only_itself_and_says_so(tmp_path: Path) -> None:
    settings(tmp_path, deny=["Read(", "Read(a.txt)"])
    rights = load_rights(Options(cwd=str(tmp_path)))
    assert [rule.text for rule in rights.permissions.rules] == ["Read(a.txt)"]
    assert any("Read(" in line for line in rights.warnings())


def test_the_session_is_on_disk_with_its_calls_and_its_long_results(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("word\n" * 20_000, encoding="utf-8")
    search: dict[str, object] = {"pattern": "word", "output_mode": "content", "head_limit": 0}
    (reply,) = run(tmp_path, ("Grep", search))
    assert reply.spilled_to is not None
    again = run(tmp_path, ("Read", {"file_path": reply.spilled_to, "limit": 1}))
    assert again[0].outcome == "denied", "another session's results are not inside"
    transcript = user_store().load(Path(reply.spilled_to).parent.parent.name)
    assert [call.name for call in transcript.calls] == ["Grep"]


@pytest.mark.parametrize("destination", ["localSettings", "projectSettings", "userSettings"])
def test_an_always_is_written_to_the_chosen_file_and_counts_next_time(tmp_path: Path, destination: str) -> None:
    RuleKeeper(str(tmp_path))(RuleUpdate("deny", ("Read(a.txt)",), destination))
    rights = load_rights(Options(cwd=str(tmp_path)))
    assert [rule.text for rule in rights.permissions.rules] == ["Read(a.txt)"]


def test_rules_that_replace_others_do_so_in_both_formats_of_a_file_and_nowhere_else(tmp_path: Path) -> None:
    existing = tmp_path / ".claude" / "settings.local.json"
    native = tmp_path / ".holdfast" / "settings.local.json"
    for file in (existing, native):
        file.parent.mkdir()
        rules = {"deny": [f"Read({file.parent.name})"], "ask": ["Edit(b)"]}
        file.write_text(json.dumps({"permissions": rules}), encoding="utf-8")
    settings(tmp_path, deny=["Read(shared)"])
    files = RuleKeeper(str(tmp_path))(RuleUpdate("deny", ("Read(c)",), "localSettings", replaces=True))
    assert files == (str(native), str(existing))
    rights = load_rights(Options(cwd=str(tmp_path)))
    in_force = sorted((rule.behavior, rule.text) for rule in rights.permissions.rules)
    assert in_force == [("ask", "Edit(b)"), ("ask", "Edit(b)"), ("deny", "Read(c)"), ("deny", "Read(shared)")]
    assert json.loads(existing.read_text(encoding="utf-8")) == {"permissions": {"deny": [], "ask": ["Edit(b)"]}}


def test_allow_rules_are_taken_out_of_both_formats_of_a_file_and_no_others_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    existing = tmp_path / ".claude" / "settings.local.json"
    native = tmp_path / ".holdfast" / "settings.local.json"
    rules = {"allow": ["Edit(a)", "Edit(b)"], "deny": ["Edit(a)"]}
    for file in (existing, native):
        file.parent.mkdir()
        file.write_text(json.dumps({"permissions": rules}), encoding="utf-8")
    keep = RuleKeeper(str(tmp_path))
    assert keep(RuleUpdate("deny", ("Edit(a)",), "localSettings", removes=True)) == ()
    assert "never taken away" in caplog.text
    assert keep(RuleUpdate("allow", ("Edit(a)", "Edit(c)"), "localSettings", removes=True)) == (
        str(native),
        str(existing),
    )
    left = {"permissions": {"allow": ["Edit(b)"], "deny": ["Edit(a)"]}}
    assert [json.loads(file.read_text(encoding="utf-8")) for file in (existing, native)] == [left, left]
    native.write_text("broken", encoding="utf-8")
    assert keep(RuleUpdate("allow", ("Edit(b)",), "localSettings", removes=True)) == ()
    assert "could not be taken out" in caplog.text


def test_an_always_that_cannot_be_written_costs_only_its_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings(tmp_path)
    (tmp_path / ".holdfast" / "settings.json").write_text("broken", encoding="utf-8")
    keep = RuleKeeper(str(tmp_path))
    assert keep(RuleUpdate("allow", ("Read",), "projectSettings", replaces=True)) == ()
    assert keep(RuleUpdate("allow", ("Read",), "nowhere")) == ()
    assert len(caplog.records) == 2


def test_the_settings_say_how_many_files_glob_shows(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    few, all_ = (
        run(tmp_path, ("Glob", {"pattern": "*.txt"}), settings=given)[0]
        for given in (('{"globLimits": {"maxResults": 2}}',), ())
    )
    assert (few.data["numFiles"], few.data["truncated"], all_.data["numFiles"]) == (2, True, 5)
    with pytest.raises(SettingsError, match="whole number from 1"):
        run(tmp_path, settings=('{"globLimits": {"maxResults": 0}}',))


def test_a_working_directory_that_was_moved_is_not_made_anew(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()

    async def session() -> list[CallFinished]:
        async with open_session(Options(cwd=str(work), permission_mode="acceptEdits")) as opened:
            work.rename(tmp_path / "elsewhere")
            for number, path in enumerate(("a.txt", "deep/b.txt", str(work / "c.txt"))):
                use = {"file_path": path, "content": "x"}
                opened.executor.add({"type": "tool_use", "id": str(number), "name": "Write", "input": use})
            edit = {"file_path": "d.txt", "old_string": "", "new_string": "x"}
            opened.executor.add({"type": "tool_use", "id": "edit", "name": "Edit", "input": edit})
            return [event async for event in opened.executor.results() if isinstance(event, CallFinished)]

    replies = asyncio.run(asyncio.wait_for(session(), 60))
    assert [(reply.is_error, "was moved or removed" in str(reply.content)) for reply in replies] == [(True, True)] * 4
    assert not work.exists()


@pytest.mark.parametrize("name", ["Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep"])
def test_the_file_and_search_tools_say_what_their_data_holds(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    (tmp_path / "b.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', encoding="utf-8"
    )
    given: dict[str, dict[str, object]] = {
        "Read": {"file_path": "a.txt"},
        "Write": {"file_path": "new.txt", "content": "x"},
        "Edit": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
        "NotebookEdit": {"notebook_path": "b.ipynb", "new_source": "1", "cell_type": "code", "edit_mode": "insert"},
        "Glob": {"pattern": "*"},
        "Grep": {"pattern": "one", "output_mode": "count"},
    }
    first: tuple[str, dict[str, object]] = ("Read", {"file_path": "b.ipynb" if name == "NotebookEdit" else "a.txt"})
    calls = [(name, given[name])] if name == "Read" else [first, (name, given[name])]
    reply = run(tmp_path, *calls, permission_mode="acceptEdits")[-1]
    assert not reply.is_error, reply.content
    [tool] = [tool for tool in all_tools() if tool.name == name]
    assert msgspec.convert(reply.data, tool.output_type) == reply.data  # what it does not name is left out
