"""Keep an MCP server in a file, or take it out: atomically, and never over a file that is broken."""

import os
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from holdfast.lib.atomic import ABSENT, WriteFailedError, write_atomic
from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.positions import JsonTextError, decode, parse
from holdfast.lib.stamp import Stamp
from holdfast.settings.errors import SettingsError

__all__ = ["keep_server", "remove_server"]

_MAX_BYTES = 10_000_000


def keep_server(path: str, name: str, config: Mapping[str, Any], *, project: str | None, mode: int) -> bool:
    """Write a server; returns whether one of that name stood there before.

    Args:
        path: The file; made when it is not there.
        name: The server's name.
        config: Its whole configuration.
        project: The folder that it is for, in a file for several; None: for all.
        mode: Of a new file.

    Raises:
        SettingsError: The file is broken, or cannot be written.
    """
    document, stamp = _load(path)
    servers = _place(document, project)
    was_there = name in servers
    servers[name] = dict(config)
    _write(path, document, stamp, mode)
    return was_there


def remove_server(path: str, name: str, *, project: str | None) -> bool:
    """Take a server out; false when it is not there.

    Raises:
        SettingsError: The file is broken, or cannot be written.
    """
    document, stamp = _load(path)
    servers = _place(document, project)
    if servers.pop(name, None) is None:
        return False
    _write(path, document, stamp, 0o600)
    return True


def _load(path: str) -> tuple[dict[str, Any], Stamp | None]:
    try:
        data = read_guarded(path, limit_bytes=_MAX_BYTES)
        if data is None:
            return {}, None
        import hashlib  # noqa: PLC0415 - only to write

        stamp = Stamp.of(os.stat(path), sha256=hashlib.sha256(data).hexdigest())
        document = parse(decode(data)).plain() if data.strip() else {}
    except (OSError, JsonTextError) as error:
        raise SettingsError(f"nothing was changed: {error}", path=path, advice="Correct the file first.") from error
    if not isinstance(document, dict):
        raise SettingsError("nothing was changed: it holds no object", path=path, advice="Correct the file first.")
    return cast("dict[str, Any]", document), stamp


def _place(document: dict[str, Any], project: str | None) -> dict[str, Any]:
    place = document
    if project is not None:
        projects = document.setdefault("projects", {})
        place = projects.setdefault(project, {}) if isinstance(projects, dict) else {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    elif "mcpServers" not in document and any(
        isinstance(v, dict) and {"command", "url"} & v.keys() for v in document.values()
    ):
        return document  # a bare map of servers
    found: Any = place.setdefault("mcpServers", {})  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(found, dict):
        raise SettingsError("nothing was changed: its mcpServers is not an object", advice="Correct the file first.")
    return cast("dict[str, Any]", found)


def _write(path: str, document: dict[str, Any], stamp: Stamp | None, mode: int) -> None:
    data = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_atomic(os.path.realpath(path), data, mode=mode, expect=ABSENT if stamp is None else stamp)
    except (OSError, WriteFailedError) as error:
        raise SettingsError(f"the server was not saved: {error}", path=path) from error
