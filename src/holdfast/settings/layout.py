"""Find the project around a directory, without running git and without believing what a repository says about itself.

The project root is the nearest directory upwards that holds `.git` (of any kind), else the directory itself. The home
directory and its parents are never a project root: a dotfiles repository there does not make all of home one project.

A linked worktree shares its local settings with the main checkout. The link must be proven from the main checkout's
side: git keeps a back link there, which a hostile folder cannot write. Trust never follows this link, see `trust.py`.
"""

import hashlib
import os
import stat

import msgspec

from holdfast.lib.guarded_read import ReadRefusedError, read_guarded
from holdfast.settings.directories import home_directory

_MAX_LINK_BYTES = 4096


class ProjectLayout(msgspec.Struct, frozen=True):
    """The places of one project, all resolved."""

    cwd: str
    root: str
    main_checkout: str | None = None
    """The main checkout, when `root` is a proven worktree of it."""

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories from the root down to the working directory."""
        found = [self.cwd]
        while found[-1] != self.root:
            found.append(os.path.dirname(found[-1]))
        return tuple(reversed(found))


def find_layout(cwd: str, *, home: str) -> ProjectLayout:
    """Return the layout of the project that `cwd` is in."""
    real = os.path.realpath(cwd)
    root = _find_root(real, os.path.realpath(home))
    return ProjectLayout(cwd=real, root=root, main_checkout=main_checkout(root))


def _find_root(cwd: str, home: str) -> str:
    try:
        owners = {os.stat(cwd).st_uid}
    except OSError:
        return cwd
    if hasattr(os, "geteuid"):
        owners.add(os.geteuid())
    place, empty = cwd, None
    while not is_above_home(place, home):
        try:
            found = os.lstat(os.path.join(place, ".git"))
        except OSError:
            found = None
        # Somebody else's `.git` in a shared parent such as /tmp does not adopt our directory.
        if found is not None and found.st_uid in owners:
            if not is_placeholder(os.path.join(place, ".git"), found):
                return place
            empty = empty or place  # it is no repository, and hides none above
        place = os.path.dirname(place)
    return empty or cwd


def is_placeholder(path: str, found: os.stat_result | None = None) -> bool:
    """Whether an empty directory stands at a path: git takes no notice of one, and the sandbox makes such."""
    try:
        found = os.lstat(path) if found is None else found
        return stat.S_ISDIR(found.st_mode) and not os.listdir(path)
    except OSError:
        return False


def is_above_home(place: str, home: str) -> bool:
    """Whether a directory is the home directory, a parent of it, or the root of the file system."""
    return place == os.path.dirname(place) or home == place or home.startswith(place.rstrip(os.sep) + os.sep)


def reaches_above(text: str, folder: str) -> bool:
    """Whether a directory that a folder names is `/`, the home directory, or lies above one of home and the folder."""
    home, inside = os.path.realpath(home_directory()), os.path.realpath(folder or os.sep)
    expanded = os.path.expanduser(text) if text.startswith("~") else text
    place = os.path.realpath(os.path.join(inside, expanded))
    return is_above_home(place, home) or (place != inside and is_above_home(place, inside))


def git_fingerprint(root: str) -> str:
    """Say what `.git` is: `plain` for a directory or nothing, else the kind and a hash of where it leads."""
    path = os.path.join(root, ".git")
    try:
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            return "plain"
        if stat.S_ISLNK(found.st_mode):
            return f"link:{_digest(os.fsencode(os.readlink(path)))}"
        content = read_guarded(path, limit_bytes=_MAX_LINK_BYTES, follow=False)
    except FileNotFoundError:
        return "plain"
    except OSError:
        return "unreadable"
    return f"file:{_digest(content or b'')}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main_checkout(root: str) -> str | None:
    """Return the main checkout of a linked worktree, if the main checkout itself confirms the link."""
    marker = os.path.join(root, ".git")
    text = _line(marker)
    if text is None or not text.startswith("gitdir:"):
        return None
    private = os.path.realpath(os.path.join(root, text.removeprefix("gitdir:").strip()))
    common = os.path.dirname(os.path.dirname(private))
    if os.path.basename(os.path.dirname(private)) != "worktrees" or os.path.basename(common) != ".git":
        return None
    back, shared = _line(os.path.join(private, "gitdir")), _line(os.path.join(private, "commondir"))
    if back is None or shared is None:
        return None
    if (
        os.path.realpath(os.path.join(private, back)) != marker
        or os.path.realpath(os.path.join(private, shared)) != common
    ):
        return None
    return os.path.dirname(common)


def _line(path: str) -> str | None:
    try:
        data = read_guarded(path, limit_bytes=_MAX_LINK_BYTES, follow=False)
    except (ReadRefusedError, OSError):
        return None
    text = os.fsdecode(data or b"").rstrip("\r\n")
    return text if text and "\0" not in text and "\n" not in text else None
