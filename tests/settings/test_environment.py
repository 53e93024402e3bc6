import pytest

from holdfast.settings.environment import VARIABLES, Environment


def test_defaults_hold_when_nothing_is_set() -> None:
    environment = Environment({})
    assert environment.number("MAX_TOOL_CONCURRENCY") == 10
    assert environment.number("BASH_DEFAULT_TIMEOUT_MS") == 120_000
    assert environment.bash_max_timeout_ms == 600_000
    flags = [name for name, variable in VARIABLES.items() if isinstance(variable.default, bool)]
    assert not any(environment.flag(name) or environment.is_set(name) for name in flags)
    assert len(VARIABLES) == 9


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_the_original_is_read_when_ours_is_unset_and_ours_wins(name: str) -> None:
    original = VARIABLES[name].original
    environment = Environment({original: "1"})
    assert environment.number(name) == 1
    assert environment.is_set(name)
    assert Environment({original: "1", f"HOLDFAST_{name}": ""}).number(name) == 1
    other = "0" if isinstance(VARIABLES[name].default, bool) else "7"
    assert Environment({original: "1", f"HOLDFAST_{name}": other}).number(name) == int(other)


@pytest.mark.parametrize("value", ["maybe", "2", "-1", "ja"])
def test_a_switch_that_makes_no_sense_is_the_default_with_a_problem(value: str) -> None:
    environment = Environment({"HOLDFAST_SIMPLE": value})
    assert not environment.flag("SIMPLE")
    assert "HOLDFAST_SIMPLE" in environment.problems[0]
    assert value in environment.problems[0]


@pytest.mark.parametrize("value", ["zero", "0", "-5", "1.5", "1e3", "٣", "9" * 5000, "1001"])
def test_a_number_that_makes_no_sense_is_the_default_with_a_problem(value: str) -> None:
    environment = Environment({"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": value})
    assert environment.number("MAX_TOOL_CONCURRENCY") == 10
    assert len(environment.problems) == 1


@pytest.mark.parametrize(
    ("value", "expected"), [("TRUE", True), (" on ", True), ("Yes", True), ("off", False), ("no", False)]
)
def test_switches_understand_the_usual_words(value: str, expected: bool) -> None:
    environment = Environment({"HOLDFAST_REPL_MODE": value})
    assert environment.flag("REPL_MODE") is expected
    assert environment.problems == []


def test_the_longest_timeout_is_never_shorter_than_the_default_one() -> None:
    environment = Environment({"BASH_DEFAULT_TIMEOUT_MS": "900000", "BASH_MAX_TIMEOUT_MS": "1000"})
    assert environment.bash_max_timeout_ms == 900_000
