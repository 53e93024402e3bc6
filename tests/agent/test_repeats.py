"""The loop guard."""

from typing import Any

from holdfast.agent.repeats import RepeatGuard
from holdfast.events import CallFinished, Outcome


def reply(*, is_error: bool = True, outcome: Outcome = "failed", name: str = "Bash") -> CallFinished:
    return CallFinished("id", name, "text", is_error=is_error, outcome=outcome)


def warned(guard: RepeatGuard, arguments: Any, **how: Any) -> bool:
    return guard.take(reply(**how), arguments) is not None


def test_the_third_failure_of_the_same_call_is_remarked_on_and_no_later_one() -> None:
    guard = RepeatGuard()
    assert [warned(guard, {"a": 1, "b": 2}) for _ in range(6)] == [False, False, True, False, False, False]


def test_the_order_of_arguments_makes_no_difference() -> None:
    guard = RepeatGuard()
    assert [warned(guard, arguments) for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2})][-1]


def test_another_call_or_a_success_begins_anew() -> None:
    guard = RepeatGuard()
    assert not any(warned(guard, {"n": number}) for number in range(10))
    assert not any(warned(guard, {}, is_error=number % 3 == 2) for number in range(20))
    assert not any(warned(guard, {}, name=f"T{number}") for number in range(10))


def test_calls_that_were_stopped_do_not_count() -> None:
    guard = RepeatGuard()
    assert not any(warned(guard, {}, outcome="cancelled") for _ in range(10))


def test_what_has_no_json_form_is_compared_by_its_text() -> None:
    guard = RepeatGuard()
    assert [warned(guard, {"x": "\udcff"}) for _ in range(3)][-1]


def test_it_remembers_only_so_many() -> None:
    guard = RepeatGuard()
    for number in range(1_000):
        guard.take(reply(), {"n": number})
    assert len(guard._failures) <= 200
