import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.merge import Origin
from holdfast.settings.model import RuleEntry
from holdfast.settings.sources import CommandLine, SourceKind


def test_no_files_at_all_give_the_defaults(world: Any) -> None:
    settings = world.load()
    assert (settings.rules, settings.default_mode, settings.problems, settings.files) == ((), "default", (), ())
    assert settings.root == str(world.project)
    assert not settings.trusted


def test_a_rule_carries_its_source_file_line_and_anchor(world: Any) -> None:
    path = world.write(".claude/settings.json", {"permissions": {"deny": ["Read(.env)", "Bash(rm *)"]}})
    assert world.load().rules == (
        RuleEntry("deny", "Read(.env)", SourceKind.PROJECT, str(path), 4, str(world.project)),
        RuleEntry("deny", "Bash(rm *)", SourceKind.PROJECT, str(path), 5, str(world.project)),
    )


def test_more_entries_than_anybody_reads_are_an_error_that_says_how_many(world: Any) -> None:
    path = world.write(".claude/settings.json", {"permissions": {"deny": [f"Read({n})" for n in range(5_001)]}})
    with pytest.raises(SettingsError, match="5,001 entries; at most 5,000") as caught:
        world.load()
    assert str(path) in str(caught.value)


def test_scalars_follow_the_order_policy_session_command_line_local_project_user(world: Any) -> None:
    def model(**more: Any) -> Any:
        return world.load(trusted=True, **more).get("model")

    world.write("~/.claude/settings.json", {"model": "user"})
    assert model() == "user"
    world.write(".claude/settings.json", {"model": "project"})
    assert model() == "project"
    world.write(".claude/settings.local.json", {"model": "local"})
    assert model() == "local"
    flags = CommandLine(settings=('{"model": "settings flag"}',))
    assert model(cli=flags) == "settings flag"
    both = CommandLine(settings=('{"model": "settings flag"}',), model="flag")
    assert model(cli=both) == "flag"
    assert model(cli=both, session={"model": "session"}) == "session"
    world.write(world.policy / "claude-code/managed-settings.json", {"model": "policy"})
    assert model(cli=both, session={"model": "session"}) == "policy"


def test_native_wins_over_the_existing_format_on_a_scalar_and_lists_merge(world: Any) -> None:
    world.write("~/.claude/settings.json", {"model": "old", "permissions": {"deny": ["A", "B"]}})
    native = world.write("~/.config/holdfast/settings.json", {"model": "new", "permissions": {"deny": ["B", "C"]}})
    settings = world.load()
    assert settings.get("model") == "new"
    assert settings.where("model") == Origin(SourceKind.USER, str(native), 2)
    assert settings.get("permissions.deny") == ("A", "B", "C")
    assert [rule.text for rule in settings.rules] == ["A", "B", "B", "C"]
    assert [origin.path for origin in settings.origins("permissions.deny")] == [
        str(world.home / ".claude/settings.json"),
        str(native),
    ]


def test_policy_drop_ins_follow_the_main_file_in_order_of_their_names(world: Any) -> None:
    world.write(world.policy / "holdfast/managed-settings.json", {"model": "main", "language": "main"})
    world.write(world.policy / "holdfast/managed-settings.d/20-b.json", {"model": "b"})
    world.write(world.policy / "holdfast/managed-settings.d/10-a.json", {"model": "a", "language": "a"})
    world.write(world.policy / "holdfast/managed-settings.d/.hidden.json", {"model": "hidden"})
    world.write(world.policy / "holdfast/managed-settings.d/note.txt", "no settings")
    settings = world.load()
    assert (settings.get("model"), settings.get("language")) == ("b", "a")


def test_setting_sources_choose_files_but_never_leave_out_policy_or_flags(world: Any) -> None:
    world.write("~/.claude/settings.json", {"permissions": {"deny": ["U"]}})
    world.write(".claude/settings.json", {"permissions": {"deny": ["P"]}})
    world.write(".claude/settings.local.json", {"permissions": {"deny": ["L"]}})
    world.write(world.policy / "holdfast/managed-settings.json", {"permissions": {"deny": ["M"]}})
    flags = CommandLine(disallowed_tools=("F",))

    def names(*sources: SourceKind) -> list[str]:
        return [rule.text for rule in world.load(sources=set(sources), cli=flags).rules]

    assert names(SourceKind.USER) == ["U", "F", "M"]
    assert names(SourceKind.PROJECT, SourceKind.LOCAL) == ["P", "L", "F", "M"]
    assert names() == ["F", "M"]


def test_project_files_count_from_the_root_down_to_the_working_directory(world: Any) -> None:
    inner = world.project / "packages/web"
    world.write(".claude/settings.json", {"permissions": {"deny": ["Root"]}, "language": "root"})
    world.write("packages/web/.claude/settings.json", {"permissions": {"deny": ["Inner"]}, "language": "inner"})
    settings = world.load(cwd=inner, trusted=True)
    assert [(rule.text, rule.anchor) for rule in settings.rules] == [
        ("Root", str(world.project)),
        ("Inner", str(inner)),
    ]
    assert settings.get("language") == "inner"
    assert settings.root == str(world.project)


def test_in_the_home_directory_the_users_file_counts_once_and_as_the_users(world: Any) -> None:
    world.write("~/.claude/settings.json", {"permissions": {"allow": ["Read"]}})
    settings = world.load(cwd=world.home)
    assert [(rule.text, rule.source) for rule in settings.rules] == [("Read", SourceKind.USER)]


def test_anchors_follow_the_source(world: Any, tmp_path: Path) -> None:
    inner = world.project / "src"
    inner.mkdir()
    deny = {"permissions": {"deny": ["Read(/x)"]}}
    world.write("~/.claude/settings.json", deny)
    world.write("~/.config/holdfast/settings.json", deny)
    world.write(".claude/settings.json", deny)
    world.write(".holdfast/settings.local.json", deny)
    extra = world.write(tmp_path / "extra/more.json", deny)
    world.write(world.policy / "holdfast/managed-settings.json", deny)
    cli = CommandLine(settings=(str(extra), json.dumps(deny)), disallowed_tools=("Read(/x)",))
    settings = world.load(cwd=inner, cli=cli, session=deny)
    assert [(rule.source.value, rule.anchor) for rule in settings.rules] == [
        ("user", str(world.home / ".claude")),
        ("user", str(world.home / ".config/holdfast")),
        ("project", str(world.project)),
        ("local", str(inner)),
        ("command_line", str(tmp_path / "extra")),
        ("command_line", str(inner)),
        ("command_line", str(inner)),
        ("session", str(inner)),
        ("policy", str(world.project)),
    ]


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        ("", 1, "empty"),
        ("   \n", 2, "empty"),
        ("[]", 1, "object"),
        ('"text"', 1, "object"),
        ('{\n  "permissions": {\n    "deny": ["a",]\n  }\n}', 3, "comma"),
        ('{\n  // note\n  "a": 1}', 2, "comments"),
        ('{"permissions": {"deny": ["a"]}', 1, "ends"),
        ('{"permissions": []}', 1, "permissions must be an object"),
        ('{"permissions":\n {"deny": "Bash"}}', 2, "permissions.deny must be a list"),
        ('{"permissions": {"allow": {"a": 1}}}', 1, "permissions.allow"),
        ('{"permissions": {"defaultMode": 1}}', 1, "permissions.defaultMode"),
        ('{"permissions": {"disableBypassPermissionsMode": true}}', 1, "disableBypassPermissionsMode"),
        ('{"hooks": []}', 1, "hooks must be an object"),
        ('{"env": {"A": []}}', 1, "env.A"),
        ('{"env": []}', 1, "env must be an object"),
        ('{"sandbox": {"enabled": "yes"}}', 1, "sandbox.enabled"),
        ('{"sandbox": {"network": {"httpProxyPort": 70000}}}', 1, "sandbox.network.httpProxyPort"),
        ('{"disableAllHooks": 1}', 1, "disableAllHooks"),
        ('{"tools": {"siblingErrors": "x"}}', 1, "tools.siblingErrors"),
        ('{"tools.taskList": "x"}', 1, "tools.taskList"),
        ('{"hooks": {"onGateFailure": "allow"}}', 1, "hooks.onGateFailure"),
        ('{"fallbackModel": 1}', 1, "fallbackModel"),
        ('{"permissions": {"deny": "x"}, "permissions": {}}', 1, "permissions.deny"),
    ],
)
@pytest.mark.parametrize("place", [".claude/settings.json", "~/.claude/settings.json"])
def test_a_broken_file_stops_with_its_place_and_never_means_no_rules(
    world: Any, content: str, line: int, word: str, place: str
) -> None:
    path = world.write(place, content)
    with pytest.raises(SettingsError) as caught:
        world.load()
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert word in str(caught.value)


BROKEN_GATES = [
    ('{"hooks": {"PreToolUse": {}}}', "hooks.PreToolUse", None),
    ('{"hooks": {"PreToolUse": ["x"]}}', "list of objects", None),
    ('{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}', "matcher", None),
    ('{"hooks": {"PermissionRequest": [{"matcher": "x"}]}}', "hooks.PermissionRequest.hooks", "x"),
    ('{"hooks": {"PreToolUse": [{"matcher": "y", "hooks": ["x"]}]}}', "list of objects", "y"),
]


@pytest.mark.parametrize(("content", "word", "matcher"), BROKEN_GATES)
def test_a_broken_gate_of_the_user_stops_and_one_of_a_trusted_folder_counts_as_failed(
    world: Any, content: str, word: str, matcher: str | None
) -> None:
    path = world.write(".claude/settings.json", content)
    assert world.load().hooks == ()  # not trusted: it waits
    settings = world.load(trusted=True)
    [gate] = settings.hooks
    assert gate.broken
    assert (gate.matcher, gate.origin.path, gate.origin.line) == (matcher, str(path), 1)
    [problem] = settings.problems
    assert word in problem.message
    world.write("~/.claude/settings.json", content)
    with pytest.raises(SettingsError, match=word):
        world.load()


@pytest.mark.parametrize(
    ("group", "word"),
    [
        ({"hooks": [{"command": "x"}]}, "hooks.type"),
        ({"hooks": [{"type": 5}]}, "hooks.type"),
        ({"hooks": [{"type": "command"}]}, "hooks.command"),
        ({"hooks": [{"type": "command", "command": " "}]}, "hooks.command"),
        ({"matcher": "(Bash", "hooks": []}, "JavaScript pattern"),
        ({"matcher": "(?P<a>x)", "hooks": []}, "JavaScript pattern"),
    ],
)
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_gate_of_the_user_that_could_never_run_stops_the_start(world: Any, group: Any, word: str, event: str) -> None:
    given = {"hooks": {event: [group]}}
    world.write(".claude/settings.json", given)
    world.load(trusted=True)  # a folder does not stop anybody: there it is a gate that failed
    path = world.write("~/.claude/settings.json", given)
    with pytest.raises(SettingsError, match=word) as caught:
        world.load()
    assert caught.value.path == str(path)
    world.write("~/.claude/settings.json", {"hooks": {"Stop": [group]}})
    world.load()


def test_what_stands_beside_hooks_and_is_not_known_is_told(world: Any) -> None:
    handlers = [{"type": "command", "command": "true"}]
    known = {"matcher": "Bash", "description": "d", "id": "i", "hooks": handlers}
    world.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [known, {"Matcher": "Bash", "hooks": handlers}]}})
    settings = world.load()
    assert len(settings.hooks) == 2
    [problem] = settings.problems
    assert "did you mean matcher?" in problem.message


@pytest.mark.parametrize("place", [".claude/settings.json", "~/.claude/settings.json"])
def test_any_other_broken_hook_is_off_with_a_warning(world: Any, place: str) -> None:
    world.write(place, '{"hooks": {"Stop": {"preEdit": "x"}}, "permissions": {"deny": ["A"]}}')
    settings = world.load(trusted=True)
    assert settings.hooks == ()
    assert [rule.text for rule in settings.rules] == ["A"]
    assert "hooks.Stop" in settings.problems[0].message


def test_a_rule_that_is_not_text_disables_only_itself_loudly(world: Any) -> None:
    path = world.write(".claude/settings.json", '{"permissions": {"deny": ["A",\n 7,\n "B"]}}')
    settings = world.load()
    assert [rule.text for rule in settings.rules] == ["A", "B"]
    [problem] = settings.problems
    assert (problem.path, problem.line) == (str(path), 2)
    assert "permissions.deny" in problem.message


def test_an_unknown_hook_event_is_reported_and_the_rest_of_the_file_counts(world: Any) -> None:
    handler = {"type": "command", "command": "check"}
    hooks: dict[str, Any] = {
        "PreToolUse": [{"matcher": "Bash", "hooks": [handler]}],
        "toString": 5,
        "Later": [{"hooks": []}],
    }
    world.write("~/.claude/settings.json", {"hooks": hooks, "permissions": {"deny": ["A"]}})
    settings = world.load()
    assert [rule.text for rule in settings.rules] == ["A"]
    [hook] = settings.hooks
    assert (hook.event, hook.matcher, dict(hook.handler)) == ("PreToolUse", "Bash", handler)
    assert ["toString" in str(p) or "Later" in str(p) for p in settings.problems] == [True, True]


def test_unknown_keys_are_kept_and_ignored(world: Any) -> None:
    world.write("~/.claude/settings.json", {"futureKey": {"a": [1]}, "toString": "x", "__proto__": {}})
    settings = world.load()
    assert settings.get("futureKey.a") == (1,)
    assert settings.problems == ()


def test_a_repeated_key_is_reported_and_cannot_hide_deny_or_ask_rules(world: Any) -> None:
    text = (
        '{"permissions": {"deny": ["A"], "allow": ["X"]},\n"permissions": {"deny": ["B"], "deny": ["C"], "ask": ["Q"]}}'
    )
    world.write("~/.claude/settings.json", text)
    settings = world.load()
    assert sorted((rule.behavior, rule.text) for rule in settings.rules) == [
        ("ask", "Q"), ("deny", "A"), ("deny", "B"), ("deny", "C"),
    ]  # fmt: skip
    assert len(settings.problems) == 2


def test_command_line_settings_may_be_a_file_or_text_and_a_missing_file_is_an_error(world: Any) -> None:
    world.write("extra.json", {"permissions": {"ask": ["E"]}})
    cli = CommandLine(settings=("extra.json", '  {"permissions": {"ask": ["T"]}}'))
    assert [(r.text, r.path) for r in world.load(cli=cli).rules] == [
        ("E", str(world.project / "extra.json")),
        ("T", "--settings"),
    ]
    with pytest.raises(SettingsError, match="does not exist"):
        world.load(cli=CommandLine(settings=("missing.json",)))
    with pytest.raises(SettingsError, match="JSON"):
        world.load(cli=CommandLine(settings=("{broken",)))


def test_flags_become_rules_directories_and_a_mode(world: Any) -> None:
    cli = CommandLine(
        allowed_tools=("Bash(git log *),Read", "Edit Grep"),
        disallowed_tools=("Bash(rm (a, b) *)",),
        add_dirs=("../lib", "~/docs", "/data"),
        permission_mode="acceptEdits",
    )
    settings = world.load(cli=cli)
    assert [(rule.behavior, rule.text) for rule in settings.rules] == [
        ("deny", "Bash(rm (a, b) *)"),
        ("allow", "Bash(git log *)"),
        ("allow", "Read"),
        ("allow", "Edit"),
        ("allow", "Grep"),
    ]
    assert [entry.directory for entry in settings.directories] == [
        str(world.home / "code/lib"),
        str(world.home / "docs"),
        "/data",
    ]
    assert settings.default_mode == "acceptEdits"
    with pytest.raises(SettingsError, match="defaultMode"):
        world.load(cli=CommandLine(permission_mode="yolo"))


def test_a_flag_value_that_looks_like_an_option_is_only_a_value(world: Any) -> None:
    cli = CommandLine(allowed_tools=('--settings={"permissions":{"defaultMode":"bypassPermissions"}}',))
    settings = world.load(cli=cli)
    assert settings.default_mode == "default"
    assert settings.rules[0].text.startswith("--settings=")


def test_bypass_from_settings_counts_for_the_user_and_not_against_a_switch_in_any_source(world: Any) -> None:
    world.write("~/.claude/settings.json", {"permissions": {"defaultMode": "bypassPermissions"}})
    assert world.load().default_mode == "bypassPermissions"
    world.write(".claude/settings.json", {"permissions": {"disableBypassPermissionsMode": "disable"}})
    settings = world.load()
    assert (settings.default_mode, settings.bypass_disabled) == ("default", True)
    assert "switched off" in settings.problems[0].message


def test_session_settings_never_enter_bypass(world: Any) -> None:
    settings = world.load(session={"permissions": {"defaultMode": "bypassPermissions", "deny": ["A"]}})
    assert settings.default_mode == "default"
    assert [rule.text for rule in settings.rules] == ["A"]
    assert world.load(session={"permissions": {"defaultMode": "plan"}}).default_mode == "plan"


def test_managed_only_switches_count_only_in_policy(world: Any) -> None:
    hook = {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    keys = {"allowManagedHooksOnly": True, "allowManagedPermissionRulesOnly": True}
    own = {"permissions": {"allow": ["Read"], "deny": ["D"], "ask": ["A"]}, "hooks": hook}
    world.write("~/.claude/settings.json", {**own, **keys})
    settings = world.load()
    assert len(settings.hooks) == 1
    assert "Read" in [rule.text for rule in settings.rules]
    assert len(settings.problems) == 2
    world.write(world.policy / "holdfast/managed-settings.json", {**own, **keys})
    settings = world.load()
    assert [hook.origin.source for hook in settings.hooks] == [SourceKind.POLICY]
    assert settings.managed_rules_only
    assert [(rule.behavior, rule.source.value) for rule in settings.rules if rule.text == "Read"] == [
        ("allow", "policy")
    ]
    assert [rule.text for rule in settings.rules if rule.behavior != "allow"] == ["D", "A", "D", "A"]


def test_disable_all_hooks_of_the_user_leaves_the_policys_hooks(world: Any) -> None:
    hook = {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}
    world.write("~/.claude/settings.json", {"hooks": hook, "disableAllHooks": True})
    world.write(world.policy / "holdfast/managed-settings.json", {"hooks": hook})
    assert [entry.origin.source for entry in world.load().hooks] == [SourceKind.POLICY]
    world.write(world.policy / "holdfast/managed-settings.json", {"hooks": hook, "disableAllHooks": True})
    assert world.load().hooks == ()


def test_environment_values_become_text_and_impossible_names_are_reported(world: Any) -> None:
    world.write("~/.claude/settings.json", {"env": {"A": "1", "B": 2, "C": True, "": "x", "D=E": "x"}})
    settings = world.load()
    assert [(entry.name, entry.value, entry.children_only) for entry in settings.env] == [
        ("A", "1", False),
        ("B", "2", False),
        ("C", "true", False),
    ]
    assert len(settings.problems) == 2


@pytest.mark.parametrize("dotted", [False, True])
def test_settings_with_a_dotted_name_are_read_in_both_spellings(world: Any, dotted: bool) -> None:
    nested = {
        "tools": {"siblingErrors": "cancel-all", "taskList": "todo"},
        "hooks": {"onGateFailure": "deny"},
        "env": {"scrub": "allowlist", "X": "1"},
        "shell": {"functions": True},
        "classifier": {"model": "anthropic:small"},
    }
    flat = {
        "tools.siblingErrors": "cancel-all",
        "tools.taskList": "todo",
        "hooks.onGateFailure": "deny",
        "env.scrub": "allowlist",
        "env": {"X": "1"},
        "shell.functions": True,
        "classifier.model": "anthropic:small",
    }
    path = world.write("~/.claude/settings.json", flat if dotted else nested)
    settings = world.load()
    found = (
        settings.sibling_errors,
        settings.task_list,
        settings.gate_failure,
        settings.env_scrub,
        settings.shell_functions,
        settings.classifier_model,
    )
    assert found == ("cancel-all", "todo", "deny", "allowlist", True, "anthropic:small")
    assert [entry.name for entry in settings.env] == ["X"]
    assert settings.where("env.scrub") is not None
    assert settings.where("env.scrub").path == str(path)
    assert settings.problems == ()


def test_sandbox_paths_become_absolute_by_the_rules_of_their_source(world: Any) -> None:
    paths = ["/abs", "./rel", "plain", "~/own", "//double"]
    world.write("~/.claude/settings.json", {"sandbox": {"filesystem": {"denyRead": paths}}})
    world.write(".claude/settings.json", {"sandbox": {"filesystem": {"denyWrite": paths}}})
    places = world.load().sandbox["filesystem"]
    claude, home, project = world.home / ".claude", world.home, world.project
    assert places["denyRead"] == ("/abs", f"{claude}/rel", f"{claude}/plain", f"{home}/own", "/double")
    assert places["denyWrite"] == ("/abs", f"{project}/rel", f"{project}/plain", f"{home}/own", "/double")


def test_the_result_cannot_be_changed(world: Any) -> None:
    world.write("~/.claude/settings.json", {"sandbox": {"enabled": True}, "x": {"y": [1]}})
    settings = world.load()
    with pytest.raises(AttributeError):
        settings.trusted = True
    with pytest.raises(TypeError):
        settings.sandbox["enabled"] = False
    assert isinstance(settings.get("x.y"), tuple)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("place", ["~/.claude/settings.json", "policy"])
def test_config_of_another_user_is_refused(world: Any, place: str) -> None:
    target = world.policy / "holdfast/managed-settings.json" if place == "policy" else place
    path = world.write(target, {})
    os.chown(path, 12345, 12345)
    with pytest.raises(SettingsError, match="another user"):
        world.load()


@pytest.mark.parametrize("mode", [0o666, 0o646])
@pytest.mark.parametrize("place", ["~/.claude/settings.json", "policy"])
def test_config_that_others_may_write_is_refused(world: Any, place: str, mode: int) -> None:
    target = world.policy / "holdfast/managed-settings.json" if place == "policy" else place
    path = world.write(target, {"permissions": {"deny": ["A"]}})
    path.chmod(mode)
    with pytest.raises(SettingsError, match="chmod go-w"):
        world.load()


def test_a_project_file_of_any_owner_and_mode_is_read_because_it_is_judged_anyway(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}}).chmod(0o666)
    assert [rule.text for rule in world.load().rules] == ["A"]


def test_the_users_own_link_to_a_settings_file_is_followed_and_a_dead_one_is_an_error(world: Any) -> None:
    real = world.write("~/dotfiles/settings.json", {"permissions": {"deny": ["A"]}})
    (world.home / ".claude").mkdir()
    link = world.home / ".claude/settings.json"
    link.symlink_to(real)
    assert [rule.text for rule in world.load().rules] == ["A"]
    real.unlink()
    with pytest.raises(SettingsError, match="does not exist"):
        world.load()


def test_a_file_that_may_not_be_read_is_an_error(world: Any) -> None:
    path = world.project / ".claude/settings.json"
    path.mkdir(parents=True)
    with pytest.raises(SettingsError, match="regular"):
        world.load()


def test_a_value_of_another_shape_in_a_higher_source_replaces_the_lower_one(world: Any) -> None:
    world.write("~/.claude/settings.json", {"a": {"b": 1}, "c": 1, "d": [{"x": 1}]})
    world.write("~/.config/holdfast/settings.json", {"a": 2, "c": {"d": 3}, "d": [{"x": 1}, {"x": 2}]})
    settings = world.load()
    assert (settings.get("a"), settings.get("c.d")) == (2, 3)
    assert settings.where(("a", "b")) is None
    assert settings.get("d") == ({"x": 1}, {"x": 2})
    assert str(settings.where("c.d")).endswith(".config/holdfast/settings.json:4")


def test_an_origin_without_a_file_names_its_source(world: Any) -> None:
    settings = world.load(cli=CommandLine(model="m", fallback_model="f"))
    assert str(settings.where("model")) == "command line"
    assert settings.get("fallbackModel") == "f"
    assert settings.describe_problems() == []


def test_a_policy_directory_that_cannot_be_listed_or_is_flooded_is_an_error(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = world.policy / "holdfast/managed-settings.d"
    place.mkdir(parents=True)
    for number in range(257):
        (place / f"{number}.json").write_text("{}")
    with pytest.raises(SettingsError, match="more than 256"):
        world.load()

    def refuse(_: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(SettingsError, match="cannot be listed"):
        world.load()


def test_a_file_that_the_system_does_not_give_is_an_error(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}})
    real = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith("settings.json"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SettingsError, match="Permission denied"):
        world.load()


def test_a_path_that_no_file_can_have_is_an_error(world: Any) -> None:
    with pytest.raises(SettingsError, match="path"):
        world.load(cli=CommandLine(settings=("a\0b",)))


def test_a_directory_that_does_not_exist_reads_only_the_users_files(world: Any) -> None:
    world.write("~/.claude/settings.json", {"permissions": {"deny": ["A"]}})
    settings = world.load(cwd=world.home / "not/there")
    assert [rule.text for rule in settings.rules] == ["A"]
    assert not settings.trusted


def test_problems_are_safe_to_show(world: Any) -> None:
    world.write("~/.claude/settings.json", {"hooks": {"\x1b[2J": []}})
    [line] = world.load().describe_problems()
    assert "\x1b" not in line
    assert "settings.json:" in line
