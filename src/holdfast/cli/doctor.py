"""`holdfast doctor`: what Holdfast can promise on this machine, and what it cannot."""

import os
import platform
import sys
from importlib.util import find_spec
from typing import Any, NamedTuple

import click

from holdfast import __version__
from holdfast.app import load_rights
from holdfast.app.choose_model import choose_model, key_source
from holdfast.app.not_honoured import refuse_what_must_hold
from holdfast.app.sandbox import SandboxKit
from holdfast.app.web import search_plan
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract import HoldfastError, UsageError
from holdfast.host.guard import guarantees
from holdfast.host.http import without_login
from holdfast.host.programs import current_folder, find_program
from holdfast.host.ripgrep import Ripgrep
from holdfast.lib.visible import without_controls
from holdfast.models.open import KEYS, provider_of
from holdfast.session import user_store
from holdfast.session.health import check_sessions
from holdfast.session.log import LOG_NAME
from holdfast.settings import Settings
from holdfast.settings.directories import user_directories

__all__ = ["command"]


class _Row(NamedTuple):
    area: str
    name: str
    ok: bool
    detail: str
    can_do_without: bool = False
    """What is missing limits something and breaks nothing."""

    @property
    def level(self) -> str:
        """`ok`, `warn` or `fail`."""
        return "ok" if self.ok else "warn" if self.can_do_without else "fail"


_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_EXTRAS = {
    "media": (("PIL", "pypdfium2", "nbformat"), "large pictures, PDF pages"),
    "robots": (("protego",), "robots.txt support of WebFetch"),
    "search": (("ddgs",), "WebSearch without a key"),
    "otel": (("opentelemetry.sdk",), "traces and metrics"),
    "mcp": (("mcp",), "logins to MCP servers"),
    "bedrock": (("botocore",), "Amazon Bedrock by profile, single sign-on or role"),
}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def command(*, as_json: bool, **given: Any) -> int:
    """Check model, key, extras, programs, processes, settings, MCP servers and sessions. Exit 1 if something is broken.

    `ok` holds, `warn` can be done without, `fail` is broken.
    """
    rows = [*_model(given), *_extras(), _log_file(), *_programs(_roots(given)), *_versions()]
    rows += [*_processes(), *_sandbox(given), *_settings(given), *_servers(given), *_sessions()]
    for row in rows:
        if as_json:
            wire = {"area": row.area, "name": row.name, "ok": row.ok, "level": row.level, "detail": row.detail}
            click.echo(json_line(wire))
        else:
            mark = click.style(f"{row.level:<4}", fg=_COLOURS[row.level], bold=not row.ok)
            detail = without_controls(row.detail).replace("\n", " ")
            click.echo(f"{mark}  {row.area:<9}  {row.name}{': ' + detail if detail else ''}")
    return 1 if any(row.level == "fail" for row in rows) else 0


def _model(given: dict[str, Any]) -> list[_Row]:
    try:
        name = choose_model(None, load_rights(to_options(given)).settings, os.environ)
    except UsageError as error:
        missing = "none is chosen; set ANTHROPIC_API_KEY, OPENAI_API_KEY or HOLDFAST_MODEL, or give --model"
        settings_are_broken = not str(error).startswith("no model is chosen")
        said = str(error) if settings_are_broken else missing
        return [
            _Row("model", "model", ok=False, detail=said, can_do_without=True),
            _Row("model", "key", ok=False, detail="none found", can_do_without=True),
        ]
    provider = provider_of(name)
    if not provider:
        said = f"{name!r} names no model; write it as provider:name, such as anthropic:sonnet or ollama:qwen3"
        return [_Row("model", "model", ok=False, detail=said, can_do_without=True)]
    source = key_source(name, os.environ)
    needs_key = bool(KEYS.get(provider))
    key = source if source != "none" else "none found" if needs_key else "none needed"
    return [
        _Row("model", "model", ok=True, detail=name),
        _Row("model", "key", source != "none" or not needs_key, key, can_do_without=True),
    ]


def _extras() -> list[_Row]:
    """Which optional parts are installed, and what each adds."""
    rows: list[_Row] = []
    for name, (modules, adds) in _EXTRAS.items():
        lacking = [module for module in modules if not _is_installed(module)]
        detail = adds if not lacking else f"not installed; it adds {adds}: pip install 'holdfast[{name}]'"
        rows.append(_Row("extras", name, not lacking, detail, can_do_without=True))
    return rows


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


def _log_file() -> _Row:
    path = os.path.join(user_directories().state, LOG_NAME)
    place = next(place for place in (path, os.path.dirname(path), _existing(path)) if os.path.exists(place))
    usable = os.access(place, os.W_OK)
    return _Row("log", "file", usable, path if usable else f"{path} cannot be written", can_do_without=True)


def _existing(path: str) -> str:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _roots(given: dict[str, Any]) -> tuple[str, ...]:
    """The directories that a session would work in; settings that are broken say so in a row of their own."""
    try:
        return load_rights(to_options(given)).permissions.roots.working
    except UsageError:
        return (os.path.realpath(given["cwd"]),) if given.get("cwd") else current_folder()


def _versions() -> list[_Row]:
    python = _Row("versions", "python", sys.version_info >= (3, 11), platform.python_version())
    return [_Row("versions", "holdfast", ok=True, detail=__version__), python]


def _programs(roots: tuple[str, ...]) -> list[_Row]:
    try:
        rows = [_Row("programs", "ripgrep", ok=True, detail=Ripgrep(outside=lambda: roots).binary)]
    except UsageError as error:
        rows = [_Row("programs", "ripgrep", ok=False, detail=str(error))]
    for program in ("bash", "git"):
        found = find_program(program, outside=roots)
        missing = "in no absolute PATH entry outside this folder; install it"
        rows.append(_Row("programs", program, found is not None, found or missing, can_do_without=program == "git"))
    return rows


def _processes() -> list[_Row]:
    return [_Row("processes", one.name, one.holds, one.missing, can_do_without=True) for one in guarantees()]


def _sandbox(given: dict[str, Any]) -> list[_Row]:
    """What the sandbox can promise; a session that does not want one can do without."""
    from holdfast.host.sandbox.promises import promises  # noqa: PLC0415 - starts programs

    try:
        rights = load_rights(to_options(given))
    except UsageError:
        return []
    kit = SandboxKit(lambda: rights.settings, lambda: rights.permissions, temporary=os.getcwd)
    wanted = kit.wanted
    rows = [
        _Row("sandbox", one.name, one.holds, one.detail, can_do_without=True)
        for one in promises(kit.find, weak=wanted.may_be_weak)
    ]
    rows[0] = rows[0]._replace(can_do_without=not wanted.enabled)
    switched = "on: commands are confined" if wanted.enabled else "off: set sandbox.enabled to confine commands"
    return [*rows, _Row("sandbox", "setting", ok=True, detail=switched)]


def _settings(given: dict[str, Any]) -> list[_Row]:
    try:
        rights = load_rights(to_options(given))
    except UsageError as error:
        return [_Row("settings", "files", ok=False, detail=str(error))]
    problems = [_Row("settings", "problem", ok=False, detail=line, can_do_without=True) for line in rights.warnings()]
    try:
        refuse_what_must_hold(rights.settings)
    except UsageError as error:
        problems.append(_Row("settings", "sandbox", ok=False, detail=str(error)))
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
        *_web(rights.settings),
        *problems,
    ]


def _web(settings: Settings) -> list[_Row]:
    plan = search_plan(settings)
    found = plan.service or f"WebSearch is not offered: {plan.problem}"
    if plan.in_conversation:
        found += ", as a tool of the conversation where rules allow WebSearch"
    rows = [_Row("web", "search", plan.service is not None, found, can_do_without=True)]
    if plan.proxy is not None:
        told = f"{without_login(plan.proxy)}: it looks names up itself, so a checked address is not pinned"
        rows.append(_Row("web", "proxy", ok=True, detail=told))
    return rows


def _servers(given: dict[str, Any]) -> list[_Row]:
    """MCP servers; a session works without them."""
    from holdfast.cli.doctor_servers import server_rows  # noqa: PLC0415 - starts things

    try:
        found = server_rows(to_options(given))
    except HoldfastError as error:
        return [_Row("mcp", "servers", ok=False, detail=str(error), can_do_without=True)]
    return [_Row("mcp", one.name, one.ok, one.detail, can_do_without=True) for one in found]


def _sessions() -> list[_Row]:
    return [_Row("sessions", check.name, check.ok, check.detail) for check in check_sessions(user_store())]
