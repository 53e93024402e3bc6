"""`holdfast doctor`: what Holdfast can promise on this machine, and what it cannot."""

import os
import platform
import sys
from typing import Any, NamedTuple

import click

from holdfast import __version__
from holdfast.app import load_rights
from holdfast.cli.options import session_options, to_options
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.host.guard import guarantees
from holdfast.host.programs import find_program
from holdfast.host.ripgrep import Ripgrep
from holdfast.session import user_store
from holdfast.session.health import check_sessions

__all__ = ["command"]


class _Row(NamedTuple):
    area: str
    name: str
    ok: bool
    detail: str


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def command(*, as_json: bool, **given: Any) -> int:
    """Check processes, directories, settings and programs. Exit 1 if something is wrong."""
    rows = [*_versions(_roots(given)), *_processes(), *_settings(given), *_sessions()]
    for row in rows:
        if as_json:
            click.echo(encode_json(row._asdict()))
        else:
            mark = click.style("ok  ", fg="green") if row.ok else click.style("look", fg="yellow", bold=True)
            click.echo(f"{mark}  {row.area:<9}  {row.name}{': ' + row.detail if row.detail else ''}")
    return 0 if all(row.ok for row in rows) else 1


def _roots(given: dict[str, Any]) -> tuple[str, ...]:
    """The directories that a session would work in; settings that are broken say so in a row of their own."""
    try:
        return load_rights(to_options(given)).permissions.roots.working
    except UsageError:
        return (os.path.realpath(given.get("cwd") or os.curdir),)


def _versions(roots: tuple[str, ...]) -> list[_Row]:
    python = _Row("versions", "python", sys.version_info >= (3, 11), platform.python_version())
    rows = [_Row("versions", "holdfast", ok=True, detail=__version__), python]
    try:
        rows.append(_Row("programs", "ripgrep", ok=True, detail=Ripgrep(outside=lambda: roots).binary))
    except UsageError as error:
        rows.append(_Row("programs", "ripgrep", ok=False, detail=str(error)))
    for program in ("bash", "git"):
        found = find_program(program, outside=roots)
        missing = "in no absolute PATH entry outside this folder; install it"
        rows.append(_Row("programs", program, found is not None, found or missing))
    return rows


def _processes() -> list[_Row]:
    return [_Row("processes", promise.name, promise.holds, promise.missing) for promise in guarantees()]


def _settings(given: dict[str, Any]) -> list[_Row]:
    try:
        rights = load_rights(to_options(given))
    except UsageError as error:
        return [_Row("settings", "files", ok=False, detail=str(error))]
    problems = [_Row("settings", "problem", ok=False, detail=line) for line in rights.warnings()]
    files = ", ".join(rights.settings.files) or "none found"
    trust = (
        "trusted"
        if rights.settings.trusted
        else "not trusted: its allow rules, hooks and servers wait for `holdfast trust`"
    )
    return [
        _Row("settings", "files", ok=True, detail=files),
        _Row("settings", "folder", ok=True, detail=f"{rights.settings.root} is {trust}"),
        _Row("settings", "mode", ok=True, detail=str(rights.permissions.effective_mode)),
        *problems,
    ]


def _sessions() -> list[_Row]:
    return [_Row("sessions", check.name, check.ok, check.detail) for check in check_sessions(user_store())]
