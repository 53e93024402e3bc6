"""Limits, endings and odd answers: what ends a run, and what the model is told to go on."""

from typing import Any

import pytest

from holdfast import tool
from holdfast.contract import Answer, Question
from holdfast.events import AssistantReplied, CallFinished, Reminded, ResultsSent
from holdfast.models import BlockEnded, ModelRequest, StreamEnded, StreamStarted, Usage
from holdfast.testing import ScriptedTool
from holdfast.testing.loops import STEADY, LoopRun, run_loop
from holdfast.testing.planned import Plan, Step, answer, call, words

OK = answer(words("ok"))
THOUGHT = [BlockEnded(0, {"type": "thinking", "thinking": "hm", "signature": "s"})]


def texts(run: LoopRun, request: int) -> list[str]:
    return [block["text"] for block in run.sent(request) if block["type"] == "text"]


def calling(*more: list[Step]) -> Plan:
    """An answer with one call, with a new id each time."""
    numbers = iter(range(10_000))

    def plan(request: ModelRequest) -> list[Step]:
        return answer(call(f"n{next(numbers)}", "Scripted", {}), *more)

    return plan


# Limits.


@pytest.mark.parametrize("limit", [1, 3])
def test_so_many_answers_may_ask_for_tools(limit: int) -> None:
    run = run_loop(choices=STEADY._replace(max_turns=limit), model_options={"then": calling()})
    assert run.ended.outcome == "error_max_turns"
    assert run.ended.turns == limit
    assert len(run.of(CallFinished)) == limit
    assert len(run.of(ResultsSent)) == limit


def test_an_answer_without_tools_is_within_the_turn_limit() -> None:
    run = run_loop(calling(), OK, choices=STEADY._replace(max_turns=2))
    assert (run.ended.outcome, run.ended.turns) == ("success", 2)


def test_no_request_goes_out_once_the_budget_is_spent() -> None:
    run = run_loop(
        choices=STEADY._replace(max_budget_usd=40.0),
        model_options={"then": calling(), "usd_per_token": 1.0},
    )
    assert run.ended.outcome == "error_max_budget_usd"
    assert run.ended.cost_usd == 45.0
    assert len(run.model.requests) == 3
    assert len(run.of(CallFinished)) == 3


def test_a_budget_of_nothing_asks_nobody() -> None:
    run = run_loop(OK, choices=STEADY._replace(max_budget_usd=0.0))
    assert (run.ended.outcome, run.model.requests) == ("error_max_budget_usd", [])


def test_a_model_without_prices_has_no_budget() -> None:
    run = run_loop(calling(), OK, choices=STEADY._replace(max_budget_usd=0.001))
    assert (run.ended.outcome, run.ended.cost_usd) == ("success", None)


# Endings.


class Refusing:
    """A person who says no, with or without a word."""

    def __init__(self, feedback: str) -> None:
        self.feedback = feedback

    async def ask(self, question: Question) -> Answer:
        return Answer("deny", message=self.feedback)


def test_a_refusal_without_a_word_ends_the_run_with_every_call_answered() -> None:
    alone = {"read_only": False, "safe": False}
    plan = answer(call("a", "Scripted", alone), call("b", "Scripted", alone))
    options = {"permission_mode": "default", "asker": Refusing("")}
    run = run_loop(plan, executor_options=options)
    assert run.ended.outcome == "refused"
    assert [reply.outcome for reply in run.of(CallFinished)] == ["denied", "cancelled"]
    assert [denied["tool_use_id"] for denied in run.ended.denials] == ["a"]
    assert run.ended.denials[0]["tool_name"] == "Scripted"
    assert len(run.of(ResultsSent)) == 1


def test_a_refusal_with_a_word_lets_the_model_go_on() -> None:
    options = {"permission_mode": "default", "asker": Refusing("use another file")}
    run = run_loop(answer(call("a", "Scripted", {"read_only": False})), OK, executor_options=options)
    assert run.ended.outcome == "success"
    assert "use another file" in run.sent(1)[0]["content"]


def test_a_fatal_tool_ends_the_run_with_every_call_answered() -> None:
    plan = answer(call("a", "Scripted", {"end": "fatal", "text": "disk gone"}), call("b", "Scripted", {"safe": False}))
    run = run_loop(plan)
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "disk gone")
    assert len(run.of(CallFinished)) == 2


def test_a_model_that_declines_ends_the_run() -> None:
    run = run_loop(answer(words("I cannot"), stop="refusal"))
    assert (run.ended.outcome, run.ended.stop_reason) == ("error_during_execution", "refusal")
    assert run.ended.text == "I cannot"


# Odd answers.


def test_an_empty_answer_is_asked_again_a_few_times() -> None:
    run = run_loop(answer(), answer(words("  ")), OK)
    assert run.ended.text == "ok"
    assert [event.kind for event in run.of(Reminded)] == ["empty_answer", "empty_answer"]
    assert len(run.of(AssistantReplied)) == 1


def test_nothing_but_empty_answers_is_an_error() -> None:
    run = run_loop(model_options={"then": answer()})
    assert run.ended.outcome == "error_during_execution"
    assert len(run.model.requests) == 3


def test_a_model_that_has_done_its_work_may_end_without_a_word() -> None:
    run = run_loop(calling(), model_options={"then": answer()})
    assert (run.ended.outcome, run.ended.text) == ("success", "")
    assert len(run.model.requests) == 4


def test_thoughts_that_nothing_follows_are_left_out() -> None:
    run = run_loop(answer(THOUGHT), answer(THOUGHT, words("ok")))
    assert run.ended.text == "ok"
    assert [block["type"] for block in run.loop.history[1]["content"]] == ["thinking", "text"]


def test_an_answer_at_the_output_limit_goes_on_and_the_text_is_joined() -> None:
    run = run_loop(answer(words("one two "), stop="max_tokens"), answer(words("three")))
    assert run.ended.text == "one two three"
    assert [event.kind for event in run.of(Reminded)] == ["output_limit"]


def test_the_output_limit_is_met_only_so_often() -> None:
    run = run_loop(model_options={"then": answer(words("x"), stop="max_tokens")})
    assert (run.ended.outcome, run.ended.stop_reason, run.ended.text) == ("success", "max_tokens", "xxxx")


def test_a_call_that_the_output_limit_cut_is_dropped_and_the_model_told() -> None:
    cut = call("b", "Scripted", '{"text": "unfin')
    run = run_loop(answer(call("a", "Scripted", {}), cut, stop="max_tokens"), OK)
    assert [reply.tool_use_id for reply in run.of(CallFinished)] == ["a"]
    assert "output limit" in texts(run, 1)[0]
    run = run_loop(answer(cut, stop="max_tokens"), OK)
    assert run.of(CallFinished) == []
    assert "output limit" in texts(run, 1)[-1]


def test_broken_json_is_answered_and_goes_back_as_an_object() -> None:
    bad = call("a", "Scripted", '{"text": ')
    run = run_loop(answer(bad, call("b", "Scripted", {})), OK)
    assert [(reply.tool_use_id, reply.outcome) for reply in run.of(CallFinished)] == [
        ("a", "invalid"),
        ("b", "completed"),
    ]
    assert run.loop.history[1]["content"][0]["input"] == {"invalid_json": '{"text": '}


def test_broken_json_behind_a_good_call_is_answered_at_the_end_of_the_stream() -> None:
    run = run_loop(answer(call("a", "Scripted", {}), call("b", "Scripted", "nonsense")), OK)
    assert [reply.outcome for reply in run.of(CallFinished)] == ["completed", "invalid"]


def test_ids_that_were_used_before_are_told_apart_everywhere() -> None:
    twice = answer(call("a", "Scripted", {"text": "1"}), call("a", "Scripted", {"text": "2"}))
    run = run_loop(twice, answer(call("a", "Scripted", {"text": "3"})), OK)
    replies = [(reply.tool_use_id, reply.content) for reply in run.of(CallFinished)]
    assert replies == [("a", "1"), ("a-2", "2"), ("a-3", "3")]
    assert [block["id"] for block in run.loop.history[1]["content"]] == ["a", "a-2"]


@pytest.mark.parametrize(
    ("id_", "name"), [("", "Scripted"), ("a b/c" * 40, "Scripted"), ("ok", ""), ("ok", "no such ☃ tool")]
)
def test_ids_and_names_that_no_provider_takes_back_are_made_plain(id_: str, name: str) -> None:
    run = run_loop(answer(call(id_, name, {})), OK)
    assert run.ended.outcome == "success"
    assert len(run.of(CallFinished)) == 1


def test_a_pause_goes_on_with_the_same_message() -> None:
    run = run_loop(answer(words("first "), stop="pause_turn"), answer(words("second")))
    assert run.ended.text == "first second"
    assert [message["role"] for message in run.loop.history] == ["user", "assistant"]
    assert run.model.requests[1].messages[-1]["role"] == "assistant"


def test_lone_surrogates_in_results_do_not_reach_the_provider() -> None:
    run = run_loop(answer(call("a", "Scripted", {"text": "x"})), OK, tools=[Surrogates()])
    content = run.sent(1)[0]["content"]
    assert content.encode() == b"\\udcff"


class Surrogates(ScriptedTool):
    """A file name with bytes that are not text."""

    async def call(self, args: Any, ctx: Any) -> Any:
        return "\udcff"


def test_an_answer_that_arrives_whole_is_as_good_as_a_stream() -> None:
    whole: list[Step] = [
        StreamStarted("m", "x"),
        BlockEnded(0, {"type": "tool_use", "id": "a", "name": "Scripted", "input": {}}),
        StreamEnded("tool_use", Usage(1, 1)),
    ]
    run = run_loop(whole, OK)
    assert [reply.tool_use_id for reply in run.of(CallFinished)] == ["a"]


def test_the_tool_choice_counts_for_the_first_request_only() -> None:
    run = run_loop(calling(), OK, choices=STEADY._replace(tool_choice="any"))
    assert [request.tool_choice for request in run.model.requests] == ["any", "auto"]


# Structured output.


@tool(read_only=True)
def report(count: int) -> dict[str, int]:
    """Give the result."""
    return {"count": count}


STRUCTURED = STEADY._replace(output_tool="report")


def test_a_successful_call_of_the_output_tool_ends_the_run_with_its_data() -> None:
    plan = answer(call("a", "Scripted", {}), call("b", "report", {"count": 3}))
    run = run_loop(plan, tools=[ScriptedTool(), report], choices=STRUCTURED)
    assert (run.ended.outcome, run.ended.structured_output) == ("success", {"count": 3})
    assert len(run.model.requests) == 1
    assert len(run.of(CallFinished)) == 2


def test_a_model_that_forgets_the_output_tool_is_told() -> None:
    run = run_loop(OK, answer(call("b", "report", {"count": 1})), tools=[report], choices=STRUCTURED)
    assert run.ended.structured_output == {"count": 1}
    assert "report" in texts(run, 1)[-1]


def test_calls_that_do_not_fit_and_forgotten_ones_are_bounded_together() -> None:
    bad = iter(range(100))

    def wrong(request: ModelRequest) -> list[Step]:
        number = next(bad)
        return answer(words("done")) if number % 2 else answer(call(f"c{number}", "report", {"count": "many"}))

    limited = STRUCTURED._replace(max_output_retries=3)
    run = run_loop(tools=[report], choices=limited, model_options={"then": wrong})
    assert run.ended.outcome == "error_max_structured_output_retries"
    assert len(run.model.requests) == 4


# Repeated failures.


def test_a_call_that_fails_again_and_again_is_remarked_on_once() -> None:
    numbers = iter(range(100))

    def stubborn(request: ModelRequest) -> list[Step]:
        number = next(numbers)
        return OK if number == 7 else answer(call(f"c{number}", "Scripted", {"end": "fail", "text": "no"}))

    run = run_loop(model_options={"then": stubborn})
    assert [event.kind for event in run.of(Reminded)] == ["repeated_call"]
    assert any("3 times" in text for text in texts(run, 3))


def test_polling_that_works_is_nobodys_business() -> None:
    numbers = iter(range(100))

    def polling(request: ModelRequest) -> list[Step]:
        number = next(numbers)
        return OK if number == 9 else answer(call(f"c{number}", "Scripted", {"text": "still running"}))

    assert run_loop(model_options={"then": polling}).of(Reminded) == []


def test_the_clock_tells_run_and_model_apart() -> None:
    run = run_loop(answer(call("a", "Scripted", {})), OK)
    assert run.ended.duration_ms >= run.ended.model_ms >= 0
