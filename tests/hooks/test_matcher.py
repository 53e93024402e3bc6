import pytest

from holdfast.contract import UsageError
from holdfast.hooks import compile_matcher


@pytest.mark.parametrize(
    ("matcher", "names", "fits"),
    [
        ("*", ("Bash",), True),
        ("", ("Bash",), True),
        (None, ("Bash",), True),
        ("Bash", ("Bash",), True),
        ("Bash", ("BashOutput",), False),
        ("bash", ("Bash",), False),
        ("Edit|Write", ("Write",), True),
        ("Edit, Write", ("Write",), True),
        ("Edit|Write", ("NotebookEdit",), False),
        (".*Edit", ("NotebookEdit",), True),
        ("mcp__.*", ("mcp__a__b",), True),
        ("^Read$", ("Read",), True),
        ("Task", ("Agent", "Task"), True),
        ("Notebook.*", ("Bash",), False),
        ("|", ("Bash",), False),
    ],
)
def test_names_match_exactly_and_patterns_anywhere(matcher: str | None, names: tuple[str, ...], fits: bool):
    assert compile_matcher(matcher)(names) is fits


def test_a_broken_pattern_is_told():
    with pytest.raises(UsageError, match="no regular expression"):
        compile_matcher("(unclosed")
