"""Settings by the model: told freely, changed after a yes, and nothing that governs rights."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import build_executor
from holdfast.app.options import Options
from holdfast.events import CallFinished
from holdfast.permissions import PermissionContext, Rule, decide
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.settings.schema import KNOWN
from holdfast.settings.tastes import TASTES, THEME_NAMES
from holdfast.testing import ScriptedAsker
from holdfast.tools.settings.config import SETTABLE
from holdfast.tui.show.themes import THEMES


class Scene:
    """A user with a settings file, and a session."""

    def __init__(self, home: Path, place: Path, given: dict[str, Any], mode: str = "default", **options: Any) -> None:
        self.file = home / ".config" / "holdfast" / "settings.json"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(json.dumps(given))
        self.asker = ScriptedAsker(["allow", "allow", "allow"])
        self.executor = build_executor(Options(cwd=str(place), permission_mode=mode, **options), asker=self.asker)

    def call(self, **raw: Any) -> CallFinished:
        return self.executor.call("Config", raw)

    @property
    def kept(self) -> Any:
        return json.loads(self.file.read_text())


def test_a_setting_is_told_without_a_question(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {"model": "anthropic:x", "permissions": {"deny": ["Read(a)"]}})
    told = scene.call(setting="model")
    assert told.data == {"success": True, "operation": "get", "setting": "model", "value": "anthropic:x"}
    assert scene.call(setting="permissions.deny").data["value"] == ["Read(a)"]
    assert scene.call(setting="tools.taskList").data["value"] is None
    assert scene.asker.questions == []


def test_a_setting_is_changed_in_the_users_file_after_a_yes(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {"model": "anthropic:x", "other": 1})
    reply = scene.call(setting="model", value="anthropic:y")
    assert (reply.data["previousValue"], reply.data["newValue"]) == ("anthropic:x", "anthropic:y")
    assert scene.kept == {"model": "anthropic:y", "other": 1}
    assert len(scene.asker.questions) == 1
    assert scene.call(setting="globLimits.maxResults", value="50").data["newValue"] == 50
    assert scene.kept["globLimits"] == {"maxResults": 50}


def test_no_allow_rule_and_no_quiet_mode_changes_a_setting(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {}, mode="acceptEdits", allowed_tools=("Config", "Edit"))
    scene.asker._answers.clear()
    assert scene.call(setting="model", value="ollama:b").outcome == "denied"
    assert (scene.kept, len(scene.asker.questions)) == ({}, 1)


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"])
def test_policies_are_told_what_sessions_do(mode: Any) -> None:
    allowing = PermissionContext.started_in("/proj", mode, [Rule.parse("allow", "Config")])
    looks = decide(facts_from_input("Config", {"setting": "theme"}, "/proj"), allowing)
    changes = decide(facts_from_input("Config", {"setting": "theme", "value": "dark"}, "/proj"), allowing)
    wanted = {"plan": "deny", "dontAsk": "deny", "bypassPermissions": "allow"}.get(mode, "ask")
    assert (looks.behavior, changes.behavior) == ("allow", wanted)


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_nothing_is_changed_where_nothing_may_be(isolated_home: Path, tmp_path: Path, mode: str) -> None:
    scene = Scene(isolated_home, tmp_path, {}, mode=mode)
    assert scene.call(setting="model", value="ollama:b").outcome == "denied"
    assert scene.kept == {}


@pytest.mark.parametrize(
    "key",
    [
        *(
            "permissions.allow",
            "permissions.defaultMode",
            "hooks",
            "hooks.onGateFailure",
            "mcpServers",
            "sandbox.enabled",
        ),
        *("env", "env.PATH", "apiKeyHelper", "enableAllProjectMcpServers", "classifier.model", "shell.functions"),
        *("web.proxy", "telemetry", "unheard.of", "agents.maxDepth", "model.x", "", "Model"),
        *(
            "permissions..defaultMode",
            ".model",
            "model.",
            "model ",
            "model\n",
            "m\u043edel",
            "\uff4dodel",
            "model\u200b",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_what_governs_rights_or_is_not_known_cannot_be_set(
    isolated_home: Path, tmp_path: Path, key: str, mode: str
) -> None:
    scene = Scene(isolated_home, tmp_path, {}, mode=mode)
    assert scene.call(setting=key, value="x").outcome == "invalid"
    assert (scene.kept, scene.asker.questions) == ({}, [])


def test_every_key_that_can_be_set_is_known(isolated_home: Path) -> None:
    assert all(key in KNOWN or key.split(".")[0] in KNOWN or key in TASTES for key in SETTABLE)
    assert set(THEME_NAMES) == set(THEMES)
    assert set(TASTES) <= set(SETTABLE)


def test_the_looks_of_the_terminal_can_be_changed(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {"theme": "dark"})
    assert scene.call(setting="theme").data["value"] == "dark"
    reply = scene.call(setting="theme", value="light")
    assert (reply.data["previousValue"], reply.data["newValue"]) == ("dark", "light")
    assert "next start" in str(reply.content)
    refused = scene.call(setting="theme", value="pink")
    assert (refused.outcome, refused.error_code) == ("invalid", 4)
    assert "light-daltonized" in str(refused.content)
    assert scene.kept == {"theme": "light"}


@pytest.mark.parametrize("key", ["env", "env.TOKEN", "mcpServers", "telemetry", "modelOptions", "web.search"])
def test_what_may_hold_a_secret_is_not_told(isolated_home: Path, tmp_path: Path, key: str) -> None:
    scene = Scene(isolated_home, tmp_path, {"env": {"TOKEN": "s3cret"}})
    reply = scene.call(setting=key)
    assert (reply.is_error, "s3cret" in str(reply.content)) == (True, False)


def test_a_value_of_a_wrong_kind_changes_nothing(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {"model": "a:b"})
    for key, value in (("tools.taskList", "both"), ("globLimits.maxResults", -1)):
        reply = scene.call(setting=key, value=value)
        assert (reply.is_error, reply.data is None or reply.data["success"]) == (True, False), key
    assert scene.kept == {"model": "a:b"}


def test_it_is_said_where_another_source_has_the_last_word(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, {}, settings=('{"model": "a:flag"}',))
    reply = scene.call(setting="model", value="ollama:mine")
    assert ("has no effect yet" in str(reply.content), scene.kept) == (True, {"model": "ollama:mine"})


@pytest.mark.parametrize("key", ["model", "fallbackModel"])
@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "x", "a:b", "http://models.example", "scripted:turns.jsonl", "replay:turns.jsonl"),
        *("ollama:\0x", "ollama:" + "x" * 300, 3, True),
    ],
)
def test_what_no_later_session_should_begin_with_is_refused(
    isolated_home: Path, tmp_path: Path, key: str, value: Any
) -> None:
    scene = Scene(isolated_home, tmp_path, {}, mode="bypassPermissions")
    reply = scene.call(setting=key, value=value)
    assert (reply.outcome, scene.kept) == ("invalid", {})
    assert "names no model" in str(reply.content)
