"""`@path` in a prompt: the file that it names goes with it, read through the same rules as any other call.

What servers hold (`@server:uri`) is read with the prompt, on every face.
"""

import os
import re
from typing import NamedTuple

from holdfast.lib.mentions import names_behind_at

__all__ = ["Mention", "find_mentions"]

_LINES = re.compile(r"#L(\d{1,7})(?:-L?(\d{1,7}))?$")
_MOST = 20


class Mention(NamedTuple):
    """One thing that goes with a prompt."""

    name: str
    """As it was written."""
    tool: str
    """Which tool reads it."""
    arguments: dict[str, str | int]


def find_mentions(text: str, cwd: str) -> list[Mention]:
    """What of a prompt names a file that is there, each once; whatever else begins with `@` is only words."""
    found: dict[str, Mention] = {}
    for spellings in names_behind_at(text):
        for name in spellings:
            mention = _file(name, cwd)
            if mention is not None:
                found.setdefault(name, mention)
                break
        if len(found) >= _MOST:
            break
    return list(found.values())


def _file(name: str, cwd: str) -> Mention | None:
    lines = _LINES.search(name)
    path = os.path.join(cwd, os.path.expanduser(name[: lines.start()] if lines else name))
    try:
        if os.path.isdir(path):
            return Mention(name, "Glob", {"pattern": "*", "path": path})
        if not os.path.isfile(path):
            return None
    except ValueError:  # a name that no file can have
        return None
    arguments: dict[str, str | int] = {"file_path": path}
    if lines:
        first = max(1, int(lines[1]))
        arguments |= {"offset": first, "limit": max(1, int(lines[2] or first) - first + 1)}
    return Mention(name, "Read", arguments)
