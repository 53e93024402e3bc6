"""OpenTelemetry by the GenAI conventions: events in, spans and metrics out. Nothing is loaded where nobody listens.

The names below are those of the conventions, as text: the module that defines them is not stable.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

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
    ReplyDiscarded,
    RequestRetried,
    ResultsSent,
    RunEnded,
    SessionStarted,
    TextStreamed,
    ThinkingStreamed,
    ToolUseStreamed,
    encode_json,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, SpanKind, TracerProvider

__all__ = ["Telemetry", "open_telemetry"]

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPERATION, PROVIDER = "gen_ai.operation.name", "gen_ai.provider.name"
REQUEST_MODEL, REQUEST_STREAM = "gen_ai.request.model", "gen_ai.request.stream"
RESPONSE_MODEL, RESPONSE_ID = "gen_ai.response.model", "gen_ai.response.id"
FINISH_REASONS, FIRST_CHUNK = "gen_ai.response.finish_reasons", "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHE_READ, CACHE_WRITE = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE, CONVERSATION, AGENT_NAME = "gen_ai.token.type", "gen_ai.conversation.id", "gen_ai.agent.name"
TOOL_NAME, TOOL_ID, TOOL_TYPE = "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.type"
TOOL_ARGUMENTS, TOOL_RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
ERROR_TYPE = "error.type"
TOKEN_USAGE, DURATION = "gen_ai.client.token.usage", "gen_ai.client.operation.duration"
TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"
_TOKEN_BOUNDS = [4**power for power in range(14)]
_SECOND_BOUNDS = [0.01 * 2**power for power in range(14)]
_PROVIDERS = {"xai": "x_ai", "gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Where the conventions spell a provider differently than our model names."""


class Telemetry:
    """A listener that turns one agent's events into spans `invoke_agent`, `chat {model}` and `execute_tool {tool}`.

    A prompt is the root, or stands below the span that is current when it is submitted. Texts are left out unless
    the variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `true`.
    """

    def __init__(
        self,
        *,
        tracers: "TracerProvider | None" = None,
        meters: "MeterProvider | None" = None,
        environ: Mapping[str, str] | None = None,
        agent_name: str = "holdfast",
    ) -> None:
        """Listen for the given providers, or the global ones."""
        from opentelemetry import metrics, trace  # noqa: PLC0415 - only where somebody listens

        from holdfast import __version__  # noqa: PLC0415 - beside the above

        self._trace = trace
        self._tracer = trace.get_tracer("holdfast", __version__, tracers)
        meter = metrics.get_meter("holdfast", __version__, meters)
        make = meter.create_histogram
        self._tokens = make(
            TOKEN_USAGE,
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )
        self._durations = make(
            DURATION,
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDS,
        )
        self._first_chunks = make(
            TIME_TO_FIRST_CHUNK,
            unit="s",
            description="Time from the request to the first piece of the answer.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDS,
        )
        self._captures = (os.environ if environ is None else environ).get(CAPTURE, "").lower() == "true"
        self._agent_name = agent_name
        self._session_id = ""
        self._handlers = self._routes()
        self._run: Span | None = None
        self._chat: _Chat | None = None
        self._calls: dict[str, list[_Call]] = {}
        self._said: list[dict[str, Any]] = []
        """What the next request adds to the conversation."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def close(self) -> None:
        """End every span that is still open."""
        self._end_calls()
        self._end_chat("interrupted")
        if self._run is not None:
            self._run.end()
            self._run = None

    # Events of the loop.

    def _session(self, event: SessionStarted) -> None:
        self._session_id = event.session_id

    def _prompt(self, event: PromptSubmitted) -> None:
        if self._captures:
            self._said.append({"role": "user", "parts": _parts(event.content)})
        self._begin_run()

    def _begin_run(self) -> None:
        if self._run is not None:
            return
        attributes = {OPERATION: "invoke_agent", AGENT_NAME: self._agent_name}
        if self._session_id:
            attributes[CONVERSATION] = self._session_id
        self._run = self._tracer.start_span(f"invoke_agent {self._agent_name}", attributes=attributes)

    def _request(self, event: ModelRequested) -> None:
        self._end_chat("repeated")
        self._begin_run()
        provider, _, model = event.model.partition(":")
        shared = {OPERATION: "chat", PROVIDER: _PROVIDERS.get(provider, provider), REQUEST_MODEL: model or provider}
        span = self._start(
            f"chat {model or provider}", {**shared, REQUEST_STREAM: event.is_streaming}, self._trace.SpanKind.CLIENT
        )
        if self._session_id:
            span.set_attribute(CONVERSATION, self._session_id)
        if self._said:
            span.set_attribute(INPUT_MESSAGES, encode_json(self._said).decode())
        self._chat = _Chat(span, shared)

    def _piece(self, event: Event) -> None:
        del event
        chat = self._chat
        if chat is not None and chat.first_s is None:
            chat.first_s = time.monotonic() - chat.began
            chat.span.set_attribute(FIRST_CHUNK, chat.first_s)
            self._first_chunks.record(chat.first_s, chat.shared)

    def _reply(self, event: AssistantReplied) -> None:
        chat = self._chat
        if chat is None:
            return
        usage = event.usage
        read, written = usage.get("cache_read_tokens", 0), usage.get("cache_write_tokens", 0)
        tokens = {"input": usage.get("input_tokens", 0) + read + written, "output": usage.get("output_tokens", 0)}
        chat.shared[RESPONSE_MODEL] = event.model.partition(":")[2] or event.model
        chat.span.set_attributes(
            {
                RESPONSE_MODEL: chat.shared[RESPONSE_MODEL],
                RESPONSE_ID: event.message_id,
                FINISH_REASONS: (event.stop_reason,),
                INPUT_TOKENS: tokens["input"],  # the conventions count cached ones too
                OUTPUT_TOKENS: tokens["output"],
                CACHE_READ: read,
                CACHE_WRITE: written,
            }
        )
        for kind, count in tokens.items():
            self._tokens.record(count, {**chat.shared, TOKEN_TYPE: kind})
        if self._captures:
            said = {"role": "assistant", "parts": _parts(event.content), "finish_reason": event.stop_reason}
            chat.span.set_attribute(OUTPUT_MESSAGES, encode_json([said]).decode())
            self._said.clear()
        self._end_chat(None)

    def _results(self, event: ResultsSent) -> None:
        if self._captures:
            self._said.append({"role": "user", "parts": _parts(event.content)})

    def _retried(self, event: RequestRetried) -> None:
        self._end_chat(event.kind, event.reason)

    def _discarded_reply(self, event: ReplyDiscarded) -> None:
        self._end_chat("broken_stream", event.reason)

    def _ended(self, event: RunEnded) -> None:
        self._end_calls()
        self._end_chat(event.outcome, event.error)
        run, self._run = self._run, None
        self._said.clear()
        if run is None:
            return
        usage = event.usage
        cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
        run.set_attributes(
            {
                INPUT_TOKENS: usage.get("input_tokens", 0) + cached,
                OUTPUT_TOKENS: usage.get("output_tokens", 0),
                "holdfast.outcome": event.outcome,
                "holdfast.turns": event.turns,
            }
        )
        if event.cost_usd is not None:
            run.set_attribute("holdfast.cost_usd", event.cost_usd)
        if event.outcome != "success":
            self._fail(run, event.outcome, event.error)
        run.end()

    # Events of the engine.

    def _queued(self, event: CallQueued) -> None:
        self._begin_run()
        attributes = {OPERATION: "execute_tool", TOOL_NAME: event.name, TOOL_ID: event.tool_use_id}
        attributes[TOOL_TYPE] = "function"
        if self._captures:
            attributes[TOOL_ARGUMENTS] = encode_json(event.input).decode()
        self._calls.setdefault(event.tool_use_id, []).append(_Call(attributes))

    def _decided(self, event: PermissionDecided) -> None:
        for call in self._calls.get(event.tool_use_id, ())[:1]:
            call.attributes["holdfast.permission.behavior"] = event.behavior
            for name in ("layer", "reason", "rule"):
                value = getattr(event.decision, name, None)
                if value:
                    call.attributes[f"holdfast.permission.{name}"] = str(getattr(value, "text", value))

    def _started(self, event: CallStarted) -> None:
        for call in self._calls.get(event.tool_use_id, ())[:1]:
            call.acting_ns = time.time_ns()

    def _finished(self, event: CallFinished) -> None:
        waiting = self._calls.get(event.tool_use_id)
        if not waiting:
            return
        call = waiting.pop(0)  # replies come in the order of the calls, also where an id came twice
        if not waiting:
            del self._calls[event.tool_use_id]
        call.attributes["holdfast.tool.outcome"] = event.outcome
        if self._captures:
            text = event.content if isinstance(event.content, str) else encode_json(event.content).decode()
            call.attributes[TOOL_RESULT] = text
        failure = None
        if event.is_error or event.outcome != "completed":
            failure = "tool_error" if event.outcome == "completed" else event.outcome
        self._tell_call(call, failure, int(event.duration_ms * 1e6))

    def _discarded(self, event: CallDiscarded) -> None:
        for call in self._calls.pop(event.tool_use_id, ()):
            self._tell_call(call, "discarded")

    def _tell_call(self, call: "_Call", failure: str | None, lasted_ns: int | None = None) -> None:
        """One span over the time in which the tool acted, without the wait for its turn or for a person."""
        now = time.time_ns()
        began = now if call.acting_ns is None else call.acting_ns
        span = self._start(
            f"execute_tool {call.attributes[TOOL_NAME]}", call.attributes, self._trace.SpanKind.INTERNAL, began
        )
        if failure is not None:
            self._fail(span, failure)
        # The news of a fast call may come long after its end: earlier calls are told first.
        span.end(now if lasted_ns is None else min(now, began + lasted_ns))

    # Spans.

    def _start(self, name: str, attributes: Mapping[str, Any], kind: "SpanKind", began_ns: int | None = None) -> "Span":
        above = None if self._run is None else self._trace.set_span_in_context(self._run)
        return self._tracer.start_span(name, above, kind=kind, attributes=dict(attributes), start_time=began_ns)

    def _fail(self, span: "Span", kind: str, words: str = "") -> None:
        span.set_attribute(ERROR_TYPE, kind)
        span.set_status(self._trace.StatusCode.ERROR, words or kind)

    def _end_chat(self, failure: str | None, words: str = "") -> None:
        chat, self._chat = self._chat, None
        if chat is None:
            return
        if failure is not None:
            chat.shared[ERROR_TYPE] = failure
            self._fail(chat.span, failure, words)
        self._durations.record(time.monotonic() - chat.began, chat.shared)
        chat.span.end()

    def _end_calls(self) -> None:
        for id_ in list(self._calls):
            for call in self._calls.pop(id_):
                self._tell_call(call, "unanswered")

    def _routes(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            SessionStarted: self._session,
            PromptSubmitted: self._prompt,
            ModelRequested: self._request,
            TextStreamed: self._piece,
            ThinkingStreamed: self._piece,
            ToolUseStreamed: self._piece,
            AssistantReplied: self._reply,
            ResultsSent: self._results,
            RequestRetried: self._retried,
            ReplyDiscarded: self._discarded_reply,
            RunEnded: self._ended,
            CallQueued: self._queued,
            PermissionDecided: self._decided,
            CallStarted: self._started,
            CallFinished: self._finished,
            CallDiscarded: self._discarded,
        }


class _Chat:
    """A request that is under way."""

    def __init__(self, span: "Span", shared: dict[str, str]) -> None:
        self.span = span
        self.shared = shared
        """What the metrics say about it."""
        self.began = time.monotonic()
        self.first_s: float | None = None


class _Call:
    """A call without its reply."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.acting_ns: int | None = None


def open_telemetry(environ: Mapping[str, str] | None = None, *, agent_name: str = "holdfast") -> Telemetry | None:
    """A listener, where this program or its environment has set up OpenTelemetry; otherwise none, at no cost."""
    found = os.environ if environ is None else environ
    if found.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if "opentelemetry.trace" not in sys.modules:  # nobody can have set a provider
        from holdfast.app.telemetry.export import export_to, is_wanted  # noqa: PLC0415 - rarely needed

        if not is_wanted(found) or not export_to(found):
            return None
    return Telemetry(environ=found, agent_name=agent_name)


def _parts(content: str | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A message's content in the form of the conventions."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(block) for block in content]


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "content": block.get("text", "")}
    if kind == "thinking":
        return {"type": "reasoning", "content": block.get("thinking", "")}
    if kind == "tool_use":
        return {"type": "tool_call", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
    if kind == "tool_result":
        return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": block.get("content", "")}
    return {"type": str(kind)}
