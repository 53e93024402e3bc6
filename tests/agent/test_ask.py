"""Requests that fail: what is repeated, what stands, how long to wait, who is asked instead."""

import asyncio
from typing import Any

import pytest

from holdfast import Executor
from holdfast.agent import Loop, LoopChoices, RetryPolicy
from holdfast.events import (
    CallDiscarded,
    CallFinished,
    Event,
    ModelRequested,
    ReplyDiscarded,
    RequestRetried,
    RunEnded,
)
from holdfast.models import BlockEnded, ModelError, ModelRequest, StreamStarted, Usage
from holdfast.models.errors import ModelErrorKind
from holdfast.testing import ScriptedTool, run_virtual
from holdfast.testing.loops import LoopRun, read_run, run_loop
from holdfast.testing.planned import PlannedModel, Step, answer, broken, call, words

READ = {"seconds": 5, "read_only": True}
WRITE = {"seconds": 5, "read_only": False, "text": "written"}
OK = answer(words("ok"))


def failing(kind: ModelErrorKind, **details: Any) -> list[Step]:
    return [ModelError(f"it is {kind}", kind, **details)]


def half(*parts: list[Step], error: BaseException | None = None) -> list[Step]:
    """An answer whose stream breaks before its end."""
    return [*answer(*parts)[:-1], 1.0, error or broken()]


def choices(**changes: Any) -> LoopChoices:
    return LoopChoices(retry=RetryPolicy(random=lambda: 0.0)._replace(**changes))


@pytest.mark.parametrize("kind", ["connection", "timeout", "rate_limit", "overloaded", "server", "broken_stream"])
def test_what_may_work_later_is_sent_again_with_growing_waits(kind: ModelErrorKind) -> None:
    times: list[float] = []

    def fail(request: ModelRequest) -> list[Step]:
        times.append(asyncio.get_running_loop().time())
        return failing(kind)

    run = run_loop(fail, fail, fail, fail, OK)
    assert run.ended.outcome == "success"
    assert times == [0, 1, 3, 7]
    assert [event.delay_s for event in run.of(RequestRetried)] == [1, 2, 4, 8]
    assert [event.attempt for event in run.of(ModelRequested)] == [1, 2, 3, 4, 5]
    assert {event.kind for event in run.of(RequestRetried)} == {kind}


@pytest.mark.parametrize("kind", ["invalid_request", "auth", "quota"])
def test_what_will_not_work_later_ends_the_run(kind: ModelErrorKind) -> None:
    run = run_loop(failing(kind))
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", f"it is {kind}")
    assert run.of(RequestRetried) == []
    assert run.loop.history == [{"role": "user", "content": [{"type": "text", "text": "go"}]}]


def test_attempts_are_bounded_and_the_last_error_is_told() -> None:
    run = run_loop(choices=choices(attempts=3), model_options={"then": failing("server")})
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "it is server")
    assert len(run.model.requests) == 3


def test_a_provider_that_was_never_reached_is_given_up_after_fifteen_seconds() -> None:
    run = run_loop(choices=choices(), model_options={"then": failing("connection")})
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "it is connection")
    assert [event.delay_s for event in run.of(RequestRetried)] == [1, 2, 4, 8]


def test_a_connection_that_is_lost_later_gets_every_attempt() -> None:
    first = answer(call("a", "Scripted", READ))
    run = run_loop(first, choices=choices(), model_options={"then": failing("connection")})
    assert len(run.model.requests) == 1 + RetryPolicy().attempts


def test_waits_are_bounded_together() -> None:
    run = run_loop(choices=choices(attempts=100, total_s=20, cap_s=8), model_options={"then": failing("rate_limit")})
    assert [event.delay_s for event in run.of(RequestRetried)] == [1, 2, 4, 8]


@pytest.mark.parametrize(("asked_s", "waited_s"), [(0.0, 0.0), (7.5, 7.5), (99_999.0, 60.0)])
def test_the_provider_says_how_long_to_wait_within_limits(asked_s: float, waited_s: float) -> None:
    run = run_loop(failing("rate_limit", retry_after_s=asked_s), OK, choices=choices(retry_after_cap_s=60))
    assert [event.delay_s for event in run.of(RequestRetried)] == [waited_s]
    assert run.ended.outcome == "success"


def test_repeated_overload_moves_to_the_fallback_for_this_run_only() -> None:
    spare = PlannedModel(answer(call("a", "Scripted", {})), answer(words("spare")), name="planned:spare")
    overloaded = failing("overloaded")
    run = run_loop(overloaded, overloaded, overloaded, choices=choices()._replace(fallback_model=spare))
    assert run.ended.text == "spare"
    assert [event.model for event in run.of(ModelRequested)] == ["planned:model"] * 3 + ["planned:spare"] * 2
    assert run.loop.model is run.model


def thought(signature: str) -> list[Step]:
    return [BlockEnded(0, {"type": "thinking", "thinking": "hmm", "signature": signature})]


def signatures(request: ModelRequest) -> list[str]:
    return [block["signature"] for message in request.messages for block in message["content"] if "signature" in block]


def test_each_model_gets_only_its_own_thoughts_back() -> None:
    spare = PlannedModel(answer(thought("s"), call("b", "Scripted", {})), answer(words("spare")), name="planned:spare")
    overloaded = failing("overloaded")
    first = answer(thought("m"), call("a", "Scripted", {}))
    run = run_loop(first, overloaded, overloaded, overloaded, choices=choices()._replace(fallback_model=spare))
    assert run.ended.text == "spare"
    assert [signatures(request) for request in run.model.requests] == [[], ["m"], ["m"], ["m"]]
    assert [signatures(request) for request in spare.requests] == [[], ["s"]]
    assert signatures(ModelRequest(messages=run.loop.history)) == ["m", "s"]


def test_an_answer_costs_what_the_model_takes_that_gave_it() -> None:
    cheap = PlannedModel(OK, name="planned:cheap", usd_per_token=0.0)

    async def switch(loop: Loop, event: Event) -> None:
        if isinstance(event, ModelRequested):
            loop.model = cheap

    run = run_loop([1.0, *answer(call("a", "Scripted", {}))], on_event=switch, model_options={"usd_per_token": 0.01})
    assert run.ended.cost_usd == pytest.approx(0.15)
    assert len(cheap.requests) == 1


def test_a_discarded_answer_is_paid_for_as_far_as_the_provider_told() -> None:
    begun = [StreamStarted("m", "planned", Usage(100)), *words("Let me"), broken()]
    run = run_loop(begun, OK, model_options={"usd_per_token": 0.01})
    assert run.ended.text == "ok"
    assert run.ended.usage["input_tokens"] == 110
    assert run.ended.cost_usd == pytest.approx(1.15)
    spent = run_loop(
        begun, OK, model_options={"usd_per_token": 0.01}, choices=choices()._replace(max_budget_usd=0.5), prompt="go"
    )
    assert spent.ended.text == "ok", "the attempts of one request are not cut off by the budget"


def test_a_fallback_that_is_overloaded_too_ends_the_run() -> None:
    spare = PlannedModel(then=failing("overloaded"), name="planned:spare")
    run = run_loop(
        choices=choices(attempts=4)._replace(fallback_model=spare), model_options={"then": failing("overloaded")}
    )
    assert run.ended.outcome == "error_during_execution"
    assert (len(run.model.requests), len(spare.requests)) == (3, 4)


# Streams that break.


def test_a_stream_that_breaks_before_a_call_is_repeated_whole() -> None:
    run = run_loop(half(words("Let me")), OK)
    assert run.ended.text == "ok"
    assert len(run.of(ReplyDiscarded)) == 1
    assert [message["role"] for message in run.loop.history] == ["user", "assistant"]


def test_a_stream_without_an_end_counts_as_broken() -> None:
    run = run_loop(answer(words("Let me"))[:-1], OK)
    assert run.ended.text == "ok"
    assert [event.kind for event in run.of(RequestRetried)] == ["broken_stream"]


def test_after_two_broken_streams_whole_answers_are_asked_for_until_one_works() -> None:
    run = run_loop(half(words("a")), half(words("b")), answer(call("x", "Scripted", {})), answer(words("ok")))
    assert [event.is_streaming for event in run.of(ModelRequested)] == [True, True, False, True]
    assert [request.is_streaming for request in run.model.requests] == [True, True, False, True]


def test_reading_calls_are_taken_back_and_the_request_is_repeated_with_the_same_ids() -> None:
    tool = ScriptedTool()
    again = answer(call("a", "Scripted", {"text": "second"}))
    run = run_loop(half(words("Reading"), call("a", "Scripted", READ)), again, OK, tools=[tool])
    assert run.ended.outcome == "success"
    assert [event.tool_use_id for event in run.of(CallDiscarded)] == ["a"]
    assert tool.record.cancelled == ["a"]
    assert [(reply.tool_use_id, reply.content) for reply in run.of(CallFinished)] == [("a", "second")]
    assert run.loop.history[1]["content"][0]["id"] == "a"


def test_a_turn_that_has_acted_is_closed_at_the_cut_and_goes_on() -> None:
    unfinished = answer(call("c", "Scripted", {}))[:3]
    run = run_loop(
        [
            *answer(words("Writing"), call("a", "Scripted", WRITE), call("b", "Scripted", READ))[:-1],
            *unfinished,
            broken(),
        ],
        OK,
        executor_options={"max_concurrency": 1},
    )
    # The write had not begun when the stream broke at once, so everything could be repeated.
    assert run.of(CallDiscarded) != []
    run = run_loop(
        half(words("Writing"), call("a", "Scripted", WRITE), call("b", "Scripted", READ), unfinished),
        OK,
    )
    assert run.of(CallDiscarded) == []
    assert [reply.outcome for reply in run.of(CallFinished)] == ["completed", "completed"]
    said, results = run.loop.history[1]["content"], run.loop.history[2]["content"]
    assert [block["type"] for block in said] == ["text", "tool_use", "tool_use"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert run.ended.text == "ok"


def test_the_id_of_a_call_that_was_cut_off_can_be_used_again() -> None:
    unfinished = answer(call("b", "Scripted", {}))[:3]
    run = run_loop(half(call("a", "Scripted", WRITE), unfinished), answer(call("b", "Scripted", {})), OK)
    assert [reply.tool_use_id for reply in run.of(CallFinished)] == ["a", "b"]


def test_an_error_that_will_not_go_away_ends_a_cut_turn_with_every_call_answered() -> None:
    run = run_loop(half(call("a", "Scripted", WRITE), error=ModelError("key revoked", "auth")))
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "key revoked")
    assert [reply.content for reply in run.of(CallFinished)] == ["written"]
    assert run.loop.history[-1]["content"][0]["content"] == "written"


def test_streams_that_always_break_after_acting_reach_the_turn_limit_not_eternity() -> None:
    counter = iter(range(1000))

    def always(request: ModelRequest) -> list[Step]:
        return half(call(f"c{next(counter)}", "Scripted", WRITE))

    run = run_loop(choices=choices()._replace(max_turns=5), model_options={"then": always})
    assert run.ended.outcome == "error_max_turns"
    assert len(run.model.requests) == 5
    assert [request.is_streaming for request in run.model.requests] == [True, True, False, False, False]


def sent_texts(run: LoopRun, request: int) -> list[str]:
    return [block["text"] for block in run.sent(request) if block["type"] == "text"]


def test_the_model_is_told_that_its_answer_was_cut() -> None:
    run = run_loop(half(call("a", "Scripted", WRITE)), OK)
    assert "connection broke" in sent_texts(run, 1)[0]


def test_an_interrupt_while_calls_are_taken_back_takes_them_back_first() -> None:
    stubborn = {"seconds": 50, "read_only": True, "resist_s": 3}

    async def body() -> tuple[list[Event], Loop]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            loop = Loop(executor, PlannedModel(half(call("a", "Scripted", stubborn))))
            reading = asyncio.ensure_future(read_run(loop))
            await asyncio.sleep(2)  # the stream broke at 1 s, the call gives in at 4 s
            await loop.interrupt()
            return await reading, loop

    events, loop = run_virtual(body())
    assert [event.tool_use_id for event in events if isinstance(event, CallDiscarded)] == ["a"]
    assert isinstance(events[-1], RunEnded)
    assert events[-1].outcome == "interrupted"
    assert [message["role"] for message in loop.history] == ["user"]


def test_a_server_that_stays_broken_is_asked_three_times_and_then_the_fallback() -> None:
    run = run_loop(choices=choices(), model_options={"then": failing("server", status=500)})
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "it is server")
    assert len(run.model.requests) == 3
    other = PlannedModel(answer(words("here")), name="other")
    run = run_loop(
        choices=choices()._replace(fallback_model=other), model_options={"then": failing("server", status=500)}
    )
    assert (run.ended.outcome, run.ended.text, len(run.model.requests)) == ("success", "here", 3)
