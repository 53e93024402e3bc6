"""Telemetry: what a run's events become for a collector, by the GenAI conventions."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from holdfast.app.telemetry import Telemetry, open_telemetry
from holdfast.app.telemetry.export import is_wanted
from holdfast.events import (
    AssistantReplied,
    CallDiscarded,
    CallFinished,
    CallQueued,
    CallStarted,
    Event,
    ModelRequested,
    PermissionDecided,
    PromptSubmitted,
    RequestRetried,
    ResultsSent,
    RunEnded,
    SessionStarted,
    TextStreamed,
)
from holdfast.permissions.decision import Decision

USAGE = {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 4}
CALL: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "secret words"}}
RUN: tuple[Event, ...] = (
    SessionStarted("s-1", model="anthropic:claude-x"),
    PromptSubmitted("secret prompt"),
    ModelRequested(1, "anthropic:claude-x"),
    RequestRetried(1, 0.5, "busy", "rate_limit"),
    ModelRequested(1, "anthropic:claude-x", attempt=2),
    TextStreamed("secret"),
    CallQueued("c1", "Bash", CALL["input"]),
    PermissionDecided("c1", "Bash", "allow", Decision("allow", "mode", "the mode allows it")),
    CallStarted("c1", "Bash", read_only=False),
    AssistantReplied("m1", [{"type": "text", "text": "secret"}, CALL], "claude-x-1", "tool_use", USAGE),
    CallFinished("c1", "Bash", "secret output", duration_ms=3.0),
    CallQueued("c2", "Read", {}),
    PermissionDecided("c2", "Read", "deny", Decision("deny", "deny rules", "a rule says no")),
    CallFinished("c2", "Read", "denied", is_error=True, outcome="denied"),
    ResultsSent([{"type": "tool_result", "tool_use_id": "c1", "content": "secret output"}]),
    ModelRequested(2, "anthropic:claude-x"),
    AssistantReplied("m2", [{"type": "text", "text": "done"}], "claude-x-1", "end_turn", {"output_tokens": 5}),
    RunEnded("success", "done", 2, 9.0, 8.0, USAGE, cost_usd=0.5),
)


class Kit(NamedTuple):
    telemetry: Telemetry
    spans: Callable[[], list[ReadableSpan]]
    points: Callable[[], dict[str, list[Any]]]
    tracers: TracerProvider


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Kit:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    capture = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": getattr(request, "param", "")}

    def points() -> dict[str, list[Any]]:
        data = reader.get_metrics_data()
        assert data is not None
        metrics = data.resource_metrics[0].scope_metrics[0].metrics
        return {metric.name: list(metric.data.data_points) for metric in metrics}

    telemetry = Telemetry(tracers=tracers, meters=meters, environ=capture)
    return Kit(telemetry, lambda: list(exporter.get_finished_spans()), points, tracers)


def play(telemetry: Telemetry, events: tuple[Event, ...] = RUN) -> None:
    for event in events:
        telemetry(event)


def named(kit: Kit, name: str) -> list[ReadableSpan]:
    return [span for span in kit.spans() if span.name == name]


def test_a_run_is_a_tree_of_agent_requests_and_tools(kit: Kit) -> None:
    play(kit.telemetry)
    assert sorted(span.name for span in kit.spans()) == [
        "chat claude-x",
        "chat claude-x",
        "chat claude-x",
        "execute_tool Bash",
        "execute_tool Read",
        "invoke_agent holdfast",
    ]
    (root,) = named(kit, "invoke_agent holdfast")
    assert root.context is not None
    assert root.parent is None
    for span in kit.spans():
        assert span is root or (span.parent is not None and span.parent.span_id == root.context.span_id)
    assert dict(root.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "holdfast",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.usage.input_tokens": 314,
        "gen_ai.usage.output_tokens": 20,
        "holdfast.outcome": "success",
        "holdfast.turns": 2,
        "holdfast.cost_usd": 0.5,
    }


def test_a_request_tells_its_model_its_tokens_and_how_it_ended(kit: Kit) -> None:
    play(kit.telemetry)
    failed, answered, _ = named(kit, "chat claude-x")
    assert (failed.status.status_code, (failed.attributes or {})["error.type"]) == (StatusCode.ERROR, "rate_limit")
    attributes = dict(answered.attributes or {})
    assert attributes.pop("gen_ai.response.time_to_first_chunk")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-x",
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": "s-1",
        "gen_ai.response.model": "claude-x-1",
        "gen_ai.response.id": "m1",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": 314,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "gen_ai.usage.cache_creation.input_tokens": 4,
    }


def test_a_call_tells_its_tool_and_who_allowed_or_refused_it(kit: Kit) -> None:
    play(kit.telemetry)
    (ran,) = named(kit, "execute_tool Bash")
    (refused,) = named(kit, "execute_tool Read")
    assert dict(ran.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "holdfast.permission.behavior": "allow",
        "holdfast.permission.layer": "mode",
        "holdfast.permission.reason": "the mode allows it",
        "holdfast.tool.outcome": "completed",
    }
    assert ran.status.status_code is StatusCode.UNSET
    assert (refused.status.status_code, (refused.attributes or {})["error.type"]) == (StatusCode.ERROR, "denied")


def test_metrics_count_tokens_and_time_requests(kit: Kit) -> None:
    play(kit.telemetry)
    points = kit.points()
    tokens = {point.attributes["gen_ai.token.type"]: point.sum for point in points["gen_ai.client.token.usage"]}
    assert tokens == {"input": 314, "output": 25}
    durations = points["gen_ai.client.operation.duration"]
    assert sorted(str(point.attributes.get("error.type")) for point in durations) == ["None", "rate_limit"]
    assert sum(point.count for point in durations) == 3
    assert [point.count for point in points["gen_ai.client.operation.time_to_first_chunk"]] == [1]


def test_texts_are_left_out_unless_asked_for(kit: Kit) -> None:
    play(kit.telemetry)
    assert not [span for span in kit.spans() if "secret" in str(span.attributes)]


@pytest.mark.parametrize("kit", ["true"], indirect=True)
def test_texts_come_with_the_spans_when_asked_for(kit: Kit) -> None:
    play(kit.telemetry)
    _, first, second = named(kit, "chat claude-x")
    said = first.attributes or {}
    assert said["gen_ai.input.messages"] == '[{"role":"user","parts":[{"type":"text","content":"secret prompt"}]}]'
    assert '"type":"tool_call","id":"c1","name":"Bash"' in str(said["gen_ai.output.messages"])
    assert '"type":"tool_call_response","id":"c1"' in str((second.attributes or {})["gen_ai.input.messages"])
    (ran,) = named(kit, "execute_tool Bash")
    assert (ran.attributes or {})["gen_ai.tool.call.arguments"] == '{"command":"secret words"}'
    assert (ran.attributes or {})["gen_ai.tool.call.result"] == "secret output"


def test_a_run_stands_below_the_span_of_the_program_around_it(kit: Kit) -> None:
    with kit.tracers.get_tracer("mine").start_as_current_span("my job") as mine:
        play(kit.telemetry)
    (root,) = named(kit, "invoke_agent holdfast")
    assert root.parent is not None
    assert root.parent.span_id == mine.get_span_context().span_id


def test_whatever_is_open_at_the_end_is_closed_as_failed(kit: Kit) -> None:
    play(kit.telemetry, (*RUN[:9], RunEnded("interrupted", "", 1, 1.0, 1.0, {})))
    (call,) = named(kit, "execute_tool Bash")
    (root,) = named(kit, "invoke_agent holdfast")
    assert (call.attributes or {})["error.type"] == "unanswered"
    assert (root.attributes or {})["error.type"] == "interrupted"
    play(kit.telemetry, RUN[:9])
    kit.telemetry.close()
    assert len(named(kit, "invoke_agent holdfast")) == 2


def test_an_id_used_twice_and_a_discarded_call_have_their_own_spans(kit: Kit) -> None:
    events = (
        PromptSubmitted("go"),
        CallQueued("c", "Read", {}),
        CallQueued("c", "Glob", {}),
        CallStarted("c", "Read", read_only=True),
        CallFinished("c", "Read", "x", duration_ms=1),
        CallFinished("c", "Glob", "again", is_error=True, outcome="invalid"),
        CallQueued("d", "Grep", {}),
        CallDiscarded("d", "Grep"),
    )
    play(kit.telemetry, events)
    kinds = {span.name: (span.attributes or {}).get("error.type") for span in kit.spans()}
    assert kinds == {"execute_tool Read": None, "execute_tool Glob": "invalid", "execute_tool Grep": "discarded"}


def test_nothing_of_opentelemetry_is_loaded_where_nobody_listens() -> None:
    code = (
        "import sys; from holdfast.app.telemetry import open_telemetry; assert open_telemetry({}) is None; "
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_program_that_uses_opentelemetry_gets_a_listener_unless_it_is_switched_off() -> None:
    assert isinstance(open_telemetry({}), Telemetry)  # this test has loaded the package
    assert open_telemetry({"OTEL_SDK_DISABLED": "true"}) is None


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_the_environment_says_whether_something_is_sent(environ: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environ) is wanted


def test_the_console_exporter_writes_spans_to_stderr_and_nothing_to_stdout() -> None:
    code = (
        "from holdfast.app.telemetry import open_telemetry; from holdfast.events import *\n"
        "tell = open_telemetry({'OTEL_TRACES_EXPORTER': 'console'})\n"
        "tell(PromptSubmitted('go')); tell(RunEnded('success', 'ok', 1, 1.0, 1.0, {}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert ran.stdout == ""
    assert "invoke_agent holdfast" in ran.stderr
