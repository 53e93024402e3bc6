"""The rights of a session, and how they follow the settings files."""

import asyncio
import json
from pathlib import Path

import pytest

from holdfast.app import Options, build_executor, load_rights
from holdfast.app.place import look_around
from holdfast.contract import UsageError
from holdfast.permissions import decide
from holdfast.permissions.tool_facts import facts_from_input


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "project").mkdir()
    (tmp_path / "extra").mkdir()
    return tmp_path


def test_the_directories_that_the_users_variables_name_are_protected(places: Path) -> None:
    options = Options(cwd=str(places / "project"), add_dirs=(str(places),), permission_mode="acceptEdits")
    permissions = load_rights(options).permissions

    def answer(path: Path) -> str:
        return decide(
            facts_from_input("Write", {"file_path": str(path)}, str(places / "project")), permissions
        ).behavior

    assert answer(places / "XDG_CONFIG_HOME" / "holdfast" / "settings.json") == "ask"
    assert answer(places / "XDG_STATE_HOME" / "holdfast" / "trust.json") == "ask"
    assert answer(places / "CLAUDE_CONFIG_DIR" / "settings.json") == "ask"
    assert answer(places / "project" / "a") == "allow"


def test_a_mode_or_directory_that_is_taken_away_while_the_session_runs_is_gone(places: Path) -> None:
    settings = places / "CLAUDE_CONFIG_DIR" / "settings.json"
    extra = str(places / "extra")
    granted = {"defaultMode": "bypassPermissions", "additionalDirectories": [extra]}
    settings.write_text(json.dumps({"permissions": granted}), encoding="utf-8")
    rights = load_rights(Options(cwd=str(places / "project")))
    before = rights.permissions
    assert (before.effective_mode, extra in before.roots.working) == ("bypassPermissions", True)
    assert rights.follow(before) is before
    taken = {"disableBypassPermissionsMode": "disable", "deny": ["Write"]}
    settings.write_text(json.dumps({"permissions": taken}), encoding="utf-8")
    after = rights.follow(before)
    assert (after.mode, after.effective_mode, extra in after.roots.working) == ("bypassPermissions", "default", False)
    assert after.denies_whole(["Write"])


def test_a_sandbox_that_cannot_start_is_told(places: Path) -> None:
    settings = places / "CLAUDE_CONFIG_DIR" / "settings.json"
    wish = {"sandbox": {"enabled": True, "bwrapPath": "/nowhere/bwrap"}}
    settings.write_text(json.dumps(wish), encoding="utf-8")
    [told] = load_rights(Options(cwd=str(places / "project"))).warnings()
    assert told.startswith(f"{settings}:1: ")
    assert "every command is refused" in told


def test_nothing_starts_where_nothing_may_run_without_the_sandbox(places: Path) -> None:
    settings = places / "CLAUDE_CONFIG_DIR" / "settings.json"
    wish = {"sandbox": {"enabled": True, "failIfUnavailable": True, "bwrapPath": "/nowhere/bwrap"}}
    settings.write_text(json.dumps(wish), encoding="utf-8")
    with pytest.raises(UsageError, match="failIfUnavailable is true"):
        build_executor(Options(cwd=str(places / "project")))
    settings.write_text(json.dumps({"sandbox": {"failIfUnavailable": True}}), encoding="utf-8")
    build_executor(Options(cwd=str(places / "project")))


def test_a_mode_that_settings_switch_off_is_told_with_the_switch_and_its_place(places: Path) -> None:
    settings = places / "CLAUDE_CONFIG_DIR" / "settings.json"
    off = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    settings.write_text(json.dumps(off), encoding="utf-8")
    rights = load_rights(Options(cwd=str(places / "project"), permission_mode="bypassPermissions"))
    [told] = rights.warnings()
    assert rights.permissions.effective_mode == "default"
    assert f"switched off by disableBypassPermissionsMode ({settings}:1), so the mode is default" in told


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (None, {"user", "project", "local"}),
        ("user", {"user"}),
        ("project", {"project"}),
        ("user,local", {"user", "local"}),
    ],
)
@pytest.mark.parametrize("trust", [True, False])
def test_instructions_of_a_source_that_is_switched_off_are_not_loaded(
    places: Path, sources: str | None, said: set[str], *, trust: bool
) -> None:
    project = places / "project"
    (places / "CLAUDE_CONFIG_DIR" / "CLAUDE.md").write_text("user")
    (project / "CLAUDE.md").write_text("project")
    (project / "CLAUDE.local.md").write_text("local")
    rights = load_rights(Options(cwd=str(project), setting_sources=sources, trust=trust))
    found = asyncio.run(asyncio.wait_for(look_around(rights, "m"), 60)).instructions
    loaded = {file.text.strip() for file in found.files}
    withheld = {"local" if path.endswith("local.md") else "project" for path in found.withheld}
    assert loaded == (said if trust else said & {"user"})
    assert withheld == (set() if trust else said - {"user"})
