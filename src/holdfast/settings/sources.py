"""Where settings come from, and which source outranks which.

Scalars: policy > session > command line > local > project > user. Within one source the native file outranks the
existing format's; both are read. Rules never rank: deny beats ask beats allow, whatever the source.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from holdfast.lib.positions import Array, Json, Node, Object, Scalar, located
from holdfast.settings.directories import home_directory, user_directories
from holdfast.settings.errors import SettingsError

NATIVE_FOLDER = ".holdfast"
EXISTING_FOLDER = ".claude"
SETTINGS_FILE = "settings.json"
LOCAL_FILE = "settings.local.json"
MANAGED_FILE = "managed-settings.json"
MANAGED_DROP_INS = "managed-settings.d"
_MAX_DROP_INS = 256


class SourceKind(StrEnum):
    """A source of settings; `rank` orders them."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"
    COMMAND_LINE = "command_line"
    SESSION = "session"
    POLICY = "policy"

    @property
    def rank(self) -> int:
        """The higher rank wins on a scalar."""
        return _RANKS[self]

    @property
    def is_folder(self) -> bool:
        """Whether the folder brings it, so that trust decides what counts."""
        return self in {SourceKind.PROJECT, SourceKind.LOCAL}


_RANKS = {kind: rank for rank, kind in enumerate(SourceKind)}
CHOOSABLE_SOURCES = (SourceKind.USER, SourceKind.PROJECT, SourceKind.LOCAL)


class SettingsRoots(msgspec.Struct, frozen=True):
    """Every place outside the project that settings are read from. Tests give their own."""

    home: str
    user_native: str
    """Directory of the native user file."""
    user_existing: str
    """Directory of the existing format's user file."""
    managed_existing: tuple[str, ...]
    managed_native: tuple[str, ...]
    state: str
    """Where the trust record is kept."""

    def directories(self) -> tuple[str, ...]:
        """Every directory here that governs what the agent may do."""
        return (self.user_native, self.user_existing, *self.managed_native, *self.managed_existing, self.state)

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] | None = None, *, platform: str = sys.platform
    ) -> "SettingsRoots":
        """Return the roots of this machine and user."""
        env = os.environ if environ is None else environ
        home = home_directory(env)
        own = user_directories(env, home=home, platform=platform)
        config = env.get("CLAUDE_CONFIG_DIR", "")
        native, existing = _managed(env, platform)
        return cls(
            home=home,
            user_native=own.config,
            # A relative directory would be looked up in the current folder, which may be hostile.
            user_existing=config if os.path.isabs(config) else os.path.join(home, EXISTING_FOLDER),
            managed_existing=(existing,),
            managed_native=(native,),
            state=own.state,
        )


def _managed(env: Mapping[str, str], platform: str) -> tuple[str, str]:
    if platform == "darwin":
        return "/Library/Application Support/Holdfast", "/Library/Application Support/ClaudeCode"
    if platform == "win32":
        programs = env.get("PROGRAMFILES") or r"C:\Program Files"
        return rf"{programs}\Holdfast", rf"{programs}\ClaudeCode"
    return "/etc/holdfast", "/etc/claude-code"


class Candidate(msgspec.Struct, frozen=True):
    """A file that may hold settings, and how its rules are anchored."""

    kind: SourceKind
    path: str
    anchor: str
    """What a rule path that starts with a single slash is relative to."""
    folder: str
    """The folder that brings the file; for the project and local kinds its trust decides."""
    required: bool = False


class CommandLine(msgspec.Struct, frozen=True):
    """What the user typed at the start. Values are data: nothing in them is scanned for further options."""

    settings: tuple[str, ...] = ()
    """`--settings`: a file, or JSON text (it starts with a brace)."""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    add_dirs: tuple[str, ...] = ()
    permission_mode: str | None = None
    model: str | None = None
    fallback_model: str | None = None

    def flags(self) -> Object | None:
        """Return the flags as settings, or None when there are none."""
        permissions: dict[str, Node] = {}
        lists = (("allow", self.allowed_tools), ("deny", self.disallowed_tools))
        for name, texts in lists:
            if rules := [rule for text in texts for rule in split_tool_list(text)]:
                permissions[name] = Array([Scalar(rule) for rule in rules])
        if self.add_dirs:
            permissions["additionalDirectories"] = Array([Scalar(path) for path in self.add_dirs])
        if self.permission_mode is not None:
            permissions["defaultMode"] = Scalar(self.permission_mode)
        members: dict[str, Node] = {"permissions": Object(permissions)} if permissions else {}
        if self.model is not None:
            members["model"] = Scalar(self.model)
        if self.fallback_model is not None:
            members["fallbackModel"] = Scalar(self.fallback_model)
        return Object(members) if members else None


def session_settings(values: Mapping[str, Json]) -> Object:
    """Turn settings that a program sets for this session into a source."""
    node = located(dict(values))
    assert isinstance(node, Object)
    return node


def split_tool_list(text: str) -> list[str]:
    """Split `Bash(git log *), Read Edit` at commas and spaces that stand outside parentheses."""
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        elif depth == 0 and (char == "," or char.isspace()):
            found.append(text[start:at])
            start = at + 1
    found.append(text[start:])
    return [entry for entry in found if entry]


def parse_setting_sources(text: str) -> frozenset[SourceKind]:
    """Read the value of `--setting-sources`, for example `user,project`. Policy and command line always count."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {kind.value: kind for kind in CHOOSABLE_SOURCES}
    for name in names:
        if name not in known:
            raise SettingsError(
                f"--setting-sources names {name!r}, which is not a source", advice=f"Use some of {', '.join(known)}."
            )
    return frozenset(known[name] for name in names)


def managed_files(directory: str) -> list[str]:
    """Return the policy files below a managed directory: the main file first, then the drop-ins by name."""
    found = [os.path.join(directory, MANAGED_FILE)]
    extra = os.path.join(directory, MANAGED_DROP_INS)
    try:
        names = sorted(name for name in os.listdir(extra) if name.endswith(".json") and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return found
    except OSError as error:
        raise SettingsError(f"the policy directory cannot be listed: {error.strerror}", path=extra) from error
    if len(names) > _MAX_DROP_INS:
        raise SettingsError(f"there are more than {_MAX_DROP_INS} policy files", path=extra, advice="Merge some.")
    return found + [os.path.join(extra, name) for name in names]


def user_candidates(roots: SettingsRoots) -> list[Candidate]:
    """Return the user's files, lowest rank first."""
    places = (roots.user_existing, roots.user_native)
    return [Candidate(SourceKind.USER, os.path.join(p, SETTINGS_FILE), anchor=p, folder=p) for p in places]


def folder_candidates(
    kind: Literal[SourceKind.PROJECT, SourceKind.LOCAL], directories: Sequence[str], *, anchor: str | None = None
) -> list[Candidate]:
    """Return the files of one folder kind for directories from the outermost to the innermost, lowest rank first."""
    name = LOCAL_FILE if kind is SourceKind.LOCAL else SETTINGS_FILE
    return [
        Candidate(kind, os.path.join(place, folder, name), anchor=anchor or place, folder=place)
        for place in directories
        for folder in (EXISTING_FOLDER, NATIVE_FOLDER)
    ]


def policy_candidates(roots: SettingsRoots, *, anchor: str) -> list[Candidate]:
    """Return the policy's files, lowest rank first. Their rules are anchored at the project they are applied to."""
    return [
        Candidate(SourceKind.POLICY, path, anchor=anchor, folder=directory)
        for directory in (*roots.managed_existing, *roots.managed_native)
        for path in managed_files(directory)
    ]
