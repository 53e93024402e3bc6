"""What a search would open: the directories its patterns start in, and sample names of what they find.

A Glob or Grep names files by pattern. Rules are about files, so each pattern is turned into the directory it starts
from (is that inside?) and into names it would match (are those denied?). Denied files below a searched directory are
left out by the tool itself.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["NO_ROADS", "Roads", "alternatives", "plain_patterns", "sample_names", "sample_path", "search_roads"]

_MAX_ALTERNATIVES: Final = 32
_SAMPLE: Final = "x"
_WILD: Final = frozenset("*?[{")


class Roads(NamedTuple):
    """Paths relative to the searched directory, or absolute."""

    bases: tuple[str, ...] = ()
    """Directories in which the search starts."""
    witnesses: tuple[str, ...] = ()
    """Names the search would open, with each wildcard replaced by a sample."""


NO_ROADS: Final = Roads()


def search_roads(tool: str, arguments: Mapping[str, Any]) -> Roads:
    """The roads of one Glob or Grep call; none for other tools."""
    if tool == "Glob":
        patterns = (arguments.get("pattern"),)
    elif tool == "Grep":
        patterns = (arguments.get("glob"),)
    else:
        return NO_ROADS
    bases: dict[str, None] = {}
    witnesses: dict[str, None] = {_SAMPLE: None}  # a file directly in the searched directory
    for pattern in patterns:
        for plain in plain_patterns(pattern):
            base = _climbing(plain) if ".." in plain.split("/") else _literal_directory(plain)
            if base:
                bases[base] = None
            witnesses.update(dict.fromkeys(_witnesses(plain)))
    return Roads(tuple(bases), tuple(witnesses))


def plain_patterns(pattern: object) -> list[str]:
    """Every pattern in the text, without braces; Grep takes several, separated by white space."""
    if not isinstance(pattern, str):
        return []
    texts = dict.fromkeys((pattern, *pattern.split()))
    return [plain for text in texts if text and not text.startswith("!") for plain in alternatives(text)]


def alternatives(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; beyond the bound the braces stay, which only loses samples."""
    done: list[str] = []
    pending = [pattern]
    while pending and len(done) + len(pending) <= _MAX_ALTERNATIVES:
        text = pending.pop()
        start = text.find("{")
        end = text.find("}", start)
        if start < 0 or end < 0 or "{" in text[start + 1 : end]:
            done.append(text)
            continue
        pending.extend(text[:start] + part + text[end + 1 :] for part in text[start + 1 : end].split(","))
    return [*done, *pending]


def _climbing(pattern: str) -> str:
    """Where a pattern with `..` ends up: a wildcard in front of it is one directory, whatever its name."""
    return "/".join(_sample(part, _SAMPLE) if part else "" for part in pattern.split("/")[:-1])


def _literal_directory(pattern: str) -> str:
    """The directory part in front of the first wildcard; empty when the pattern starts where it is run."""
    parts = pattern.split("/")
    literal: list[str] = []
    for part in parts[:-1]:
        if not _WILD.isdisjoint(part):
            break
        literal.append(part)
    directory = "/".join(literal)
    return directory or ("/" if pattern.startswith("/") else "")


def _witnesses(pattern: str) -> list[str]:
    """Names the pattern matches: wildcards as nothing and as a sample, `**` as nothing and as one directory."""
    lead = "/" if pattern.startswith("/") else ""
    parts = [part for part in pattern.split("/") if part]
    short = [part for part in parts[:-1] if part != "**"] + [part if part != "**" else "*" for part in parts[-1:]]
    found = [
        lead + "/".join([_sample(part, star) for part in candidate])
        for candidate in (short, parts)
        for star in ("", _SAMPLE)
    ]
    return list(dict.fromkeys(found))


def _sample(part: str, star: str) -> str:
    text: list[str] = []
    position = 0
    while position < len(part):
        char = part[position]
        if char == "[":
            end = part.find("]", position + 2)
            inside = part[position + 1 : end] if end > 0 else ""
            text.append(inside[0] if inside and inside[0] not in "!^" else _SAMPLE)
            position = end + 1 if end > 0 else len(part)
            continue
        if char == "\\" and position + 1 < len(part):
            position += 1
            text.append(part[position])
        elif char == "?":
            text.append(_SAMPLE)
        else:
            text.append(star if char == "*" else char)
        position += 1
    return "".join(text) or _SAMPLE


def sample_path(pattern: str) -> str:
    """One relative path that a gitignore pattern matches, for reasoning about patterns by example."""
    return _witnesses(pattern.strip("/"))[-1]


def sample_names(pattern: str) -> list[str]:
    """Names for the components of a gitignore pattern, each wildcard once as nothing and once as a sample."""
    parts = [part for part in pattern.split("/") if part.strip("*")]
    return [_sample(part, star) for part in parts for star in ("", _SAMPLE)]
