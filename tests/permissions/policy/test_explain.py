from holdfast.contract import Opinion
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import NO_OPINION, HookOpinion, Step, decide, survey
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.explain import explain_lines, explain_wire
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.shell.judge.verdict import judge_shell
from holdfast.permissions.tool_facts import facts_from_input

RULE = Rule.parse("deny", "Bash(rm *)", RuleSource("project", "/proj/.holdfast/settings.json", 4))
ALLOW = Rule.parse("allow", "Bash(git *)", RuleSource("user", "/home/u/settings.json"))
WHERE = PermissionContext(rules=[RULE, ALLOW], working_directories=("/proj",), disk=NoDisk())


def test_the_explanation_names_layer_rule_place_parts_and_trace() -> None:
    facts = facts_from_input("Bash", {"command": "git log --oneline -5 | head && rm -rf build"}, "/proj")
    decision = decide(facts, WHERE, hook=HookOpinion("allow", "the hook said so"))
    shell = judge_shell(facts, WHERE)
    lines = explain_lines(decision, shell)
    assert lines[0] == "denied: the rule Bash(rm *) denies it"
    assert "  rule   Bash(rm *)   (/proj/.holdfast/settings.json:4)" in lines
    assert any(line.startswith("    - rm -rf build   (") for line in lines)
    assert "    1. hook: allow, the hook said so" in lines
    wire = explain_wire(decision, shell)
    assert wire["source"] == "/proj/.holdfast/settings.json:4"
    assert wire["read_only"] is False
    assert [part["text"] for part in wire["subcommands"]] == ["git log --oneline -5", "head", "rm -rf build"]
    assert wire["trace"][-1]["rule"] == "Bash(rm *)"


LAYERS = ["hook", "classifier", "deny", "ask", "tool", "guard", "allow", "mode"]


def said(steps: tuple[Step, ...]) -> dict[str, str]:
    return {step.layer: step.behavior for step in steps if step.behavior != NO_OPINION}


def test_every_layer_is_listed_also_the_silent_ones_and_those_that_were_beaten() -> None:
    ask = Rule.parse("ask", "Bash(git push *)", RuleSource("user", "/home/u/settings.json", 9))
    where = WHERE.with_rules(ask)
    facts = facts_from_input("Bash", {"command": "git push origin && rm x"}, "/proj")
    layers = survey(facts, where)
    assert [step.layer for step in layers] == LAYERS
    assert said(layers) == {"deny": "deny", "ask": "ask", "mode": "ask"}
    lines = explain_lines(decide(facts, where), layers=layers)
    trace = lines[lines.index("  trace") + 1 :]
    assert trace == [
        "    1. hook: no opinion",
        "    2. classifier: no opinion",
        "    3. deny: deny, the rule Bash(rm *) denies it   (/proj/.holdfast/settings.json:4)",
        "    4. ask: ask, the rule Bash(git push *) speaks of it   (/home/u/settings.json:9)",
        "    5. tool: no opinion",
        "    6. guard: no opinion",
        "    7. allow: no opinion",
        "    8. mode: ask, default mode by itself asks before a command that may change something",
    ]
    wire = explain_wire(decide(facts, where), layers=layers)
    assert [step["layer"] for step in wire["trace"]] == LAYERS
    assert wire["trace"][0] == {"layer": "hook", "behavior": "no opinion", "reason": ""}
    assert wire["trace"][3]["source"] == "/home/u/settings.json:9"


def test_an_allow_rule_that_was_beaten_is_shown() -> None:
    facts = facts_from_input("Bash", {"command": "git push"}, "/proj")
    assert said(survey(facts, WHERE.with_mode("plan"))) == {"allow": "allow", "mode": "deny"}
    edit = WHERE.with_rules(Rule.parse("allow", "Edit"))
    facts = facts_from_input("Edit", {"file_path": "/proj/.git/config"}, "/proj")
    assert said(survey(facts, edit)) == {"guard": "ask", "allow": "allow", "mode": "ask"}
    assert said(survey(facts, edit.with_mode("bypassPermissions"))) == {"allow": "allow", "mode": "allow"}


def test_hook_tool_classifier_guard_and_ceiling_have_their_say() -> None:
    facts = facts_from_input("Bash", {"command": "make"}, "/proj")
    auto = WHERE.with_mode("auto")
    assert said(survey(facts, auto)) == {"classifier": "allow"}
    layers = survey(facts, auto, hook=HookOpinion("ask", "wait"), opinion=Opinion.ask("sure?"))
    assert said(layers) == {"hook": "ask", "classifier": "allow", "tool": "ask"}
    critical = facts_from_input("Bash", {"command": "rm -rf /"}, "/proj")
    layers = survey(critical, auto, hook=HookOpinion("ask", "wait"))
    assert said(layers) == {"hook": "ask", "classifier": "ask", "deny": "deny", "guard": "ask"}
    assert said(survey(facts, auto.child("bypassPermissions"))) == {"mode": "allow", "ceiling": "allow"}
    assert said(survey(facts, WHERE.child("auto").child("auto"))) == {"classifier": "allow", "ceiling": "ask"}
    kernel = facts_from_input("Read", {"file_path": "/proc/1/environ"}, "/proj")
    assert said(survey(kernel, WHERE)) == {"guard": "deny", "mode": "ask"}
    person = facts._replace(requires_interaction=True)
    assert said(survey(person, WHERE)) == {"tool": "ask", "mode": "ask"}


def test_a_decision_without_a_rule_has_no_place() -> None:
    decision = decide(facts_from_input("Read", {"file_path": "a"}, "/proj"), WHERE)
    wire = explain_wire(decision)
    assert (wire["verdict"], wire["rule"], wire["source"], "read_only" in wire) == ("allow", None, None, False)
    assert explain_lines(decision)[1] == "  layer  mode"


def test_text_from_outside_is_escaped_on_the_screen() -> None:
    facts = facts_from_input("Bash", {"command": "touch 'a\x1b[31mb'"}, "/proj")
    lines = explain_lines(decide(facts, WHERE), judge_shell(facts, WHERE))
    assert all(line.isprintable() for line in lines)


def test_the_place_of_a_rule_is_as_exact_as_its_source() -> None:
    assert ALLOW.source.place == "/home/u/settings.json"
    assert Rule.parse("deny", "Read").source.place == "session"
