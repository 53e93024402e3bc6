import sys
from typing import Any

import pytest

from holdfast.contract import UNKNOWN_EFFECTS, Effects, Opinion, RuleSubject
from holdfast.events import to_builtins
from holdfast.permissions.classifier import Risk, Seen
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import Decision, HookOpinion, Step, decide, survey
from holdfast.permissions.facts import CallFacts, Sight, normalised
from holdfast.permissions.paths import NoDisk, PathFacts
from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource
from holdfast.permissions.tool_facts import facts_from_input

EDIT = facts_from_input("Edit", {"file_path": "/proj/a"}, "/proj")
OUTSIDE = facts_from_input("Edit", {"file_path": "/else/a"}, "/proj")
PROTECTED = facts_from_input("Edit", {"file_path": "/proj/.git/config"}, "/proj")
READ = facts_from_input("Read", {"file_path": "/proj/a"}, "/proj")
TODO = facts_from_input("TodoWrite", {"todos": []}, "/proj")
FOREIGN = facts_from_input("mcp__server__tool", {}, "/proj")
CUSTOM = CallFacts(
    "Custom", ("Custom", "OldCustom"), {}, "/proj", False, UNKNOWN_EFFECTS, RuleSubject(), classifier_input="x"
)


def context(mode: str = "default", *rules: Rule, **options: Any) -> PermissionContext:
    options = {"working_directories": ("/proj",), "home": "/home/u", "disk": NoDisk(), **options}
    return PermissionContext(mode, rules, **options)


def rule(behavior: Behavior, text: str) -> Rule:
    return Rule.parse(behavior, text)


HOOK_ALLOW, HOOK_ASK, HOOK_DENY = (HookOpinion(b, "the hook") for b in ("allow", "ask", "deny"))


def test_a_decision_carries_verdict_layer_rule_and_trace() -> None:
    denied = Rule.parse("deny", "Edit(a)", RuleSource("project", "/proj/.holdfast/settings.json", 7))
    decision = decide(EDIT, context("default", denied), hook=HOOK_ALLOW)
    reason = "the rule Edit(a) denies it"
    assert decision == Decision(
        "deny",
        "deny",
        reason,
        denied,
        (Step("hook", "allow", "the hook"), Step("deny", "deny", reason, denied)),
    )
    assert to_builtins(decision)["rule"]["source"]["line"] == 7
    assert decide(READ, context()).rule is None


@pytest.mark.parametrize(
    ("hook", "rules", "mode", "expected"),
    [
        (HOOK_DENY, ["allow Edit"], "bypassPermissions", "deny"),
        (HOOK_ALLOW, [], "default", "allow"),
        (HOOK_ALLOW, [], "dontAsk", "allow"),
        (HOOK_ALLOW, ["deny Edit"], "bypassPermissions", "deny"),
        (HOOK_ALLOW, ["ask Edit"], "bypassPermissions", "ask"),
        (HOOK_ALLOW, ["ask Edit"], "dontAsk", "deny"),
        (HOOK_ALLOW, [], "plan", "deny"),
        (HOOK_ASK, ["allow Edit"], "acceptEdits", "ask"),
        (HOOK_ASK, [], "bypassPermissions", "ask"),
        (HOOK_ASK, [], "dontAsk", "deny"),
        (HOOK_ASK, ["deny Edit"], "default", "deny"),
    ],
)
def test_a_hook_never_lowers_a_deny_an_ask_rule_or_a_ceiling(
    hook: HookOpinion, rules: list[str], mode: str, expected: str
) -> None:
    parsed = [rule(text.split()[0], text.split()[1]) for text in rules]  # pyright: ignore[reportArgumentType]  # table data
    assert decide(EDIT, context(mode, *parsed), hook=hook).behavior == expected


@pytest.mark.parametrize(
    ("mode", "expected"), [("default", "ask"), ("dontAsk", "deny"), ("bypassPermissions", "allow")]
)
def test_a_hook_does_not_wave_a_protected_path_through(mode: str, expected: str) -> None:
    decision = decide(PROTECTED, context(mode), hook=HOOK_ALLOW)
    assert (decision.behavior, decision.guarded) == (expected, expected == "ask")


@pytest.mark.parametrize(
    ("opinion", "mode", "rules", "expected", "layer"),
    [
        (Opinion.deny("no"), "bypassPermissions", (), "deny", "tool"),
        (Opinion.deny("no"), "default", (rule("allow", "Custom"),), "deny", "tool"),
        (Opinion.ask("look"), "default", (rule("allow", "Custom"),), "ask", "tool"),
        (Opinion.ask("look"), "bypassPermissions", (), "allow", "mode"),
        (Opinion.ask("look"), "dontAsk", (rule("allow", "Custom"),), "deny", "tool"),
        (Opinion("passthrough"), "plan", (), "deny", "mode"),
        (Opinion("no_objection"), "default", (rule("allow", "Custom"),), "allow", "allow"),
    ],
)
def test_the_tools_own_opinion_holds_back_and_never_grants(
    opinion: Opinion, mode: str, rules: tuple[Rule, ...], expected: str, layer: str
) -> None:
    decision = decide(CUSTOM, context(mode, *rules), opinion=opinion)
    if opinion.behavior == "passthrough":
        expected, layer = "ask", "mode"
    assert (decision.behavior, decision.layer) == (expected, layer)


def test_a_call_that_needs_a_person_asks_even_in_bypass_and_is_denied_when_nobody_is_asked() -> None:
    call = TODO._replace(requires_interaction=True)
    assert [decide(call, context(mode)).behavior for mode in ("bypassPermissions", "default", "dontAsk")] == [
        "ask",
        "ask",
        "deny",
    ]


@pytest.mark.parametrize("name", ["Custom", "OldCustom"])
def test_a_deny_on_any_name_of_a_tool_denies_it(name: str) -> None:
    assert decide(CUSTOM, context("bypassPermissions", rule("deny", name))).behavior == "deny"


def test_allow_rules_never_lift_the_ceiling_of_plan_mode() -> None:
    rules = [rule("allow", text) for text in ("Edit", "Custom", "mcp__server")]
    plan = context("plan", *rules)
    assert [decide(call, plan).behavior for call in (EDIT, CUSTOM, FOREIGN, READ)] == ["deny", "deny", "allow", "allow"]


def test_the_plan_file_alone_may_be_written_in_plan_mode() -> None:
    plan = context("plan", plan_file="/state/plan.md")
    call = facts_from_input("Write", {"file_path": "/state/plan.md"}, "/proj")
    other = facts_from_input("Write", {"file_path": "/state/plan2.md"}, "/proj")
    assert [decide(c, plan).behavior for c in (call, other)] == ["allow", "deny"]
    assert decide(facts_from_input("Read", {"file_path": "/state/plan.md"}, "/proj"), plan).behavior == "allow"


def test_a_mode_that_policy_forbids_acts_as_default() -> None:
    assert decide(EDIT, context("bypassPermissions", disabled_modes=("bypassPermissions",))).behavior == "ask"


class Says:
    def __init__(self, level: Any) -> None:
        self.risk = Risk(level, "said so")

    def classify(self, call: CallFacts, context: PermissionContext, seen: Seen) -> Risk:
        assert (call.tool, context.mode, seen.sight.writes) != ("", "", None)
        return self.risk


def test_in_auto_the_classifier_decides_where_no_rule_does() -> None:
    auto = context("auto")
    assert decide(CUSTOM, auto, classifier=Says("low")).behavior == "allow"
    high = decide(CUSTOM, auto, classifier=Says("high"))
    assert (high.behavior, high.layer) == ("ask", "classifier")
    allowed = context("auto", rule("allow", "Custom"))
    assert decide(CUSTOM, allowed, classifier=Says("high")).behavior == "allow"
    assert decide(CUSTOM, auto, classifier=Says("high"), hook=HOOK_ALLOW).behavior == "allow"


def test_a_classifier_of_ones_own_also_judges_commands() -> None:
    call = facts_from_input("Bash", {"command": "make all"}, "/proj")
    levels = [decide(call, context("auto"), classifier=Says(level)).behavior for level in ("low", "high")]
    assert levels == ["allow", "ask"]


def test_in_auto_a_rule_for_every_agent_or_monitor_is_set_aside() -> None:
    call = CUSTOM._replace(tool="Monitor", names=("Monitor",))
    assert decide(call, context("auto", rule("allow", "Monitor")), classifier=Says("high")).behavior == "ask"


def test_every_effect_of_a_call_must_be_allowed() -> None:
    effects = Effects(reads=["/else/in"], writes=["/proj/out"])
    call = CUSTOM._replace(effects=effects)
    rules = [rule("allow", "Read(//else/**)"), rule("allow", "Edit(/out)"), rule("allow", "Custom")]
    accept = "acceptEdits"
    assert decide(call, context(accept)).behavior == "ask"
    assert decide(call, context(accept, *rules[:2], project_root="/proj")).behavior == "ask"
    assert decide(call, context(accept, *rules)).behavior == "allow"


def test_a_read_only_tool_with_no_paths_is_free() -> None:
    assert decide(CUSTOM._replace(read_only=True), context("dontAsk")).behavior == "allow"


def test_sandboxed_shell_passes_when_that_is_switched_on() -> None:
    call = facts_from_input("Bash", {"command": "make install"}, "/proj")._replace(sandboxed=True)
    answers = [
        decide(call, context(mode, sandbox_auto_allow=True)).behavior
        for mode in ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions")
    ]
    assert answers == ["allow", "deny", "allow", "allow", "allow", "allow"]
    assert decide(call, context()).behavior == "ask"


def test_a_child_is_bounded_by_every_context_above_it() -> None:
    top = context("default", rule("deny", "Edit(a)"))
    child = top.child("bypassPermissions")
    grandchild = child.child("bypassPermissions", [rule("allow", "Edit")])
    assert grandchild.ancestors() == (child, top)
    assert decide(EDIT, grandchild).behavior == "deny"
    decision = decide(OUTSIDE, grandchild)
    assert (decision.behavior, decision.layer) == ("ask", "ceiling")
    assert decide(EDIT, context("plan").child("acceptEdits")).behavior == "deny"
    assert decide(READ, grandchild).behavior == "allow"


def test_rules_a_folder_brings_allow_only_once_it_is_trusted() -> None:
    for kind in ("project", "local"):
        source = RuleSource(kind)
        rules = [Rule.parse("allow", "Edit(a)", source), Rule.parse("deny", "Edit(b)", source)]
        other = facts_from_input("Edit", {"file_path": "/proj/b"}, "/proj")
        assert decide(EDIT, context("default", *rules)).behavior == "ask"
        assert decide(EDIT, context("default", *rules, trusted=True)).behavior == "allow"
        assert decide(other, context("bypassPermissions", *rules)).behavior == "deny"


def test_relative_allow_rules_stay_where_the_session_started_and_denies_hold_in_both_places() -> None:
    moved = facts_from_input("Edit", {"file_path": "src/a"}, "/proj/vendor")
    stayed = facts_from_input("Edit", {"file_path": "/proj/src/a"}, "/proj/vendor")
    allow = context("default", rule("allow", "Edit(./src/**)"), start_directory="/proj")
    assert [decide(call, allow).behavior for call in (moved, stayed)] == ["ask", "allow"]
    deny = context("acceptEdits", rule("deny", "Edit(./src/**)"), start_directory="/proj")
    assert [decide(call, deny).behavior for call in (moved, stayed)] == ["deny", "deny"]


def test_a_normalised_call_needs_no_disk_to_be_decided() -> None:
    ready = normalised(EDIT, context())
    assert ready.sight is not None
    assert decide(ready, context("acceptEdits")) == decide(EDIT, context("acceptEdits"))


def test_a_search_is_denied_what_a_rule_denies_by_every_road() -> None:
    deny = ["Read(secrets/**)", "Read(.env)", "Read(*.pem)"]
    scope: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": "secrets/a"}),
        ("Read", {"file_path": "./secrets/../secrets/a"}),
        ("Read", {"file_path": "/proj/sub/.env"}),
        ("Edit", {"file_path": ".env"}),
        ("Write", {"file_path": "deep/er/.env"}),
        ("NotebookEdit", {"notebook_path": "secrets/n.ipynb"}),
        ("Grep", {"pattern": "x", "path": "secrets"}),
        ("Grep", {"pattern": "x", "path": "/proj/secrets/sub"}),
        ("Grep", {"pattern": "x", "glob": ".env"}),
        ("Grep", {"pattern": "x", "glob": "*.{py,pem}"}),
        ("Grep", {"pattern": "x", "glob": "secrets/**"}),
        ("Glob", {"pattern": "secrets/*"}),
        ("Glob", {"pattern": "**/*.pem"}),
        ("Glob", {"pattern": "*", "path": "secrets"}),
        ("Glob", {"pattern": "/proj/secrets/**"}),
        ("Glob", {"pattern": "sub/[.]env"}),
        ("LSP", {"operation": "hover", "filePath": "secrets/a.py"}),
        ("MultiEdit", {"file_path": "secrets/a.py"}),
    ]
    for mode in ("default", "bypassPermissions"):
        for tool, arguments in scope:
            assert judge(tool, arguments, mode=mode, cwd="/proj", deny=deny).behavior == "deny", (tool, arguments)
    assert judge("Grep", {"pattern": "x"}, cwd="/proj", deny=deny).behavior == "allow"
    assert judge("Glob", {"pattern": "**/*.py"}, cwd="/proj", deny=deny).behavior == "allow"


@pytest.mark.parametrize(
    "pattern", ["../*.py", "/etc/*", "~/x/*", "{..,src}/*", "*/../../etc/*", "src/../../x/*.py", "**/../../../y/z"]
)
def test_a_search_pattern_that_leaves_the_directory_is_outside(pattern: str) -> None:
    assert judge("Glob", {"pattern": pattern}, cwd="/proj/deep").behavior == "ask"
    assert judge("Grep", {"pattern": "x", "glob": f"*.md {pattern}"}, cwd="/proj/deep").behavior == "ask"


@pytest.mark.parametrize("pattern", ["*.py", "src/**/*.{ts,tsx}", "**/x", "a/../b/*", "[ab]?/\\*", "{a,{b,c}}/x", "!x"])
def test_a_search_pattern_below_the_directory_is_inside(pattern: str) -> None:
    assert judge("Glob", {"pattern": pattern}, cwd="/proj/deep").behavior == "allow"


def test_what_a_remote_tool_says_about_itself_never_counts() -> None:
    call = CUSTOM._replace(tool="mcp__s__t", names=("mcp__s__t",), read_only=True, session_state=True)
    assert decide(call, context()).behavior == "ask"
    assert decide(CUSTOM._replace(server="s", read_only=True), context()).behavior == "ask"


def test_steps_decisions_and_rules_cannot_be_changed_and_are_kept_short() -> None:
    step = Step("mode", "ask")
    decision = decide(EDIT, context())
    assert to_builtins(step) == {"layer": "mode", "behavior": "ask"}
    assert set(to_builtins(decision)) == {"behavior", "layer", "reason", "trace"}
    assert to_builtins(rule("deny", "Read")) == {"behavior": "deny", "tool": "Read", "source": {}}
    for record in (step, decision, rule("deny", "Read")):
        with pytest.raises(AttributeError):
            setattr(record, "behavior", "allow")  # noqa: B010 - the type checker would not let us


def test_a_child_that_would_ask_is_denied_what_its_parent_denies() -> None:
    found = decide(EDIT, context("plan").child("default"))
    assert (found.behavior, found.layer) == ("deny", "ceiling")


def test_only_a_guard_marks_a_question_as_guarded() -> None:
    assert not decide(EDIT, context()).guarded
    assert not decide(EDIT, context("default", rule("ask", "Edit"))).guarded
    assert not decide(EDIT, context(), hook=HOOK_ASK).guarded
    assert decide(PROTECTED, context("acceptEdits")).guarded


def test_a_sandboxed_command_may_write_what_the_sandbox_guards_and_nothing_else_gets_by_as_sandboxed() -> None:
    shell = facts_from_input("Bash", {"command": "echo x > .git/config"}, "/proj")._replace(sandboxed=True)
    boxed = context("default", sandbox_auto_allow=True)
    assert decide(shell, boxed).behavior == "allow"
    assert decide(shell, context()).layer == "guard"
    assert decide(shell._replace(sandboxed=False), boxed).layer == "guard"
    assert decide(PROTECTED._replace(sandboxed=True), context("acceptEdits", sandbox_auto_allow=True)).layer == "guard"
    reader = facts_from_input("Bash", {"command": "make"}, "/proj")
    assert decide(reader, context("acceptEdits", rule("allow", "Bash(make)"))).behavior == "allow"


def test_a_file_with_a_second_name_is_asked_about_when_a_deny_forbids_to_read() -> None:
    def reading(links: int) -> CallFacts:
        return READ._replace(sight=Sight(reads=(PathFacts("/proj/a", "/proj/a", ("/proj/a",), links=links),)))

    denies = context("default", rule("deny", "Read(secret)"))
    assert [decide(reading(links), denies).behavior for links in (1, 2)] == ["allow", "ask"]
    assert decide(reading(2), context()).behavior == "allow"


def test_the_reason_names_what_is_allowed() -> None:
    read = facts_from_input("Bash", {"command": "ls"}, "/proj")
    assert decide(read, context()).reason == "default mode allows a command that only reads"
    outside = facts_from_input("Read", {"file_path": "/else/a"}, "/proj")
    allow = rule("allow", "Read(//else/**)")
    found = decide(outside, context("default", allow))
    assert (found.layer, found.rule) == ("allow", allow)
    both = CUSTOM._replace(effects=Effects(reads=["/else/a"], writes=["/else/b"]), read_only=True)
    words = {step.layer: step.behavior for step in survey(both, context("default", allow))}
    assert words["allow"] == "no opinion"
    every = context("default", allow, rule("allow", "Edit(//else/**)"))
    assert {step.layer: step.behavior for step in survey(both, every)}["allow"] == "allow"


def command(text: str) -> CallFacts:
    return facts_from_input("Bash", {"command": text}, "/proj")


def test_a_file_command_inside_is_an_edit_in_words_of_its_own() -> None:
    found = decide(command("touch new"), context())
    words = "default mode asks before a file command inside the working directories"
    assert (found.behavior, found.layer, found.reason) == ("ask", "mode", words)
    modes = ("acceptEdits", "dontAsk", "plan")
    assert [decide(command("touch new"), context(mode)).behavior for mode in modes] == ["allow", "deny", "deny"]


def test_a_command_that_only_reads_is_asked_about_where_it_reads_outside() -> None:
    found = decide(command("cat /else/a"), context())
    assert (found.behavior, found.reason) == ("ask", "default mode asks before reading '/else/a'")
    assert decide(command("cat /else/a"), context("default", rule("allow", "Read(//else/**)"))).behavior == "allow"
    assert decide(command("cat /proj/a"), context()).behavior == "allow"


def test_an_allow_rule_for_the_command_does_not_cover_what_it_reads_outside() -> None:
    make, read = rule("allow", "Bash(make *)"), rule("allow", "Read(//else/**)")
    answers = [
        decide(command("make all < /else/a"), context("default", *rules)).reason
        for rules in ([make], [read], [make, read])
    ]
    assert answers == [
        "default mode asks before reading '/else/a'",
        "default mode asks before a command that may change something",
        "the rule Read(//else/**) allows it",
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "asks"),
    [
        ("Custom", {"level": 3}, "Custom(level:3)"),
        ("WebFetch", {"url": "https://docs.example.com/a"}, "WebFetch(domain:*.example.com)"),
        ("Agent", {"subagent_type": "writer", "prompt": "p"}, "Agent(writer)"),
        ("Skill", {"skill": "review"}, "Skill(review)"),
        ("Read", {"file_path": "/proj/a"}, "Read(a)"),
        ("Bash", {"command": "ls"}, "Bash(ls)"),
    ],
)
def test_an_ask_rule_asks_about_what_it_names_even_in_bypass(tool: str, arguments: dict[str, Any], asks: str) -> None:
    call = facts_from_input(tool, arguments, "/proj")
    found = decide(call, context("bypassPermissions", rule("ask", asks), rule("allow", tool)))
    assert (found.behavior, found.layer, found.rule) == ("ask", "ask", rule("ask", asks))


def test_a_tool_that_reaches_the_network_is_asked_about_even_if_it_changes_nothing() -> None:
    call = CUSTOM._replace(read_only=True, effects=Effects(network=["example.com"]))
    assert decide(call, context()).reason == "default mode asks before a call of Custom"
    assert decide(call._replace(effects=Effects()), context()).behavior == "allow"


def test_a_change_of_the_sessions_own_records_is_free() -> None:
    found = decide(CUSTOM._replace(session_state=True), context("dontAsk"))
    assert (found.behavior, found.reason) == ("allow", "dontAsk mode allows a change of the session's own records")
    assert decide(CUSTOM, context("dontAsk")).behavior == "deny"


def test_the_reason_says_what_is_asked_about() -> None:
    outside = facts_from_input("Read", {"file_path": "/else/a"}, "/proj")
    calls = (outside, EDIT, CUSTOM, FOREIGN, CUSTOM._replace(requires_interaction=True))
    found = [decide(call, context()) for call in calls]
    assert [(one.layer, one.reason) for one in found] == [
        ("mode", "default mode asks before reading '/else/a'"),
        ("mode", "default mode asks before writing '/proj/a'"),
        ("mode", "default mode asks before a call of Custom, which may change something"),
        ("mode", "default mode asks before a call of mcp__server__tool"),
        ("tool", "Custom needs a person's answer"),
    ]
    boxed = command("make install")._replace(sandboxed=True)
    assert decide(boxed, context(sandbox_auto_allow=True)).reason == "default mode allows a command in the sandbox"
    assert HookOpinion("ask").reason == ""


def test_the_ceiling_is_a_step_of_its_own_after_the_childs_trace() -> None:
    child = context("default").child("acceptEdits")
    found = decide(EDIT, child)
    assert [(step.layer, step.behavior) for step in found.trace] == [("mode", "allow"), ("ceiling", "ask")]
    assert found.reason == "the agent that started this one may not: default mode asks before writing '/proj/a'"


def test_every_path_of_a_call_is_guarded_not_only_the_first() -> None:
    writes = CUSTOM._replace(effects=Effects(writes=["/proj/a", "/proj/.git/config"]))
    found = decide(writes, context("acceptEdits", rule("allow", "Custom")), hook=HOOK_ALLOW)
    assert (found.behavior, found.layer) == ("ask", "guard")
    assert "'/proj/.git/config' is protected" in found.reason


def test_every_path_of_a_call_is_refused_where_no_tool_may_open_it() -> None:
    for effects in (Effects(reads=["/proj/a", "/proc/1/mem"]), Effects(writes=["/proj/a", "/proc/1/mem"])):
        found = decide(CUSTOM._replace(effects=effects), context("bypassPermissions"))
        assert (found.behavior, found.layer) == ("deny", "guard")


def test_a_remote_tool_under_a_name_of_its_own_cannot_pass_as_keeping_our_records() -> None:
    call = CUSTOM._replace(server="s", session_state=True)
    assert decide(call, context()).reason == "default mode asks before a call of Custom"


@pytest.mark.parametrize("text", ["rm -rf /", "rm -rf ~", "git $x"])
def test_a_critical_or_doubtful_command_is_asked_about_in_every_mode_whatever_allows_it(text: str) -> None:
    rules = rule("allow", "Bash"), rule("deny", "Bash(git push *)")
    for mode, expected in (("default", "ask"), ("bypassPermissions", "ask"), ("auto", "ask"), ("dontAsk", "deny")):
        found = decide(command(text), context(mode, *rules), hook=HOOK_ALLOW)
        assert (found.behavior, found.layer, found.guarded) == (expected, "guard", expected == "ask"), mode
    words = {step.layer: step.behavior for step in survey(command(text), context("bypassPermissions", *rules))}
    assert (words["guard"], words["mode"]) == ("ask", "allow")


def test_a_survey_hears_every_layer_by_itself() -> None:
    rules = [rule("deny", "Custom(a:1)"), rule("ask", "Custom(b:2)"), rule("allow", "Custom")]
    call = CUSTOM._replace(input={"a": 1, "b": 2})
    heard = survey(call, context("dontAsk", *rules), hook=HOOK_ASK, opinion=Opinion.deny("no"))
    assert {step.layer: (step.behavior, step.reason) for step in heard} == {
        "hook": ("ask", "the hook"),
        "classifier": ("no opinion", ""),
        "deny": ("deny", "the rule Custom(a:1) speaks of it"),
        "ask": ("ask", "the rule Custom(b:2) speaks of it"),
        "tool": ("deny", "no"),
        "guard": ("no opinion", ""),
        "allow": ("allow", "the rule Custom speaks of it"),
        "mode": ("deny", "dontAsk mode by itself refuses a call of Custom, which may change something"),
    }
    quiet = {step.layer: step for step in survey(CUSTOM, context("auto"))}
    assert quiet["hook"] == Step("hook", "no opinion")
    assert quiet["classifier"].behavior == "ask"
    assert quiet["mode"].reason == "auto mode leaves a call of Custom, which may change something to the classifier"


def test_a_child_gives_its_own_reason_where_its_parent_is_as_strict() -> None:
    found = decide(EDIT, context().child("default"))
    assert (found.behavior, found.layer) == ("ask", "mode")


def test_a_tool_without_an_objection_has_no_opinion_unless_it_needs_a_person() -> None:
    for opinion in (Opinion("no_objection"), Opinion("passthrough")):
        for needs, expected in ((False, "no opinion"), (True, "ask")):
            heard = survey(CUSTOM._replace(requires_interaction=needs), context(), opinion=opinion)
            assert {step.layer: step.behavior for step in heard}["tool"] == expected


def test_a_word_of_a_hook_that_nobody_knows_allows_nothing() -> None:
    word: Any = "perhaps"
    assert decide(EDIT, context(), hook=HookOpinion(word)).behavior == "ask"


@pytest.mark.parametrize(("mode", "expected"), [("default", "ask"), ("bypassPermissions", "ask"), ("dontAsk", "deny")])
def test_an_error_inside_a_judgement_is_a_question_in_words(
    mode: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise SystemError("the span is wrong")

    monkeypatch.setattr(sys.modules["holdfast.permissions.decision"], "_voices", broken)
    found = decide(EDIT, context(mode, rule("allow", "Edit")))
    assert (found.behavior, found.guarded) == (expected, expected == "ask")
    assert "the span is wrong" in found.reason
    assert "could not be judged" in survey(EDIT, context(mode))[0].reason
