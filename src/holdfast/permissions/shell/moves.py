"""Where a removal may run: the directories that are certain, and those the text may have moved to."""

import posixpath
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.globs import fits, is_wild
from holdfast.permissions.shell.parts import SHELL_CWD
from holdfast.permissions.shell.places import PLAIN_SYSTEM, SYSTEM, Places
from holdfast.permissions.shell.values import MOVED, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.permissions.shell.analysis import Analysis
    from holdfast.permissions.shell.parts import Part

_MAX_PLACES: Final = 64
_TURNS: Final = 3  # how often the moves of a text are taken to follow each other
_TOP: Final = "a directory at the top of the file system"
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
        self._searched = _SEARCHED in analysis.command

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
        if text.startswith("/") or (part.cwds is not None and not self._searched):
            return None
        if self._moved is None:
            self._moved = self._reached()
        for base, system in self._moved.items():
            reason = self.places.judge(text, base, wild=wild)
            if reason is not None and (reason != _TOP or _named(text, base, system, wild=wild)):
                return reason
        return None

    def _reached(self) -> dict[str, frozenset[str]]:
        """The directories moved to, each with the names that matter in it when it is the root."""
        targets = dict.fromkeys(self._targets())
        found = {target: SYSTEM for target in targets if target.startswith("/")}
        start = () if self._cwd is None else (self._cwd,)
        if any(".." in target.split("/") for target in targets):
            for place in (*start, *found):
                found.update({above: PLAIN_SYSTEM for above in _above(place) if above not in found})
        relative = [target for target in targets if not target.startswith("/")]
        for _ in range(_TURNS if relative else 0):
            for place in (*start, *found):
                for target in relative:
                    found.setdefault(posixpath.normpath(posixpath.join(place, target)), PLAIN_SYSTEM)
                if len(found) > _MAX_PLACES:
                    self.values.exhausted = True
                    return found
        return found

    def _targets(self) -> "Iterator[str]":
        """What the text moves to, as it may be spelled."""
        analysis, known = self._analysis, self._analysis.values
        named = [self._home if target == "~" else target for target in analysis.cd_targets if target]
        forms = [*known.get(MOVED, ()), *known.get("OLDPWD", ()), *known.get("HOME", ())]
        named += self._spelled(forms)
        yield from named
        if self._searched:
            given = [text.partition("=")[2] for part in analysis.parts for text in part.texts if _sets_search(text)]
            for path in self._spelled([*known.get(_SEARCHED, ()), *given]):
                for place in filter(None, path.split(":")):
                    yield from (posixpath.normpath(posixpath.join(place, target)) for target in named)

    def _spelled(self, forms: "Iterable[str]") -> list[str]:
        found = (one.text for form in dict.fromkeys(forms) for one in self.values.spellings(form, static=False))
        return list(filter(None, found))


def _sets_search(text: str) -> bool:
    return text.startswith(f"{_SEARCHED}=")


def _above(place: str) -> "Iterator[str]":
    while place not in ("/", ""):
        place = posixpath.dirname(place)
        yield place


def _named(text: str, base: str, system: frozenset[str], *, wild: bool) -> bool:
    """Whether a path directly below the root has one of these names."""
    name = posixpath.normpath(posixpath.join(base, text)).strip("/").partition("/")[0]
    return name in system or (wild and is_wild(name) and any(fits(name, one) for one in system))
