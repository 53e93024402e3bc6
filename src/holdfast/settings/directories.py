"""Where Holdfast keeps the user's configuration, state and cache, and how a private directory is made."""

import os
import stat
import sys
from collections.abc import Mapping

import msgspec

from holdfast.lib.guarded_read import is_mine, others_may_write
from holdfast.settings.errors import SettingsError

_NAME = "holdfast"


class Directories(msgspec.Struct, frozen=True):
    """The user's three directories, absolute. They need not exist."""

    config: str
    state: str
    cache: str


def home_directory(environ: Mapping[str, str] | None = None) -> str:
    """Return the home directory: `$HOME` when it is absolute, else what the user database says."""
    home = (os.environ if environ is None else environ).get("HOME", "")
    return os.path.normpath(home) if os.path.isabs(home) else os.path.expanduser("~")


def user_directories(
    environ: Mapping[str, str] | None = None, *, home: str | None = None, platform: str = sys.platform
) -> Directories:
    """Return the user's directories by the rules of the platform.

    XDG variables count everywhere when they are set and absolute; a relative one would lead into the current folder,
    which may be hostile, and is ignored as the XDG specification demands.
    """
    env = os.environ if environ is None else environ
    base = home_directory(env) if home is None else home
    defaults = _platform_defaults(env, base, platform)
    chosen = [
        os.path.join(value, _NAME) if os.path.isabs(value := env.get(variable, "")) else default
        for variable, default in zip(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), defaults, strict=True)
    ]
    return Directories(*chosen)


def _platform_defaults(env: Mapping[str, str], home: str, platform: str) -> tuple[str, str, str]:
    if platform == "darwin":
        support = os.path.join(home, "Library", "Application Support", _NAME)
        return support, os.path.join(support, "state"), os.path.join(home, "Library", "Caches", _NAME)
    if platform == "win32":
        roaming = env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
        local = env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(roaming, _NAME), os.path.join(local, _NAME, "state"), os.path.join(local, _NAME, "cache")
    return (
        os.path.join(home, ".config", _NAME),
        os.path.join(home, ".local", "state", _NAME),
        os.path.join(home, ".cache", _NAME),
    )


def private_directory(path: str) -> str:
    """Make sure a directory exists that only this user can enter, and return its path.

    A directory of ours that others may only read is narrowed to 0700. One that is a link, belongs to somebody else or
    can be written by others is refused: what is in it may have been planted.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
    except OSError as error:
        raise SettingsError(
            f"the private directory cannot be made: {error.strerror}",
            path=path,
            advice="Check the path and its rights.",
        ) from error
    if not stat.S_ISDIR(found.st_mode):
        raise SettingsError("a private directory is needed here, not a link", path=path, advice="Remove the link.")
    if not is_mine(found):
        raise SettingsError(
            f"the directory belongs to another user (uid {found.st_uid})", path=path, advice="Move it away."
        )
    if others_may_write(found):
        raise SettingsError(
            "other users may write to this directory",
            path=path,
            advice="Look at what is in it, then run chmod 700 on it.",
        )
    if os.name != "nt" and found.st_mode & 0o077 and found.st_uid == os.geteuid():
        os.chmod(path, 0o700)
    return path
