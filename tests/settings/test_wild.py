"""Settings as they are met: nulls, modes of others, misspelt keys."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.save import save_rules
from holdfast.settings.sources import CommandLine

USER = "~/.claude/settings.json"
NULLS: list[dict[str, Any]] = [
    {"permissions": None, "hooks": None, "env": None, "sandbox": None, "model": None, "enabledPlugins": None},
    {"permissions": {"allow": None, "deny": None, "ask": None, "defaultMode": None, "additionalDirectories": None}},
    {"permissions": {"disableBypassPermissionsMode": None}, "disableAllHooks": None, "fallbackModel": None},
    {"env": {"A": None}, "sandbox": {"enabled": None, "network": {"httpProxyPort": None}}},
    {"hooks": {"PreToolUse": None, "Stop": [{"matcher": None, "hooks": []}]}, "tools": {"taskList": None}},
    {"tools.taskList": None, "env.scrub": None, "hooks": {"onGateFailure": None}, "denny": None},
]


@pytest.mark.parametrize("content", NULLS)
def test_null_is_absent(world: Any, content: dict[str, Any]) -> None:
    world.write(USER, content)
    settings = world.load()
    assert (settings.problems, settings.default_mode, settings.bypass_disabled, settings.env) == (
        (),
        "default",
        False,
        (),
    )


def test_a_null_behind_a_list_takes_no_deny_away(world: Any) -> None:
    world.write(USER, '{"permissions": {"deny": ["A"], "deny": null}, "permissions": null}')
    assert [rule.text for rule in world.load().rules] == ["A"]


@pytest.mark.parametrize(
    "content", [{"permissions": None}, {"permissions": {"allow": None, "deny": ["B"]}, "model": "m"}]
)
def test_a_rule_is_saved_in_place_of_a_null(world: Any, content: dict[str, Any]) -> None:
    path = world.write(USER, content)
    save_rules(str(path), "allow", ["A"])
    settings = world.load()
    assert ("allow", "A") in [(rule.behavior, rule.text) for rule in settings.rules]
    assert settings.problems == ()


def test_an_unknown_mode_is_told_and_counts_as_default(world: Any) -> None:
    path = world.write(USER, {"permissions": {"defaultMode": "acceptEdit", "deny": ["A"]}})
    settings = world.load()
    assert (settings.default_mode, [rule.text for rule in settings.rules]) == ("default", ["A"])
    [problem] = settings.problems
    assert (problem.path, problem.line) == (str(path), 3)
    assert "did you mean acceptEdits?" in problem.message


def test_an_unknown_mode_of_the_command_line_or_a_program_is_an_error(world: Any) -> None:
    with pytest.raises(SettingsError, match="defaultMode"):
        world.load(cli=CommandLine(permission_mode="yolo"))
    with pytest.raises(SettingsError, match="defaultMode"):
        world.load(session={"permissions": {"defaultMode": "yolo"}})


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ({"permissions": {"denny": ["A"]}}, '"deny" inside "permissions"'),
        ({"permissions": {"Deny": ["A"]}}, '"deny" inside "permissions"'),
        ({"permissions": {"askk": ["A"]}}, '"ask" inside "permissions"'),
        ({"Permissions": {"deny": ["A"]}}, '"permissions"'),
        ({"permission": {"deny": ["A"]}}, '"permissions"'),
        ({"permissions.deny": ["A"]}, '"deny" inside "permissions"'),
        ({"Permissions.Deny": ["A"]}, '"deny" inside "permissions"'),
        ({"deny": ["A"]}, '"deny" inside "permissions"'),
        ({"sandbox": {"enable": True}}, '"enabled" inside "sandbox"'),
        ({"sandbox": {"network": {"deniedDomain": ["a"]}}}, '"deniedDomains" inside "sandbox.network"'),
        ({"hook": {}}, '"hooks"'),
        ({"hooks.onGatefailure": "deny"}, '"hooks.onGateFailure"'),
    ],
)
def test_a_misspelt_key_that_would_hide_a_rule_or_a_gate_stops_the_start(
    world: Any, content: dict[str, Any], meant: str
) -> None:
    world.write(USER, content)
    with pytest.raises(SettingsError) as caught:
        world.load()
    assert f"did you mean {meant}?" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"permissions": {"alow": ["A"]}}, 'did you mean "allow" inside "permissions"?'),
        ({"allow": ["A"]}, 'did you mean "allow" inside "permissions"?'),
        ({"permissions": {"DefaultMode": "plan"}}, 'did you mean "defaultMode" inside "permissions"?'),
        ({"permissions": {"somethingElse": 1}}, "'permissions.somethingElse' is not known here"),
        ({"Model": "m"}, 'did you mean "model"?'),
        ({"modle": "m"}, 'did you mean "model"?'),
        ({"tools.tasklist": "todo"}, 'did you mean "tools.taskList"?'),
        ({"hooks": {"PreToolUSe": []}}, "did you mean PreToolUse?"),
    ],
)
def test_any_other_misspelt_key_is_told_by_name(world: Any, content: dict[str, Any], told: str) -> None:
    path = world.write(USER, content)
    [problem] = world.load().problems
    assert problem.path == str(path)
    assert told in problem.message


def test_the_keys_of_others_are_no_mistakes(world: Any) -> None:
    world.write(
        USER,
        {
            "$schema": "https://json.schemastore.org/x.json",
            "apiKeyHelper": "/bin/x",
            "cleanupPeriodDays": 20,
            "includeCoAuthoredBy": False,
            "statusLine": {"type": "command", "command": "x"},
            "outputStyle": "x",
            "forceLoginMethod": "x",
            "alwaysThinkingEnabled": True,
            "spinnerTipsEnabled": False,
            "effortLevel": "high",
            "language": "de",
            "respectGitignore": True,
            "companyAnnouncements": [],
            "otelHeadersHelper": "x",
            "theme": "dark",
            "editorMode": "vim",
            "attribution": {},
            "plansDirectory": "x",
            "autoUpdatesChannel": "x",
            "strictKnownMarketplaces": [],
            "extraKnownMarketplaces": {},
            "allowedHttpHookUrls": [],
            "httpHookAllowedEnvVars": [],
            "allowedMcpServers": [],
            "deniedMcpServers": [],
            "modelOverrides": {},
            "fileSuggestion": {},
            "showTurnDuration": True,
            "teammateMode": "auto",
        },
    )
    assert world.load().problems == ()


def test_the_mode_of_a_folder_that_nobody_knows_does_not_count(world: Any, tmp_path: Path) -> None:
    world.write(".claude/settings.local.json", {"permissions": {"defaultMode": "bypassPermision"}})
    assert world.load(trusted=True).default_mode == "default"
