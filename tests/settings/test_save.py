import json
import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.save import SaveTarget, remove_rules, save_directories, save_rules, save_target, save_value
from holdfast.settings.sources import SourceKind


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_file_is_created_private_for_the_user_and_shared_in_a_project(world: Any) -> None:
    user = world.home / ".config/holdfast/settings.json"
    project = world.project / ".holdfast/settings.json"
    saved = save_rules(str(user), "allow", ["Bash(ls *)"])
    assert (saved.created, saved.changed) == (True, True)
    save_rules(str(project), "deny", ["Read(.env)"], within=str(world.project))
    assert (_mode(user), _mode(project)) == (0o600, 0o644)
    assert [(rule.behavior, rule.text) for rule in world.load().rules] == [
        ("allow", "Bash(ls *)"),
        ("deny", "Read(.env)"),
    ]


def test_an_existing_file_keeps_layout_and_mode_and_gets_only_the_new_rule(world: Any) -> None:
    text = '\ufeff{\r\n\t"permissions": {\r\n\t\t"allow": [\r\n\t\t\t"Read"\r\n\t\t]\r\n\t},\r\n\t"später": 1\r\n}'
    path = world.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    path.chmod(0o640)
    save_rules(str(path), "allow", ["Edit", "Read"])
    assert path.read_bytes().decode() == text.replace('"Read"', '"Read",\r\n\t\t\t"Edit"')
    assert _mode(path) == 0o640
    before = path.stat()
    assert not save_rules(str(path), "allow", ["Edit"]).changed
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    remove_rules(str(path), "allow", ["Edit"])
    assert path.read_bytes().decode() == text


@pytest.mark.parametrize("content", ["", "{", "[]", '{"permissions": {"allow": 1}}', '{"a": 1,}'])
def test_a_broken_file_is_not_touched(world: Any, content: str) -> None:
    path = world.write("~/.claude/settings.json", content)
    with pytest.raises(SettingsError):
        save_rules(str(path), "allow", ["Read"])
    assert path.read_text() == content


def test_a_link_out_of_the_project_is_refused_and_the_users_own_link_is_kept(world: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    inside = world.project / ".claude/settings.local.json"
    inside.parent.mkdir()
    inside.symlink_to(outside)
    with pytest.raises(SettingsError, match="outside"):
        save_rules(str(inside), "allow", ["Read"], within=str(world.project))
    assert outside.read_text() == "{}"
    outside.unlink()
    with pytest.raises(SettingsError, match="does not exist"):
        save_rules(str(inside), "allow", ["Read"], within=str(world.project))
    assert not outside.exists()
    real = world.write("~/dotfiles/settings.json", "{}")
    (world.home / ".claude").mkdir()
    link = world.home / ".claude/settings.json"
    link.symlink_to(real)
    save_rules(str(link), "allow", ["Read"])
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"permissions": {"allow": ["Read"]}}


def test_a_linked_settings_folder_is_refused_too(world: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (world.project / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="outside"):
        save_rules(str(world.project / ".claude/settings.json"), "allow", ["Read"], within=str(world.project))
    assert os.listdir(tmp_path / "elsewhere") == []


def test_directories_are_saved_beside_the_rules(world: Any) -> None:
    path = str(world.home / ".config/holdfast/settings.json")
    save_directories(path, ["/data"])
    assert [entry.directory for entry in world.load().directories] == ["/data"]


def test_a_single_value_is_saved_only_when_the_file_stays_valid(world: Any) -> None:
    path = world.write("~/.claude/settings.json", {"model": "a"})
    save_value(str(path), ("permissions", "defaultMode"), "plan")
    assert world.load().default_mode == "plan"
    with pytest.raises(SettingsError, match="defaultMode"):
        save_value(str(path), ("permissions", "defaultMode"), "yolo")
    assert world.load().default_mode == "plan"


def test_the_native_file_is_chosen_unless_only_the_existing_format_is_there(world: Any) -> None:
    def target(kind: Any) -> SaveTarget:
        return save_target(kind, str(world.project), world.roots)

    native = world.project / ".holdfast/settings.local.json"
    assert target(SourceKind.LOCAL) == SaveTarget(str(native), str(world.project))
    existing = world.write(".claude/settings.local.json", {})
    assert target(SourceKind.LOCAL).file == str(existing)
    world.write(".holdfast/settings.local.json", {})
    assert target(SourceKind.LOCAL).file == str(native)
    assert target(SourceKind.USER) == SaveTarget(str(world.home / ".config/holdfast/settings.json"))
    assert target(SourceKind.PROJECT).file == str(world.project / ".holdfast/settings.json")


def test_a_failed_write_says_so_and_leaves_the_old_file(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.write("~/.claude/settings.json", "{}")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SettingsError, match="No space"):
        save_rules(str(path), "allow", ["Read"])
    assert path.read_text() == "{}"
    assert os.listdir(path.parent) == ["settings.json"]


def _save_many(path: str, name: str, barrier: Any) -> None:
    barrier.wait(30)
    for number in range(10):
        save_rules(path, "allow", [f"Bash({name} {number})"])


def test_concurrent_savers_lose_nothing(world: Any) -> None:
    path = str(world.home / ".config/holdfast/settings.json")
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_save_many, args=(path, name, barrier)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    saved = json.loads(Path(path).read_text())["permissions"]["allow"]
    assert sorted(saved) == sorted(f"Bash({name} {number})" for name in "abc" for number in range(10))
