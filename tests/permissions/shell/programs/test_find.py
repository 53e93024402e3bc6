import shlex

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.parsers.find import ALONE, NEWER, WITH_VALUE, WRITING
from holdfast.permissions.shell.words.word import Word


def refusal(command: str) -> str | None:
    name, *words = shlex.split(command)
    return inspect_command(name, [Word(word) for word in words]).refusal


@pytest.mark.parametrize("test", sorted(ALONE))
def test_tests_without_a_value_are_accepted(test: str) -> None:
    assert refusal(f"find . -true {shlex.quote(test)}") is None


@pytest.mark.parametrize("test", sorted(WITH_VALUE | NEWER))
def test_tests_with_a_value_are_accepted_and_need_it(test: str) -> None:
    assert refusal(f"find . {test} x") is None
    assert refusal(f"find . {test} -delete") is None
    assert refusal(f"find . {test} x -delete")
    assert refusal(f"find . {test}")


@pytest.mark.parametrize(
    "action", [*sorted(WRITING), "-delete", "-ok ls ;", "-okdir ls ;", "-files0-from x", "-D exec", "-unknown"]
)
def test_actions_that_change_or_ask_are_refused(action: str) -> None:
    words = [Word("."), *(Word(word) for word in action.split()), Word("out"), Word("%p")]
    assert inspect_command("find", words).refusal
    assert inspect_command("find", words[1:]).refusal


@pytest.mark.parametrize(
    ("command", "accepted"),
    [
        ("find", True),
        ("find -L a b", True),
        ("find . -exec cat '{}' ';'", True),
        ("find . -exec cat '{}' +", True),
        ("find . -execdir cat '{}' +", True),
        ("find . -exec cat '{}'", False),
        ("find . -exec cat x + '{}' + -delete", False),
        ("find . -exec cat '{}' ';' -delete", False),
        ("find . -name x y", False),
        ("find '(' -name x ')'", True),
        ("find '!' -name x", True),
    ],
)
def test_what_find_runs_is_left_to_the_caller_and_the_rest_is_judged(command: str, accepted: bool) -> None:
    assert (refusal(command) is None) is accepted


def test_words_known_only_at_run_time() -> None:
    unknown, certain = Word("", static=False), Word("./", static=False, may_be_flag=False)
    several = certain._replace(glob=True)
    assert inspect_command("find", [unknown]).refusal
    assert inspect_command("find", [certain]).refusal is None
    assert inspect_command("find", [certain]).reads_unknown
    assert inspect_command("find", [several]).refusal is None
    assert inspect_command("find", [Word("."), Word("-name"), unknown]).refusal
    assert inspect_command("find", [Word("."), Word("-name"), certain]).refusal is None
    assert inspect_command("find", [Word("."), Word("-name"), several]).refusal
    assert inspect_command("find", [Word("."), Word("-print"), certain]).refusal


def test_files_compared_with_are_read() -> None:
    facts = inspect_command("find", [Word("."), Word("-newer"), Word("stamp"), Word("-newermt"), Word("yesterday")])
    assert facts.reads == (".", "stamp")
