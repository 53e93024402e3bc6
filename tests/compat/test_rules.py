"""The rule grammar that users already have: one case per fact; each test quotes the fact it holds."""

from typing import Any

import pytest

from holdfast.permissions import decide
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleProblem, RuleSource, parse_rule, parse_rules
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS, facts_from_input


def bash(command: str, **options: Any) -> str:
    return judge("Bash", {"command": command}, cwd="/srv/proj", home="/home/u", **options).behavior


def read(path: str, **options: Any) -> str:
    return judge("Read", {"file_path": path}, cwd="/proj", home="/home/u", **options).behavior


def edit(path: str, *, tool: str = "Edit", **options: Any) -> str:
    field = "notebook_path" if tool == "NotebookEdit" else "file_path"
    return judge(tool, {field: path}, cwd="/proj", home="/home/u", **options).behavior


def fetch(url: str, **options: Any) -> str:
    return judge("WebFetch", {"url": url, "prompt": "p"}, **options).behavior


def problem(text: str, behavior: Behavior) -> RuleProblem:
    found = parse_rule(text, behavior, RuleSource(), aliases=ALIASES)
    assert isinstance(found, RuleProblem)
    return found


# The grammar


def test_deny_then_ask_then_allow_across_all_scopes() -> None:
    kinds = ("policy", "cli", "local", "project", "user")
    for deny_kind in kinds:
        rules = [Rule.parse("allow", "Edit(a)", RuleSource(kind)) for kind in kinds]
        rules.append(Rule.parse("deny", "Edit", RuleSource(deny_kind)))
        context = PermissionContext("bypassPermissions", rules, trusted=True, disk=NoDisk())
        assert decide(facts_from_input("Edit", {"file_path": "/proj/a"}, "/proj"), context).behavior == "deny"
    assert edit("a", allow=["Edit(a)"], ask=["Edit(*)"]) == "ask"


def test_specificity_is_irrelevant() -> None:
    assert bash("git status -s", allow=["Bash(git status -s)"], deny=["Bash(git *)"]) == "deny"
    assert read("src/a", allow=["Read(/src/a)"], ask=["Read(**)"]) == "ask"


@pytest.mark.parametrize("rule", ["Grep", "Grep(*)", "*"])
def test_a_bare_deny_or_star_removes_the_tool(rule: str) -> None:
    context = PermissionContext(rules=[Rule.parse("deny", rule)], disk=NoDisk())
    assert context.denies_whole(("Grep",)) is not None


def test_a_scoped_deny_blocks_calls_only() -> None:
    context = PermissionContext(rules=[Rule.parse("deny", "Read(a)")], disk=NoDisk())
    assert context.denies_whole(("Read",)) is None
    assert read("a", deny=["Read(a)"]) == "deny"


@pytest.mark.parametrize("rule", ["*", "mcp__*"])
def test_globs_in_tool_position_are_for_deny_and_ask_only(rule: str) -> None:
    assert judge("mcp__a__b", {}, deny=[rule], mode="bypassPermissions").behavior == "deny"
    assert judge("mcp__a__b", {}, ask=[rule], mode="bypassPermissions").behavior == "ask"
    assert problem(rule, "allow").kind == "malformed"


def test_allow_globs_only_after_a_literal_server() -> None:
    assert judge("mcp__a__get_x", {}, allow=["mcp__a__get_*"]).behavior == "allow"
    assert problem("mcp__a*", "allow").kind == "malformed"


def test_unknown_names_warn_except_with_underscore_or_star() -> None:
    texts = ["Raed", "my_tool", "Web*", "Read", "Task"]
    _, problems = parse_rules(texts, "deny", RuleSource(), aliases=ALIASES, known_tools=KNOWN_TOOLS)
    assert [(found.text, found.kind) for found in problems] == [("Raed", "unknown tool")]


# Parameter rules


def test_parameter_rules_are_deny_and_ask_only() -> None:
    assert judge("Agent", {"model": "opus"}, deny=["Agent(model:opus)"]).behavior == "deny"
    assert judge("Agent", {"model": "opus"}, ask=["Agent(model:opus)"]).behavior == "ask"
    assert problem("Agent(model:opus)", "allow").kind == "ignored"


def test_a_parameter_is_a_top_level_scalar_with_star_and_an_omitted_one_never_matches() -> None:
    assert judge("Agent", {"model": "opus-4"}, deny=["Agent(model:opus*)"]).behavior == "deny"
    assert judge("Agent", {}, deny=["Agent(model:*)"]).behavior == "allow"
    assert judge("Agent", {"deep": {"model": "opus"}}, deny=["Agent(model:opus)"]).behavior == "allow"


@pytest.mark.parametrize(
    "rule", ["Bash(command:x)", "Read(file_path:x)", "Grep(path:x)", "NotebookEdit(notebook_path:x)", "WebFetch(url:x)"]
)
def test_a_parameter_rule_on_the_primary_field_is_ignored_with_a_warning(rule: str) -> None:
    assert problem(rule, "deny").kind == "ignored"


def test_background_commands_can_be_denied() -> None:
    call = {"command": "ls", "run_in_background": True}
    assert judge("Bash", call, deny=["Bash(run_in_background:true)"]).behavior == "deny"
    assert judge("Bash", {"command": "ls"}, deny=["Bash(run_in_background:true)"]).behavior == "allow"


# Bash


def test_star_anywhere_spans_spaces() -> None:
    assert bash("git commit -m x --amend", allow=["Bash(git * --amend)"]) == "allow"
    assert bash("npm run a b c", allow=["Bash(npm * c)"]) == "allow"


def test_trailing_space_star_is_a_word_boundary() -> None:
    for command, expected in (("make", "allow"), ("make -j4", "allow"), ("makefile", "ask")):
        assert bash(command, allow=["Bash(make *)"]) == expected
        assert bash(command, allow=["Bash(make:*)"]) == expected
    assert bash("makefile", allow=["Bash(make*)"]) == "allow"


def test_an_empty_prefix_is_invalid() -> None:
    assert problem("Bash(:*)", "deny").kind == "malformed"


@pytest.mark.parametrize("separator", ["&&", "||", ";", "|", "|&", "&", "\n"])
def test_every_subcommand_must_match(separator: str) -> None:
    command = f"make a {separator} rm b"
    assert bash(command, allow=["Bash(make *)"]) == "ask"
    assert bash(command, allow=["Bash(make *)", "Bash(rm *)"]) == "allow"
    assert bash(command, deny=["Bash(rm *)"], mode="bypassPermissions") == "deny"


@pytest.mark.parametrize("wrapper", ["timeout 5", "time", "nice", "nohup", "stdbuf -oL", "command", "builtin"])
def test_wrappers_are_stripped(wrapper: str) -> None:
    assert bash(f"{wrapper} make all", deny=["Bash(make *)"], mode="bypassPermissions") == "deny"


def test_wrappers_are_stripped_for_allow() -> None:
    assert bash("timeout 5 make all", allow=["Bash(make *)"]) == "allow"


@pytest.mark.parametrize("runner", ["npx", "docker exec c", "direnv exec .", "mise exec --", "devbox run"])
def test_other_runners_are_not_stripped(runner: str) -> None:
    assert bash(f"{runner} make all", allow=["Bash(make *)"]) == "ask"


def test_safe_assignments_are_stripped_for_allow_and_any_for_deny() -> None:
    assert bash("LANG=C make all", allow=["Bash(make *)"]) == "allow"
    assert bash("PATH=/tmp make all", allow=["Bash(make *)"]) == "ask"
    assert bash("PATH=/tmp make all", deny=["Bash(make *)"]) == "deny"


@pytest.mark.parametrize(
    "command", ["watch ls", "setsid make", "flock f make", "find . -delete", "find . -exec rm {} +"]
)
def test_what_runs_other_commands_is_never_approved_by_prefix(command: str) -> None:
    name = command.split(maxsplit=1)[0]
    assert bash(command, allow=[f"Bash({name} *)"]) == "ask"


def test_redirect_targets_are_checked_as_edit() -> None:
    assert bash("make > log", allow=["Bash(make *)"]) == "ask"
    assert bash("make > log", allow=["Bash(make *)", "Edit(log)"]) == "allow"
    assert bash("make > /dev/null", allow=["Bash(make *)"]) == "allow"
    assert bash("make > ~/log", allow=["Bash(make *)", "Edit"]) == "ask"
    assert bash("make > log", deny=["Edit(log)"], mode="bypassPermissions") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "cat a", "echo a", "pwd", "head a", "tail a", "grep a b", "find . -name a", "wc a", "which ls"),
        *("diff a b", "stat a", "du -s .", "cd src", "git status", "git log"),
    ],
)
def test_the_built_in_read_only_set_runs_free(command: str) -> None:
    assert bash(command, mode="dontAsk") == "allow"


def test_unquoted_globs_prompt_for_commands_with_write_flags() -> None:
    assert bash("sort *") == "ask"
    assert bash("cat *") == "allow"


def test_cd_and_git_prompt_when_the_directory_changes() -> None:
    assert bash("cd sub && git status") == "ask"


def test_too_long_or_unparsable_prompts() -> None:
    assert bash("echo " + "a" * 10_001) == "ask"
    assert bash("echo 'a", allow=["Bash(echo *)"]) == "ask"


def test_monitor_uses_bash_rules() -> None:
    assert judge("Monitor", {"command": "make"}, allow=["Bash(make)"]).behavior == "allow"


def test_powershell_has_the_same_shape_without_case() -> None:
    assert judge("PowerShell", {"command": "GET-date"}, allow=["PowerShell(Get-Date *)"]).behavior == "allow"


# Read and Edit


@pytest.mark.parametrize(
    ("rule", "path"),
    [("//abs/**", "/abs/a"), ("~/x/**", "/home/u/x/a"), ("/src/**", "/proj/src/a"), ("x/y", "x/y"), ("./x", "x")],
)
def test_four_anchors(rule: str, path: str) -> None:
    assert edit(path, allow=[f"Edit({rule})"]) == "allow"
    assert edit(path, deny=[f"Edit({rule})"]) == "deny"


def test_a_slash_is_relative_to_the_settings_source() -> None:
    for kind, root in (("project", "/proj"), ("user", "/home/u/.claude"), ("flag", "/etc/team"), ("local", "/proj")):
        rule = Rule.parse("deny", "Read(/x)", RuleSource(kind, root=root))
        context = PermissionContext("bypassPermissions", [rule], project_root="/proj", disk=NoDisk())
        verdicts = [
            decide(facts_from_input("Read", {"file_path": f"{base}/x"}, "/proj"), context).behavior
            for base in ("/proj", "/home/u/.claude", "/etc/team")
        ]
        assert verdicts == ["deny" if base == root else "allow" for base in ("/proj", "/home/u/.claude", "/etc/team")]


def test_a_bare_filename_matches_at_any_depth() -> None:
    assert read("a/b/.env", deny=["Read(.env)"]) == "deny"
    assert edit("a/b/notes.md", allow=["Edit(notes.md)"]) == "allow"


def test_one_directory_with_two_stars_is_anchored_for_allow_and_any_depth_for_deny_and_ask() -> None:
    assert edit("src/a", allow=["Edit(src/**)"]) == "allow"
    assert edit("x/src/a", allow=["Edit(src/**)"]) == "ask"
    assert edit("x/src/a", deny=["Edit(src/**)"]) == "deny"
    assert edit("x/src/a", ask=["Edit(src/**)"], mode="bypassPermissions") == "ask"


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit", "MultiEdit"])
def test_edit_covers_every_writer(tool: str) -> None:
    assert edit("a", tool=tool, allow=["Edit(a)"]) == "allow"
    assert edit("a", tool=tool, deny=["Edit(a)"], mode="bypassPermissions") == "deny"


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("Grep", {"pattern": "x", "path": "a"}),
        ("Glob", {"pattern": "*", "path": "a"}),
        ("LSP", {"filePath": "a"}),
        *(("Bash", {"command": f"{name} a"}) for name in ("cat", "head", "tail", "sed -n 1p")),
    ],
)
def test_read_covers_every_reader(tool: str, call: dict[str, Any]) -> None:
    assert judge(tool, call, deny=["Read(a)"], mode="bypassPermissions").behavior == "deny"


@pytest.mark.parametrize("rule", ["Write(p)", "NotebookEdit(p)", "Glob(p)"])
def test_other_path_rules_are_accepted_but_ignored_with_a_warning(rule: str) -> None:
    assert problem(rule, "deny").kind == "ignored"
    assert edit("p", tool="Write", allow=[rule]) == "ask"


def test_edit_allow_implies_read() -> None:
    assert read("/else/a", allow=["Edit(//else/**)"]) == "allow"


def test_read_deny_also_blocks_edit_and_write() -> None:
    for tool in ("Edit", "Write"):
        assert edit("a", tool=tool, deny=["Read(a)"], allow=["Edit"], mode="bypassPermissions") == "deny"


def test_glob_characters_can_be_escaped() -> None:
    assert edit("a[1].txt", allow=["Edit(a\\[1\\].txt)"]) == "allow"
    assert edit("a1.txt", allow=["Edit(a\\[1\\].txt)"]) == "ask"


# Web, MCP, agents, skills


def test_domains_are_case_insensitive_and_the_trailing_dot_is_off() -> None:
    assert fetch("https://EXAMPLE.com./", allow=["WebFetch(domain:Example.COM)"]) == "allow"


def test_a_leading_star_is_any_depth_of_subdomain_but_not_the_apex() -> None:
    rule = ["WebFetch(domain:*.example.com)"]
    urls = ("https://a.example.com", "https://a.b.example.com", "https://example.com")
    assert [fetch(url, allow=rule) for url in urls] == ["allow", "allow", "ask"]


def test_another_star_is_one_label() -> None:
    rule = ["WebFetch(domain:api.*.com)"]
    assert [fetch(url, allow=rule) for url in ("https://api.x.com", "https://api.x.y.com")] == ["allow", "ask"]


def test_web_search_is_bare_only() -> None:
    assert judge("WebSearch", {"query": "x"}, allow=["WebSearch"]).behavior == "allow"
    assert problem("WebSearch(x)", "allow").kind == "malformed"


@pytest.mark.parametrize("rule", ["mcp__srv", "mcp__srv__*", "mcp__srv__tool"])
def test_three_forms_for_remote_tools(rule: str) -> None:
    assert judge("mcp__srv__tool", {}, allow=[rule]).behavior == "allow"


def test_plugin_servers_are_ordinary_names() -> None:
    assert judge("mcp__plugin_p_s__t", {}, allow=["mcp__plugin_p_s"]).behavior == "allow"


@pytest.mark.parametrize("rule", ["Agent(Explore)", "Task(Explore)"])
def test_agents_by_name_and_by_alias(rule: str) -> None:
    assert judge("Agent", {"subagent_type": "Explore"}, deny=[rule]).behavior == "deny"
    assert judge("Task", {"subagent_type": "Explore"}, deny=[rule]).behavior == "deny"
    assert judge("Agent", {"subagent_type": "Plan"}, deny=[rule]).behavior == "allow"


def test_skills_by_name_and_with_arguments() -> None:
    call = {"skill": "commit", "args": "x"}
    # A skill is a text and is loaded without any rule, so the rule is asked for by itself.
    for text, covers in (("Skill(commit *)", (True, True)), ("Skill(commit)", (True, False))):
        book = PermissionContext(rules=[Rule.parse("allow", text)], disk=NoDisk()).book
        found = [book.named("allow", "Skill", "commit", with_arguments=given) is not None for given in (False, True)]
        assert tuple(found) == covers
    assert judge("Skill", call).behavior == "allow"
    assert judge("Skill", call, ask=["Skill(commit *)"]).behavior == "ask"
    assert judge("SlashCommand", {"command": "/commit x"}, deny=["Skill(commit)"]).behavior == "deny"


# Order, protected paths, critical removals


def test_broad_allow_rules_are_set_aside_in_auto() -> None:
    assert bash("sudo make", allow=["Bash(*)"], mode="auto") == "ask"
    assert bash("python evil.py | sudo sh", allow=["Bash(python *)"], mode="auto") == "ask"


@pytest.mark.parametrize(
    "path",
    [
        *(".git/config", ".git/hooks/pre-commit", ".config/git/config", ".vscode/tasks.json", ".idea/x"),
        *(".husky/pre-commit", ".cargo/config.toml", ".devcontainer/x", ".yarn/x", ".mvn/x", ".claude/settings.json"),
        *(".holdfast/settings.json", ".bashrc", ".zshrc", ".profile", ".gitconfig", ".gitmodules", ".npmrc"),
        *(".yarnrc.yml", ".pnp.cjs", "bunfig.toml", ".bazelrc", ".pre-commit-config.yaml", "lefthook.yml", ".mcp.json"),
        *(".claude.json", ".envrc", ".ripgreprc", "pyrightconfig.json", "sub/.git/config", ".GIT/config"),
        *("sub/.Claude/x", "/home/u/.config/holdfast/settings.json"),
    ],
)
def test_protected_paths_are_never_approved_by_rules_except_in_bypass(path: str) -> None:
    assert edit(path, allow=["Edit", "Edit(**)"]) == "ask"
    assert edit(path, mode="acceptEdits") == "ask"
    assert edit(path, mode="bypassPermissions") == "allow"
    assert bash(f"cp x {path}", mode="acceptEdits", allow=["Bash(cp *)"]) == "ask"


def test_our_own_worktrees_are_not_protected() -> None:
    assert edit(".claude/worktrees/w/src/a", mode="acceptEdits") == "allow"
    assert edit(".holdfast/worktrees/w/src/a", mode="acceptEdits") == "allow"
    assert edit(".claude/worktrees/w/.git/config", mode="acceptEdits") == "ask"
    assert edit(".claude/worktrees", mode="acceptEdits") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("rm -rf /", "rm -rf /*", "rm -rf /usr", "rm -rf ~", "rm -rf .", "rm -rf ..", 'rm -rf "$VAR"/*', "rmdir /"),
        *("rm -rf $HOME", "echo $(rm -rf /)", "cd / && rm -rf *", "sudo rm -rf /", "rm -rf .git"),
    ],
)
def test_critical_removals_prompt_even_in_bypass(command: str) -> None:
    assert bash(command, mode="bypassPermissions", allow=["Bash"]) == "ask"
