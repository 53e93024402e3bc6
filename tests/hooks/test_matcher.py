import pytest

from holdfast.contract import UsageError
from holdfast.hooks import Hook, HookAnswer, Hooks, compile_matcher
from holdfast.hooks.doubts import doubts_about_condition, doubts_about_matcher


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
    with pytest.raises(UsageError, match="not a regular expression"):
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


@pytest.mark.parametrize(
    ("matcher", "says"),
    [
        ("bash", "did you mean Bash?"),
        ("Bash(rm *)", "did you mean Bash?"),
        ("/Edit/", "did you mean Edit?"),
        ("!Edit", "did you mean Edit?"),
        ("tools:Wirte", "did you mean Write?"),
        ("deploy", "fits no built-in tool"),
        ("mcp__memory", "write 'mcp__memory__.*'"),
        ("Bash|nothing", ""),
        ("Task", ""),
        ("mcp__memory__.*", ""),
        ("mcp__memory__read", ""),
        (".*", ""),
    ],
)
def test_a_matcher_that_fits_no_tool_is_told(matcher: str, says: str):
    [*told] = doubts_about_matcher(matcher, compile_matcher(matcher))
    assert [says in one for one in told] == ([True] if says else [])


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("Bash(git *)", ""),
        ("Bash(node -e 'f() ; g()')", ""),
        ("Bash(git *) || Bash(npm *)", "more than one rule"),
        ("Bash(git *), Edit(*.ts)", "more than one rule"),
        ("Bash(git *) or Edit(x)", "more than one rule"),
        ("Bash(", "filters nothing"),
    ],
)
def test_a_condition_that_is_not_one_rule_is_told(condition: str, says: str):
    [*told] = doubts_about_condition(condition)
    assert [says in one for one in told] == ([True] if says else [])
