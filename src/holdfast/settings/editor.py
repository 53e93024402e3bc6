"""The editor in whose terminal we were started: a variable has its port, a file of the user's the rest."""

import json
import os
import re
import stat
from collections.abc import Mapping
from typing import Any, Final, cast

from holdfast.settings.sources import SettingsRoots

__all__ = ["EDITOR_SERVER", "PORT", "editor_server"]

EDITOR_SERVER: Final = "ide"
"""What the editor is called among the servers: its tools are `mcp__ide__…`."""
PORT: Final = "CLAUDE_CODE_SSE_PORT"
_SWITCH: Final = "CLAUDE_CODE_AUTO_CONNECT_IDE"
_TOKEN: Final = re.compile(r"[!-~]{8,512}")
_MOST_BYTES: Final = 64 << 10


def editor_server(roots: SettingsRoots, cwd: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """How the editor is reached; None where there is none, or where it works on something else."""
    port = environ.get(PORT, "")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        return None
    if environ.get(_SWITCH, "").lower() in ("0", "false", "no", "off"):
        return None
    about = _read(os.path.join(roots.user_existing, "ide", f"{int(port)}.lock"))
    token: Any = about.get("authToken")
    if about.get("transport") != "ws" or not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    folders: Any = about.get("workspaceFolders")
    listed = cast("list[Any]", folders) if isinstance(folders, list) else []
    if not any(isinstance(one, str) and "\0" not in one and _is_in(cwd, one) for one in listed):
        return None
    return {"type": "ws-ide", "port": int(port), "token": token}


def _read(path: str) -> dict[str, Any]:
    """What stands in the file: one that others may write is none of the user's."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
            return {}
        try:
            found: Any = json.loads(file.read(_MOST_BYTES))
        except (ValueError, RecursionError):
            return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_in(cwd: str, folder: str) -> bool:
    place, inside = os.path.realpath(folder), os.path.realpath(cwd)
    return inside == place or inside.startswith(place.rstrip(os.sep) + os.sep)
