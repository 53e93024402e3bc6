"""How a run went, as one object: the last line of stream-json, and all of `--output-format json`."""

from collections.abc import Mapping
from typing import Any

from holdfast.events import RunEnded
from holdfast.lib.uuids import new_uuid

__all__ = ["bare_model", "is_api_failure", "model_limits", "result_object", "usage_object"]

Line = dict[str, Any]
_NO_ERRORS = frozenset({"success", "stopped_by_hook", "tool_deferred"})
_SUBTYPES = frozenset(
    {
        "success",
        "error_max_turns",
        "error_max_budget_usd",
        "error_max_structured_output_retries",
        "error_during_execution",
    }
)
_REASONS = {
    "success": "completed",
    "error_max_turns": "max_turns",
    "error_max_budget_usd": "budget_exhausted",
    "error_max_total_tokens": "budget_exhausted",
    "error_max_structured_output_retries": "structured_output_retry_exhausted",
    "stopped_by_hook": "hook_stopped",
    "tool_deferred": "tool_deferred",
    "refused": "aborted_tools",
}
_PROVIDERS = frozenset({"anthropic", "openai", "openai-responses", "gemini", "bedrock", "ollama"})
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


def usage_object(usage: Mapping[str, int]) -> Line:
    """Token counts under the names that programs know."""
    found: Line = {theirs: int(usage.get(ours, 0)) for ours, theirs in _USAGE.items()}
    written = found["cache_creation_input_tokens"]
    found["cache_creation"] = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    found["server_tool_use"] = {"web_search_requests": 0, "web_fetch_requests": 0}
    found["output_tokens_details"] = {"thinking_tokens": 0}
    found |= {"service_tier": "standard", "speed": "standard", "inference_geo": "", "iterations": []}
    return found


def bare_model(name: str) -> str:
    """A model's name as hosts know it: without who provides it."""
    provider, colon, rest = name.partition(":")
    return rest if colon and provider in _PROVIDERS else name


def model_limits(name: str, windows: Mapping[str, int]) -> Line:
    """How much a model takes and gives; `windows` are those that are known for certain."""
    from holdfast.models.claude import traits_of  # noqa: PLC0415 - loaded with such a model

    traits = traits_of(name)
    return {"contextWindow": windows.get(name, traits.context_window), "maxOutputTokens": traits.max_output}


def is_api_failure(ended: RunEnded) -> bool:
    """The model could not be asked, or did not answer."""
    return ended.outcome == "error_during_execution" and bool(ended.error_kind)


def result_object(
    ended: RunEnded,
    *,
    session_id: str,
    model_usage: Mapping[str, Any],
    cost_usd: float | None = None,
    was_calling: bool = False,
) -> Line:
    """How a run went; `cost_usd` is what the whole process has cost, `was_calling`: calls were under way at its end."""
    is_error = ended.outcome not in _NO_ERRORS
    is_api = is_api_failure(ended)
    found: Line = {
        "type": "result",
        "subtype": "success" if is_api else _subtype(ended.outcome),
        "is_error": is_error,
        "duration_ms": round(ended.duration_ms),
        "duration_api_ms": round(ended.model_ms),
        "num_turns": ended.turns,
        "result": (ended.error or ended.text) if is_api else (ended.text or ended.error),
        "stop_reason": ended.stop_reason or None,
        "session_id": session_id,
        "total_cost_usd": round((ended.cost_usd if cost_usd is None else cost_usd) or 0.0, 6),
        "usage": usage_object(ended.usage),
        "modelUsage": dict(model_usage),
        "permission_denials": [dict(denial) for denial in ended.denials],
        "terminal_reason": _reason(ended, was_calling=was_calling),
        "uuid": new_uuid(),
    }
    if found["subtype"] == "success":
        found["api_error_status"] = ended.error_status if is_api else None
    if is_error:
        found["outcome"] = ended.outcome
        found["errors"] = [ended.error or ended.outcome.replace("_", " ")]
    elif ended.outcome == "stopped_by_hook":
        found["outcome"] = ended.outcome
    if ended.structured_output is not None:
        found["structured_output"] = ended.structured_output
    if ended.deferred is not None:
        found["deferred_tool_use"] = ended.deferred
    return found


def _subtype(outcome: str) -> str:
    if outcome in _NO_ERRORS:
        return "success"
    return outcome if outcome in _SUBTYPES else "error_during_execution"


def _reason(ended: RunEnded, *, was_calling: bool) -> str:
    if ended.outcome == "interrupted":
        return "aborted_tools" if was_calling else "aborted_streaming"
    if ended.outcome == "error_during_execution":
        if ended.error_kind == "context_overflow":
            return "prompt_too_long"
        return "api_error" if ended.error_kind else "model_error"
    return _REASONS[ended.outcome]
