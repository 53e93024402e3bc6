"""Names that one command hands to another, and texts that only want to cost time."""

import pytest

from holdfast.permissions.shell import analyse
from holdfast.permissions.shell.text.handed_on import may_be_special


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls | xargs cat", False),
        ("ls *.py | xargs cat", False),
        ("ls src/ | xargs cat", False),
        ("ls src | xargs cat 2>/dev/null", False),
        ("echo /proc/self/environ | xargs cat", True),
        ("echo /dev/sda | xargs cat", True),
        ("find / | xargs cat", True),
        ("ls /p*/self | xargs cat", True),
        ("ls ../{a,b} | xargs cat", True),
    ],
)
def test_only_texts_that_may_name_a_device_or_a_process_are_looked_at_again(command: str, expected: bool) -> None:
    assert may_be_special(command) is expected


@pytest.mark.parametrize(
    "command", ["echo /proc/self/environ | xargs cat", "ls /p*/self/environ | xargs cat", "find /proc | xargs cat"]
)
def test_a_name_of_a_process_that_is_passed_on_is_not_read_unasked(command: str) -> None:
    assert not analyse(command).read_only


def test_thousands_of_braces_are_not_followed_one_by_one() -> None:
    assert analyse("cat " + "{" * 2_000 + " x").parsed
    found = analyse("cat " + "{" * 4_000 + " x")
    assert not found.parsed
    assert "more than 3000 times '{'" in found.doubt
