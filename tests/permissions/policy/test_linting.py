import pytest

from holdfast.permissions.policy.linting import lint
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleProblem, RuleSource, parse_rules
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS


def findings(**lists: list[str]) -> list[tuple[str, str]]:
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    behaviors: tuple[Behavior, ...] = ("allow", "ask", "deny")
    for behavior in behaviors:
        for line, text in enumerate(lists.get(behavior, []), 1):
            source = RuleSource("project", "settings.json", line)
            found, bad = parse_rules([text], behavior, source, aliases=ALIASES, known_tools=KNOWN_TOOLS)
            rules += found
            problems += bad
    return [(finding.kind, finding.rule) for finding in lint(rules, problems)]


def test_good_rules_have_no_findings() -> None:
    assert (
        findings(allow=["Bash(git status *)", "Read(//usr/share/**)", "Edit(src/**)", "WebFetch(domain:a.com)"]) == []
    )


@pytest.mark.parametrize(
    "rule",
    ["CI=1 npm:*", "TZ=UTC npm *", "LC_ALL=C CI=1 npm*", "PYTHONPATH=. pytest -q", "a=b", "npm test A=*", "--a=b *"],
)
def test_a_rule_that_names_harmless_variables_or_the_whole_command_has_no_finding(rule: str) -> None:
    assert findings(allow=[f"Bash({rule})"]) == []


def test_a_deny_rule_may_name_any_variable() -> None:
    assert findings(deny=["Bash(PYTHONPATH=. pytest:*)"]) == []


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"allow": ["Bash(git status)"], "deny": ["Bash(git *)"]}, ("shadowed", "Bash(git status)")),
        ({"allow": ["Bash(git)"], "deny": ["Bash(git:*)"]}, ("shadowed", "Bash(git)")),
        ({"allow": ["Edit(src/a)"], "deny": ["Edit(src/**)"]}, ("shadowed", "Edit(src/a)")),
        ({"allow": ["Read(src/**)"], "ask": ["Read(src)"]}, ("shadowed", "Read(src/**)")),
        ({"ask": ["Read(x)"], "deny": ["Read"]}, ("shadowed", "Read(x)")),
        ({"allow": ["Read(x)"], "deny": ["Read(x)"]}, ("shadowed", "Read(x)")),
        ({"allow": ["Agent(a)"], "deny": ["Agent(a*)"]}, ("shadowed", "Agent(a)")),
        (
            {"allow": ["WebFetch(domain:a.b.com)"], "deny": ["WebFetch(domain:*.b.com)"]},
            ("shadowed", "WebFetch(domain:a.b.com)"),
        ),
        ({"allow": ["Read(x)", "Read(x)"]}, ("duplicate", "Read(x)")),
        ({"allow": ["Bash"]}, ("too wide", "Bash")),
        ({"allow": ["Bash(*)"]}, ("too wide", "Bash(*)")),
        ({"allow": ["Bash(python3 *)"]}, ("too wide", "Bash(python3 *)")),
        ({"allow": ["Edit"]}, ("too wide", "Edit")),
        ({"allow": ["Edit(//**)"]}, ("too wide", "Edit(//**)")),
        ({"allow": ["Edit(~)"]}, ("too wide", "Edit(~)")),
        ({"allow": ["WebFetch(domain:localhost)"]}, ("never matches", "WebFetch(domain:localhost)")),
        ({"allow": ["Edit(.git/**)"]}, ("never matches", "Edit(.git/**)")),
        ({"allow": ["Read(//proc/**)"]}, ("never matches", "Read(//proc/**)")),
        ({"allow": ["Bash(PYTHONPATH=. pytest:*)"]}, ("never matches", "Bash(PYTHONPATH=. pytest:*)")),
        ({"allow": ["Bash(CI=1 PATH=x npm *)"]}, ("never matches", "Bash(CI=1 PATH=x npm *)")),
        ({"allow": ["Bash(CI=1:*)"]}, ("never matches", "Bash(CI=1:*)")),
        ({"allow": ["Bash(CI=* npm test)"]}, ("never matches", "Bash(CI=* npm test)")),
        ({"deny": ["Write(x)"]}, ("ignored", "Write(x)")),
        ({"deny": ["Bash("]}, ("malformed", "Bash(")),
        ({"allow": ["Read(./a/../b)"]}, ("malformed", "Read(./a/../b)")),
        ({"allow": ["Edit(../shared/**)"]}, ("malformed", "Edit(../shared/**)")),
        ({"deny": ["Raed"]}, ("unknown tool", "Raed")),
    ],
)
def test_each_kind_of_finding(lists: dict[str, list[str]], expected: tuple[str, str]) -> None:
    assert expected in findings(**lists)


@pytest.mark.parametrize(
    "lists",
    [
        {"allow": ["Edit(src/a)"], "deny": ["Edit(./lib/**)"]},
        {"allow": ["Edit(..a/.b/...)"], "deny": ["Read(./a/../b)"], "ask": ["Edit(../x/./y)"]},
        {"allow": ["Edit(~/a)"], "deny": ["Edit(//a)"]},
        {"allow": ["Bash(git push)"], "deny": ["Bash(git push --force)"]},
        {"allow": ["Bash(git push)"], "deny": ["Bash(*git push)"]},
        {"allow": ["Agent(a)"], "deny": ["Agent(model:opus)"]},
        {"allow": ["Read(a)"], "deny": ["Edit(a)"]},
        {"allow": ["Skill(a)"], "ask": ["Skill(b)"]},
        {"allow": ["my_tool", "mcp__a__b"]},
    ],
)
def test_what_is_fine_stays_silent(lists: dict[str, list[str]]) -> None:
    assert findings(**lists) == []


def test_a_finding_names_the_place() -> None:
    (finding,) = lint([Rule.parse("allow", "Bash", RuleSource("user", "s.json", 3))])
    assert finding.source.place == "s.json:3"
    assert lint([Rule.parse("allow", "Bash", RuleSource("cli"))])[0].source.place == "cli"
    assert lint([Rule.parse("allow", "Bash", RuleSource("user", "s.json"))])[0].source.place == "s.json"


def test_a_rule_made_by_hand_that_cannot_hold_shadows_nothing() -> None:
    assert lint([Rule("deny", "Read", "[a"), Rule("allow", "Read", "b")]) == []
