"""What governs the agent in a project's directory: its settings, its servers, and what git runs by itself."""

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

__all__ = ["governing_paths", "pinned_paths"]

_SETTINGS = (".claude", ".holdfast", ".mcp.json")
_LINK_LIMIT_BYTES = 4096
_CONFIG_LIMIT_BYTES = 1 << 20
_MAX_MODULES = 8
_MAX_NAMED = 16
_MAX_LOOKED_AT, _DEPTH = 500, 3
_GOVERNED: Final = frozenset({"hooks", "agents", "commands", "skills", "rules", "output-styles", "plugins"})
_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"[^"\n]*")?\s*\]')
_VALUE: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*?)\s*\Z")


def governing_paths(directory: str) -> list[str]:
    """The paths that no confined command may change or make, whether or not they exist."""
    own = [os.path.join(directory, name) for name in _SETTINGS]
    linked = [path for place in own for path in _behind_links(place, only=_GOVERNED)]
    return [*own, *linked, *_git(os.path.join(directory, ".git"))]


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
    place = os.path.join(directory, ".git")
    if not os.path.isdir(place) or not os.path.lexists(os.path.join(place, "HEAD")):
        return []
    # The second is read only where the configuration, which no command can change, says so.
    names = ["commondir", "config.worktree"] if _has_worktree_settings(place) else ["commondir"]
    included, _ = _named_in(os.path.join(place, "config"), directory)
    return [*(os.path.join(place, name) for name in names), *(path for path in included if _lacks_only_itself(path))]


def _lacks_only_itself(path: str) -> bool:
    """Whether a file is missing where one could be made at once: an empty one says to git what none says."""
    return not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))


def _has_worktree_settings(place: str) -> bool:
    return "worktreeconfig" in _text(os.path.join(place, "config"), _CONFIG_LIMIT_BYTES).lower()


def _git(place: str) -> list[str]:
    try:
        found = os.lstat(place)
    except OSError:
        return [place]  # no repository may begin here
    if stat.S_ISREG(found.st_mode):
        target = _gitdir(place)
        return [place, *([] if target is None else [target, *_shared(target, place)])]
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
        *_kept_of(config, os.path.dirname(place)),
    ]


def _kept_of(config: str, top: str) -> list[str]:
    included, hooks = _named_in(config, top)
    return [*(path for path in included if not _lacks_only_itself(path)), *hooks]


def _named_in(config: str, top: str) -> tuple[list[str], list[str]]:
    """Files that belong to a configuration, and the directory of hooks that it names with what links there lead to.

    Args:
        config: The configuration of a repository.
        top: Where its files are checked out.
    """
    included: dict[str, None] = {}
    hooks: dict[str, None] = {}
    waiting = [config]
    while waiting and len(included) < _MAX_NAMED:
        file = waiting.pop()
        for section, key, value in _settings(file):
            if section in ("include", "includeif") and key == "path":
                path = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
                waiting += [] if path in included else [path]
                included[path] = None
            elif (section, key) == ("core", "hookspath"):
                place = os.path.normpath(os.path.join(top, os.path.expanduser(value)))
                hooks |= dict.fromkeys((place, *_behind_links(place)))
    return list(included), list(hooks)


def _settings(config: str) -> Iterator[tuple[str, str, str]]:
    """The plain ones: section and key in small letters, and the value."""
    section = ""
    for line in _text(config, _CONFIG_LIMIT_BYTES).split("\n"):
        head = _SECTION.match(line)
        if head is not None:
            section = head[1].lower()
        given = _VALUE.match(line, 0 if head is None else head.end())
        if section and given is not None and (value := given[2].strip('"')):
            yield section, given[1].lower(), value


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
    trees = [value for section, key, value in _settings(config) if (section, key) == ("core", "worktree")]
    links = [os.path.normpath(os.path.join(gitdir, tree, ".git")) for tree in trees[-1:]]
    return [link for link in links if os.path.lexists(link)]


def _gitdir(place: str) -> str | None:
    text = _text(place, _LINK_LIMIT_BYTES).strip()
    if not text.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(place), text.removeprefix("gitdir:").strip()))


def _shared(gitdir: str, link: str) -> list[str]:
    """The main repository of a linked worktree."""
    common = os.path.dirname(os.path.dirname(gitdir))
    is_worktree = os.path.basename(os.path.dirname(gitdir)) == "worktrees" and os.path.isdir(common)
    if not is_worktree:
        return _kept_of(os.path.join(gitdir, "config"), os.path.dirname(link))
    config = os.path.join(common, "config")
    return [os.path.join(common, "hooks"), config, *_kept_of(config, os.path.dirname(link))]


def _text(path: str, limit_bytes: int) -> str:
    """The content of an ordinary file; a command may have put anything there that waits for ever when it is read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, limit_bytes)) if stat.S_ISREG(os.fstat(handle).st_mode) else ""
    except OSError:
        return ""
    finally:
        os.close(handle)
