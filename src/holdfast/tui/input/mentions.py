"""`@path` and `@server:uri` in a prompt: what they name goes with it, read through the same rules as any other call."""

import os
import re
from collections.abc import Container
from typing import NamedTuple

__all__ = ["Mention", "find_mentions"]

_AT = re.compile(r'(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"]+))')
_LINES = re.compile(r"#L(\d{1,7})(?:-L?(\d{1,7}))?$")
_PUNCTUATION = ".,;:!?)]}'"
_MOST = 20


class Mention(NamedTuple):
    """One thing that goes with a prompt."""

    name: str
    """As it was written."""
    tool: str
    """Which tool reads it."""
    arguments: dict[str, str | int]


def find_mentions(text: str, cwd: str, servers: Container[str] = ()) -> list[Mention]:
    """What of a prompt names something that is there, each once; whatever else begins with `@` is only words."""
    found: dict[str, Mention] = {}
    for quoted, bare in _AT.findall(text):
        for name in (quoted,) if quoted else (bare, bare.rstrip(_PUNCTUATION)):
            mention = _resource(name, servers) or _file(name, cwd)
            if mention is not None:
                found.setdefault(name, mention)
                break
        if len(found) >= _MOST:
            break
    return list(found.values())


def _resource(name: str, servers: Container[str]) -> Mention | None:
    server, colon, uri = name.partition(":")
    if not colon or not uri or server not in servers:
        return None
    return Mention(name, "ReadMcpResourceTool", {"server": server, "uri": uri})


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
