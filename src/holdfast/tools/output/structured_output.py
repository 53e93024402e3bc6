"""Hand the final answer over as data. The text the model reads is in structured_output.md, beside this file."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from holdfast.contract import ArgumentsInvalid, Effects, Tool, ToolContext, ToolResult, UsageError

__all__ = ["StructuredOutput"]

_WRAPPED = "result"
_SHARED = ("$schema", "$defs", "definitions")
_STAYING = tuple(f"#/{key}/" for key in _SHARED)
_MAX_REASON_CHARS = 2_000


class StructuredOutput(Tool[dict[str, Any], Any]):
    """A tool whose arguments are the answer, in a schema the caller gave. Offered only when there is one."""

    name = "StructuredOutput"
    search_hint = "return the final answer as JSON data"
    max_result_chars = 100_000
    read_only = session_state = always_load = True

    def __init__(self, schema: Mapping[str, Any], *, accept: Callable[[Any], object] | None = None) -> None:
        """Take the schema of the answer.

        Args:
            schema: A JSON Schema. One that wants no object is offered as the field `result` of one.
            accept: Looks at an answer that fits the schema and raises ValueError when it is not good enough.

        Raises:
            UsageError: It is no JSON Schema, or it refers to something outside itself.
        """
        self._accept = accept
        self._is_wrapped = not _wants_object(schema)
        self.json_schema = _wrapped(schema) if self._is_wrapped else schema
        with suppress(ArgumentsInvalid):  # a schema that compiles and wants more than nothing
            self.arguments.parse({})

    async def validate(self, args: dict[str, Any], ctx: ToolContext) -> None:
        """Ask the caller's own check, where there is one."""
        del ctx
        if self._accept is None:
            return
        try:
            self._accept(self._value(args))
        except ValueError as error:
            raise ArgumentsInvalid(f"the output was not accepted: {str(error)[:_MAX_REASON_CHARS]}") from error

    def effects(self, args: dict[str, Any], ctx: ToolContext) -> Effects:
        """It touches nothing."""
        del args, ctx
        return Effects()

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult[Any]:
        """The answer stands as it was given."""
        del ctx
        return ToolResult(self._value(args), "The output fits the schema and was handed over. The work is done.")

    def _value(self, args: dict[str, Any]) -> Any:
        return args[_WRAPPED] if self._is_wrapped else args


def _wants_object(schema: Mapping[str, Any]) -> bool:
    """Providers take only objects as a tool's input; a schema that leaves it open is one, too."""
    if not isinstance(schema, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from users
        raise UsageError(f"a JSON Schema for the output must be an object, got {schema!r}")
    kind = schema.get("type")
    return kind == "object" or (kind is None and "properties" in schema) or not schema


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        moved = cast("dict[str, Any]", _pointing_into(schema))
    except RecursionError as error:
        raise UsageError("the JSON Schema for the output is nested too deeply") from error
    shared = {key: moved[key] for key in _SHARED if key in moved}  # where references look for them
    inner = {key: value for key, value in moved.items() if key not in shared}
    return cast(
        "dict[str, Any]",
        {
            **shared,
            "type": "object",
            "properties": {_WRAPPED: inner},
            "required": [_WRAPPED],
            "additionalProperties": False,
        },
    )


def _pointing_into(value: Any) -> Any:
    """The same with references to the schema's own root and its parts pointing to where it stands in the wrapper."""
    if isinstance(value, list):
        return [_pointing_into(item) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    moved = {key: _pointing_into(item) for key, item in cast("Mapping[str, Any]", value).items()}
    target = moved.get("$ref")
    if isinstance(target, str) and (target == "#" or target.startswith("#/")) and not target.startswith(_STAYING):
        moved["$ref"] = f"#/properties/{_WRAPPED}{target[1:]}"
    return moved
