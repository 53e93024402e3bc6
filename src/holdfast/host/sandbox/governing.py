"""What governs the agent in a project's directory: its settings, its servers, and what git runs by itself."""

import os
import stat

__all__ = ["governing_paths", "pinned_paths"]

_SETTINGS = (".claude", ".holdfast", ".mcp.json")
_LINK_LIMIT_BYTES = 4096
_CONFIG_LIMIT_BYTES = 1 << 20
_MAX_MODULES = 8


def governing_paths(directory: str) -> list[str]:
    """The paths that no confined command may change or make, whether or not they exist."""
    return [*(os.path.join(directory, name) for name in _SETTINGS), *_git(os.path.join(directory, ".git"))]


def pinned_paths(directory: str) -> list[str]:
    """Files by which git would take its configuration and hooks from elsewhere."""
    place = os.path.join(directory, ".git")
    if not os.path.isdir(place) or not os.path.lexists(os.path.join(place, "HEAD")):
        return []
    # The second is read only where the configuration, which no command can change, says so.
    names = ["commondir", "config.worktree"] if _has_worktree_settings(place) else ["commondir"]
    return [os.path.join(place, name) for name in names]


def _has_worktree_settings(place: str) -> bool:
    try:
        with open(os.path.join(place, "config"), "rb") as file:
            return b"worktreeconfig" in file.read(_CONFIG_LIMIT_BYTES).lower()
    except OSError:
        return False


def _git(place: str) -> list[str]:
    try:
        found = os.lstat(place)
    except OSError:
        return [place]  # no repository may begin here
    if stat.S_ISREG(found.st_mode):
        target = _gitdir(place)
        return [place, *([] if target is None else [target, *_shared(target)])]
    if stat.S_ISLNK(found.st_mode) and not os.path.isdir(place):
        return [place]
    present = [path for name in ("worktrees",) if os.path.lexists(path := os.path.join(place, name))]
    return [os.path.join(place, "hooks"), os.path.join(place, "config"), *present, *_modules(place)]


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
            found += [os.path.join(directory, "hooks"), os.path.join(directory, "config")]
            names = ["modules"] if "modules" in names else []
        waiting += [os.path.join(directory, name) for name in names]
        if len(found) > 2 * _MAX_MODULES or len(waiting) > 2 * _MAX_MODULES:
            return [home]
    return found


def _gitdir(place: str) -> str | None:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            text = os.fsdecode(os.read(handle, _LINK_LIMIT_BYTES)).strip()
        finally:
            os.close(handle)
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(place), text.removeprefix("gitdir:").strip()))


def _shared(gitdir: str) -> list[str]:
    """The main repository of a linked worktree."""
    common = os.path.dirname(os.path.dirname(gitdir))
    is_worktree = os.path.basename(os.path.dirname(gitdir)) == "worktrees" and os.path.isdir(common)
    return [os.path.join(common, "hooks"), os.path.join(common, "config")] if is_worktree else []
