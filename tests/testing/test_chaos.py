"""The chaos model: repeatable, and it really does what its list of faults says."""

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest

from holdfast.contract import UsageError
from holdfast.models import (
    BlockEnded,
    ModelError,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    ToolUseStarted,
)
from holdfast.session.validity import message_problems
from holdfast.testing import ChaosModel, run_virtual
from holdfast.testing.chaos import Fault

TOOLS: dict[str, list[dict[str, Any]]] = {"Read": [{"file_path": "a.py"}], "Glob": [{"pattern": "*"}]}
ASK = ModelRequest(messages=[{"role": "user", "content": "go"}])


async def heard(model: ChaosModel, requests: int) -> list[list[object]]:
    answers: list[list[object]] = []
    for _ in range(requests):
        events: list[object] = []
        try:
            async for event in model.stream(ASK):
                events.append(event)  # noqa: PERF401 - what came before the error must stay
        except ModelError as error:
            events.append((error.kind, error.status, error.retry_after_s, str(error)))
        answers.append(events)
    return answers


def all_heard(model: ChaosModel, requests: int = 60) -> list[list[object]]:
    return run_virtual(heard(model, requests))


def test_the_same_seed_says_the_same_and_another_seed_something_else() -> None:
    first, again, other = (all_heard(ChaosModel(seed, TOOLS)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_faults_every_answer_is_in_order() -> None:
    model = ChaosModel(3, TOOLS, faults=())
    for events in all_heard(model):
        assert isinstance(events[-1], StreamEnded)
        content = [event.block for event in events if isinstance(event, BlockEnded)]
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": id_, "content": "x"} for id_ in calls]
        history: list[dict[str, Any]] = [{"role": "user", "content": "go"}, {"role": "assistant", "content": content}]
        assert message_problems([*history, {"role": "user", "content": results}] if calls else history) == []


def kinds(events: list[object]) -> list[type]:
    return [type(event) for event in events]


def texts(events: list[object]) -> str:
    return "".join(str(event.block) for event in events if isinstance(event, BlockEnded))


SHOWS: dict[Fault, Callable[[list[object]], object]] = {
    "cut": lambda events: "chaos cut the stream" in str(events[-1]),
    "silent_end": lambda events: events and StreamEnded not in kinds(events) and tuple not in kinds(events),
    "refused_request": lambda events: kinds(events) == [tuple],
    "fatal_request": lambda events: kinds(events) == [tuple],
    "overflow": lambda events: kinds(events) == [tuple],
    "bad_json": lambda events: any(
        isinstance(event, BlockEnded) and type(event.block.get("input")) is str for event in events
    ),
    "wrong_input": lambda events: "'nothing'" in texts(events),
    "bad_id": lambda events: any(
        isinstance(event, ToolUseStarted) and not event.id.startswith("call_") for event in events
    ),
    "unknown_tool": lambda events: any(
        isinstance(event, ToolUseStarted) and event.name not in TOOLS for event in events
    ),
    "empty_block": lambda events: any(
        isinstance(event, BlockEnded) and not str(event.block.get("text", "x")).strip() for event in events
    ),
    "thinking_only": lambda events: "thinking" in texts(events) and kinds(events).count(BlockEnded) == 1,
    "nothing": lambda events: kinds(events) == [StreamStarted, StreamEnded],
    "huge": lambda events: len(texts(events)) > 100_000,
    "unicode": lambda events: not texts(events).isascii(),
    "stop_reason": lambda events: any(
        isinstance(event, StreamEnded) and event.stop_reason == "refusal" for event in events
    ),
    "lost_end": lambda events: kinds(events).count(ToolUseStarted) > texts(events).count("'tool_use'"),
    "late_events": lambda events: StreamEnded in kinds(events)[:-1],
}


@pytest.mark.parametrize("fault", SHOWS)
def test_each_fault_shows_in_what_the_model_says(fault: Fault) -> None:
    usual = all_heard(ChaosModel(4, TOOLS, faults=(), final_share=0.1))
    faulty = all_heard(ChaosModel(4, TOOLS, faults=(fault,), fault_share=1.0, final_share=0.1))
    assert not any(SHOWS[fault](events) for events in usual)
    assert any(SHOWS[fault](events) for events in faulty)


def test_slow_answers_take_their_time_in_virtual_time_only() -> None:
    async def taken() -> float:
        began = asyncio.get_running_loop().time()
        await heard(ChaosModel(5, TOOLS, faults=("slow",), fault_share=1.0), 10)
        return asyncio.get_running_loop().time() - began

    assert run_virtual(taken()) > 600


def test_every_fault_comes_up_within_some_hundred_requests() -> None:
    model = ChaosModel(6, TOOLS, fault_share=1.0)
    all_heard(model, 300)
    assert {fault for line in model.told for fault in line.split()[1:]} == set(get_args(Fault))


def test_counting_fails_sometimes() -> None:
    async def failures() -> int:
        failed = 0
        for seed in range(50):
            try:
                await ChaosModel(seed, TOOLS).count_tokens(ASK)
            except ModelError:
                failed += 1
        return failed

    assert 0 < asyncio.run(failures()) < 25


def test_ids_come_back_and_names_break() -> None:
    def calls(*faults: Fault) -> list[ToolUseStarted]:
        answers = all_heard(ChaosModel(7, TOOLS, faults=faults, fault_share=1.0))
        return [event for events in answers for event in events if isinstance(event, ToolUseStarted)]

    ids = [call.id for call in calls("same_id")]
    assert len(set(ids)) < len(ids)
    assert {call.name for call in calls("bad_name")} - set(TOOLS)
    assert not {call.name for call in calls("same_id")} - set(TOOLS)


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(UsageError, match="sneeze"):
        ChaosModel(1, TOOLS, faults=("sneeze",))  # pyright: ignore[reportArgumentType] - the mistake is the point


def test_events_are_of_the_one_interface() -> None:
    for events in all_heard(ChaosModel(8, TOOLS)):
        assert all(isinstance(event, StreamEvent | tuple) for event in events)
