"""The file format of scripted models: turns of text and tool calls, written by hand and checked when they are read.

JSON (a list of turns, or an object with `turns`) or JSON lines (one turn each, comments start with `//` or `#`). The
first line may be a header: `{"script": 1, "timed": true, …}`. docs/extend/testing.md shows every field.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast, get_args

import msgspec

from holdfast.contract.errors import UsageError
from holdfast.lib.guarded_read import read_named
from holdfast.models.errors import ModelErrorKind
from holdfast.models.interface import Usage

__all__ = ["Script", "ScriptedBlock", "ScriptedError", "Turn", "parse_turn", "read_script"]

SCRIPT_VERSION = 1
_MAX_BYTES = 64 * 1024 * 1024
_STATUSES: Mapping[str, int] = {
    "rate_limit": 429,
    "overloaded": 529,
    "server": 500,
    "auth": 401,
    "quota": 402,
    "invalid_request": 400,
    "context_overflow": 400,
}
_PACE_KEYS = {"after_s", "pace_s", "chunk"}
_KINDS: Mapping[str, set[str]] = {
    "text": {"text"},
    "thinking": {"thinking", "signature"},
    "tool": {"tool", "input", "raw", "id"},
}


class ScriptedBlock(msgspec.Struct, frozen=True):
    """One block of a turn, and how it arrives."""

    block: Mapping[str, Any]
    """In the providers' form; a call may have no id yet."""
    raw: str | None = None
    """The input of a call as raw text, where it is not the JSON of an object."""
    after_s: float = 0.0
    """Wait before it begins."""
    pace_s: float = 0.0
    """Wait between its pieces."""
    chunk: int | None = None
    """Characters in a piece."""


class ScriptedError(msgspec.Struct, frozen=True):
    """How a turn fails."""

    kind: ModelErrorKind
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    after_chars: int | None = None
    """Cut when so many characters have been streamed; none: behind the turn's blocks."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the model."""

    blocks: tuple[ScriptedBlock, ...] = ()
    stop_reason: str | None = None
    """None: `tool_use` after a call, else `end_turn`."""
    usage: Usage | None = None
    """None: estimated from the texts."""
    error: ScriptedError | None = None
    expect: tuple[str, ...] = ()
    """Texts that the newest message must contain, or else the script and the world have parted."""
    after_s: float = 0.0
    """Wait before the answer begins."""


class Script(NamedTuple):
    """A script file."""

    turns: tuple[Turn, ...]
    is_timed: bool = False
    context_window: int | None = None
    chunk: int | None = None
    usd_per_token: float = 0.0


def parse_turn(raw: Any, where: str = "the turn") -> Turn:
    """A turn from what was written: a text, a list of blocks, or an object. Raises `UsageError`."""
    if isinstance(raw, Turn):
        return raw
    if isinstance(raw, str):
        return Turn(blocks=(_block(raw, where),))
    if isinstance(raw, list | tuple):
        return Turn(blocks=_blocks(raw, where))
    if not isinstance(raw, dict):
        raise UsageError(f"{where} is {raw!r}; write a string, a list of blocks, or an object with `blocks`")
    given = cast("dict[str, Any]", raw)
    if any(key in given for key in (*_KINDS, "type")):  # a turn of one block needs no list
        return Turn(blocks=(_block(given, where),))
    _known(given, {"blocks", "stop_reason", "usage", "error", "expect", "after_s"}, where)
    blocks: Any = given.get("blocks", ())
    return Turn(
        blocks=_blocks([blocks] if isinstance(blocks, str | dict) else blocks, where),
        stop_reason=given.get("stop_reason"),
        usage=_usage(given.get("usage"), where),
        error=_error(given.get("error"), where),
        expect=_texts(given.get("expect", ()), where),
        after_s=_seconds(given, "after_s", where),
    )


def read_script(path: str | os.PathLike[str]) -> Script:
    """Read a script file. Raises `UsageError` that names the file and the turn."""
    name = os.fspath(path)
    try:
        text = read_named(name, limit_bytes=_MAX_BYTES).decode()
    except (OSError, ValueError) as error:  # not UTF-8, or a path that no file can have
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"the script {name!r} cannot be read: {reason}") from error
    items = _items(text, name)
    header: dict[str, Any] = {}
    first = items[0][1] if items else None
    if isinstance(first, dict) and "script" in first:
        header = cast("dict[str, Any]", first)
        items = items[1:]
    turns_given = _list(header.get("turns", ()), f"the header of {name}: `turns`")
    items += [(f"turn {number}", turn) for number, turn in enumerate(turns_given, 1)]
    if not items:
        raise UsageError(f"the script {name!r} has no turns")
    turns = tuple(parse_turn(raw, f"{name}, {where}") for where, raw in items)
    return _with_header(turns, header, name)


def _items(text: str, name: str) -> list[tuple[str, Any]]:
    """The turns as they are written, each with the place where it stands."""
    try:
        whole: Any = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError):
        return _lines(text, name)
    if isinstance(whole, list):
        return [(f"turn {number}", raw) for number, raw in enumerate(cast("list[Any]", whole), 1)]
    if isinstance(whole, dict) and "turns" in whole:
        return [("line 1", {"script": SCRIPT_VERSION, **cast("dict[str, Any]", whole)})]
    return [("line 1", whole)]


def _lines(text: str, name: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith(("//", "#")):
            continue
        try:
            found.append((f"line {number}", msgspec.json.decode(line.encode())))
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(f"{name}, line {number} is not JSON: {error}. Write one turn on each line.") from error
    return found


def _with_header(turns: tuple[Turn, ...], header: dict[str, Any], name: str) -> Script:
    where = f"the header of {name}"
    _known(header, {"script", "turns", "timed", "context_window", "chunk", "usd_per_token", "comment"}, where)
    if header.get("script", SCRIPT_VERSION) != SCRIPT_VERSION:
        raise UsageError(f"{where} says version {header['script']!r}; this Holdfast reads version {SCRIPT_VERSION}")
    return Script(
        turns,
        is_timed=header.get("timed") is True,
        context_window=_count(header, "context_window", where),
        chunk=_count(header, "chunk", where),
        usd_per_token=_seconds(header, "usd_per_token", where),
    )


def _blocks(raw: Any, where: str) -> tuple[ScriptedBlock, ...]:
    blocks = _list(raw, f"{where}: `blocks`")
    return tuple(_block(item, f"{where}, block {number}") for number, item in enumerate(blocks, 1))


def _block(raw: Any, where: str) -> ScriptedBlock:
    if isinstance(raw, str):
        return ScriptedBlock({"type": "text", "text": raw})
    if not isinstance(raw, dict):
        raise UsageError(f"{where} is {raw!r}; write a string or an object with `text`, `thinking` or `tool`")
    given = cast("dict[str, Any]", raw)
    pace: dict[str, Any] = {
        "after_s": _seconds(given, "after_s", where),
        "pace_s": _seconds(given, "pace_s", where),
        "chunk": _count(given, "chunk", where),
    }
    if "type" in given:  # already in the providers' form
        return ScriptedBlock({key: value for key, value in given.items() if key not in _PACE_KEYS}, **pace)
    kind = next((kind for kind in _KINDS if kind in given), None)
    if kind is None:
        raise UsageError(f"{where} has neither `text` nor `thinking` nor `tool`: {given!r}")
    _known(given, _KINDS[kind] | _PACE_KEYS, where)
    if not isinstance(given[kind], str):
        raise UsageError(f"{where}: `{kind}` is {given[kind]!r}; it must be a string")
    if kind == "tool":
        return ScriptedBlock(_call(given, where), raw=given.get("raw"), **pace)
    block = {"type": kind, kind: given[kind]}
    if kind == "thinking":
        block["signature"] = str(given.get("signature", ""))
    return ScriptedBlock(block, **pace)


def _call(given: dict[str, Any], where: str) -> dict[str, Any]:
    if "raw" in given and ("input" in given or not isinstance(given["raw"], str)):
        raise UsageError(f"{where}: `raw` is the input as text and stands in place of `input`")
    call = {"type": "tool_use", "name": given["tool"], "input": given.get("input", {})}
    return {**call, "id": given["id"]} if "id" in given else call


def _error(raw: Any, where: str) -> ScriptedError | None:
    if raw is None:
        return None
    given: Any = {"kind": raw} if isinstance(raw, str) else raw
    if not isinstance(given, dict):
        raise UsageError(f"{where}: `error` is {raw!r}; write the kind of error, or an object with `kind`")
    return _error_of(cast("dict[str, Any]", given), where)


def _error_of(given: dict[str, Any], where: str) -> ScriptedError:
    _known(given, {"kind", "message", "status", "retry_after_s", "after_chars"}, f"{where}, `error`")
    kind: Any = given.get("kind")
    if kind not in get_args(ModelErrorKind):
        raise UsageError(f"{where}: the error kind {kind!r} is none of {', '.join(get_args(ModelErrorKind))}")
    usual = {"message": f"the script says: {kind}", "status": _STATUSES.get(kind)}
    try:
        return msgspec.convert({**usual, **given}, ScriptedError)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: `error` is {given!r}: {error}") from error


def _usage(raw: Any, where: str) -> Usage | None:
    try:
        return None if raw is None else msgspec.convert(raw, Usage)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: `usage` is {raw!r}: {error}") from error


def _texts(raw: Any, where: str) -> tuple[str, ...]:
    texts: tuple[Any, ...] = (raw,) if isinstance(raw, str) else tuple(_list(raw, f"{where}: `expect`"))
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{where}: `expect` is {raw!r}; write a string or a list of strings")
    return texts


def _list(raw: Any, where: str) -> Sequence[Any]:
    if not isinstance(raw, list | tuple):
        raise UsageError(f"{where} is {raw!r}; write a list")
    return cast("Sequence[Any]", raw)


def _seconds(given: Mapping[str, Any], key: str, where: str) -> float:
    value = given.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise UsageError(f"{where}: `{key}` is {value!r}; write a number from 0 on")
    return float(value)


def _count(given: Mapping[str, Any], key: str, where: str) -> int | None:
    value = given.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise UsageError(f"{where}: `{key}` is {value!r}; write a whole number from 1 on")
    return value


def _known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise UsageError(f"{where} has unknown keys {unknown}; known are {', '.join(sorted(known))}")
