"""A skill's text for one use."""

import pytest

from holdfast.definitions.expand import Part, expand, split_arguments
from holdfast.lib.injections import find_injections

VARIABLES = {"SKILL_DIR": "/skills/x", "SESSION_ID": "s1"}


def filled(body: str, arguments: str = "", *, is_command: bool = True, names: tuple[str, ...] = ()) -> str:
    parts = expand(
        body,
        find_injections(body),
        arguments=arguments,
        names=names,
        variables=VARIABLES,
        is_command=is_command,
    )
    return "".join(f"<{part.text}>" if part.is_command else part.text for part in parts)


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Fix $ARGUMENTS now.", "12 high", "Fix 12 high now."),
        ("Fix $ARGUMENTS now.", "", "Fix  now."),
        ("Fix $ARGUMENTS[1] of $ARGUMENTS[0].", "12 'very high'", "Fix very high of 12."),
        ("Fix $0 and $1 and $2.", "a b", "Fix a and b and ."),
        ("Move $source to $target, $other.", "a b", "Move a to b, $other."),
        ("Nothing to fill in.", "a b", "Nothing to fill in.\n\nARGUMENTS: a b"),
        ("Fix #$1 now.", "12", "Fix # now.\n\nARGUMENTS: 12"),
        ("It's $0.", "it's fine", "It's it's."),
        ("In ${CLAUDE_SKILL_DIR} of ${CLAUDE_SESSION_ID}, ${CLAUDE_OTHER}, ${HOME}.", "", None),
        ("`awk '{print $1}'`", "", "`awk '{print $1}'`"),
        ("cost: $100 and $ARGUMENTSX", "", "cost: $100 and $ARGUMENTSX"),
    ],
)
def test_placeholders_of_commands_are_filled_in(body: str, arguments: str, text: str | None) -> None:
    wanted = "In /skills/x of s1, ${CLAUDE_OTHER}, ${HOME}." if text is None else text
    assert filled(body, arguments, names=("source", "target")) == wanted


def test_a_skill_without_arguments_keeps_its_shell_code() -> None:
    assert filled("awk '{print $1}' $ARGUMENTS ${CLAUDE_SKILL_DIR}", is_command=False) == (
        "awk '{print $1}' $ARGUMENTS /skills/x"
    )
    assert filled("For $0.", "me", is_command=False) == "For me."


def test_commands_are_told_apart_and_get_the_arguments() -> None:
    assert filled("Now: !`git log $0` and\n```!\ndate\n```\nend", "main") == "Now: <git log main> and\n<date>\nend"


@pytest.mark.parametrize("argument", ["!`touch x`", "x\n```!\ntouch x\n```", "$ARGUMENTS[0] $0"])
def test_an_argument_brings_neither_a_command_nor_another_argument(argument: str) -> None:
    body = "Do $ARGUMENTS"
    parts = expand(body, find_injections(body), arguments=argument, variables={}, is_command=True)
    assert parts == [Part(f"Do {argument}")]


def test_words_are_split_as_people_quote_them() -> None:
    assert split_arguments("a 'b c' \"d e\"") == ["a", "b c", "d e"]
    assert split_arguments("don't stop") == ["don't", "stop"]
