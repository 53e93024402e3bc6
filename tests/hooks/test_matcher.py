import pytest

from holdfast.contract import UsageError
from holdfast.hooks import Hook, HookAnswer, Hooks, compile_matcher


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


@pytest.mark.parametrize(
    "matcher",
    [
        "(?P<a>b)",
        "a{,2}.",
        "[a--z]",
        "\\bX+\\b+",
        "(?i)bash",
        "a++.",
        "[]a]",
        "\\p{L}+",
        "(a+)+$",
        "(?#x)a",
        "x" * 1_001 + ".",
    ],
)
def test_what_python_would_read_differently_is_refused_loudly(matcher: str):
    with pytest.raises(UsageError, match="cannot be used"):
        compile_matcher(matcher)


@pytest.mark.parametrize(
    ("matcher", "name"),
    [
        ("(?<tool>Bash|Edit)$", "Edit"),
        ("(?<a>x)\\k<a>", "xx"),
        ("^mcp__(?!memory).*", "mcp__github__x"),
        ("[a&&b|~]{2}", "&|"),
        ("\\/", "a/b"),
    ],
)
def test_what_javascript_spells_differently_is_translated(matcher: str, name: str):
    assert compile_matcher(matcher)((name,))


async def _nothing(event: object) -> HookAnswer | None:
    del event
    return None


@pytest.mark.parametrize(
    ("matcher", "heard"),
    [("MultiEdit", "Edit"), ("LS", "Glob"), ("NotebookRead", "Read"), ("^Multi", "Edit"), ("Edit|MultiEdit", "Edit")],
)
def test_a_matcher_of_a_retired_tool_hears_the_one_that_does_its_work(matcher: str, heard: str):
    hooks = Hooks([Hook("PreToolUse", _nothing, matcher)])
    assert [name for name in ("Edit", "Glob", "Read", "Write") if hooks.before((name,))] == [heard]
