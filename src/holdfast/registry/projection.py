"""A tool as a provider wants to read it. Rendered once per tool, facts and provider; later turns join bytes."""

from collections.abc import Iterable
from typing import Any, Literal

from holdfast.contract import NO_FACTS, PromptFacts, Tool
from holdfast.events import encode_json

__all__ = ["Provider", "project", "project_bytes", "tool_list_bytes"]

Provider = Literal["anthropic", "openai"]


def project(tool: Tool, provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
    """The tool as one entry of the provider's tool list."""
    schema = tool.arguments.schema(facts)
    if provider == "openai":
        function: dict[str, Any] = {"name": tool.name, "description": tool.prompt(facts), "parameters": schema}
        if tool.strict and _fits_strict_mode(schema):
            function["strict"] = True
        return {"type": "function", "function": function}
    entry: dict[str, Any] = {"name": tool.name, "description": tool.prompt(facts), "input_schema": schema}
    if tool.strict:
        entry["strict"] = True
    if tool.input_examples:
        entry["input_examples"] = [dict(example) for example in tool.input_examples]
    return entry


def project_bytes(tool: Tool, provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> bytes:
    """The same as JSON bytes, rendered once."""
    rendered = tool.rendered.get((provider, facts))
    if rendered is None:
        rendered = tool.rendered[provider, facts] = encode_json(project(tool, provider, facts))
    return rendered


def tool_list_bytes(tools: Iterable[Tool], provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> bytes:
    """The whole tool list as JSON bytes."""
    key = (provider, facts)
    known = [tool.rendered.get(key) or project_bytes(tool, provider, facts) for tool in tools]
    return b"[" + b",".join(known) + b"]"


def _fits_strict_mode(schema: dict[str, Any]) -> bool:
    """OpenAI's strict mode wants every property required; a tool with optional ones goes without it."""
    return set(schema.get("required", ())) == set(schema.get("properties", {}))
