"""Places that matter when something is removed: the root, homes, the working directory, their parents, `.git`."""

import posixpath
from typing import Final, NamedTuple

from holdfast.permissions.shell.words.patterns import covers, fits, is_wild, takes_all
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
    """Judges paths, also those with wildcards.

    Args:
        cwd: the directory the text starts in, when that is known.
        home: the user's home.
        dotted: whether wildcards match a leading dot.
    """

    __slots__ = ("_cwd", "_dotted", "_here", "_home", "_homes")

    def __init__(self, cwd: str | None, home: str, *, dotted: bool) -> None:
        self._cwd, self._home, self._dotted = cwd, home, dotted
        self._here = _parts(cwd) if cwd is not None else None
        self._homes = _parts(home)

    def judge(self, text: str, base: str | None, *, wild: bool) -> str | None:
        """Say what matters about removing a path, or None.

        Args:
            text: the path.
            base: the directory it is seen from, when that is known.
            wild: whether wildcards in it are expanded.
        """
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
