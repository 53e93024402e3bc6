"""A tool as a provider wants to read it. Rendered once per tool, facts and provider; later turns join bytes."""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Literal, cast

from holdfast.contract import NO_FACTS, PromptFacts, Tool
from holdfast.events import encode_json

__all__ = ["Provider", "project", "project_bytes", "tool_list_bytes"]

Provider = Literal["anthropic", "openai"]
_MAX_JOINED = 4
_REFUSED: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "uniqueItems", "patternProperties", "propertyNames", "oneOf", "allOf", "not", "$ref"}
)
_joined: dict[tuple[object, tuple[int, ...]], tuple[tuple[Tool, ...], bytes]] = {}
"""The last tool lists, by which tools they hold; the tools are kept with them, so that an identity is never reused."""


def project(tool: Tool, provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
    """The tool as one entry of the provider's tool list."""
    if provider == "anthropic" and tool.name in facts.unasked and tool.run_by_provider is not None:
        return dict(tool.run_by_provider)
    schema = tool.arguments.schema(facts)
    if provider == "openai":
        function: dict[str, Any] = {"name": tool.name, "description": tool.prompt(facts), "parameters": schema}
        if tool.strict and _fits_strict_mode(schema):
            function["strict"] = True
        return {"type": "function", "function": function}
    entry: dict[str, Any] = {"name": tool.name, "description": tool.prompt(facts), "input_schema": schema}
    if tool.strict and _is_plain(schema):
        entry["strict"] = True
    if tool.input_examples:
        entry["input_examples"] = [dict(example) for example in tool.input_examples]
    return entry


def project_bytes(tool: Tool, provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> bytes:
    """The same as JSON bytes, rendered once."""
    key = _key(provider, facts)
    rendered = tool.rendered.get(key)
    if rendered is None:
        rendered = tool.rendered[key] = encode_json(project(tool, provider, facts))
    return rendered


def tool_list_bytes(tools: Iterable[Tool], provider: Provider = "anthropic", facts: PromptFacts = NO_FACTS) -> bytes:
    """The whole tool list as JSON bytes."""
    key = _key(provider, facts)
    order = tuple(tools)
    same = (key, tuple(map(id, order)))
    joined = _joined.get(same)
    if joined is None:
        entries = [tool.rendered.get(key) or project_bytes(tool, provider, facts) for tool in order]
        joined = (order, b"[%b]" % b",".join(entries))
        if len(_joined) >= _MAX_JOINED:
            _joined.clear()
        _joined[same] = joined
    return joined[1]


@cache
def _key(provider: Provider, facts: PromptFacts) -> object:
    """One object for each kind of reader: hashing the facts again for every tool would cost more than joining."""
    del provider, facts
    return object()


def _fits_strict_mode(schema: dict[str, Any]) -> bool:
    """OpenAI's strict mode wants every property required; a tool with optional ones goes without it."""
    return set(schema.get("required", ())) == set(schema.get("properties", {}))


def _is_plain(schema: Any) -> bool:
    """Whether the other provider's strict mode takes it: that refuses limits on numbers, texts and lists."""
    if not isinstance(schema, dict):
        return True
    node = cast("dict[str, Any]", schema)
    if not _REFUSED.isdisjoint(node) or (
        node.get("type") == "object" and node.get("additionalProperties") is not False
    ):
        return False
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *node.get("$defs", {}).values()]
    return all(map(_is_plain, (*inner, node.get("items"))))
