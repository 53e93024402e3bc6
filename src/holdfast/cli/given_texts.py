"""Options whose value is a text or a file: system prompts, agents, schemas."""

from typing import Any, cast

import msgspec

from holdfast.cli.options import tell
from holdfast.contract.errors import UsageError
from holdfast.definitions.agents import AgentDefinition, read_agents_option
from holdfast.lib.guarded_read import read_named

__all__ = ["agents_of_text", "schema_of_text", "text_or_file"]

_SCHEMA_CHARS = 1 << 20
_SCHEMA_BYTES = 4 * _SCHEMA_CHARS


def text_or_file(given: dict[str, Any], name: str) -> str | None:
    """The words of an option that may stand in a file (`--NAME-file`).

    Raises:
        UsageError: Both are given, or the file cannot be read.
    """
    path = given[f"{name}_file"]
    if path is None:
        return given[name]
    option = f"--{name.replace('_', '-')}"
    if given[name] is not None:
        raise UsageError(f"{option} and {option}-file contradict each other; give one of them")
    try:
        return read_named(path, limit_bytes=_SCHEMA_BYTES).decode()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"{option}-file {path!r} cannot be read: {reason}") from error


def agents_of_text(text: str) -> tuple[AgentDefinition, ...]:
    """The agents of `--agents`; what is odd about them is said."""
    found = tuple(read_agents_option(text))
    for agent in found:
        for warning in (*agent.warnings, *((agent.refusal,) if agent.refusal else ())):
            tell(f"--agents: {agent.name}: {warning}")
    return found


def schema_of_text(text: str) -> dict[str, Any]:
    """The schema as JSON text, or the file that holds it.

    Raises:
        UsageError: It is neither, or no schema.
    """
    raw = text
    if not text.lstrip().startswith("{"):
        try:
            raw = read_named(text, limit_bytes=_SCHEMA_BYTES).decode()
        except (OSError, ValueError) as error:  # not UTF-8, or a path that no file can have
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise UsageError(f"--json-schema {text!r} is neither JSON nor a file that can be read: {reason}") from error
    if len(raw) > _SCHEMA_CHARS:
        raise UsageError(f"--json-schema holds more than {_SCHEMA_CHARS:,} characters; give a smaller schema")
    try:
        found: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"--json-schema is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"--json-schema must be a JSON object, got {found!r}")
    return cast("dict[str, Any]", found)
