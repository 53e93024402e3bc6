"""Typed changes that a finished call makes to its session. The engine applies them in call order."""

from typing import Any, NamedTuple

__all__ = [
    "ContextModifier",
    "ConversationHanded",
    "CwdChanged",
    "FileRead",
    "FileStamp",
    "Granted",
    "ModeChanged",
    "PromptQueued",
    "WorktreeChanged",
]


class FileStamp(NamedTuple):
    """What a file looked like when it was shown: enough to tell later whether it changed."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    sha256: str
    """Digest of the bytes that were shown: of the whole file if `whole`."""
    whole: bool
    """The complete file was shown, not a part of it."""
    ctime_ns: int = 0
    content_sha256: str | None = None
    """Digest of the whole file where it was taken although only a part was shown."""
    shown: tuple[int, int] = (0, 0)
    """The bytes that were shown, from and to."""
    window: tuple[int, int] | None = None
    """First line and number of lines of the last request, to recognise its repetition; none after our own change."""


class FileRead(NamedTuple):
    """The model has seen this file in this state."""

    path: str
    stamp: FileStamp


class CwdChanged(NamedTuple):
    """Later calls resolve relative paths against this directory."""

    path: str


class ModeChanged(NamedTuple):
    """The permission mode changes; only the plan tools may send this."""

    mode: str


class PromptQueued(NamedTuple):
    """A prompt to deliver to the model between turns."""

    text: str


class Granted(NamedTuple):
    """Permission rules granted by the user's yes; counted only from ExitPlanMode and Skill."""

    rules: tuple[str, ...]
    turns: int | None = None
    """How many turns of the user the grant lasts, each from a prompt to its answer; none means the session."""
    denied: tuple[str, ...] = ()
    """Rules that deny for as long; they bind also where nobody said yes."""
    readable: tuple[str, ...] = ()
    """Directories that read as inside for the rest of the session: where a skill's files are."""


class WorktreeChanged(NamedTuple):
    """The session goes on in a worktree, or back where it was; counted only from the worktree tools."""

    cwd: str
    """Where later calls work."""
    path: str = ""
    """The worktree; empty: the session has left it."""
    root: str = ""
    """The checkout that the worktree stands for: what rules say about that holds in the worktree, too."""
    branch: str = ""
    head: str = ""
    """The commit that it began with."""
    made_by: str = ""
    """`git` or `hook`; empty: it was there before, and is not ours to remove."""
    original_cwd: str = ""
    """Where the session worked before."""
    original_root: str = ""
    """The project's root before."""


class ConversationHanded(NamedTuple):
    """A finished agent hands on what it knows, so that somebody can go on with it; counted only from Agent."""

    agent_id: str
    conversation: Any
    """Its conversation and its limits, as whoever starts agents keeps them."""


ContextModifier = FileRead | CwdChanged | ModeChanged | PromptQueued | Granted | WorktreeChanged | ConversationHanded
