"""A plugin in a folder: what it is called, and what of it we can use. Nothing of it runs here."""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec

from holdfast.contract.errors import UsageError
from holdfast.lib.guarded_read import ReadRefusedError, read_guarded

__all__ = ["Plugin", "read_json", "read_plugin"]

_MANIFEST: Final = os.path.join(".claude-plugin", "plugin.json")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LIMIT_BYTES: Final = 1 << 20
_ABOUT: Final = frozenset(
    {"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "$schema"}
)
_FOLDERS: Final = {
    "output-styles": "output styles",
    "workflows": "workflows",
    "bin": "programs",
    ".lsp.json": "servers",
}


class Plugin(NamedTuple):
    """One plugin."""

    name: str
    root: str
    version: str = ""
    unused: tuple[str, ...] = ()
    """What it brings besides and this version does nothing with."""


def read_plugin(path: str) -> Plugin:
    """What is in a folder; the manifest is optional.

    Raises:
        UsageError: It is no folder, or its manifest is none.
    """
    root = os.path.realpath(path)
    if not os.path.isdir(root):
        raise UsageError(f"the plugin {path!r} is no folder; give the one that holds its skills, commands and agents")
    about = read_json(os.path.join(root, _MANIFEST)) or {}
    name = about.get("name", os.path.basename(root))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"the plugin {path!r} is called {name!r}; a name has letters, digits, - and _")
    unused = [f"{key!r} of its manifest" for key in about if key not in _ABOUT]
    unused += [what for entry, what in _FOLDERS.items() if os.path.lexists(os.path.join(root, entry))]
    version = about.get("version")
    return Plugin(name, root, version if isinstance(version, str) else "", tuple(unused))


def read_json(path: str) -> Mapping[str, Any] | None:
    """The object in a file of a plugin; None where there is no such file.

    Raises:
        UsageError: It cannot be read, or is no object.
    """
    try:
        data = read_guarded(path, limit_bytes=_LIMIT_BYTES)
        found: Any = None if data is None else msgspec.json.decode(data)
    except (OSError, ReadRefusedError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"the file {path!r} of a plugin cannot be read: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise UsageError(f"the file {path!r} of a plugin must hold a JSON object")
    return cast("Mapping[str, Any] | None", found)
