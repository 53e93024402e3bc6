import pytest

from holdfast.contract import ArgumentsInvalid, Denied, Fatal, HoldfastError, Opinion, ToolFailed, UsageError


def test_every_error_of_ours_has_one_root():
    for kind in (ArgumentsInvalid, Denied, Fatal, ToolFailed, UsageError):
        assert issubclass(kind, HoldfastError)


def test_failures_carry_their_code_and_problems():
    assert ToolFailed("x", error_code=7).error_code == 7
    error = ArgumentsInvalid("x", problems=("a", "b"), error_code=2)
    assert (str(error), error.problems, error.error_code) == ("x", ("a", "b"), 2)


def test_an_opinion_holds_back_and_never_grants():
    assert Opinion.ask("why?") == Opinion("ask", "why?")
    assert Opinion.deny("no") == Opinion("deny", "no")
    with pytest.raises(AttributeError):
        Opinion.allow  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
