"""Deny rules about files, as places that a confined command cannot reach: patterns become the files that fit them."""

import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from holdfast.permissions import PermissionContext
from holdfast.permissions.matching import denials_at
from holdfast.permissions.paths import is_inside
from holdfast.permissions.rules.path_patterns import PathRule, climb, compile_path_rule

__all__ = ["Masks", "masks_of"]

_MAX_ENTRIES: Final = 20_000
_MAX_MASKS: Final = 200
_SPECIAL: Final = frozenset("*?[\\")
_ANY_NAME: Final = "\x7f any name"
"""A name that only patterns for every name fit: a directory of which a rule means everything is masked as a whole."""


class Masks(NamedTuple):
    """What rules say about files that exist now."""

    hidden: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    is_complete: bool = True
    """Every file that fits was found; false: there were too many to look at, or to mask."""
    is_certain: bool = False
    """And none can come into being, and no rule asks instead of denying: the masks are all that the rules mean."""


class _Walk:
    def __init__(self, rights: PermissionContext, cwd: str) -> None:
        self._rights = rights
        self._cwd = cwd
        self._left = _MAX_ENTRIES
        self.hidden: dict[str, None] = {}
        self.fixed: dict[str, None] = {}

    @property
    def is_over(self) -> bool:
        return self._left <= 0 or len(self.hidden) + len(self.fixed) > _MAX_MASKS

    def look(self, path: str, *, is_dir: bool) -> bool:
        """Note what rules say about one path; whether something below it may still be said."""
        self._left -= 1
        denied = denials_at(path, self._rights, cwd=self._cwd, is_dir=is_dir)
        if is_dir:
            denied |= denials_at(f"{path}/{_ANY_NAME}", self._rights, cwd=self._cwd, is_dir=False)
        if "Read" in denied:
            self.hidden[path] = None
            return False
        if "Edit" in denied:
            self.fixed[path] = None
        return is_dir

    def below(self, start: str) -> None:
        """Go through a directory; links are not followed, what they lead to has a name of its own."""
        waiting = [start] if self.look(start, is_dir=os.path.isdir(start)) else []
        while waiting and not self.is_over:
            place = waiting.pop()
            try:
                with os.scandir(place) as entries:
                    waiting += [
                        entry.path
                        for entry in entries
                        if self.look(entry.path, is_dir=entry.is_dir(follow_symlinks=False))
                        and not (entry.name == "objects" and place.endswith("/.git"))
                    ]
            except OSError:
                continue  # what we cannot list a command cannot either

    def is_settled(self, place: str, is_exact: bool, roots: list[str]) -> bool:  # noqa: FBT001 - as `_rules` has it
        """Whether what one rule means is masked now, and no command can make more of it."""
        if os.path.lexists(place) and os.path.realpath(place) != place:
            return False  # a link may lead elsewhere by then
        if place in self.hidden or place in self.fixed:
            return is_exact or self._is_whole(place)
        can_be_made = any(is_inside(root, (place,)) or is_inside(place, (root,)) for root in roots)
        return not can_be_made

    def _is_whole(self, place: str) -> bool:
        denied = denials_at(f"{place}/{_ANY_NAME}", self._rights, cwd=self._cwd, is_dir=False)
        return bool(denied)


def masks_of(rights: PermissionContext, cwd: str, *, writable: Iterable[str] = ("/",)) -> Masks:
    """The files that the Read and Edit rules deny to a command.

    Args:
        rights: The rules, with those of every agent above.
        cwd: Where the command starts; relative patterns hold there and where the session started.
        writable: Where the command may make files.
    """
    rules = list(_rules(rights, cwd))
    if not rules:
        return Masks(is_certain=not _has_others(rights))
    walk = _Walk(rights, cwd)
    for path in dict.fromkeys(place for _, place, is_exact in rules if is_exact):
        if os.path.lexists(path):
            walk.look(path, is_dir=os.path.isdir(path))
    starts = [place for _, place, is_exact in rules if not is_exact]
    for start in dict.fromkeys(starts):
        if not any(start != other and f"{start}/".startswith(f"{other}/") for other in starts):
            walk.below(start)
    is_complete = not walk.is_over
    roots = [os.path.realpath(place) for place in writable]
    is_certain = is_complete and not _has_others(rights) and all(walk.is_settled(*rule[1:], roots) for rule in rules)
    return Masks(tuple(walk.hidden), tuple(walk.fixed), is_complete, is_certain)


def _has_others(rights: PermissionContext) -> bool:
    """Whether some rule about files asks, or cannot become a mask."""
    every = (bound.rules_for(tool) for bound in (rights, *rights.ancestors()) for tool in ("Read", "Edit"))
    for rule in (rule for rules in every for rule in rules if rule.behavior != "allow"):
        if rule.behavior == "ask" or not rule.content or isinstance(compile_path_rule(rule.content, widened=True), str):
            return True
    return False


def _rules(rights: PermissionContext, cwd: str) -> Iterator[tuple[PathRule, str, bool]]:
    """Each deny rule about files, where it starts, and whether that is the one path it means."""
    for bound in (rights, *rights.ancestors()):
        for rule in (*bound.rules_for("Read"), *bound.rules_for("Edit")):
            found = compile_path_rule(rule.content, widened=True) if rule.behavior == "deny" and rule.content else ""
            if isinstance(found, str):
                continue
            for anchor in _anchors(found, bound, cwd, rule.source.root):
                names = found.pattern.strip("/").split("/") if found.pattern else []
                plain = next((n for n, name in enumerate(names) if not _SPECIAL.isdisjoint(name)), len(names))
                has_slash = "/" in found.pattern.rstrip("/")
                is_exact = not names or (has_slash and plain == len(names))
                yield found, os.path.join(anchor, *(names[:plain] if has_slash else ())).rstrip("/") or "/", is_exact


def _anchors(rule: PathRule, bound: PermissionContext, cwd: str, source: str | None) -> tuple[str, ...]:
    if rule.anchor == "root":
        return ("/",)
    if rule.anchor == "home":
        return (bound.home,)
    if rule.anchor == "source":
        root = source or bound.project_root
        return (root,) if root else ()
    here = (*bound.forms_of(cwd), *bound.start_directories)
    return tuple(dict.fromkeys(climb(place, rule.up) for place in here))
