import pytest

from holdfast.lib.spelling import did_you_mean, nearest_name

NAMES = ("Read", "Write", "Edit", "NotebookEdit", "Bash", "deny", "disableBypassPermissionsMode")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Raed", "Read"),
        ("read", "Read"),
        ("REED", "Read"),
        ("Writ", "Write"),
        ("NotbookEdti", "NotebookEdit"),
        ("denny", "deny"),
        ("disableBypasPermissionMode", "disableBypassPermissionsMode"),
        ("Lsof", None),
        ("", None),
        ("x" * 1000, None),
        ("tools", None),
    ],
)
def test_a_slip_of_the_finger_is_understood_and_another_word_is_not(name: str, meant: str | None) -> None:
    assert nearest_name(name, NAMES) == meant


def test_a_question_stands_behind_an_error_only_when_something_is_near() -> None:
    assert did_you_mean("Raed", NAMES) == " Did you mean 'Read'?"
    assert did_you_mean("zzzzzz", NAMES) == ""
