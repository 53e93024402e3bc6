from typing import Any

import msgspec
import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.sources import CommandLine
from holdfast.settings.watch import Reloader


def _texts(settings: Any) -> list[str]:
    return [rule.text for rule in settings.rules]


def test_a_changed_new_or_removed_file_is_noticed_and_loaded(world: Any) -> None:
    reloader = Reloader(world.request())
    assert not reloader.changed()
    path = world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}})
    assert reloader.changed()
    assert _texts(reloader.reload()) == ["A"]
    assert not reloader.changed()
    world.write(".claude/settings.json", {"permissions": {"deny": ["B"]}})
    assert _texts(reloader.refresh()) == ["B"]
    path.unlink()
    assert _texts(reloader.refresh()) == []
    world.write(world.policy / "holdfast/managed-settings.d/a.json", {"permissions": {"deny": ["P"]}})
    assert _texts(reloader.refresh()) == ["P"]


def test_a_broken_file_counts_with_its_last_good_content_and_says_why(world: Any) -> None:
    path = world.write(".claude/settings.json", {"permissions": {"deny": ["A"], "ask": ["Q"]}})
    reloader = Reloader(world.request())
    path.write_text('{"permissions": {"deny": [}')
    world.write("~/.claude/settings.json", {"permissions": {"deny": ["New"]}})
    assert _texts(reloader.refresh()) == ["New", "A", "Q"]
    assert [error.path for error in reloader.errors] == [str(path)]
    assert not reloader.changed()
    world.write(".claude/settings.json", {"permissions": {"deny": ["C"]}})
    assert _texts(reloader.refresh()) == ["New", "C"]
    assert reloader.errors == ()


def test_a_new_file_that_is_broken_changes_nothing_and_says_why(world: Any) -> None:
    world.write("~/.claude/settings.json", {"permissions": {"deny": ["A"]}})
    reloader = Reloader(world.request())
    good = reloader.current
    path = world.write(".claude/settings.local.json", "{")
    assert reloader.refresh() is good
    assert [error.path for error in reloader.errors] == [str(path)]


def test_trust_that_is_lost_while_a_file_is_broken_is_lost(world: Any) -> None:
    path = world.write(".claude/settings.json", {"permissions": {"allow": ["A"], "deny": ["D"]}})
    world.store.trust(str(world.project))
    reloader = Reloader(world.request())
    path.write_text("{")
    world.store.revoke(str(world.project))
    assert _texts(reloader.refresh()) == ["D"]


def test_a_file_named_on_the_command_line_is_watched_too(world: Any) -> None:
    path = world.write("more.json", {"permissions": {"deny": ["A"]}})
    request = msgspec.structs.replace(world.request(), cli=CommandLine(settings=("more.json", '{"model": "m"}')))
    reloader = Reloader(request)
    path.write_text("{")
    assert _texts(reloader.refresh()) == ["A"]
    assert len(reloader.errors) == 1
    world.write("more.json", {"permissions": {"deny": ["B"]}})
    assert _texts(reloader.refresh()) == ["B"]
    path.unlink()
    assert _texts(reloader.refresh()) == ["B"]
    assert "does not exist" in str(reloader.errors[0])


def test_a_broken_file_at_the_start_is_an_error(world: Any) -> None:
    world.write("~/.claude/settings.json", "{")
    with pytest.raises(SettingsError):
        Reloader(world.request())


def test_trust_given_or_lost_is_noticed(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"allow": ["A"]}})
    reloader = Reloader(world.request())
    assert _texts(reloader.current) == []
    world.store.trust(str(world.project))
    assert _texts(reloader.refresh()) == ["A"]
    (world.project / ".git").rmdir()
    (world.project / ".git").write_text("gitdir: /elsewhere/.git/worktrees/x\n")
    assert _texts(reloader.refresh()) == []


def test_session_settings_are_replaced_at_once(world: Any) -> None:
    reloader = Reloader(world.request())
    assert _texts(reloader.use_session({"permissions": {"allow": ["S"]}})) == ["S"]
    assert _texts(reloader.use_session({})) == []


def test_looking_for_changes_reads_no_file(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}})
    reloader = Reloader(world.request())

    def refuse(*_: object, **__: object) -> int:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("os.open", refuse)
    assert not reloader.changed()
