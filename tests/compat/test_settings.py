"""One case per sentence of the compatibility page about settings files; the comment above a test names its fact."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.load import load_settings
from holdfast.settings.model import Settings
from holdfast.settings.sources import CommandLine, SettingsRoots, SourceKind, parse_setting_sources
from holdfast.settings.trust import FolderIdentity, MemoryTrust

FULL = json.loads("""
{"permissions":{"allow":["Read"],"ask":["Bash(git push *)"],"deny":["Read(.env)"],"additionalDirectories":["../docs"],
  "defaultMode":"acceptEdits","disableBypassPermissionsMode":"disable","disableAutoMode":"disable"},
 "hooks":{}, "env":{"FOO":"bar"}, "disableAllHooks":false, "allowManagedHooksOnly":false,
 "allowManagedPermissionRulesOnly":false, "enabledPlugins":{"a@b":true}, "enabledMcpjsonServers":["memory"],
 "disabledMcpjsonServers":["filesystem"],
 "sandbox":{"enabled":true,"failIfUnavailable":false,"autoAllowBashIfSandboxed":true,"excludedCommands":["docker *"],
  "allowUnsandboxedCommands":true,
  "filesystem":{"allowWrite":["/w"],"denyWrite":["/x"],"denyRead":["/y"],"allowRead":["/z"]},
  "network":{"allowedDomains":["a.org"],"deniedDomains":["b.org"],"allowUnixSockets":["/s"],"allowLocalBinding":false,
   "httpProxyPort":0,"socksProxyPort":0}}}
""")


class Machine:
    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "home/app"
        (self.project / ".git").mkdir(parents=True)
        self.managed = base / "etc/claude-code"
        self.roots = SettingsRoots(
            home=str(self.home),
            user_native=str(self.home / ".config/holdfast"),
            user_existing=str(self.home / ".claude"),
            managed_existing=(str(self.managed),),
            managed_native=(str(base / "etc/holdfast"),),
            state=str(base / "state"),
        )

    def put(self, path: Path, value: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        path.chmod(0o644)

    def user(self, value: object) -> None:
        self.put(self.home / ".claude/settings.json", value)

    def shared(self, value: object) -> None:
        self.put(self.project / ".claude/settings.json", value)

    def local(self, value: object) -> None:
        self.put(self.project / ".claude/settings.local.json", value)

    def policy(self, value: object) -> None:
        self.put(self.managed / "managed-settings.json", value)

    def load(self, *, trusted: bool = True, cwd: Path | None = None, **options: Any) -> Settings:
        trust = MemoryTrust()
        place = str(cwd or self.project)
        if trusted:
            first = load_settings(place, self.roots)
            trust.trust(FolderIdentity.of(first.root), items=[item.hash for item in first.items])
        return load_settings(place, self.roots, trust=trust, **options)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# Precedence from high to low is managed, flags and --settings, settings.local.json, settings.json, the user's file.
def test_precedence(machine: Machine) -> None:
    steps = [(machine.user, "user"), (machine.shared, "project"), (machine.local, "local")]
    for write, name in steps:
        write({"model": name})
        assert machine.load().get("model") == name
    cli = CommandLine(settings=('{"model": "flag"}',))
    assert machine.load(cli=cli).get("model") == "flag"
    machine.policy({"model": "managed"})
    assert machine.load(cli=cli).get("model") == "managed"


# Fact: --settings <file|json>.
def test_settings_flag_takes_a_file_or_json(machine: Machine) -> None:
    machine.put(machine.project / "more.json", {"model": "file"})
    assert machine.load(cli=CommandLine(settings=("more.json",))).get("model") == "file"
    assert machine.load(cli=CommandLine(settings=('{"model": "text"}',))).get("model") == "text"


# Fact: $CLAUDE_CONFIG_DIR.
def test_config_directory_variable_moves_the_user_file() -> None:
    roots = SettingsRoots.from_environment({"HOME": "/home/u", "CLAUDE_CONFIG_DIR": "/elsewhere"}, platform="linux")
    assert roots.user_existing == "/elsewhere"
    assert SettingsRoots.from_environment({"HOME": "/home/u"}, platform="linux").user_existing == "/home/u/.claude"


# Fact: Scalars override.
def test_scalars_override(machine: Machine) -> None:
    machine.user({"permissions": {"defaultMode": "acceptEdits"}, "sandbox": {"failIfUnavailable": False}})
    machine.policy({"permissions": {"defaultMode": "plan"}, "sandbox": {"failIfUnavailable": True}})
    settings = machine.load()
    assert settings.default_mode == "plan"
    assert settings.get("sandbox.failIfUnavailable") is True


# Fact: lists merge.
def test_lists_merge(machine: Machine) -> None:
    machine.user({"permissions": {"deny": ["A"]}, "disabledMcpjsonServers": ["a"]})
    machine.shared({"permissions": {"deny": ["B"]}, "disabledMcpjsonServers": ["b", "a"]})
    machine.local({"permissions": {"deny": ["C"]}})
    machine.policy({"permissions": {"deny": ["D"]}})
    settings = machine.load()
    assert [rule.text for rule in settings.rules] == ["A", "B", "C", "D"]
    assert settings.mcp_disabled == ("a", "b")


# Fact: exceptions fallbackModel, availableModels.
@pytest.mark.parametrize("key", ["fallbackModel", "availableModels"])
def test_two_lists_are_replaced(machine: Machine, key: str) -> None:
    machine.user({key: ["a", "b"]})
    machine.policy({key: ["c"]})
    assert machine.load().get(key) == ("c",)


# Fact: Managed: /Library/Application Support/ClaudeCode/…, /etc/claude-code/…, C:\\Program Files\\ClaudeCode\\….
def test_managed_places() -> None:
    places = {
        "darwin": "/Library/Application Support/ClaudeCode",
        "linux": "/etc/claude-code",
        "win32": "C:\\Program Files\\ClaudeCode",
    }
    for platform, place in places.items():
        roots = SettingsRoots.from_environment({"HOME": "/home/u"}, platform=platform)
        assert roots.managed_existing == (place,)


# Fact: + managed-settings.d/.
def test_managed_drop_ins(machine: Machine) -> None:
    machine.policy({"model": "base", "permissions": {"deny": ["A"]}})
    machine.put(
        machine.managed / "managed-settings.d/10-more.json", {"model": "drop-in", "permissions": {"deny": ["B"]}}
    )
    settings = machine.load()
    assert settings.get("model") == "drop-in"
    assert [rule.text for rule in settings.rules] == ["A", "B"]


# Fact: Local file lives at git root.
def test_local_file_is_found_at_the_git_root_from_below(machine: Machine) -> None:
    machine.local({"permissions": {"deny": ["A"]}})
    inner = machine.project / "a/b"
    inner.mkdir(parents=True)
    assert [(rule.text, rule.source) for rule in machine.load(cwd=inner).rules] == [("A", SourceKind.LOCAL)]


# Fact: (main checkout for worktrees).
def test_local_file_of_the_main_checkout_serves_a_worktree(machine: Machine) -> None:
    tree = machine.home / "tree"
    private = machine.project / ".git/worktrees/tree"
    private.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {private}\n")
    (private / "gitdir").write_text(f"{tree}/.git\n")
    (private / "commondir").write_text("../..\n")
    machine.local({"permissions": {"deny": ["A"]}})
    assert [rule.text for rule in machine.load(cwd=tree).rules] == ["A"]


# Fact: Env vars are not a level.
def test_environment_variables_change_no_setting(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.load()
    for name in ("CLAUDE_CODE_PERMISSION_MODE", "HOLDFAST_PERMISSIONS", "HOLDFAST_MODEL", "HOLDFAST_DEFAULT_MODE"):
        monkeypatch.setenv(name, "bypassPermissions")
    assert machine.load() == before


# Fact: Unknown hook event must not void the file.
def test_unknown_hook_event(machine: Machine) -> None:
    known = [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "x"}]}]
    machine.user({"hooks": {"FromTheFuture": {"any": "shape"}, "PostToolUse": known}, "permissions": {"deny": ["A"]}})
    settings = machine.load()
    assert [(hook.event, hook.matcher) for hook in settings.hooks] == [("PostToolUse", "Edit|Write")]
    assert [rule.text for rule in settings.rules] == ["A"]


# The sample object: every key is accepted with these types, in every file
@pytest.mark.parametrize("place", ["user", "shared", "local", "policy"])
def test_every_documented_key_is_accepted(machine: Machine, place: str) -> None:
    getattr(machine, place)(FULL)
    settings = machine.load()
    assert {rule.text for rule in settings.rules} == {"Read", "Bash(git push *)", "Read(.env)"}
    assert (settings.bypass_disabled, settings.auto_disabled, settings.mcp_disabled) == (True, True, ("filesystem",))
    assert settings.get("sandbox.filesystem.denyWrite") == ("/x",)
    expected = 0 if place == "policy" else 2  # the two allowManaged… keys say that they count only in policy
    assert len(settings.problems) == expected


def test_the_sample_object_of_the_user_counts_whole(machine: Machine) -> None:
    machine.user(FULL)
    settings = machine.load(trusted=False)
    assert settings.default_mode == "acceptEdits"
    assert [entry.directory for entry in settings.directories] == [str(machine.home / "docs")]
    assert [(entry.name, entry.value) for entry in settings.env] == [("FOO", "bar")]
    assert (settings.mcp_enabled, dict(settings.plugins)) == (("memory",), {"a@b": True})
    assert json.loads(json.dumps(settings.sandbox, default=dict)) == FULL["sandbox"]


# Fact: defaultMode: default|acceptEdits|plan|auto|dontAsk|bypassPermissions|manual
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "manual"])
def test_every_mode_name(machine: Machine, mode: str) -> None:
    machine.user({"permissions": {"defaultMode": mode}})
    assert machine.load().default_mode == ("default" if mode == "manual" else mode)


# Fact: disableBypassPermissionsMode and disableAutoMode take the word disable.
@pytest.mark.parametrize(
    ("key", "mode"), [("disableBypassPermissionsMode", "bypassPermissions"), ("disableAutoMode", "auto")]
)
def test_a_mode_can_be_switched_off(machine: Machine, key: str, mode: str) -> None:
    machine.policy({"permissions": {key: "disable"}})
    settings = machine.load(cli=CommandLine(permission_mode=mode))
    assert settings.default_mode == "default"
    assert settings.problems


# Fact: Sandbox paths differ from rules: there /x is absolute, ./x project-relative (~/.claude in user settings).
def test_sandbox_paths(machine: Machine) -> None:
    value = {"sandbox": {"filesystem": {"denyRead": ["/x", "./x"]}}}
    machine.user(value)
    machine.shared(value)
    assert machine.load().get("sandbox.filesystem.denyRead") == (
        "/x",
        str(machine.home / ".claude/x"),
        str(machine.project / "x"),
    )


# Fact: CLI: --allowedTools --disallowedTools … --permission-mode … --add-dir … --settings.
def test_flags_are_settings(machine: Machine) -> None:
    cli = CommandLine(("{}",), ("Read,Edit",), ("Bash(rm *)",), ("/d",), "plan")
    settings = machine.load(cli=cli)
    assert [(rule.behavior, rule.text) for rule in settings.rules] == [
        ("deny", "Bash(rm *)"),
        ("allow", "Read"),
        ("allow", "Edit"),
    ]
    assert settings.default_mode == "plan"
    assert settings.directories[0].directory == "/d"


# Fact: --setting-sources user,project,local.
def test_setting_sources(machine: Machine) -> None:
    machine.user({"permissions": {"deny": ["U"]}})
    machine.shared({"permissions": {"deny": ["P"]}})
    machine.local({"permissions": {"deny": ["L"]}})
    for text, expected in (
        ("user", ["U"]),
        ("project, local", ["P", "L"]),
        ("user,project,local", ["U", "P", "L"]),
        ("", []),
    ):
        settings = machine.load(setting_sources=parse_setting_sources(text))
        assert [rule.text for rule in settings.rules] == expected
    with pytest.raises(SettingsError, match="policy"):
        parse_setting_sources("user,policy")


# Fact: Trust: project permissions.allow and additionalDirectories apply only after the folder is trusted.
def test_allow_waits_for_trust(machine: Machine) -> None:
    machine.shared({"permissions": {"allow": ["A"], "additionalDirectories": ["/d"]}})
    before, after = machine.load(trusted=False), machine.load()
    assert (before.rules, before.directories) == ((), ())
    assert [rule.text for rule in after.rules] == ["A"]
    assert [entry.directory for entry in after.directories] == ["/d"]


# Fact: deny/ask always apply.
def test_deny_and_ask_always_apply(machine: Machine) -> None:
    machine.shared({"permissions": {"deny": ["D"], "ask": ["Q"]}})
    assert [rule.text for rule in machine.load(trusted=False).rules] == ["D", "Q"]


# Fact: -p never shows the dialog: loading asks nobody and records nothing
def test_loading_never_asks_and_never_trusts(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.shared({"permissions": {"allow": ["A"]}})
    assert not machine.load(trusted=False).trusted
    assert capsys.readouterr() == ("", "")
    assert not Path(machine.roots.state).exists()


# Fact of the header, native first: both are read, native wins on a scalar, lists merge.
def test_native_and_existing(machine: Machine) -> None:
    machine.shared({"model": "existing", "permissions": {"deny": ["A"]}})
    machine.put(machine.project / ".holdfast/settings.json", {"model": "native", "permissions": {"deny": ["B"]}})
    settings = machine.load()
    assert settings.get("model") == "native"
    assert [rule.text for rule in settings.rules] == ["A", "B"]


# 4.2: "/x = relative to the settings source (project root / ~/.claude for user settings / dir of --settings file /
# original cwd for local, CLI, session)"
def test_anchors(machine: Machine) -> None:
    deny = {"permissions": {"deny": ["Read(/x)"]}}
    machine.user(deny)
    machine.shared(deny)
    machine.local(deny)
    machine.put(machine.home / "extra/s.json", deny)
    inner = machine.project / "inner"
    inner.mkdir()
    cli = CommandLine(settings=(str(machine.home / "extra/s.json"),), disallowed_tools=("Read(/x)",))
    settings = machine.load(cwd=inner, cli=cli, session=deny)
    assert [rule.anchor for rule in settings.rules] == [
        str(machine.home / ".claude"),
        str(machine.project),
        str(inner),
        str(machine.home / "extra"),
        str(inner),
        str(inner),
    ]


# 4.3: hooks "in any settings file; entries merge"
def test_hooks_of_all_files_add_up(machine: Machine) -> None:
    def hooks(command: str) -> object:
        return {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}

    for write in (machine.user, machine.shared, machine.local, machine.policy):
        write(hooks(write.__name__))
    assert [hook.handler["command"] for hook in machine.load().hooks] == ["user", "shared", "local", "policy"]
