"""Arguments that a server wants repeated as headers (`x-mcp-header` in a schema), for what lies between us and it."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

__all__ = ["as_header", "header_names", "header_problem", "parameter_headers"]

_KEY = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES = frozenset({"string", "integer", "boolean"})
_MAX_CHARS = 4_096
_DATA = frozenset({"default", "examples", "const", "enum", "required", "description", "title"})
"""Words of a schema whose values are no schemas."""

Path = tuple[str, ...]


def header_problem(schema: Mapping[str, Any]) -> str:
    """Why the tool must be left out: a mark that no client can follow; empty when all is well."""
    seen: set[str] = set()
    for path, part in _marked(schema):
        name = part[_KEY]
        if not path:
            return f"{_KEY} stands where no single argument is"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            return f"{_KEY} of {path[-1][:80]!r} is not a header name"
        if part.get("type") not in _TYPES:
            return f"{_KEY} of {path[-1][:80]!r} is on something else than a string, integer or boolean"
        if name.lower() in seen:
            return f"two arguments want the header {name[:80]!r}"
        seen.add(name.lower())
    return ""


def parameter_headers(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for these arguments; one that is not given has none."""
    found: dict[str, str] = {}
    for path, part in _marked(schema):
        value = _value_at(arguments, path or ())
        if path and isinstance(value, str | bool | int):
            text = ("true" if value else "false") if isinstance(value, bool) else str(value)
            if len(text) <= _MAX_CHARS:
                found[f"mcp-param-{part[_KEY].lower()}"] = as_header(text)
    return found


def header_names(schema: Mapping[str, Any]) -> set[str]:
    """Every header that the schema names."""
    return {f"mcp-param-{part[_KEY].lower()}" for _, part in _marked(schema) if isinstance(part[_KEY], str)}


def as_header(text: str) -> str:
    """A text as a header can carry it."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip()
    if is_plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _marked(schema: Mapping[str, Any]) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Every part of the schema with the mark, and the way to its argument; None where there is no single one."""
    waiting: list[tuple[Path | None, Any]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, list):
            waiting += [(None, inner) for inner in cast("list[Any]", node)]
        if not isinstance(node, dict):
            continue
        part = cast("dict[str, Any]", node)
        if _KEY in part:
            yield path, part
        for word, inner in part.items():
            if word == "properties" and isinstance(inner, dict):
                named = cast("dict[str, Any]", inner).items()
                waiting += [(None if path is None else (*path, name), value) for name, value in named]
            elif word in ("$defs", "definitions", "patternProperties", "dependentSchemas") and isinstance(inner, dict):
                waiting += [(None, value) for value in cast("dict[str, Any]", inner).values()]
            elif word not in _DATA:
                waiting.append((None, inner))


def _value_at(arguments: Any, path: Path) -> Any:
    for name in path:
        arguments = cast("Mapping[str, Any]", arguments).get(name) if isinstance(arguments, Mapping) else None
    return arguments
