"""Path rules: the four anchors of a pattern, and an index that finds the matching one among thousands.

`//p` starts at the file-system root, `~/p` at home, `/p` at the root of the rule's source, `./p` and `p` at the
working directory; a `p` without a slash holds at any depth below it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from holdfast.lib.gitignore import Pattern, as_bytes_text, fold_case, strip_trailing_spaces

__all__ = ["Anchor", "AnchoredPaths", "PathIndex", "PathRule", "compile_path_rule", "relative_to"]

Anchor = Literal["root", "home", "source", "cwd"]
_MAX_PATTERN_CHARS: Final = 4_096
_SMALL: Final = 16
"""Below this many unindexed patterns, trying each is cheaper than looking up parts of the path."""
_T = TypeVar("_T")


class PathRule(NamedTuple):
    """A compiled path pattern and where it is anchored."""

    anchor: Anchor
    pattern: str
    """The gitignore pattern below the anchor; empty: the anchor itself and all it holds."""
    up: int = 0
    """How many directories above the anchor the pattern starts: leading `..` of deny and ask rules."""


@lru_cache(maxsize=65_536)
def _pattern(text: str) -> Pattern:
    return Pattern(text)


def compile_path_rule(content: str, *, widened: bool) -> PathRule | str:
    """Read the content of a Read or Edit rule; the answer is a text when it cannot be used.

    Args:
        content: The text between the brackets.
        widened: For deny and ask rules, where a doubtful pattern covers more: `d/**` holds at any depth, `$HOME`
            means home, `..` and repeated slashes are resolved.
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
    if text.startswith("~") and anchor != "home":
        return "only ~/ (your own home directory) is known; write the path of another home with //"
    up = 0
    if widened:
        rest, up = _widen(rest, anchor=anchor)
    if rest and _pattern(rest).never:
        return f"the pattern can never match a path: {_why_never(rest)}"
    return PathRule(anchor, rest, up)


def _anchored(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        rest = text.lstrip("/")
        return "root", f"/{rest}" if rest else ""
    if text == "~" or text.startswith("~/"):
        rest = text[1:].strip("/") and text[1:]
        return "home", rest
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


def _widen(pattern: str, *, anchor: Anchor) -> tuple[str, int]:
    """The pattern of a deny or ask rule with every doubtful part read in the wider way, and how far it climbs."""
    if "//" in pattern or "/./" in pattern or pattern.startswith("./") or ".." in pattern:
        head = "/" if pattern.startswith("/") else ""
        tail = "/" if pattern.endswith("/") else ""
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if ".." in parts:
            kept, up = _without_parents(parts)
            return (f"/{'/'.join(kept)}{tail}" if kept else ""), up
        pattern = head + "/".join(parts) + tail if parts else ""
    if anchor == "cwd" and pattern.endswith("/**") and "/" not in pattern.removesuffix("/**"):
        pattern = "**/" + pattern
    return pattern, 0


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
    if "//" in pattern:
        return "it contains an empty name ('//')"
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


class _Entry(NamedTuple, Generic[_T]):
    pattern: Pattern
    value: _T


class PathIndex(Generic[_T]):
    """Patterns below one anchor, each with a value; finds a matching one by the literal parts of the pattern."""

    __slots__ = ("_always", "_directory", "_floating", "_grams", "_name", "_whole")

    def __init__(self, entries: Iterable[tuple[str, _T]]) -> None:
        self._whole: _T | None = None
        self._name: dict[str, list[_Entry[_T]]] = {}
        self._directory: dict[str, list[_Entry[_T]]] = {}
        self._floating: dict[str, list[_Entry[_T]]] = {}
        self._always: list[_Entry[_T]] = []
        self._grams: dict[int, dict[str, list[_Entry[_T]]]] = {}
        others: list[tuple[_Entry[_T], tuple[str, ...]]] = []
        for text, value in entries:
            if not text:
                self._whole = value if self._whole is None else self._whole
                continue
            pattern = _pattern(text)
            entry = _Entry(pattern, value)
            shape = pattern.shape()
            if shape.name is not None:
                self._name.setdefault(shape.name, []).append(entry)
            elif shape.directory:
                self._directory.setdefault("/".join(shape.directory), []).append(entry)
            elif shape.floating_name is not None:
                self._floating.setdefault(shape.floating_name, []).append(entry)
            else:
                others.append((entry, shape.literals))
        self._index_others(others)

    def _index_others(self, others: Sequence[tuple[_Entry[_T], tuple[str, ...]]]) -> None:
        for entry, literals in others:
            longest = min(3, max(map(len, literals), default=0)) if len(others) > _SMALL else 0
            if longest == 0:
                self._always.append(entry)
                continue
            bucket = self._grams.setdefault(longest, {})
            grams = [run[i : i + longest] for run in literals for i in range(len(run) - longest + 1)]
            rarest = min(grams, key=lambda gram: len(bucket.get(gram, ())))
            bucket.setdefault(rarest, []).append(entry)

    def find(self, relative: str, *, is_dir: bool) -> _T | None:
        """The value of a pattern that names `relative` or a directory above it."""
        if self._whole is not None:
            return self._whole
        if not relative:
            return None
        text = as_bytes_text(relative)
        names = text.split("/")
        for entry in self._candidates(text, names):
            if entry.pattern.matches_names(names, is_dir=is_dir):
                return entry.value
        return None

    def _candidates(self, text: str, names: Sequence[str]) -> Iterable[_Entry[_T]]:
        if self._name or self._floating:
            for name in names:
                yield from self._name.get(name, ())
                yield from self._floating.get(name, ())
        if self._directory:
            end = 0
            while end >= 0:
                end = text.find("/", end + 1)
                yield from self._directory.get(text if end < 0 else text[:end], ())
        yield from self._always
        for size, bucket in self._grams.items():
            for gram in {text[i : i + size] for i in range(len(text) - size + 1)}:
                yield from bucket.get(gram, ())


class AnchoredPaths(Generic[_T]):
    """Path rules of one behaviour and tool, grouped by anchor: a directory, or how far above the working one."""

    __slots__ = ("_cwd", "_folded", "_grouped", "_roots")

    def __init__(
        self, roots: Mapping[str, Sequence[tuple[str, _T]]], cwd: Mapping[int, Sequence[tuple[str, _T]]]
    ) -> None:
        self._grouped = roots, cwd
        self._roots = {root: PathIndex(entries) for root, entries in roots.items()}
        self._cwd = {up: PathIndex(entries) for up, entries in cwd.items()}
        self._folded: AnchoredPaths[_T] | None = None

    def __bool__(self) -> bool:
        return bool(self._roots or self._cwd)

    def find(self, path: str, *, cwds: Sequence[str], is_dir: bool) -> _T | None:
        """The value of a rule that covers the absolute `path`, with relative patterns anchored at each of `cwds`."""
        for root, index in self._roots.items():
            found = _below(index, root, path, is_dir=is_dir)
            if found is not None:
                return found
        for up, index in self._cwd.items():
            for cwd in cwds:
                found = _below(index, climb(cwd, up), path, is_dir=is_dir)
                if found is not None:
                    return found
        return None

    def folded(self) -> "AnchoredPaths[_T]":
        """The same rules for a case-insensitive disk; pass folded paths."""
        if self._folded is None:
            roots, cwd = self._grouped
            merged: dict[str, list[tuple[str, _T]]] = {}
            for root, entries in roots.items():
                merged.setdefault(fold_case(root), []).extend(_fold(entries))
            self._folded = AnchoredPaths(merged, {up: _fold(entries) for up, entries in cwd.items()})
        return self._folded


def climb(directory: str, up: int) -> str:
    """The directory `up` levels above; the root is its own parent."""
    for _ in range(min(up, directory.count("/"))):
        directory = directory.rpartition("/")[0] or "/"
    return directory


def _below(index: PathIndex[_T], root: str, path: str, *, is_dir: bool) -> _T | None:
    relative = relative_to(root, path)
    return None if relative is None else index.find(relative, is_dir=is_dir)


def _fold(entries: Sequence[tuple[str, _T]]) -> list[tuple[str, _T]]:
    return [(fold_case(text).replace("[:upper:]", "[:alpha:]"), value) for text, value in entries]
