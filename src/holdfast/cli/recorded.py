"""The calls of a recorded session, and the rights that they are judged by anew."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from holdfast.app import Options, load_rights
from holdfast.cli.arguments import decode_object
from holdfast.contract.names import MODES
from holdfast.events import ContextChanged, PermissionDecided
from holdfast.lib.visible import visible
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.backtest import RecordedCall

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext
    from holdfast.session import Transcript

__all__ = ["recorded_calls", "rights_as_in"]


def rights_as_in(transcript: "Transcript", options: Options, place: str) -> "PermissionContext":
    """The rights that the options and the settings of today give, in the directory of the session."""
    cwd = transcript.header.cwd if transcript.header else ""
    there = os.path.isdir(cwd)
    if options.cwd is None and there:
        # What the user names stands where the user is, not where the session was.
        files = tuple(text if text.lstrip().startswith("{") else os.path.abspath(text) for text in options.settings)
        directories = tuple(map(os.path.abspath, options.add_dirs))
        options = options._replace(cwd=cwd, settings=files, add_dirs=directories)
    rights = load_rights(options)
    for line in rights.warnings():
        click.echo(f"holdfast: {line}", err=True)
    context = rights.permissions.with_options(readable=(place,))
    if there or not cwd:
        return context
    click.echo(f"holdfast: {visible(cwd)} is gone, so its own settings and links are not checked", err=True)
    return context.with_options(working_directories=(cwd,), project_root=cwd, start_directory=cwd, disk=NoDisk())


def recorded_calls(transcript: "Transcript", *, follow_mode: bool) -> "Iterator[RecordedCall]":
    """The decided calls of a session, each with the directory and mode it had."""
    cwd = transcript.header.cwd if transcript.header and transcript.header.cwd else os.getcwd()
    mode: str | None = None
    judged = {id(call.decision): call for call in transcript.calls if call.decision is not None}
    for _, event in transcript.entries:
        if isinstance(event, ContextChanged) and isinstance(event.value, dict):
            value = cast("dict[str, Any]", event.value)
            if event.change == "CwdChanged":
                cwd = str(value.get("path") or cwd)
            elif event.change == "ModeChanged" and follow_mode and value.get("mode") in MODES:
                mode = value["mode"]
        elif isinstance(event, PermissionDecided) and id(event) in judged:
            call = judged[id(event)]
            yield RecordedCall(
                call.id, event.name, _arguments(call.input), cwd, event.behavior, event.decision, call.read_only, mode
            )


def _arguments(given: object) -> dict[str, Any]:
    """A call's input; a model may have sent it as text."""
    if isinstance(given, str):
        return decode_object(given)
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
