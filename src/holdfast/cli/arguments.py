"""A call's input as people type it: JSON, or for a tool with one main argument just that."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from holdfast.contract import ArgumentsInvalid, PromptFacts, UsageError
from holdfast.lib.spelling import did_you_mean
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS, kind_of_tool

if TYPE_CHECKING:
    from holdfast.contract import Tool

__all__ = ["check_call", "decode_object", "given_input", "to_object"]

_EVERYTHING = PromptFacts(interactive=True, background=True)
_OF_LATER_VERSIONS = frozenset({"dangerouslyDisableSandbox"})
_MAIN = {"Glob": "pattern", "Grep": "pattern", "WebSearch": "query", "Agent": "prompt"}


def to_object(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        UsageError: It is none.
    """
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"a JSON object is needed, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def decode_object(text: str | bytes) -> dict[str, Any]:
    """The same, where anything else counts as no input."""
    try:
        return to_object(text)
    except UsageError:
        return {}


def given_input(tool: str, text: str) -> dict[str, Any]:
    """The input of a call: a JSON object, or the plain text of the tool's main argument, such as a command or a path.

    Raises:
        UsageError: It is neither, or there is no such tool.
    """
    _check_name(tool)
    name = ALIASES.get(tool, tool)
    main = _MAIN.get(name) or next(iter(kind_of_tool(name).fields), None)
    if text.lstrip().startswith("{") or main is None:
        try:
            return to_object(text)
        except UsageError as error:
            sample = f'{{"{main or "argument"}": "…"}}'
            raise UsageError(f"{error}. Write the call's input as JSON, such as '{sample}'") from error
    if not text.strip():
        raise UsageError(f"the input of {tool} is empty; write its {main}, or the whole input as JSON")
    return {main: text}


def _check_name(tool: str) -> None:
    if tool not in KNOWN_TOOLS and not tool.startswith("mcp__"):
        raise UsageError(f"there is no tool named {tool!r}.{did_you_mean(tool, sorted(KNOWN_TOOLS))}".rstrip("."))


def check_call(tool: str, raw: Mapping[str, Any]) -> None:
    """Say what is wrong with a call that is only to be judged: a tool that is none, a key that is none, a wrong value.

    What does not decide may be left out, such as the text of an edit.

    Raises:
        UsageError: In words, with what may have been meant.
    """
    _check_name(tool)
    name = ALIASES.get(tool, tool)
    kind = kind_of_tool(name)
    found = [field for field in kind.fields if raw.get(field) is not None]
    known = _built_in().get(name)
    offered = frozenset(raw) if known is None else _names_of(known)
    wrong = next((key for key in raw if key not in offered), None)
    if wrong is not None:
        raise UsageError(f"{tool} has no argument {wrong!r}.{did_you_mean(wrong, sorted(offered))}".rstrip("."))
    if kind.fields and not kind.default and not found:
        raise UsageError(f"{tool} needs {kind.fields[0]!r}, and the input has {', '.join(map(repr, raw)) or 'nothing'}")
    for field in found:
        if not isinstance(raw[field], str):
            raise UsageError(f"{field!r} of {tool} is {raw[field]!r}; write a string")
    if known is not None and not raw.keys() <= set(kind.fields):
        _check_values(tool, known, raw)


def _check_values(tool: str, known: "Tool", raw: Mapping[str, Any]) -> None:
    try:
        known.arguments.parse({key: raw[key] for key in raw if key not in _OF_LATER_VERSIONS}, _EVERYTHING)
    except ArgumentsInvalid as error:
        problems = [text for text in error.problems if not text.startswith(("missing argument", "unknown argument"))]
        if problems:
            raise UsageError(f"the input does not fit {tool}: {'; '.join(problems)}") from error


@cache
def _built_in() -> "Mapping[str, Tool]":
    from holdfast.app import all_tools  # noqa: PLC0415 - only where a call is looked at

    return {tool.name: tool for tool in all_tools()}


@cache
def _names_of(tool: "Tool") -> frozenset[str]:
    schema = tool.arguments.schema(_EVERYTHING)
    return frozenset({*schema["properties"], *tool.renamed_arguments, *_OF_LATER_VERSIONS})
