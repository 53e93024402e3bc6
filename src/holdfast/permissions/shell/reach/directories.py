"""What a shell command reaches that it does not name: files below a directory, and files and links behind a pattern.

`grep -r x .` prints every file below the directory, so a Read rule about one of them is meant although its name
stands nowhere in the command. With a disk at hand a bounded look says whether there is such a file at all.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import LiveDisk, and_above, is_inside
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.rules.path_patterns import climb, compile_path_rule
from holdfast.permissions.shell.reach.searches import Reach
from holdfast.permissions.shell.words.patterns import WILD, patterns_meet

_IGNORE_FILES: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_MAX_BYTES: Final = 1_000_000
_UNCLEAR: Final = frozenset("[\\")


def is_asked_for(path: str, home: str) -> bool:
    """Whether a line of the ignore files around a hidden file, or of the user's own, brings it back."""
    hidden = [name for name in path.split("/") if name.startswith(".")]
    return any(_may_match(line, name) for line in _lines(path, home) for name in hidden)


def _may_match(line: str, name: str) -> bool:
    if not _UNCLEAR.isdisjoint(line):
        return True
    return fnmatchcase(name, line.rstrip().rstrip("/").rpartition("/")[2])


def _lines(path: str, home: str) -> Iterator[str]:
    """What stands behind `!`; a file too large to be read counts as asking for everything."""
    files = [f"{home}/.config/git/ignore", f"{home}/.gitignore_global"]
    files += [os.path.join(here, name) for here in and_above(os.path.dirname(path)) for name in _IGNORE_FILES]
    for name in filter(os.path.isfile, files):  # a pipe would never end
        try:
            with open(name, "rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError:
            continue
        if len(data) > _MAX_BYTES:
            yield "*"
        lines = os.fsdecode(data).removeprefix("\ufeff").splitlines()
        yield from (line[1:] for line in lines if line.startswith("!"))


MAX_COMPARED: Final = 10_000
"""So many entries of directories are compared with the patterns of one command."""
MAX_MATCHED: Final = 1_000
"""So many files behind the patterns of one command are held against rules."""


class Globber:
    """Compares the patterns of one command with what is on the disk, within bounds for all of them together."""

    __slots__ = ("_found", "_left", "exhausted")

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}
        self._left = MAX_COMPARED
        self.exhausted = False
        """There was too much to look through: what was found is not all."""

    def files(self, pattern: str, directory: str) -> list[str]:
        """The files behind a pattern, links and directories too."""
        key = (pattern, directory)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._walk(pattern, directory)
            self.exhausted = self.exhausted or sum(map(len, self._found.values())) > MAX_MATCHED
        return found[:MAX_MATCHED]

    def _walk(self, pattern: str, directory: str) -> list[str]:
        places = ["" if pattern.startswith("/") else directory.rstrip("/")]
        sure = True
        for segment in pattern.split("/"):
            if not segment:
                continue
            if not WILD.isdisjoint(segment):
                places, sure = [f"{place}/{name}" for place in places for name in self._names(place, segment)], False
            else:
                places = [f"{place}/{segment}" for place in places]
                places = places if sure else [place for place in places if os.path.lexists(place)]
        return places

    def _names(self, place: str, segment: str) -> "Iterator[str]":
        hidden = segment.startswith(".")
        if hidden:  # older shells match these too
            yield from (name for name in (".", "..") if fnmatchcase(name, segment))
        for entry in _entries(place or "/"):
            self._left -= 1
            if self._left < 0:
                self.exhausted = True
                return
            if (hidden or entry.name[0] != ".") and fnmatchcase(entry.name, segment):
                yield entry.name


MAX_ENTRIES: Final = 2_000
"""So many files are looked at below a directory; beyond that the command is asked about."""
MAX_FOLLOWED: Final = 20_000
"""So many files are looked at for links that lead elsewhere."""
MAX_LISTED: Final = 1_000
"""So many names are compared with a pattern."""
_CONTEXTS_KEPT: Final = 8
_SYSTEM: Final = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/opt", "/nix")
"""Links to programs and libraries that everybody may read, such as the interpreter of a virtual environment."""


class Held(NamedTuple):
    """A Read rule that asks or denies: the directory in which it starts, and how its last name looks."""

    rule: "Rule"
    start: str
    exact: bool
    """The start is the very file."""
    last: str


def rule_below(
    reach: Reach, places: Iterable[str], context: "PermissionContext", cwd: str
) -> "tuple[Rule, bool] | None":
    """A Read rule for some file below these resolved directories, and whether such a file was seen."""
    live = isinstance(context.disk, LiveDisk)
    for place in dict.fromkeys(places):
        held = [
            one for one in held_rules(context, cwd) if is_inside(one.start, (place,)) or is_inside(place, (one.start,))
        ]
        if not held:
            continue
        if not live:
            found = None if reach.seen_only else next((one for one in held if _may_meet(one, reach, place)), None)
            if found is not None:
                return found.rule, False
            continue
        answer = _seen(held, reach, place, context, cwd)
        if answer is not None:
            return answer
    return None


@lru_cache(maxsize=_CONTEXTS_KEPT)
def held_rules(context: "PermissionContext", cwd: str, tool: str = "Read") -> tuple[Held, ...]:
    """The rules of a context; contexts never change, so that they are read once."""
    return tuple(_path_rules(context, cwd, tool))


def rule_inside(places: Iterable[str], context: "PermissionContext", cwd: str) -> "Rule | None":
    """An Edit rule that starts in one of these resolved directories; rules about any depth start at the top."""
    for place in places:
        for held in held_rules(context, cwd, "Edit"):
            if is_inside(held.start, (place,)):
                return held.rule
    return None


def _path_rules(context: "PermissionContext", cwd: str, tool: str) -> Iterator[Held]:
    for rule in context.rules_for(tool):
        compiled = None if rule.behavior == "allow" else compile_path_rule(rule.content or "", widened=True)
        if compiled is None or isinstance(compiled, str):
            continue
        anchor, pattern, up = compiled
        if anchor == "cwd":
            bases = tuple(climb(base, up) for base in (*context.forms_of(cwd), *context.start_directories))
        elif anchor == "source":
            root = rule.source.root or context.project_root
            bases = tuple(climb(base, up) for base in context.forms_of(root)) if root else ()
        else:
            bases = ("/",) if anchor == "root" else context.forms_of(context.home)
        for base in dict.fromkeys(bases):
            yield _placed(rule, base, pattern)


def _placed(rule: "Rule", base: str, pattern: str) -> Held:
    parts = [part for part in pattern.split("/") if part]
    last = parts[-1] if parts else "*"
    if "/" not in pattern.rstrip("/"):
        return Held(rule, base, exact=False, last=last)
    literal: list[str] = []
    for part in parts:
        if not WILD.isdisjoint(part) or "\\" in part:
            break
        literal.append(part)
    start = "/".join([base.rstrip("/"), *literal]) or "/"
    return Held(rule, start, exact=len(literal) == len(parts), last=last)


def _may_meet(held: Held, reach: Reach, place: str) -> bool:
    """Whether a file that the rule is about can be one that the command opens, judged by patterns alone."""
    if not reach.hidden and is_inside(held.start, (place,)):
        below = held.start[len(place) :].split("/")
        if any(name.startswith(".") for name in below) or held.last.startswith("."):
            return False
    if not reach.includes or "." not in held.last:
        return True
    return any(patterns_meet(held.last, include) for include in reach.includes)


def _seen(
    held: Sequence[Held], reach: Reach, place: str, context: "PermissionContext", cwd: str
) -> "tuple[Rule, bool] | None":
    """Look for a file that one of the rules is about; too many files are as good as one."""
    walked: dict[str, Held] = {}
    for one in held:
        if one.exact and is_inside(one.start, (place,)):
            known = os.path.lexists(one.start) and _is_open(one.start, reach, place, context)
            if known and (os.path.isdir(one.start) or _has_wanted_name(one.start, reach)):
                return one.rule, True
        else:
            walked.setdefault(one.start if is_inside(one.start, (place,)) else place, one)
    left = MAX_ENTRIES
    cwds = tuple(dict.fromkeys((*context.forms_of(cwd), *context.start_directories)))
    for start, one in walked.items():
        for path in _files(start):
            left -= 1
            if left < 0:
                return one.rule, False
            if not _has_wanted_name(path, reach) or (not reach.hidden and "/.git/" in path):
                continue
            for rule in context.book.paths.find(path, cwds=cwds, grant_cwds=(), is_dir=False):
                if rule.behavior != "allow" and rule.tool == "Read" and _is_open(path, reach, place, context):
                    return rule, True
    return None


def _has_wanted_name(path: str, reach: Reach) -> bool:
    name = path.rpartition("/")[2]
    return not reach.includes or any(fnmatchcase(name, include) for include in reach.includes)


def _is_open(path: str, reach: Reach, place: str, context: "PermissionContext") -> bool:
    """Whether a search that passes over hidden files opens this one all the same."""
    return reach.hidden or "/." not in path[len(place.rstrip("/")) :] or is_asked_for(path, context.home)


def _files(directory: str) -> Iterator[str]:
    """Every file below, links not followed; directories count too, so that the bound holds for them."""
    pending = [directory]
    while pending:
        for entry in _entries(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            yield entry.path


def links_behind(pattern: str, directory: str) -> list[str] | None:
    """The links among what a pattern matches, or None when there is too much to look through."""
    places, found, left = ["/" if pattern.startswith("/") else directory], list[str](), MAX_LISTED
    segments = [segment for segment in pattern.split("/") if segment]
    for number, segment in enumerate(segments):
        if WILD.isdisjoint(segment):
            places = [f"{place.rstrip('/')}/{segment}" for place in places]
            continue
        names = segment.replace("[^", "[!")
        reached: list[str] = []
        for place in places:
            for entry in _entries(place):
                left -= 1
                if left < 0:
                    return None
                if not fnmatchcase(entry.name, names) or (entry.name[0] == "." and segment[0] != "."):
                    continue
                if entry.is_symlink():
                    found.append("/".join([entry.path, *segments[number + 1 :]]))
                elif number + 1 < len(segments):
                    reached.append(entry.path)
        places = reached
    return found


def links_out_of(directory: str, passed_over: Sequence[str] = ()) -> list[str] | None:
    """The links below a resolved directory that lead out of it; None when there is too much to look through."""
    found, pending, left = list[str](), [directory], MAX_FOLLOWED
    while pending:
        for entry in _entries(pending.pop()):
            left -= 1
            if left < 0:
                return None
            if entry.is_symlink():
                if not is_inside(os.path.realpath(entry.path), (directory, *_SYSTEM)):
                    found.append(entry.path)
            elif entry.is_dir(follow_symlinks=False) and entry.name not in passed_over:
                pending.append(entry.path)
    return found


def _entries(directory: str) -> "Iterator[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return
