"""Permission updates as hosts write them: what can count, and what is refused in words."""

from typing import Any

import pytest

from holdfast.contract import DirectoryUpdate, ModeUpdate, PermissionUpdate, RuleUpdate
from holdfast.permissions.updates import read_updates

READ = [{"toolName": "Read"}]


def read(*updates: Any) -> tuple[list[PermissionUpdate], list[str]]:
    refused: list[str] = []
    return list(read_updates(list(updates), refused.append)), refused


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (
            {"type": "addRules", "rules": READ, "behavior": "deny", "destination": "localSettings"},
            RuleUpdate("deny", ("Read",), "localSettings"),
        ),
        (
            {"type": "replaceRules", "rules": [], "behavior": "allow", "destination": "session"},
            RuleUpdate("allow", (), replaces=True),
        ),
        (
            {"type": "removeRules", "rules": READ, "behavior": "allow", "destination": "userSettings"},
            RuleUpdate("allow", ("Read",), "userSettings", removes=True),
        ),
        ({"type": "setMode", "mode": "acceptEdits", "destination": "session"}, ModeUpdate("acceptEdits")),
        ({"type": "setMode", "mode": "plan"}, ModeUpdate("plan")),
        (
            {"type": "addDirectories", "directories": ["/a", "/b"], "destination": "session"},
            DirectoryUpdate(("/a", "/b")),
        ),
        ({"type": "removeDirectories", "directories": ["/a"]}, DirectoryUpdate(("/a",), removes=True)),
    ],
)
def test_an_update_is_read_as_it_is_meant(given: dict[str, Any], meant: PermissionUpdate) -> None:
    assert read(given) == ([meant], [])


@pytest.mark.parametrize("kind", ["setMode", "addDirectories", "removeDirectories"])
@pytest.mark.parametrize("destination", ["userSettings", "localSettings", "projectSettings"])
def test_modes_and_directories_may_go_to_every_settings_file(kind: str, destination: Any) -> None:
    update = {"type": kind, "mode": "plan", "directories": ["/a"], "destination": destination}
    [found], refused = read(update)
    assert (found.destination, refused) == (destination, [])


@pytest.mark.parametrize("kind", ["setMode", "addDirectories", "removeDirectories", "addRules"])
@pytest.mark.parametrize("destination", ["moon", 5, [], ""])
def test_an_unknown_destination_is_an_error(kind: str, destination: Any) -> None:
    update = {"type": kind, "mode": "plan", "directories": ["/a"], "rules": READ, "behavior": "allow"}
    found, refused = read({**update, "destination": destination})
    assert (found, len(refused)) == ([], 1)
    assert "is not a destination" in refused[0]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"type": "removeRules", "rules": READ, "behavior": "deny"}, "never taken away"),
        ({"type": "removeRules", "rules": READ, "behavior": "ask"}, "never taken away"),
        ({"type": "addRules", "rules": READ}, "behavior"),
        ({"type": "addRules", "rules": READ, "behavior": []}, "behavior"),
        ({"type": "addRules", "rules": "Read", "behavior": "allow"}, "list of rules"),
        ({"type": "addRules", "rules": [{"toolName": "Bash("}], "behavior": "allow"}, "not a rule"),
        ({"type": "addRules", "rules": [5], "behavior": "allow"}, "not a rule"),
        ({"type": "setMode", "mode": 5}, "needs a mode"),
        ({"type": "addDirectories"}, "list of directories"),
        ({"type": "addDirectories", "directories": ["/a", 5]}, "list of directories"),
        ({"type": "removeDirectories", "directories": "/a"}, "list of directories"),
        ({"type": "fly"}, "not a kind"),
        ({"type": []}, "not a kind"),
        (5, "not a kind"),
    ],
)
def test_what_cannot_count_is_refused_in_words(given: Any, reason: str) -> None:
    found, refused = read(given)
    assert (found, len(refused)) == ([], 1)
    assert reason in refused[0]


def test_updates_are_a_list_or_none() -> None:
    refused: list[str] = []
    assert list(read_updates(None, refused.append)) == []
    assert refused == []
    assert list(read_updates({"type": "setMode"}, refused.append)) == []
    assert len(refused) == 1
