"""Places that matter when something is removed, such as the root, homes and `.git`, and where a removal may run."""

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import SHELL_CWD, Part
from holdfast.permissions.shell.words.patterns import covers, fits, is_wild, takes_all
from holdfast.permissions.shell.words.values import MOVED, Values
from holdfast.permissions.shell.words.word import names

SYSTEM: Final = names(
    "bin boot dev etc home lib lib32 lib64 media mnt opt proc root sbin srv sys usr var Users Library System"
    " Applications Volumes"
)
"""What lies at the top of file systems; a place that is only guessed counts there only with one of these names."""
PLAIN_SYSTEM: Final = SYSTEM - names("bin lib media opt srv var")
"""Those that hardly any project has in its own directory."""
EVEN_IN_PART: Final = frozenset({"the whole file system", "a home directory"})
"""What matters even when only some of it is removed."""
_ITSELF: Final = "itself"
_ABOVE: Final = "above"
_HISTORY: Final = ".git"
_HOMES: Final = ("home", "users")
_ALL_LITERAL: Final = names("* .* ** {*,.*} {.*,*} .[!.]* ..?*")


class _Step(NamedTuple):
    """One component of a path; `wild` when its wildcards are still to be matched."""

    name: str
    wild: bool


class Places:
    """Judges paths, also those with wildcards."""

    __slots__ = ("_cwd", "_dotted", "_here", "_home", "_homes")

    def __init__(self, cwd: str | None, home: str, *, dotted: bool) -> None:
        self._cwd, self._home, self._dotted = cwd, home, dotted
        self._here = _parts(cwd) if cwd is not None else None
        self._homes = _parts(home)

    def judge(self, text: str, base: str | None, *, wild: bool) -> str | None:
        """Say what matters about removing a path, or None."""
        folder, _, last = text.rstrip("/").rpartition("/")
        whole = takes_all(last) if wild else last in _ALL_LITERAL
        while whole and wild and folder.rpartition("/")[2] == "**":
            folder = folder.rpartition("/")[0]  # no directory is one of the many that it stands for
            folder = folder or ("/" if text.startswith("/") else ".")
        target = (folder or ("/" if text.startswith("/") else ".")) if whole else text
        if base is None and not target.startswith("/"):
            return self._somewhere(target, whole=whole, wild=wild)
        steps = _steps(target, base or "/", wild=wild)
        if len(steps) > 2 and self._fits(steps[0], "proc"):
            steps = self._behind(steps, target, base, whole=whole)
        return self._place(steps, whole=whole)

    def _behind(self, steps: list[_Step], target: str, base: str | None, *, whole: bool) -> list[_Step]:
        """Follow `/proc/self/cwd/…` and `/proc/1/root/…`; the links themselves nobody can remove."""
        inside = whole or len(steps) > 3 or target.endswith(("/", "/."))
        if inside and self._fits(steps[2], "root"):
            return steps[3:]
        if inside and self._fits(steps[2], "cwd"):
            return [*(_Step(part, wild=False) for part in _parts(base or self._cwd or "/")), *steps[3:]]
        return steps

    def _somewhere(self, target: str, *, whole: bool, wild: bool) -> str | None:
        """Judge a path below a directory that is not known."""
        plain = posixpath.normpath(target)
        last = plain.rpartition("/")[2]
        if self._fits(_Step(last, wild and is_wild(last)), _HISTORY):
            return "the repository's history"
        if whole or plain.startswith(".."):
            return "everything in a directory that is not known"
        return "the directory it runs in" if plain == "." else None

    def _place(self, steps: list[_Step], *, whole: bool) -> str | None:
        if not steps:
            return "the whole file system"
        home = self._along(steps, self._homes)
        if home == _ITSELF or _is_home(steps):
            return "a home directory"
        if len(steps) == 1 and (not whole or steps[0] != ("tmp", False)):
            return "a directory at the top of the file system"
        here = None if self._here is None else self._along(steps, self._here)
        if here == _ITSELF:
            return "everything in the working directory" if whole else "the working directory"
        if here == _ABOVE:
            return "a parent of the working directory"
        if home == _ABOVE:
            return "a parent of the home directory"
        return "the repository's history" if self._fits(steps[-1], _HISTORY) else None

    def _along(self, steps: list[_Step], place: list[str]) -> str | None:
        """Whether a path may be this place itself or one above it."""
        if any(step.name == "**" and step.wild for step in steps):
            spread = [None if step.name == "**" and step.wild else step for step in steps]
            if covers(spread, place, self._fits):
                return _ITSELF
            return _ABOVE if any(covers(spread, place[:end], self._fits) for end in range(1, len(place))) else None
        if len(steps) > len(place) or not all(map(self._fits, steps, place)):
            return None
        return _ITSELF if len(steps) == len(place) else _ABOVE

    def _fits(self, step: _Step, name: str) -> bool:
        if step.wild:
            return fits(step.name, name, dotted=self._dotted)
        return step.name == name or step.name.casefold() == name.casefold()


def _is_home(steps: list[_Step]) -> bool:
    if len(steps) == 1:
        return steps[0] == ("root", False)
    first = steps[0]
    return len(steps) == 2 and any(
        fits(first.name, name) if first.wild else first.name.casefold() == name for name in _HOMES
    )


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path).split("/") if part and part != "."]


def _steps(target: str, base: str, *, wild: bool) -> list[_Step]:
    """The way from the root to a path; what `.` and `..` mean is worked out by the text alone."""
    steps: list[_Step] = []
    if not target.startswith("/"):
        steps = [_Step(part, wild=False) for part in _parts(base)]
    for part in target.split("/"):
        if part == "..":
            del steps[-1:]
        elif part not in ("", "."):
            steps.append(_Step(part, wild and is_wild(part)))
    return steps


_MAX_WORK: Final = 4_096
"""How many moves from one place to another are put together; beyond that the text is not followed."""
_TURNS: Final = 3  # how often the moves of a text are taken to follow each other
_TOP: Final = "a directory at the top of the file system"
_HOME_ROOTS: Final = frozenset({"/home", "/users"})
_DOTTED: Final = ("dotglob", "GLOBIGNORE")
_SEARCHED: Final = "CDPATH"


class Ground:
    """What a command's removals are judged by: values, places, and the directories that it moves between."""

    __slots__ = ("_analysis", "_cwd", "_home", "_moved", "_searched", "places", "values")

    def __init__(self, analysis: "Analysis", home: str, cwd: str | None) -> None:
        self._analysis, self._cwd, self._home = analysis, cwd, home
        self.values = Values(analysis.values, home, cwd)
        self.places = Places(cwd, home, dotted=any(name in analysis.command for name in _DOTTED))
        self._moved: dict[str, frozenset[str]] | None = None
        self._searched = self._search_path() if _SEARCHED in analysis.command else []

    def bases(self, part: "Part") -> "Iterator[str | None]":
        """The directories a command may run in, as far as they are certain; None for one that is not."""
        for directory in part.cwds if part.cwds is not None else (None,):
            base = self._cwd if directory == SHELL_CWD else directory
            if base is not None and not base.startswith("/"):
                base = posixpath.join(self._cwd, base) if self._cwd is not None else None
            yield base

    def judge_moved(self, text: str, part: "Part", *, wild: bool) -> str | None:
        """Judge a relative path as seen from every directory that some command of the text goes to.

        For a command of which it is not certain where it runs: behind the call of a function, popd or `cd -`, in loops.
        """
        if text.startswith("/") or (part.cwds is not None and not (self._searched and self._analysis.cd_targets)):
            return None
        if self._moved is None:
            self._moved = self._reached()
        for base, system in self._moved.items():
            reason = self.places.judge(text, base, wild=wild)
            if reason is not None and (reason != _TOP or _named(text, base, system, wild=wild)):
                return reason
        return self.places.judge(text, None, wild=wild) if self._searched else None

    def _reached(self) -> dict[str, frozenset[str]]:
        """The directories moved to that hold a place that matters, each with the names that count if it is the root."""
        targets = dict.fromkeys(self._targets())
        starts = [posixpath.normpath(target) for target in targets if target.startswith("/")]
        found = {place: SYSTEM for place in starts if self._matters(place)}
        starts += () if self._cwd is None else (self._cwd,)
        relative = [target for target in targets if not target.startswith("/")]
        climbing = [target for target in relative if ".." in target.split("/")]
        if len(relative) + len(starts) * len(climbing) > _MAX_WORK:
            self.values.exhausted = True
            return found
        above = (place for start in (starts if climbing else ()) for place in _above(start))
        joined = (posixpath.join(start, target) for start in starts for target in climbing)
        self._add(found, (*above, *joined))
        for _ in range(_TURNS):
            self._add(
                found, [posixpath.join(place, target) for place in (*found, self._cwd or "/") for target in relative]
            )
        return found

    def _add(self, found: dict[str, frozenset[str]], places: "Iterable[str]") -> None:
        for place in map(posixpath.normpath, places):
            if self._matters(place):
                found.setdefault(place, PLAIN_SYSTEM)

    def _matters(self, place: str) -> bool:
        """Whether something that matters lies below a directory."""
        folded = place.casefold().rstrip("/")
        return (
            not folded
            or folded in _HOME_ROOTS
            or any(known.casefold().startswith(f"{folded}/") for known in (self._cwd, self._home) if known is not None)
        )

    def _targets(self) -> "Iterator[str]":
        """What the text moves to, as it may be spelled."""
        analysis, known = self._analysis, self._analysis.values
        named = [self._home if target == "~" else target for target in analysis.cd_targets if target]
        named += self._spelled([*known.get(MOVED, ()), *known.get("OLDPWD", ()), *known.get("HOME", ())])
        yield from named
        if len(named) * len(self._searched) > _MAX_WORK:
            self.values.exhausted = True
            return
        yield from (posixpath.join(place, target) for place in self._searched for target in named)

    def _search_path(self) -> list[str]:
        """The directories in which the text tells cd to look for others."""
        parts = self._analysis.parts
        given = [text.partition("=")[2] for part in parts for text in part.texts if text.startswith(f"{_SEARCHED}=")]
        paths = self._spelled([*self._analysis.values.get(_SEARCHED, ()), *given])
        return list(dict.fromkeys(place for path in paths for place in path.split(":") if place))

    def _spelled(self, forms: "Iterable[str]") -> list[str]:
        found = (one.text for form in dict.fromkeys(forms) for one in self.values.spellings(form, static=False))
        return list(filter(None, found))


def _above(place: str) -> "Iterator[str]":
    while place not in ("/", ""):
        place = posixpath.dirname(place)
        yield place


def _named(text: str, base: str, system: frozenset[str], *, wild: bool) -> bool:
    """Whether a path directly below the root has one of these names."""
    name = posixpath.normpath(posixpath.join(base, text)).strip("/").partition("/")[0]
    return name in system or (wild and is_wild(name) and any(fits(name, one) for one in system))
