"""Removals that take whole directories of what is under version control."""

import os
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.programs.find import removes, starts_of
from holdfast.permissions.shell.reach.git_tracked import top_of
from holdfast.permissions.shell.words.given import has_option
from holdfast.permissions.shell.words.patterns import WILD

if TYPE_CHECKING:
    from holdfast.permissions.shell.words.parts import Part

__all__ = ["removes_tracked"]

_ELSE: Final = frozenset(("-o", "-or", "-not", "!", ",", "(", ")", "\\(", "\\)"))


def removes_tracked(parts: "Iterable[Part]", cwd: str) -> bool:
    """Whether `rm -r` or `find` would take directories with tracked files; what cannot be read counts as such."""
    for part in parts:
        if part.name == "rm":
            removed = _by_rm(part)
        elif part.name == "find" and removes(part.texts):
            removed = _by_find(part)
        else:
            continue
        for directory in part.cwds or ("",):
            start = os.path.join(cwd, directory)
            if any(_holds_tracked(os.path.join(start, word), fits) for word, fits in removed):
                return True
    return False


def _by_rm(part: "Part") -> "list[tuple[str, Callable[[str], bool]]]":
    if not has_option(part.texts, "rR", "--recursive"):
        return []
    found: list[tuple[str, Callable[[str], bool]]] = []
    for word in part.texts[1:]:
        if word[:1] == "-":
            continue
        fixed = word.split("/")
        wild = next((at for at, name in enumerate(fixed) if not WILD.isdisjoint(name)), None)
        if wild is None:
            found.append((word, _fits_all))
        else:
            found.append(("/".join(fixed[:wild]) or ("/" if word[:1] == "/" else "."), _fitting(fixed[wild:])))
    return found


def _by_find(part: "Part") -> "list[tuple[str, Callable[[str], bool]]]":
    words = part.texts
    patterns = [two for one, two in pairwise(words) if one in ("-name", "-iname")]
    fits = _fits_all if not patterns or not _ELSE.isdisjoint(words) else _named_by(patterns)
    return [(root, fits) for root in [words[at] for at in starts_of(words)] or ["."]]


def _fits_all(_name: str) -> bool:
    return True


def _fitting(patterns: list[str]) -> "Callable[[str], bool]":
    def fits(name: str) -> bool:
        names = name.split("/")
        # A name that the pattern itself is, is a file; what lies deeper goes with its directory.
        return len(names) > len(patterns) and all(map(fnmatchcase, names, patterns))

    return fits


def _named_by(patterns: list[str]) -> "Callable[[str], bool]":
    return lambda name: all(any(fnmatchcase(part, pattern) for part in name.split("/")) for pattern in patterns)


def _holds_tracked(path: str, fits: "Callable[[str], bool]") -> bool:
    from holdfast.lib.git_config_text import (  # noqa: PLC0415 - few come here
        ConfigUnreadableError,
    )
    from holdfast.permissions.shell.reach.git_index import tracked_names  # noqa: PLC0415 - see above

    place = os.path.realpath(path)
    top = top_of(place) if os.path.isdir(place) else None
    if top is None:
        return False
    below = "" if place == top else os.path.relpath(place, top) + "/"
    if not os.path.isdir(f"{top}/.git"):
        return True
    try:
        found = tracked_names(f"{top}/.git", (below,))
    except (ConfigUnreadableError, OSError):
        return True
    return any(name.startswith(below) and fits(name[len(below) :]) for name in found)
