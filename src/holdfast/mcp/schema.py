"""Schemas of remote tools: a bad one puts its tool aside and says so; a root that providers refuse is shown flat."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from holdfast.mcp.parameter_headers import header_problem

__all__ = ["SchemaProblem", "check_headers", "check_schema", "flattened"]

_MAX_BYTES = 256 << 10
_MAX_NODES = 20_000
_MAX_DEPTH = 64
_UNIONS = ("anyOf", "oneOf", "allOf")
_DIALECTS = frozenset(
    f"{scheme}://json-schema.org/{draft}/schema{end}"
    for scheme in ("http", "https")
    for draft in ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
    for end in ("", "#")
)


class SchemaProblem(ValueError):
    """Why a tool cannot be offered."""


def check_schema(schema: object) -> dict[str, Any]:
    """The schema, when it can be used.

    Raises:
        SchemaProblem: It is no object schema, is too large or too deep, or does not compile.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise SchemaProblem("its schema is not an object")
    found = cast("dict[str, Any]", schema)
    if found.get("type", "object") != "object":
        raise SchemaProblem(f"its schema is of type {found['type']!r}, not object")
    if not isinstance(found.get("properties", {}), dict):
        raise SchemaProblem("its schema's properties are not an object")
    _check_size(found)
    try:
        encoded = msgspec.json.encode(found)
    except (RecursionError, UnicodeEncodeError) as error:
        raise SchemaProblem("its schema cannot be written down") from error
    if len(encoded) > _MAX_BYTES:
        raise SchemaProblem(f"its schema has {len(encoded):,} bytes; at most {_MAX_BYTES:,} are taken")
    if found.get("$schema", "") not in _DIALECTS:  # the checker would fetch an address that it does not know
        found = {key: value for key, value in found.items() if key != "$schema"}
    _check_words(found)
    return found


def check_headers(schema: Mapping[str, Any]) -> None:
    """The marks for arguments that are repeated as headers.

    Raises:
        SchemaProblem: No client can follow one of them, and the protocol wants such a tool left out.
    """
    if problem := header_problem(schema):
        raise SchemaProblem(problem)


def _check_words(schema: dict[str, Any]) -> None:
    """One tool with a word that no schema knows makes a provider refuse the whole request."""
    import jsonschema_rs  # noqa: PLC0415 - only remote tools need it

    try:
        jsonschema_rs.meta.validate(schema)
    except ValueError as error:
        raise SchemaProblem(f"its schema is not valid: {str(error).splitlines()[0][:200]}") from error


def _check_size(schema: dict[str, Any]) -> None:
    waiting: list[tuple[object, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > _MAX_DEPTH:
            raise SchemaProblem(f"its schema is nested more than {_MAX_DEPTH} levels deep")
        if count > _MAX_NODES:
            raise SchemaProblem(f"its schema has more than {_MAX_NODES:,} parts")
        if isinstance(node, dict):
            entries = cast("dict[str, Any]", node)
            reference = entries.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                raise SchemaProblem(f"its schema refers to {reference[:200]!r}, outside of itself")
            if depth and isinstance(entries.get("$schema"), str) and entries["$schema"] not in _DIALECTS:
                raise SchemaProblem("a part of its schema names a dialect of its own")
            waiting += [(inner, depth + 1) for inner in entries.values()]
        elif isinstance(node, list):
            waiting += [(inner, depth + 1) for inner in cast("list[Any]", node)]


def flattened(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as providers take it: unions at the root become one object. The original still checks."""
    if not any(key in schema for key in _UNIONS):
        return {"type": "object", "properties": {}, **schema}
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    required = set(_strings(schema.get("required")))
    for key in _UNIONS:
        branches = [cast("dict[str, Any]", part) for part in schema.get(key) or () if isinstance(part, dict)]
        for branch in branches:
            for name, inner in _properties(branch).items():
                properties.setdefault(name, inner)
        wanted = [set(_strings(branch.get("required"))) for branch in branches]
        if wanted:
            required |= set[str].union(*wanted) if key == "allOf" else set[str].intersection(*wanted)
    kept = {key: value for key, value in schema.items() if key not in (*_UNIONS, "required", "properties", "type")}
    flat: dict[str, Any] = {"type": "object", "properties": properties, **kept}
    if named := sorted(required & properties.keys()):
        flat["required"] = named
    return flat


def _properties(branch: Mapping[str, Any]) -> Mapping[str, Any]:
    found = branch.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in cast("list[Any]", value) if isinstance(item, str)] if isinstance(value, list) else []
