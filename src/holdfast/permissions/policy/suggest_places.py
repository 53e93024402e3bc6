"""Places as rules: where a command reads outside, what its redirects write, where it moves to."""

import os
import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.paths import LiveDisk, PathFacts, is_inside
from holdfast.permissions.protected import is_secret
from holdfast.permissions.updates import why_not_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts
    from holdfast.permissions.shell.text.analysis import Analysis

_GLOB_CHARACTERS: Final = re.compile(r"([\\*?\[\]!#])")
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 - where programs keep what nobody needs later
_MAX_LEVELS: Final = 64


def anchored(path: str, cwd: str) -> str:
    """One path as a rule: anchored at the root of the file system, with glob characters made plain."""
    whole = os.path.normpath(os.path.join(cwd, path))
    return "/" + _GLOB_CHARACTERS.sub(r"\\\1", whole)


def read_rules(paths: "Iterable[PathFacts]", call: "CallFacts", context: "PermissionContext") -> tuple[str, ...]:
    """Read rules for what a command reads outside: the directory, where all of it may be read without harm.

    The name of a directory covers it with its content, as a command needs that lists it.
    """
    root = _repository(call.cwd, context)
    rules: dict[str, None] = {}
    for path in paths:
        place = path.given if path.is_dir else os.path.dirname(path.given)
        if root and is_inside(path.given, (root,)):
            place = root
        if _is_open(place, context):
            rules[f"Read({anchored(place, '/')}{'' if place == path.given else '/**'})"] = None
        elif not path.is_dir:
            rules[f"Read({anchored(path.given, '/')})"] = None
    return tuple(rules)


def write_rules(analysis: "Analysis", call: "CallFacts", context: "PermissionContext") -> tuple[str, ...] | None:
    """Edit rules for what redirects write; None where the text does not tell a file that a rule could name."""
    from holdfast.permissions.shell.words.expansion import placed  # noqa: PLC0415 - with the first command

    rules: dict[str, None] = {}
    for redirect in analysis.redirect_writes:
        if redirect.target is None or not redirect.target.static or redirect.cwds is None or "~" in redirect.text:
            return None
        for name in placed((redirect.target.text,), redirect.cwds):
            path = context.disk.look(name, call.cwd, home=context.home).given
            directory, _, file = path.rpartition("/")
            ending = os.path.splitext(file)[1]
            if directory in _TEMPORARY and ending.isascii() and ending[1:].isalnum():
                rules[f"Edit({anchored(directory, '/')}/*{ending})"] = None
            else:
                rules[f"Edit({anchored(path, '/')})"] = None
    return tuple(rules)


def move_rules(analysis: "Analysis", call: "CallFacts", context: "PermissionContext") -> tuple[str, ...]:
    """Edit rules for the directories outside that a text moves to; none where one of them is not to be opened."""
    root = _repository(call.cwd, context)
    rules: dict[str, None] = {}
    for target in analysis.cd_targets:
        if not target:
            return ()
        path = context.disk.look(target, call.cwd, home=context.home)
        if is_inside(path.target, context.roots.working):
            continue
        place = root if root and is_inside(path.given, (root,)) else path.given
        if not _is_open(place, context):
            return ()
        rules[f"Edit({anchored(place, '/')}/**)"] = None
    return tuple(rules)


def _is_open(directory: str, context: "PermissionContext") -> bool:
    """Whether a rule may name everything below a directory: not the home, the system, secrets or what governs us."""
    found = context.disk.look(directory, "/", home=context.home)
    return not (why_not_inside(directory, found.names, context) or is_secret(found.names))


def _repository(cwd: str, context: "PermissionContext") -> str:
    """The root of the repository that the working directory lies in, or nothing."""
    if not isinstance(context.disk, LiveDisk):
        return ""
    place = cwd
    for _ in range(_MAX_LEVELS):
        if os.path.lexists(os.path.join(place, ".git")):
            return "" if place == cwd else place
        above = os.path.dirname(place)
        if above == place:
            return ""
        place = above
    return ""
