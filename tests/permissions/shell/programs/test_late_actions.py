"""Words of `find` and `fd` that are an action only when the shell has expanded them."""

from typing import Any

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.policy.cases import run_case

BASE = PermissionContext("default", [], project_root="/none")
FINDERS = ["Bash(find *)", "Bash(/usr/bin/find *)", "Bash(fd *)"]


def verdict(command: str, *, mode: str = "default", **rules: list[str]) -> str:
    case: dict[str, Any] = {"command": command, "rules": rules, "cwd": "/none/proj", "mode": mode}
    return run_case(case, BASE).decision.behavior


@pytest.mark.parametrize(
    "command",
    [
        "find . -{delete,print}",
        "find . -delet{e,e}",
        "find . -delet{e..e}",
        "find . -{'delete',print}",
        "find . {a,{-delete,b}}",
        "find . -?elete",
        "find . @(-delete)",
        "find . -{exec,print} rm {} +",
        "find . {-exec,rm} {} +",
        "find . -fprint{,} x",
        "find . $X",
        "find . ${X}",
        "find . $(echo -delete)",
        "find . `echo -delete`",
        'find . "$X"',
        'find "$X" -name x',
        "find . -name $X",
        'find . -name -name "$X"',
        "find $D/src -name x",
        "find * -name x",
        "ls | xargs find",
        "ls | xargs -I% find % -name x",
        "/usr/bin/find . -{delete,print}",
        "fd -{x,H} rm",
        "fd $X rm",
        "fd {-x,rm} a",
        "ls | xargs fd",
    ],
)
def test_a_rule_for_a_finder_does_not_cover_a_word_that_may_become_an_action(command: str) -> None:
    assert verdict(command, allow=FINDERS) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        'find . -name "$X"',
        "find . -name *.py",
        "find src/{a,b} -name x",
        "find {a,b} -name x",
        "find . -name '*.{a,b}'",
        "for d in a b; do find $d -name x; done",
        'find "$D/src" -type f',
        'find . -newer "$F"',
        'find "$(pwd)" -name x',
        'find "$PWD" -name x',
        "find $HOME/src -name x",
        'find "$(git rev-parse --show-toplevel)/src" -name x',
        "fd -e py x",
    ],
)
def test_a_rule_for_a_finder_covers_what_can_only_be_a_path_or_a_value(command: str) -> None:
    assert verdict(command, allow=FINDERS) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "find / -{delete,print}",
        "find ~ -delet{e,e}",
        "find / -delet{e..e}",
        "find / $X",
        "find / -{exec,print} rm {} +",
        "find . -{delete,print}",
        "find .. -{delete,print}",
        "find .git -delet{e,e}",
        "HOME='. -delete'; find / $HOME",
    ],
)
def test_critical_removals_do_not_hide_in_such_a_word(command: str) -> None:
    assert verdict(command, mode="bypassPermissions") == "ask"
    assert verdict(command, allow=["Bash"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "find $HOME -name x",
        "find ${PWD} -name x",
        'find "$D" -name x',
        "find $D/ -name x",
        "find . -name $X",
        'find / -name "$X"',
        "find . -name *.py",
        "find $D",
    ],
)
def test_a_search_whose_words_are_not_known_is_no_critical_removal(command: str) -> None:
    assert verdict(command, mode="bypassPermissions") == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find . -{exec,print} rm {} +", "deny"),
        ('find . "$X" rm {} \\;', "deny"),
        ("find . {-exec,rm} {} +", "ask"),
        ("find . $(echo -exec rm {} +)", "deny"),
        ("X='-exec rm {} +'; find . $X", "deny"),
        ("fd -{x,H} rm", "deny"),
        ('find "$D" -name rm', "allow"),
        ("find $D -name x", "allow"),
    ],
)
def test_a_deny_holds_against_what_such_a_word_would_run(command: str, expected: str) -> None:
    assert verdict(command, mode="bypassPermissions", deny=["Bash(rm *)"]) == expected


def test_an_edit_rule_holds_against_a_deletion_in_such_a_word() -> None:
    assert verdict("find out -{delete,print}", mode="bypassPermissions", deny=["Edit(out/**)"]) != "allow"
    assert verdict("find src -{delete,print}", mode="bypassPermissions", deny=["Edit(out/**)"]) == "allow"
