from holdfast.permissions.bash_rules import judge_shell
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decide import HookOpinion, decide
from holdfast.permissions.explain import explain_lines, explain_wire, place_of
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.rules import Rule, RuleSource
from holdfast.permissions.traits import facts_from_input

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
    assert place_of(ALLOW) == "/home/u/settings.json"
    assert place_of(Rule.parse("deny", "Read")) == "session"
