"""`holdfast hooks`: which hooks hold here, and what they say to an event."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import click
import msgspec

from holdfast.app import Options, load_rights
from holdfast.app.hooks import Rehearsal, listed, rehearse
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.hooks import Hook
from holdfast.hooks.gate import OnFailure
from holdfast.lib.guarded_read import read_named
from holdfast.lib.visible import without_controls

__all__ = ["command"]

_LIMIT_BYTES = 10_000_000


class _Row(NamedTuple):
    event: str
    matcher: str
    runs: str
    origin: str
    state: str


@click.group("hooks")
def command() -> None:
    """List the active hooks, and run them on an event."""


@command.command("list", short_help="Every hook that is active, and where it comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def list_hooks(*, as_json: bool, **given: Any) -> int:
    """List every hook of the settings files, in force or not, and what is wrong with it."""
    rows, warnings = _rows(to_options(given))
    for row in rows:
        if as_json:
            click.echo(encode_json(row._asdict()))
        else:
            click.echo(without_controls(f"{row.event}({row.matcher})  {row.runs}  [{row.state}]  {row.origin}"))
    if not rows and not as_json:
        click.echo("No hooks are configured here.")
    for warning in warnings:
        click.echo(f"holdfast: {without_controls(warning)}", err=True)
    return 0


@command.command("test", short_help="Run the hooks of an event with an input of your own.")
@click.argument("event")
@click.argument("fixture")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def test_hooks(*, event: str, fixture: str, as_json: bool, **given: Any) -> int:
    """Run the hooks that fit EVENT with the input in FIXTURE: a file, JSON text, or `-`.

    The hooks really run. Exit 1 when one of them failed, 2 when together they block.
    """
    from holdfast.hooks.events import EVENTS  # noqa: PLC0415 - only here

    if event not in EVENTS:
        raise UsageError(f"there is no event {event!r}; known are {', '.join(EVENTS)}")
    heard = asyncio.run(rehearse(to_options(given), event, _fixture(fixture)))
    if as_json:
        click.echo(encode_json(heard.as_json()))
    else:
        for line in _lines(heard):
            click.echo(without_controls(line))
    if heard.verdict.blocks:
        return 2
    return int(any(ran.outcome == "failed" for ran in heard.ran))


def _rows(options: Options) -> tuple[list[_Row], list[str]]:
    rights = load_rights(options)
    hooks = listed(rights.settings)
    rows = [_Row(h.event, h.matcher or "*", h.label, h.origin, _state(h, hooks.on_gate_failure)) for h in hooks]
    rows += [
        _Row(item.text.partition("(")[0], "", item.text, f"{item.path}:{item.line}", "waits for `holdfast trust`")
        for item in rights.settings.withheld
        if item.kind == "hook"
    ]
    return rows, list(hooks.warnings)


def _state(hook: Hook, setting: OnFailure | None) -> str:
    """How a hook stands; of a gate that cannot run, what that means for the calls that it would watch."""
    if not hook.failed:
        return f"cannot start: {hook.problem}" if hook.problem else "in force"
    meaning = {"deny": "refused", "ignore": "let through"}.get(hook.on_failure or setting or "", "asked about")
    return f"failed gate, its calls are {meaning}: {hook.failed}"


def _fixture(given: str) -> dict[str, Any]:
    if given == "-":
        text: str | bytes = sys.stdin.buffer.read(_LIMIT_BYTES)
    else:
        text = given if given.lstrip().startswith("{") else _read(given)
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"the fixture is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"the fixture must be a JSON object, got {type(found).__name__}")
    return cast("dict[str, Any]", found)


def _read(path: str) -> bytes:
    try:
        return read_named(path, limit_bytes=_LIMIT_BYTES)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"the fixture {path!r} is neither JSON nor a file that can be read: {reason}") from error


def _lines(heard: Rehearsal) -> Iterator[str]:
    if not heard.ran:
        yield "No hook fits."
    for ran in heard.ran:
        reason = f": {ran.reason}" if ran.reason else ""
        yield f"{ran.outcome}  {ran.label}  ({ran.duration_ms:.0f} ms, {ran.origin}){reason}"
    verdict = heard.verdict
    yield f"together: {verdict.behavior or 'no decision'}{': ' + verdict.reason if verdict.reason else ''}"
    for name, value in (("changed input", verdict.updated_input), ("ends the run", verdict.stop)):
        if value is not None:
            yield f"{name}: {encode_json(value).decode()}"
    for text in (*verdict.contexts, *verdict.messages, *verdict.warnings):
        yield f"says: {text[:500]}"
