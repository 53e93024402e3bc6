"""Allow rules that name variables set in front of a command."""

from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.judge.rule_words import settings_of
from holdfast.permissions.shell.text.analysis import analyse


def verdict(command: str, *contents: str, **rules: Any) -> str:
    return judge("Bash", {"command": command}, allow=[f"Bash({content})" for content in contents], **rules).behavior


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("TZ=UTC npm test", "TZ=UTC npm:*"),
        ("CI=1 npm run test", "CI=1 npm run:*"),
        ("RUST_BACKTRACE=1 cargo test", "RUST_BACKTRACE=1 cargo test:*"),
        ("CI=1 npm test $X > /dev/null && ls", "CI=1 npm test *"),
        ("CI='1' npm test", "CI=1 npm:*"),
        ('CI=a"b c" npm test', "CI='ab c' npm:*"),
        ("TZ=UTC CI=1 npm test", "CI=1 npm:*"),
        ("TZ=UTC CI=1 npm test", "TZ=UTC CI=1 npm:*"),
        ("CI=1 npmx", "CI=1 npm*"),
        ("CI=1 npm run a b", "CI=1 npm * b"),
        ("CI=1 npx jest -t 'a b'", "CI=1 npx jest:*"),
        ("PYTHONPATH=src python -m pytest -q | tail -3", "PYTHONPATH=src python -m pytest -q"),
        ("PYTHONPATH=src python -m pytest -q 2>&1 | tail -3", "PYTHONPATH=src python -m pytest -q"),
        ("ls; PATH=x LD_PRELOAD=y npm test", "PATH=x LD_PRELOAD=y npm test"),
        ("A=1 env B=2 npm test; ls", "A=1 env B=2 npm test"),
        ("PYTHONPATH=. timeout 60 pytest -q | tail -3", "PYTHONPATH=. timeout 60 pytest -q"),
        ("A=1 find src -delete; ls", "A=1 find src -delete"),
    ],
)
def test_a_rule_covers_variables_that_it_names(command: str, content: str) -> None:
    assert verdict(command, content) == "allow"
    assert verdict(command, content, deny=["Bash(rm:*)"]) == "allow"
    assert verdict(command, content, "CI=1:*", "C*", "CI=*") == "allow"
    assert verdict(command, "ls:*") == "ask"


@pytest.mark.parametrize(
    "variable", ["PYTHONPATH", "LD_PRELOAD", "PATH", "NODE_OPTIONS", "GIT_DIR", "GIT_SSH_COMMAND", "DEBUG", "BASH_ENV"]
)
def test_a_variable_that_may_change_what_runs_is_covered_by_an_exact_rule_only(variable: str) -> None:
    command = f"{variable}=x npm test"
    for content in (f"{variable}=x npm:*", f"{variable}=x npm test *", f"{variable}=x npm t*", f"{variable}=*", "*"):
        assert verdict(f"{command}; ls", content) == "ask"
    assert verdict(command, f"{variable}=x npm test") == "allow"
    assert verdict(f"{command}; ls", f"{variable}=x npm test") == "allow"
    assert verdict(f"{command} -v; ls", f"{variable}=x npm test") == "ask"
    assert verdict(f"{variable}=y npm test; ls", f"{variable}=x npm test", "npm test") == "ask"
    assert verdict(f"OTHER=1 {command}; ls", f"{variable}=x npm test") == "ask"
    assert verdict(f"CI=1 {command}; ls", f"{variable}=x npm test") == "ask"
    assert verdict(f"{command}; ls", f"{variable}=x npm test", deny=["Bash(npm:*)"]) == "deny"
    assert verdict(f"{command}; ls", f"{variable}=x npm test", ask=["Bash(npm test)"]) == "ask"


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("CI=1 touch x", "C*"),
        ("CI=1 touch x", "CI=1:*"),
        ("CI=1 touch x", "CI=1 *"),
        ("CI=1 touch x", "CI=*"),
        ("CI=1 touch x", "* x y"),
        ("CI=2 npm test", "CI=1 npm:*"),
        ("CI=11 npm test", "CI=1 npm:*"),
        ("CI=$X npm test", "CI=$X npm:*"),
        ("CI=$(touch x) npm test", "CI=$(touch x) npm:*"),
        ("CI=~ npm test", "CI=~ npm:*"),
        ("CI+=1 npm test", "CI=1 npm:*"),
        ("CI=1 npmx", "CI=1 npm:*"),
        ("CI=1 npm test && touch x", "CI=1 npm:*"),
        ("CI=1 npm test > x", "CI=1 npm:*"),
        ("PATH=x npm test > x", "PATH=x npm test"),
        ("npm test", "CI=1 npm:*"),
        ("cd /etc && CI=1 npm test", "CI=1 npm:*"),
        ("CI=1 find . -delete", "CI=1 find:*"),
        ("CI=1 xargs touch", "CI=1 xargs:*"),
        ("CI=1 env touch x", "CI=1 env:*"),
        ("CI=1 timeout 5 touch x", "CI=1 timeout:*"),
        ("CI=1 timeout 5 touch x; touch y", "CI=1 timeout 5 touch x"),
        ("CI=1 timeout 6 touch x; ls", "CI=1 timeout 5 touch x"),
        ("CI=1 watch touch x", "CI=1 watch:*"),
        ("CI=1 flock f touch x", "CI=1 flock:*"),
        ("CI=1; touch x", "CI=1 touch:*"),
    ],
)
def test_a_rule_with_variables_covers_nothing_else(command: str, content: str) -> None:
    assert verdict(command, content) == "ask"


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("A=1 b", ("A=1",)),
        ("A= B='x y' c $d", ("A=", "B=x y")),
        ("A='\"' B=\"'\" c", ('A="', "B='")),
        ("A=1\tB=2 c", ("A=1", "B=2")),
        ('A="$x" b', ()),
        ("A=1 B=$x c", ()),
        ("A=a\\b c", ()),
        ("A=* b", ()),
        ("A[0]=1 b", ()),
        (">x A=1 b", ()),
    ],
)
def test_values_are_read_without_their_quotes_when_they_are_certain(command: str, settings: tuple[str, ...]) -> None:
    assert settings_of(analyse(command).parts[-1]) == settings


def test_of_two_exact_rules_the_one_with_the_variables_covers_a_wrapper() -> None:
    plain, spelled = "timeout 5 touch x", "PYTHONPATH=. timeout 5 touch x"
    assert verdict(plain, plain) == "allow"
    assert verdict(spelled, plain) == "ask"
    assert verdict(spelled, plain, spelled) == "allow"
    assert verdict("timeout 5 cat /etc/hosts", "timeout 5 cat /etc/hosts") == "allow"
