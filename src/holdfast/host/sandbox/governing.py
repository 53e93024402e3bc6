"""What governs the agent in a project's directory: its settings, its servers, and what git runs by itself."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.host.sandbox.policy import PINNED
from holdfast.lib.git_config_text import ConfigUnreadableError, parse_config

__all__ = ["LinkedTree", "governing_paths", "is_repository", "linked_tree", "pinned_paths"]

_SETTINGS = (".claude", ".holdfast", ".mcp.json")
_LINK_LIMIT_BYTES = 4096
_CONFIG_LIMIT_BYTES = 1 << 20
_MAX_MODULES = 8
_MAX_NAMED = 16
_MAX_LOOKED_AT, _DEPTH = 500, 3
_GOVERNED: Final = frozenset({"hooks", "agents", "commands", "skills", "rules", "output-styles", "plugins"})
_OF_TREE: Final = ("commondir", "gitdir")
"""By these a linked worktree and its repository know each other."""
_OF_SYSTEM: Final = ("/etc/gitconfig", "/usr/local/etc/gitconfig")


def governing_paths(directory: str) -> list[str]:
    """The paths that no confined command may change or make, whether or not they exist."""
    own = [os.path.join(directory, name) for name in _SETTINGS]
    linked = [path for place in own for path in _behind_links(place, only=_GOVERNED)]
    here = [path for place in _places(directory) for path in _git(place, directory)]
    return [*own, *linked, *here]


def is_repository(directory: str) -> bool:
    """Whether git would take it for one: checked out, or bare."""
    return os.path.lexists(os.path.join(directory, ".git")) or _is_bare(directory)


def _is_bare(directory: str) -> bool:
    return all(os.path.lexists(os.path.join(directory, name)) for name in ("HEAD", "objects", "config"))


def _places(directory: str) -> list[str]:
    """Where a repository is: its `.git`, and the directory itself where that is a bare one."""
    return [os.path.join(directory, ".git"), *([directory] if _is_bare(directory) else [])]


def _behind_links(place: str, *, only: frozenset[str] | None = None) -> list[str]:
    """What links in a directory lead to: whoever changes that changes what stands there.

    Args:
        place: The directory.
        only: At its top these names count, and what ends in `.json`; all when omitted.
    """
    found: list[str] = []
    waiting, left = [(place, 0)], _MAX_LOOKED_AT
    while waiting and left > 0:
        directory, depth = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                named = [one for one in entries if depth or only is None or _counts(one.name, only)]
        except OSError:
            continue
        left -= len(named)
        found += [os.path.realpath(one.path) for one in named if one.is_symlink()]
        waiting += [(one.path, depth + 1) for one in named if depth < _DEPTH and one.is_dir(follow_symlinks=False)]
    # One that leads to a directory around it would take the whole project from commands.
    return [path for path in found if os.path.lexists(path) and not f"{place}/".startswith(f"{path}/")]


def _counts(name: str, only: frozenset[str]) -> bool:
    return name in only or name.endswith(".json")


def pinned_paths(directory: str) -> list[str]:
    """Files by which git would take its configuration and hooks from elsewhere."""
    found: list[str] = []
    tree = linked_tree(directory)
    places = _places(directory) if tree is None else [tree.common]
    for place in places:
        if not os.path.isdir(place) or not os.path.lexists(os.path.join(place, "HEAD")):
            continue
        # Git reads the latter only where the configuration says so, and some day a user may have it say so.
        found += [os.path.join(place, name) for name in PINNED]
        found += [] if tree is None else [os.path.join(tree.gitdir, "config.worktree")]
        included, _ = _named_in(_configs(place), directory)
        found += [path for path in included if _lacks_only_itself(path)]
    return found


class LinkedTree(NamedTuple):
    """A worktree that belongs to a repository elsewhere."""

    gitdir: str
    """What that repository keeps of it: its index, where it stands."""
    common: str
    """The repository."""


def linked_tree(directory: str) -> LinkedTree | None:
    """What a linked worktree belongs to, where both say so: its `.git` alone could name anybody's repository."""
    place = os.path.join(directory, ".git")
    gitdir = _gitdir(place) if os.path.isfile(place) else None
    common = None if gitdir is None else _common_of(gitdir)
    if gitdir is None or common is None or not _is_bare(common):
        return None
    back = _text(os.path.join(gitdir, "gitdir"), _LINK_LIMIT_BYTES).strip()
    if not back or os.path.realpath(os.path.join(gitdir, back)) != os.path.realpath(place):
        return None
    return LinkedTree(gitdir, common)


def _lacks_only_itself(path: str) -> bool:
    """Whether a file is missing where one could be made at once: an empty one says to git what none says."""
    return not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))


def _git(place: str, top: str) -> list[str]:
    """What governs git there.

    Args:
        place: The repository: a directory, or the file that names one.
        top: Where its files are checked out.
    """
    try:
        found = os.lstat(place)
    except OSError:
        return [place]  # no repository may begin here
    if stat.S_ISREG(found.st_mode):
        return [place, *_behind(place, top)]
    if stat.S_ISLNK(found.st_mode) and not os.path.isdir(place):
        return [place]
    trees = os.path.join(place, "worktrees")
    present = [trees, *_links_of(trees)] if os.path.lexists(trees) else []
    config, hooks = os.path.join(place, "config"), os.path.join(place, "hooks")
    return [
        hooks,
        *_behind_links(hooks),
        config,
        *present,
        *_modules(place),
        *_kept_of(_configs(place), top),
    ]


def _behind(place: str, top: str) -> list[str]:
    """The same for what a `.git` file names."""
    target = _gitdir(place)
    if target is None:
        return []
    common = _common_of(target)
    if common is None:
        return [target, *_kept_of(_configs(target), top)]
    own = [os.path.join(target, name) for name in _OF_TREE]
    return [target, *own, *_modules(target), *_kept_of(_configs(target), top), *_git(common, top)]


def _configs(place: str) -> list[str]:
    """Where a repository's own configuration stands."""
    return [os.path.join(place, name) for name in ("config", "config.worktree")]


def _kept_of(configs: Iterable[str], top: str) -> list[str]:
    included, hooks = _named_in(configs, top)
    return [*(path for path in included if not _lacks_only_itself(path)), *hooks]


def _named_in(configs: Iterable[str], top: str) -> tuple[list[str], list[str]]:
    """Files that belong to a configuration, and the directory of hooks that it names with what links there lead to.

    The user's own configuration holds in every repository, and what it names may lie in this one.

    Args:
        configs: The configuration of a repository.
        top: Where its files are checked out.
    """
    included: dict[str, None] = {}
    hooks: dict[str, None] = {}
    waiting = [*_of_user(), *configs]
    while waiting and len(included) < _MAX_NAMED:
        file = waiting.pop()
        for key, value in _settings(file):
            if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                path = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
                waiting += [] if path in included else [path]
                included[path] = None
            elif key == "core.hookspath" and value:
                place = os.path.normpath(os.path.join(top, os.path.expanduser(value)))
                hooks |= dict.fromkeys((place, *_behind_links(place)))
    return list(included), list(hooks)


def _of_user() -> Iterator[str]:
    """The files of this user and this machine."""
    environ = os.environ
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        yield from [environ["GIT_CONFIG_SYSTEM"]] if "GIT_CONFIG_SYSTEM" in environ else _OF_SYSTEM
    if "GIT_CONFIG_GLOBAL" in environ:
        yield environ["GIT_CONFIG_GLOBAL"]
        return
    yield os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "config")
    yield os.path.expanduser("~/.gitconfig")


def _settings(config: str) -> tuple[tuple[str, str], ...]:
    """Keys, with section and name in small letters, and values, as git reads them."""
    return _parsed(_text(config, _CONFIG_LIMIT_BYTES))


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    with suppress(ConfigUnreadableError):  # git goes no further either
        for pair in parse_config(text):
            found.append(pair)  # noqa: PERF402 - what comes before an error counts
    return tuple(found)


def _modules(place: str) -> list[str]:
    """Submodules have configuration and hooks of their own; many of them are fixed as a whole."""
    home = os.path.join(place, "modules")
    found: list[str] = []
    waiting = [home]
    while waiting:
        try:
            names = sorted(os.listdir(directory := waiting.pop()))
        except OSError:
            continue
        if "HEAD" in names:
            config = os.path.join(directory, "config")
            found += [os.path.join(directory, "hooks"), config, *_link_to(directory, config)]
            names = ["modules"] if "modules" in names else []
        waiting += [os.path.join(directory, name) for name in names]
        if len(found) > 3 * _MAX_MODULES or len(waiting) > 2 * _MAX_MODULES:
            return [home]
    return found


def _links_of(trees: str) -> list[str]:
    """The files by which linked worktrees name their repository."""
    try:
        names = sorted(os.listdir(trees))[:_MAX_NAMED]
    except OSError:
        return []
    links = (_text(os.path.join(trees, name, "gitdir"), _LINK_LIMIT_BYTES).strip() for name in names)
    return [link for link in links if os.path.isabs(link) and os.path.lexists(link)]


def _link_to(gitdir: str, config: str) -> list[str]:
    """The file by which the place where a submodule is checked out names its repository: git follows it unasked."""
    trees = [value for key, value in _settings(config) if key == "core.worktree"]
    links = [os.path.normpath(os.path.join(gitdir, tree, ".git")) for tree in trees[-1:]]
    return [link for link in links if os.path.lexists(link)]


def _gitdir(place: str) -> str | None:
    text = _text(place, _LINK_LIMIT_BYTES).strip()
    if not text.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(place), text.removeprefix("gitdir:").strip()))


def _common_of(gitdir: str) -> str | None:
    """The repository of a linked worktree; None: it is no such tree's."""
    trees = os.path.dirname(gitdir)
    common = os.path.dirname(trees)
    return common if os.path.basename(trees) == "worktrees" and os.path.isdir(common) else None


def _text(path: str, limit_bytes: int) -> str:
    """The content of an ordinary file; a command may have put anything there that waits for ever when it is read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, limit_bytes)) if stat.S_ISREG(os.fstat(handle).st_mode) else ""
    except OSError:
        return ""
    finally:
        os.close(handle)
