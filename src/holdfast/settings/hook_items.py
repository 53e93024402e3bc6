"""What a hook really is: its configuration and the scripts of the folder that it runs.

A hook `./scripts/check.sh` is approved once, but the script can be changed later, by a pull or by the agent itself,
which may edit files. So the identity of a hook covers the content of every file of the folder that its command names.
It is computed again before the hook runs; another identity means: ask again. Programs outside are the user's.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from holdfast.lib.guarded_read import read_guarded
from holdfast.settings.merge import canonical

_MAX_SCRIPT_BYTES = 4_000_000
_MAX_WORDS = 256
_WORD = re.compile(r"[^\s;|&()<>`=]+")
_ROOT_VARIABLE = re.compile(r"^\$\{?(?:CLAUDE|HOLDFAST)_PROJECT_DIR\}?/?")


def item_hash(kind: str, *content: object) -> str:
    """Return the identity of an item: its kind and its whole content."""
    return hashlib.sha256(canonical([kind, *content])).hexdigest()


def hook_hash(event: str, matcher: str | None, handler: Mapping[str, object], *, root: str) -> str:
    """Return the identity of a folder's hook now, with the scripts as they are on disk now."""
    return item_hash("hook", event, matcher, _thawed(handler), dict(_scripts(handler, root)))


def _thawed(value: object) -> object:
    """Turn immutable JSON into plain JSON, so that both spell the same."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: _thawed(inner) for key, inner in entries.items()}
    if isinstance(value, list | tuple):
        return [_thawed(inner) for inner in cast("Sequence[object]", value)]
    return value


def _scripts(handler: Mapping[str, object], root: str) -> Iterator[tuple[str, str]]:
    """Yield the files below the root that a command handler names, each with a digest of its content."""
    parts: list[object] = [handler.get("command")]
    arguments = handler.get("args")
    if isinstance(arguments, list | tuple):
        parts += cast("Sequence[object]", arguments)
    words = [word for part in parts if isinstance(part, str) for word in _words(part)]
    for word in dict.fromkeys(words[:_MAX_WORDS]):
        relative = _below(word, root)
        if relative is not None and (digest := _digest(os.path.join(root, relative))) is not None:
            yield relative, digest


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace('"', "").replace("'", ""))


def _below(word: str, root: str) -> str | None:
    """Return the path below the root that a word of a command means, if it can be one."""
    path = os.path.normpath(os.path.join(root, _ROOT_VARIABLE.sub("", word)))
    if "\0" in path or not path.startswith(root.rstrip(os.sep) + os.sep):
        return None
    return os.path.relpath(path, root)


def _digest(path: str) -> str | None:
    try:
        data = read_guarded(path, limit_bytes=_MAX_SCRIPT_BYTES)
    except OSError as error:
        # Also a file that cannot be read is a fact about the hook; a directory is not a script.
        return None if os.path.isdir(path) else f"unreadable: {error.strerror}"
    return None if data is None else hashlib.sha256(data).hexdigest()
