"""Rules learnt from calls that a person was asked about and allowed."""

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.lessons import Lesson, learn, reach_of
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.tool_facts import facts_from_input

RIGHTS = PermissionContext(working_directories=("/proj",), project_root="/proj", disk=NoDisk(), home="/home/u")


def asked(*commands: str) -> list[CallFacts]:
    return [facts_from_input("Bash", {"command": command}, "/proj") for command in commands]


def learnt(*commands: str, rights: PermissionContext = RIGHTS) -> list[tuple[tuple[str, ...], int]]:
    return [(lesson.rules, lesson.spares) for lesson in learn(asked(*commands), rights)]


def test_the_rule_that_spares_the_most_comes_first_and_counts_what_is_left() -> None:
    calls = ("make lint", "cargo test a", "cargo test b", "cargo test", "make lint", "ls")
    assert learnt(*calls) == [(("Bash(cargo test *)",), 3), (("Bash(make lint *)",), 2)]


def test_what_passes_already_is_not_learnt() -> None:
    rights = RIGHTS.with_rules(Rule.parse("allow", "Bash(cargo test *)"))
    assert learnt("cargo test a", "ls", "git status", rights=rights) == []


def test_nothing_is_learnt_against_a_deny_or_for_what_no_rule_may_cover() -> None:
    rights = RIGHTS.with_rules(Rule.parse("deny", "Bash(cargo *)"), Rule.parse("ask", "Bash(make *)"))
    assert learnt("cargo test", "make lint", "rm -rf /", "sudo make", "python3 -c 'print(1)'", rights=rights) == []


def test_every_lesson_lets_its_examples_pass() -> None:
    calls = asked("cargo test a && make lint", "npm run build", "echo x > out.txt", "cat /etc/hosts")
    for lesson in learn(calls, RIGHTS):
        with_it = RIGHTS.with_rules(*(Rule.parse("allow", rule) for rule in lesson.rules))
        assert all(decide(example, with_it).behavior == "allow" for example in lesson.examples)


@pytest.mark.parametrize(
    ("rule", "reach"),
    [
        ("Bash(cargo test *)", "`cargo test` with any further words"),
        ("Bash(cargo test)", ""),
        ("Bash(= a *)", ""),
        ("Read(//etc/**)", "reading everything below /etc"),
        ("Edit(//tmp/*.py)", ""),
        ("WebFetch(domain:example.org)", "every page of example.org"),
        ("TaskStop", "every call of TaskStop"),
    ],
)
def test_a_rule_says_what_it_allows_beyond_what_was_seen(rule: str, reach: str) -> None:
    assert reach_of(rule) == reach
    assert Lesson((rule,), 1, ()).beyond == ((reach,) if reach else ())
