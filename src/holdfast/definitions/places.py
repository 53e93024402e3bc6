"""Where agents, skills and commands are looked for, and whose they are. Nothing is opened here."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from holdfast.settings.sources import CHOOSABLE_SOURCES, EXISTING_FOLDER, NATIVE_FOLDER, SettingsRoots, SourceKind

if TYPE_CHECKING:
    from holdfast.definitions.plugins import Plugin

__all__ = ["FOREIGN_FOLDERS", "Kind", "Place", "Source", "Where", "is_below", "nested_places", "places"]

Kind: TypeAlias = Literal["agents", "skills", "commands"]
Source: TypeAlias = Literal["managed", "flag", "user", "project", "plugin", "mcp"]
_SHARED_FOLDER: Final = ".agents"
"""Where several programs look for skills."""
FOREIGN_FOLDERS: Final = frozenset(
    {"node_modules", "site-packages", "dist-packages", "bower_components", ".git", ".venv"}
)
"""What others wrote and an installer unpacked."""
_MAX_DEPTH: Final = 64


class Place(msgspec.Struct, frozen=True):
    """A directory that may hold definitions."""

    directory: str
    source: Source
    boundary: str | None = None
    """Links must stay in this directory; None for the user's and the policy's own places."""
    plugin: str = ""
    """Whose it is: it stands before the names of what is here."""


class Where(msgspec.Struct, frozen=True):
    """What decides where to look."""

    cwd: str
    root: str
    """The project's root: `cwd` or above it."""
    roots: SettingsRoots
    trusted: bool = False
    """The user trusts the project; if not, nothing of it is read."""
    sources: frozenset[SourceKind] = frozenset(CHOOSABLE_SOURCES)
    """`--setting-sources`; the policy always counts."""
    plugins: "tuple[Plugin, ...]" = ()
    """Those that the session was started with, whatever its sources."""


def places(kind: Kind, where: Where) -> list[Place]:
    """The places for one kind, the highest rank first.

    An agent of the project outranks the user's own; a skill or command of the user outranks the project's.
    """
    user, project = list(_of_user(kind, where)), list(_of_project(kind, where))
    own = [*project, *user] if kind == "agents" else [*user, *project]
    brought = [Place(os.path.join(one.root, kind), "plugin", plugin=one.name) for one in where.plugins]
    return [*_of_policy(kind, where), *own, *brought]


def nested_places(kind: Kind, where: Where, directory: str) -> Iterator[Place]:
    """The places of the directories below `cwd` down to this one, which count once a file there is used."""
    if not where.trusted or SourceKind.PROJECT not in where.sources or not is_below(directory, where.root):
        return
    for place in _ancestors(directory)[:_MAX_DEPTH]:
        if not is_below(place, where.root) or place == where.root or is_below(where.cwd, place):
            continue
        if os.path.basename(place) in FOREIGN_FOLDERS or os.path.lexists(os.path.join(place, ".git")):
            return  # a repository of its own, or installed code: the trust of the project does not reach it
        yield from _of_folder(kind, place, where.root)


def is_below(path: str, directory: str) -> bool:
    """Whether a resolved path is the directory or in it, by whole components."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _of_policy(kind: Kind, where: Where) -> Iterator[Place]:
    for place in (*where.roots.managed_native, *where.roots.managed_existing):
        yield Place(os.path.join(place, kind), "managed")
        yield Place(os.path.join(place, EXISTING_FOLDER, kind), "managed")


def _of_user(kind: Kind, where: Where) -> Iterator[Place]:
    if SourceKind.USER not in where.sources:
        return
    yield Place(os.path.join(where.roots.user_native, kind), "user")
    yield Place(os.path.join(where.roots.user_existing, kind), "user")
    if kind == "skills":
        yield Place(os.path.join(where.roots.home, _SHARED_FOLDER, kind), "user")


def _of_project(kind: Kind, where: Where) -> Iterator[Place]:
    """Those of the working directory first, then of the directories above it up to the root."""
    if not where.trusted or SourceKind.PROJECT not in where.sources:
        return
    home = os.path.realpath(where.roots.home)
    for place in reversed(_ancestors(where.cwd)):
        if is_below(place, where.root) and place != home:  # there they are the user's own
            yield from _of_folder(kind, place, where.root)


def _of_folder(kind: Kind, place: str, root: str) -> Iterator[Place]:
    yield Place(os.path.join(place, NATIVE_FOLDER, kind), "project", root)
    yield Place(os.path.join(place, EXISTING_FOLDER, kind), "project", root)
    if kind == "skills":
        yield Place(os.path.join(place, _SHARED_FOLDER, kind), "project", root)


def _ancestors(path: str) -> list[str]:
    """The directories from the root of the file system down to the path, the path included."""
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found[::-1]
