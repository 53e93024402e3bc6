"""Path rules: the four anchors of a pattern, and sample names of what patterns find.

`//p` starts at the file-system root, `~/p` at home, `/p` at the root of the rule's source, `./p` and `p` at the
working directory; a `p` without a slash holds at any depth below it.

A Glob or Grep names files by pattern. Rules are about files, so each pattern is turned into the directory it starts
from (is that inside?) and into names it would match (are those denied?). Denied files below a searched directory are
left out by the tool itself.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from holdfast.lib.gitignore import Pattern, strip_trailing_spaces

Anchor = Literal["root", "home", "source", "cwd"]
_MAX_PATTERN_CHARS: Final = 4_096
_SLASHES: Final = re.compile("/{2,}")


class PathRule(NamedTuple):
    """A compiled path pattern and where it is anchored."""

    anchor: Anchor
    pattern: str
    """The gitignore pattern below the anchor; empty: the anchor itself and all it holds."""
    up: int = 0
    """How many directories above the anchor the pattern starts: leading `..` of deny and ask rules."""


@lru_cache(maxsize=65_536)
def pattern_of(text: str) -> Pattern:
    """The compiled pattern; each text is compiled once."""
    return Pattern(text)


def compile_path_rule(content: str, *, widened: bool) -> PathRule | str:
    """Read the content of a Read or Edit rule; the answer is a text when it cannot be used.

    Args:
        content: The text between the brackets.
        widened: For deny and ask rules, where a doubtful pattern covers more: `d/**` holds at any depth, `$HOME`
            means home, `..` is resolved.
    """
    if len(content) > _MAX_PATTERN_CHARS:
        return f"the pattern has {len(content)} characters, more than any path; shorten it"
    if "\0" in content:
        return "the pattern contains a NUL character, which no path has"
    text = strip_trailing_spaces(content)
    if text.startswith("!"):
        return "a rule cannot be negated; write an allow or a deny rule for the exception (or \\! for a literal '!')"
    if widened:
        text = _home_variable(text)
    elif text.startswith(("$HOME", "${HOME}")):
        return "variables are not expanded in allow rules; write ~/ for your home directory"
    anchor, rest = _anchored(text)
    rest = _SLASHES.sub("/", rest)
    if text.startswith("~") and anchor != "home":
        return "only ~/ (your own home directory) is known; write the path of another home with //"
    up = 0
    if widened:
        rest, up = _widen(rest)
    elif dots := _dots_in(rest):
        return (
            f"the pattern can never match a path: it contains {dots!r} as a name, and paths are compared without such "
            "names; write the path that is meant, from // or ~/ where it is not below the working directory"
        )
    if rest and pattern_of(rest).never:
        return f"the pattern can never match a path: {_why_never(rest)}"
    return PathRule(anchor, rest, up)


def _anchored(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        rest = text.lstrip("/")
        return "root", f"/{rest}" if rest else ""
    if text == "~" or text.startswith("~/"):
        rest = text[1:]
        return "home", rest if rest.strip("/") else ""
    if text.startswith("/"):
        return "source", text if text != "/" else ""
    if text in (".", "./"):
        return "cwd", ""
    if text.startswith("./"):
        return "cwd", "/" + text[2:].lstrip("/")
    return "cwd", text


def _home_variable(text: str) -> str:
    for variable in ("$HOME", "${HOME}"):
        if text == variable or text.startswith(variable + "/"):
            return "~" + text[len(variable) :]
    return text


def _widen(pattern: str) -> tuple[str, int]:
    """The pattern of a deny or ask rule with every doubtful part read in the wider way, and how far it climbs."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    tail = "/" if pattern.endswith("/") else ""
    if ".." in parts:
        kept, up = _without_parents(parts)
        return (f"/{'/'.join(kept)}{tail}" if kept else ""), up
    if not parts:
        return "", 0
    head = "/" if pattern.startswith("/") else ""
    pattern = head + "/".join(parts) + tail
    name, _, below = pattern.partition("/")
    if name and below == "**":
        pattern = "**/" + pattern
    return pattern, 0


def _dots_in(pattern: str) -> str | None:
    """The first `.` or `..` among the names of a pattern.

    An allow rule with one is not resolved: `a/../b` is `b` only while `a` is no link, and a grant must not guess.
    """
    return next((part for part in pattern.split("/") if part.replace("\\", "") in (".", "..")), None)


def _without_parents(parts: Sequence[str]) -> tuple[list[str], int]:
    """`a/../b` is `b`; what is left of `..` climbs above the anchor."""
    kept: list[str] = []
    up = 0
    for part in parts:
        if part != "..":
            kept.append(part)
        elif not kept:
            up += 1
        elif kept[-1] != "**":
            kept.pop()
    return kept, up


def _why_never(pattern: str) -> str:
    if pattern.endswith("\\"):
        return "it ends in a single backslash"
    return "a bracket expression is not closed or not known"


def relative_to(root: str, path: str) -> str | None:
    """The part of `path` below `root`, by whole components; empty for the root itself, none when outside."""
    if path == root:
        return ""
    if root == "/":
        return path[1:]
    if path.startswith(root) and path[len(root)] == "/":
        return path[len(root) + 1 :]
    return None


def climb(directory: str, up: int) -> str:
    """The directory `up` levels above; the root is its own parent."""
    for _ in range(min(up, directory.count("/"))):
        directory = directory.rpartition("/")[0] or "/"
    return directory


_MAX_ALTERNATIVES: Final = 32
_SAMPLE: Final = "x"
_WILD: Final = frozenset("*?[{")


class SearchScope(NamedTuple):
    """Paths relative to the searched directory, or absolute."""

    bases: tuple[str, ...] = ()
    """Directories in which the search starts."""
    samples: tuple[str, ...] = ()
    """Names the search would open, with each wildcard replaced by a sample."""


NO_SCOPE: Final = SearchScope()


def search_scope(tool: str, arguments: Mapping[str, Any]) -> SearchScope:
    """The scope of one Glob or Grep call; none for other tools."""
    if tool == "Glob":
        patterns = (arguments.get("pattern"),)
    elif tool == "Grep":
        patterns = (arguments.get("glob"),)
    else:
        return NO_SCOPE
    bases: dict[str, None] = {}
    samples: dict[str, None] = {_SAMPLE: None}  # a file directly in the searched directory
    for pattern in patterns:
        for plain in plain_patterns(pattern):
            base = _climbing(plain) if ".." in plain.split("/") else _literal_directory(plain)
            if base:
                bases[base] = None
            samples.update(dict.fromkeys(_samples_of(plain)))
    return SearchScope(tuple(bases), tuple(samples))


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


def _samples_of(pattern: str) -> list[str]:
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
    return _samples_of(pattern.strip("/"))[-1]


def sample_names(pattern: str) -> list[str]:
    """Names for the components of a gitignore pattern, each wildcard once as nothing and once as a sample."""
    parts = [part for part in pattern.split("/") if part.strip("*")]
    return [_sample(part, star) for part in parts for star in ("", _SAMPLE)]
