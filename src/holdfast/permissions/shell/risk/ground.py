"""Where a removal may run: the directories that are certain, and those the text may have moved to."""

import posixpath
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.risk.places import PLAIN_SYSTEM, SYSTEM, Places
from holdfast.permissions.shell.words.parts import SHELL_CWD
from holdfast.permissions.shell.words.patterns import fits, is_wild
from holdfast.permissions.shell.words.values import MOVED, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

_MAX_WORK: Final = 4_096
"""How many moves from one place to another are put together; beyond that the text is not followed."""
_TURNS: Final = 3  # how often the moves of a text are taken to follow each other
_TOP: Final = "a directory at the top of the file system"
_HOMES: Final = frozenset({"/home", "/users"})
_DOTTED: Final = ("dotglob", "GLOBIGNORE")
_SEARCHED: Final = "CDPATH"


class Ground:
    """What a command's removals are judged by: values, places, and the directories that it moves between.

    Args:
        analysis: the command.
        home: the user's home.
        cwd: the directory it starts in, when that is known.
    """

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
            or folded in _HOMES
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
