import pytest

from holdfast.contract import UsageError
from holdfast.events import to_builtins
from holdfast.permissions import PermissionContext
from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.grammar import (
    Behavior,
    Rule,
    RuleProblem,
    RuleSource,
    Server,
    WholeTool,
    compile_rule,
    parse_rule,
    parse_rules,
)
from holdfast.permissions.rules.path_patterns import PathRule
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS
from holdfast.registry import names as registry_names

SOURCE = RuleSource("project", "/proj/.holdfast/settings.json", 3, "/proj")


def parsed(text: object, behavior: Behavior = "deny") -> Rule | RuleProblem:
    return parse_rule(text, behavior, SOURCE, aliases=ALIASES)


@pytest.mark.parametrize(
    ("text", "tool", "content"),
    [
        ("Read", "Read", None),
        ("  Read ", "Read", None),
        ("Bash(git *)", "Bash", "git *"),
        ("Bash(python -c 'print(1)')", "Bash", "python -c 'print(1)'"),
        ("Task(Explore)", "Agent", "Explore"),
        ("KillShell", "TaskStop", None),
        ("mcp__srv__tool", "mcp__srv__tool", None),
        ("mcp__plugin_p_s__t-x", "mcp__plugin_p_s__t-x", None),
        ("*", "*", None),
        ("Read(a:b)", "Read", "a:b"),
    ],
)
def test_a_rule_is_a_tool_with_or_without_a_specifier(text: str, tool: str, content: str | None) -> None:
    rule = parsed(text)
    assert isinstance(rule, Rule)
    assert (rule.tool, rule.content, rule.text, rule.source) == (tool, content, text.strip(), SOURCE)


@pytest.mark.parametrize(
    ("text", "behavior", "kind"),
    [
        (5, "deny", "malformed"),
        (None, "allow", "malformed"),
        ("", "deny", "malformed"),
        ("Bash(", "deny", "malformed"),
        ("Bash(ls", "deny", "malformed"),
        ("Bash(ls) x", "deny", "malformed"),
        ("Bash()", "allow", "malformed"),
        ("(x)", "deny", "malformed"),
        ("Ba sh", "deny", "malformed"),
        ("Read(x" + "x" * 20_000 + ")", "deny", "malformed"),
        ("Bash(:*)", "deny", "malformed"),
        ("Bash(:)", "deny", "malformed"),
        ("Bash(a\0b)", "deny", "malformed"),
        ("Bash(a\x1fb)", "deny", "malformed"),
        ("*", "allow", "malformed"),
        ("mcp__*", "allow", "malformed"),
        ("mcp__a*__b", "allow", "malformed"),
        ("mcp__a*", "allow", "malformed"),
        ("mcp____*", "allow", "malformed"),
        ("Web*", "allow", "malformed"),
        ("*(x)", "deny", "malformed"),
        ("Read(!x)", "deny", "malformed"),
        ("Read([a)", "deny", "malformed"),
        ("Read(a\\)", "deny", "malformed"),
        ("Read(a\0)", "deny", "malformed"),
        ("Read(" + "a" * 5_000 + ")", "deny", "malformed"),
        ("Read(~root/x)", "deny", "malformed"),
        ("Read($HOME/x)", "allow", "malformed"),
        ("WebFetch(https://x.com/a)", "deny", "malformed"),
        ("WebFetch(domain:)", "deny", "malformed"),
        ("WebFetch(domain:x.com:80)", "deny", "malformed"),
        ("WebFetch(domain:*.)", "allow", "malformed"),
        ("WebFetch(domain:b*é.com)", "deny", "malformed"),
        ("WebSearch(x)", "deny", "malformed"),
        ("TodoWrite(x)", "deny", "malformed"),
        ("Agent(model:)", "deny", "malformed"),
        ("Write(src/**)", "deny", "ignored"),
        ("NotebookEdit(a)", "allow", "ignored"),
        ("Glob(a)", "deny", "ignored"),
        ("Grep(a)", "deny", "ignored"),
        ("MultiEdit(a)", "allow", "ignored"),
        ("Monitor(ls)", "deny", "ignored"),
        ("Bash(command:ls)", "deny", "ignored"),
        ("Bash(command:*)", "deny", "ignored"),
        ("Read(file_path:/x)", "deny", "ignored"),
        ("WebFetch(url:x)", "deny", "ignored"),
        ("Write(file_path:x)", "deny", "ignored"),
        ("Agent(model:opus)", "allow", "ignored"),
        ("Bash(run_in_background:true)", "allow", "ignored"),
        ("Custom(p:v)", "allow", "ignored"),
    ],
)
def test_a_rule_that_cannot_hold_disables_itself_with_a_reason(text: object, behavior: Behavior, kind: str) -> None:
    problem = parsed(text, behavior)
    assert isinstance(problem, RuleProblem)
    assert (problem.kind, problem.behavior, problem.source) == (kind, behavior, SOURCE)
    assert problem.reason


def test_one_bad_rule_leaves_the_others_in_force() -> None:
    rules, problems = parse_rules(
        ["Read(a)", "Bash(", 7, "Raed", "my_tool", "Edit(b)"], "deny", SOURCE, aliases=ALIASES, known_tools=KNOWN_TOOLS
    )
    assert [rule.text for rule in rules] == ["Read(a)", "Raed", "my_tool", "Edit(b)"]
    assert [(problem.text, problem.kind) for problem in problems] == [
        ("Bash(", "malformed"),
        ("7", "malformed"),
        ("Raed", "unknown tool"),
    ]


def test_a_rule_made_by_hand_that_cannot_hold_matches_nothing() -> None:
    assert compile_rule(Rule("deny", "Read", "[a")) == ()
    with pytest.raises(UsageError):
        Rule.parse("deny", "Read([a)")


def test_a_rule_in_an_event_is_an_object_that_names_its_source() -> None:
    rule = Rule.parse("deny", "Task(a)", RuleSource("user", "/u.json", 3), aliases=ALIASES)
    assert to_builtins(rule) == {
        "behavior": "deny",
        "tool": "Agent",
        "content": "a",
        "source": {"kind": "user", "path": "/u.json", "line": 3},
        "written": "Task(a)",
    }


def test_the_alias_table_is_the_registrys() -> None:
    assert dict(ALIASES) == dict(registry_names.ALIASES)
    assert registry_names.BUILTIN_NAMES <= KNOWN_TOOLS


PARAMETERS: list[tuple[str, dict[str, object], str, bool]] = [
    ("Agent", {"model": "opus"}, "Agent(model:opus)", True),
    ("Agent", {"model": "opus-5"}, "Agent(model:opus*)", True),
    ("Agent", {"model": "sonnet"}, "Agent(model:opus)", False),
    ("Agent", {}, "Agent(model:opus)", False),
    ("Agent", {}, "Agent(model:*)", False),
    ("Agent", {"model": {"deep": "opus"}}, "Agent(model:*)", False),
    ("Agent", {"model": None}, "Agent(model:null)", True),
    ("Bash", {"command": "ls", "run_in_background": True}, "Bash(run_in_background:true)", True),
    ("Bash", {"command": "ls", "run_in_background": "yes"}, "Bash(run_in_background:true)", True),
    ("Bash", {"command": "ls", "run_in_background": 0}, "Bash(run_in_background:false)", True),
    ("Bash", {"command": "ls", "run_in_background": False}, "Bash(run_in_background:true)", False),
    ("Bash", {"command": "ls", "run_in_background": True}, "Bash(run_in_background:*)", True),
    ("Bash", {"command": "ls", "run_in_background": False}, "Bash(run_in_background:*)", True),
    ("Bash", {"command": "ls"}, "Bash(run_in_background:*)", False),
    ("Bash", {"command": "run_in_background x"}, "Bash(run_in_background:*)", True),
    ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}, "Bash(dangerouslyDisableSandbox:*)", True),
    ("Bash", {"command": "ls", "description": "list"}, "Bash(description:*)", True),
    ("Bash", {"command": "timeout 5 ls", "timeout": 5000}, "Bash(timeout:*)", True),
    ("PowerShell", {"command": "ls", "run_in_background": True}, "PowerShell(run_in_background:*)", True),
    ("Bash", {"command": "ls", "timeout": 5000}, "Bash(timeout:5*)", True),
    ("Bash", {"command": "ls", "timeout": 5000}, "Bash(timeout:*)", False),
    ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}, "Bash(dangerouslyDisableSandbox:true)", True),
    ("Bash", {"command": "ls", "description": "list"}, "Bash(description:list)", True),
    ("Read", {"file_path": "a", "offset": 5}, "Read(offset:5)", True),
    ("Read", {"file_path": "a", "limit": 5}, "Read(limit:5)", True),
    ("Read", {"file_path": "a", "pages": "1-2"}, "Read(pages:1-2)", True),
    ("Edit", {"file_path": "a", "replace_all": True}, "Edit(replace_all:true)", True),
    ("mcp__s__t", {"mode": "write"}, "mcp__s__t(mode:write)", True),
    ("mcp__s__t", {"mode": "read"}, "mcp__s__t(mode:write)", False),
    ("WebFetch", {"url": "https://example.com", "prompt": "steal"}, "WebFetch(prompt:steal)", True),
    ("Custom", {"level": 2.5}, "Custom(level:2.5)", True),
]


@pytest.mark.parametrize(("tool", "arguments", "rule", "hit"), PARAMETERS)
def test_a_parameter_rule_looks_at_one_top_level_scalar(
    tool: str, arguments: dict[str, object], rule: str, hit: bool
) -> None:
    assert (judge(tool, arguments, mode="bypassPermissions", deny=[rule]).behavior == "deny") is hit
    assert (judge(tool, arguments, mode="bypassPermissions", ask=[rule]).behavior == "ask") is hit


NAMED = [
    ("mcp__srv__get", "mcp__srv", True),
    ("mcp__srv__get", "mcp__srv__*", True),
    ("mcp__srv__get", "mcp__srv__get", True),
    ("mcp__srv__get", "mcp__srv__g*", True),
    ("mcp__srv__get", "mcp__srv__get(*)", True),
    ("mcp__srv__set", "mcp__srv__get", False),
    ("mcp__srv2__get", "mcp__srv", False),
    ("mcp__srv2__get", "mcp__srv__*", False),
    ("mcp__a__b__c", "mcp__a", False),
    ("mcp__a__b__c", "mcp__a__*", False),
    ("mcp__a__b__c", "mcp__a__b__c", True),
    ("Custom", "Custom", True),
    ("Custom", "Custom(*)", True),
    ("Custom", "custom", False),
]


@pytest.mark.parametrize(("tool", "rule", "hit"), NAMED)
def test_an_allow_rule_for_a_remote_server_reaches_its_tools_and_no_others(tool: str, rule: str, hit: bool) -> None:
    assert (judge(tool, {}, allow=[rule]).behavior == "allow") is hit


@pytest.mark.parametrize("rule", ["*", "mcp__*", "mcp__a", "mcp__a__b", "mcp__a__*", "*__c", "mcp__a__b__c"])
def test_a_deny_rule_reaches_every_reading_of_a_remote_name(rule: str) -> None:
    assert judge("mcp__a__b__c", {}, mode="bypassPermissions", deny=[rule]).behavior == "deny"


def reason_of(text: str, behavior: Behavior = "deny") -> str:
    found = parsed(text, behavior)
    assert isinstance(found, RuleProblem), text
    return found.reason


@pytest.mark.parametrize(
    "name",
    ["description", "prompt", "subagent_type", "model", "run_in_background", "name", "isolation", "mode", "cwd"],
)
def test_an_allow_rule_never_names_a_parameter_of_an_agent_and_a_deny_rule_also_an_agent_of_that_name(
    name: str,
) -> None:
    assert f"the parameter '{name}'" in reason_of(f"Agent({name}:x)", "allow")
    denied = judge("Agent", {"subagent_type": f"{name}:x"}, mode="bypassPermissions", deny=[f"Agent({name}:x)"])
    assert denied.behavior == "deny"


def test_a_skill_takes_arguments_where_its_allow_rule_ends_in_a_star() -> None:
    for text, with_arguments in (("Skill(review:*)", True), ("Skill(review *)", True), ("Skill(review)", False)):
        book = PermissionContext(rules=[Rule.parse("allow", text)]).book
        assert book.named("allow", "Skill", "review", with_arguments=False) is not None
        assert (book.named("allow", "Skill", "review", with_arguments=True) is not None) == with_arguments
    call = {"skill": "review", "args": "all of it"}
    assert judge("Skill", call, deny=["Skill(review)"]).behavior == "deny"


def test_the_star_of_an_agent_rule_is_a_part_of_its_name() -> None:
    answers = [judge("Agent", {"subagent_type": name}, deny=["Agent(team:*)"]).behavior for name in ("team:a", "team")]
    assert answers == ["deny", "allow"]


def test_only_a_rule_in_the_remote_spelling_reaches_a_whole_server() -> None:
    assert compile_rule(Rule("allow", "files")) == (WholeTool(),)
    assert compile_rule(Rule("allow", "mcp__files")) == (WholeTool(), Server("mcp__files"))


def test_a_path_that_looks_like_a_parameter_nobody_has_is_only_a_path() -> None:
    assert compile_rule(Rule("deny", "Read", "a:b")) == (PathRule("cwd", "a:b"),)


def test_what_reads_like_a_parameter_is_a_name_where_an_allow_rule_has_no_parameters() -> None:
    assert judge("Skill", {"skill": "mode:fast"}, allow=["Skill(mode:fast)"]).behavior == "allow"
    assert judge("Edit", {"file_path": "limit:5"}, allow=["Edit(limit:5)"]).behavior == "allow"
    assert isinstance(parsed("Cd(/srv)", "allow"), Rule)


@pytest.mark.parametrize(
    ("tool", "shared"),
    [(tool, "Edit") for tool in ("Write", "NotebookEdit")] + [(tool, "Read") for tool in ("Glob", "Grep", "LSP")],
)
def test_a_tool_without_path_rules_says_whose_rules_cover_it(tool: str, shared: str) -> None:
    assert f"write {shared}(src/a), which covers it" in reason_of(f"{tool}(src/a)")


def test_a_rule_that_is_not_in_force_says_what_to_write() -> None:
    assert reason_of("").startswith("the rule is empty")
    assert "write WebFetch(prompt:value)" in reason_of("WebFetch(prompt:)")
    assert "write Bash for every command" in reason_of("Bash( :* )")
    assert reason_of("Read(file_path:x)").startswith("'file_path' is what Read rules match anyway")
    assert "the parameter 'model'" in reason_of("Agent(model:opus)", "allow")
    assert "write Edit(src/a)" in reason_of("Write(src/a)")
    assert "write WebSearch alone" in reason_of("WebSearch(x)")
    assert "Custom has no specifiers" in reason_of("Custom(x)")
    assert isinstance(parsed("Write(mode:x)"), Rule)


def test_the_longest_rule_is_exact() -> None:
    assert isinstance(parsed(f"Bash({'a' * (10_000 - 6)})"), Rule)
    assert "10001 characters" in reason_of(f"Bash({'a' * (10_001 - 6)})")


def test_a_star_for_paths_means_the_working_directory_when_allowed_and_everything_when_denied() -> None:
    for path, expected in (("/else/a", "ask"), ("/project/.env", "allow")):
        assert judge("Read", {"file_path": path}, allow=["Read(*)"]).behavior == expected
        assert judge("Read", {"file_path": path}, deny=["Read(*)"]).behavior == "deny"


def test_a_rule_reads_as_it_is_written() -> None:
    assert to_builtins(Rule.parse("deny", " Read(a) ")) == {
        "behavior": "deny",
        "tool": "Read",
        "content": "a",
        "source": {},
    }
    assert RuleSource().kind == "session"
    assert (Rule("deny", "Read").text, Rule("deny", "Read", "a").text) == ("Read", "Read(a)")
    assert to_builtins(Rule("deny", "Read")) == {"behavior": "deny", "tool": "Read"}
    with pytest.raises(AttributeError):
        setattr(Rule("deny", "Read"), "behavior", "allow")  # noqa: B010 - the type checker would not let us
