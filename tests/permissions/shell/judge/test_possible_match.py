"""Expansions that could still become what a deny or ask rule names."""

import random

import pytest

from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import possible_match
from holdfast.permissions.shell.text.analysis import analyse


def index(*contents: str) -> RuleIndex:
    return RuleIndex([compile_bash_rule(content) for content in contents], exact_words=False)


@pytest.mark.parametrize(
    ("command", "content", "possible"),
    [
        ("git $x", "git push *", True),
        ("git log $x", "git push *", False),
        ("xargs git", "git push *", True),
        ("git push", "git push *", False),
        ('rm "$f" x', "rm -rf *", True),
        ("/usr/bin/git $x", "git push *", True),
        ("/usr/bin/git pu", "git push *", False),
        ("git push $x", "git push", True),
        ("git pull $x", "git push", False),
        ("git push origin $x", "git push", False),
        ("git push $x", "* --force", True),
        ("git push $x", "*--force*", True),
        ("git push $x", "git * --force", True),
        ("npm ci $x", "git * --force", False),
        ("$x push", "git push", True),
        ("$x push", "*", True),
        ("git push", "* --force", False),
    ],
)
def test_expansions_that_could_become_a_denied_command_are_noticed(command: str, content: str, possible: bool) -> None:
    assert (possible_match(index(content), analyse(command)) is not None) is possible


@pytest.mark.parametrize(
    "command",
    [
        "git -C d $x",
        "/usr/bin/git -C d $x",
        "git -C $d $x",
        "git -c a=b p$x",
        "ls | xargs git -C d",
        "git --no-pager $x",
    ],
)
def test_an_expansion_behind_global_options_may_be_the_subcommand(command: str) -> None:
    assert possible_match(index("git push:*"), analyse(command)) is not None
    assert possible_match(index("npm publish:*"), analyse(command)) is None


def test_a_rule_may_be_met_by_what_a_text_goes_on_to_as_the_plain_definition_says() -> None:
    random_ = random.Random(7)
    words = ["git", "push", "rm", "a", "-f", "x*", "*", "npm", "te*t", "*b"]
    for _ in range(3000):
        ends = ["", " *", ":*", "*"]
        texts = [" ".join(random_.choices(words, k=random_.randint(1, 4))) + random_.choice(ends) for _ in range(5)]
        rules = [compile_bash_rule(text) for text in texts if text.strip() != "*"]
        known = " ".join(
            random_.choices(["git", "push", "rm", "a", "-f", "xy", "npm", "test"], k=random_.randint(1, 4))
        )
        known = random_.choice([known, known + " ", known[:-1]])
        heads = [(rule.loose[0] if rule.loose else "", rule.kind) for rule in rules]
        plain = any(
            head.startswith(known) or head == known.removesuffix(" ") or (kind == "wild" and known.startswith(head))
            for head, kind in heads
        )
        assert (RuleIndex(rules, exact_words=False).could_match(known) is not None) == plain
