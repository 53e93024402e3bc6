"""Which folders the user trusts, and which of the things they bring along he approved.

A folder is known by its resolved path, device and inode, and by what its `.git` is. A folder that was moved,
replaced, or whose `.git` became a file (a worktree or submodule, which may point at somebody else's repository) is
asked about again. The trust of a parent never reaches a folder with its own root, and a worktree never inherits the
trust of the repository that its `.git` file names. The home directory and `/` cannot be trusted: that would trust
everything ever unpacked below.

Executable things (hooks, MCP servers, environment variables, …) are approved one by one by the hash of their content.
Nothing here asks a person: without a record the answer is "not trusted", so a run with nobody to ask never trusts
silently.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from typing import Protocol

import msgspec

from holdfast.lib.guarded_read import ReadRefusedError, read_guarded
from holdfast.settings.directories import private_directory
from holdfast.settings.errors import SettingsError
from holdfast.settings.layout import git_fingerprint, is_above_home
from holdfast.settings.project_view import UNTRUSTED, TrustView

TRUST_FILE = "trust.json"
_VERSION = 1
_LIMIT_BYTES = 10_000_000
_ATTEMPTS = 20
_LONGEST_PAUSE_S = 0.1


class FolderIdentity(msgspec.Struct, frozen=True):
    """What makes a folder this folder."""

    path: str
    """The resolved path, with bytes that are not UTF-8 as escapes."""
    dev: int
    ino: int
    git: str

    @classmethod
    def of(cls, root: str) -> "FolderIdentity":
        """Look at a folder now. A folder that cannot be looked at gets an identity that matches no record."""
        real = os.path.realpath(root)
        name = os.fsencode(real).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
        try:
            found = os.stat(real)
        except OSError:
            return cls(name, -1, -1, "unreadable")
        return cls(name, found.st_dev, found.st_ino, git_fingerprint(real))

    @property
    def is_certain(self) -> bool:
        """Whether the folder could be looked at."""
        return self.ino >= 0 and self.git != "unreadable"


def why_never_trusted(root: str, *, home: str) -> str | None:
    """Return why a directory cannot be trusted at all, or None when it can."""
    real = os.path.realpath(root)
    if is_above_home(real, os.path.realpath(home)):
        return "everything below it would be trusted too"
    if not FolderIdentity.of(real).is_certain:
        return "it cannot be examined"
    if os.name != "nt" and os.stat(real).st_mode & 0o002:
        return "every user of this machine may write to it (chmod o-w)"
    return None


class Trust(Protocol):
    """Answers what the user said about a folder."""

    def view(self, folder: FolderIdentity) -> TrustView:
        """Return what holds for the folder now."""
        ...


class NoTrust:
    """Trusts nothing."""

    def view(self, folder: FolderIdentity) -> TrustView:
        """Return that the folder is not trusted."""
        del folder
        return UNTRUSTED


class MemoryTrust:
    """Trust that is kept for this process only, for one run that the user vouched for and for tests."""

    def __init__(self) -> None:
        self._views: dict[FolderIdentity, TrustView] = {}

    def view(self, folder: FolderIdentity) -> TrustView:
        """Return what was said about the folder."""
        return self._views.get(folder, UNTRUSTED)

    def trust(self, folder: FolderIdentity, *, items: Iterable[str] = ()) -> None:
        """Trust a folder and approve items of it by hash."""
        self._views[folder] = TrustView(trusted=True, approved=self.view(folder).approved | frozenset(items))


class VouchedTrust:
    """One folder that a program vouches for, for this run only; else, and for what is approved, the user's record."""

    def __init__(self, store: "TrustStore", folder: FolderIdentity) -> None:
        self.path = store.path
        self._store = store
        self._folder = folder

    @property
    def problem(self) -> str | None:
        """Why the record could not be read the last time, if so."""
        return self._store.problem

    def view(self, folder: FolderIdentity) -> TrustView:
        """Return what holds for the folder now."""
        view = self._store.view(folder)
        return msgspec.structs.replace(view, trusted=True) if folder == self._folder else view


class _Record(msgspec.Struct, frozen=True):
    path: str
    dev: int
    ino: int
    git: str
    approved: tuple[str, ...] = ()

    def identity(self) -> FolderIdentity:
        return FolderIdentity(self.path, self.dev, self.ino, self.git)


class _File(msgspec.Struct, frozen=True, omit_defaults=True):
    version: int
    folders: tuple[_Record, ...] = ()
    kept: tuple[_Record, ...] = ()
    """Folders, trusted or not, in which the user saved allow rules: the hashes of those rules."""


class TrustStore:
    """The trust record of this user, in a private file."""

    def __init__(self, state: str, *, home: str) -> None:
        self.path = os.path.join(state, TRUST_FILE)
        self.problem: str | None = None
        """Why the record could not be read the last time, if so. Then nothing is trusted."""
        self._state = state
        self._home = os.path.realpath(home)
        self._signature: tuple[int, ...] | None = None
        self._views: dict[FolderIdentity, TrustView] = {}

    def view(self, folder: FolderIdentity) -> TrustView:
        """Return what the record says about a folder. An unreadable record means: not trusted."""
        self._refresh()
        if not folder.is_certain:
            return UNTRUSTED
        return self._views.get(folder, UNTRUSTED)

    def trust(self, root: str, *, items: Iterable[str] = ()) -> FolderIdentity:
        """Trust a folder and approve items of it by hash; earlier approvals of the same folder stay.

        Raises:
            SettingsError: The folder must not be trusted, or the record cannot be written.
        """
        folder = FolderIdentity.of(root)
        if (reason := why_never_trusted(root, home=self._home)) is not None:
            advice = "Start in the project's own directory."
            raise SettingsError(f"this directory cannot be trusted: {reason}", path=root, advice=advice)
        self._update(folder, add=frozenset(items))
        return folder

    def approve(self, root: str, item_hash: str) -> None:
        """Approve one more item of a folder that is trusted already."""
        folder = FolderIdentity.of(root)
        if not self.view(folder).trusted:
            raise SettingsError("an item can be approved only in a trusted folder", path=root, advice="Trust it first.")
        self._update(folder, add=frozenset({item_hash}))

    def revoke(self, root: str) -> None:
        """Forget a folder, everything approved in it, and the rules that were saved there by an "always"."""
        self._update(FolderIdentity.of(root), add=None)

    def keep(self, root: str, rules: Iterable[str]) -> None:
        """Remember allow rules, by hash, that the user saved in files of a folder: they count without trust."""
        folder = FolderIdentity.of(root)
        if folder.is_certain:
            self._update(folder, keep=frozenset(rules))

    def _refresh(self) -> None:
        try:
            found = os.lstat(self.path)
        except OSError:
            signature = None
        else:
            signature = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if signature is not None and signature == self._signature:
            return
        self.problem = None
        self._signature = signature
        try:
            file, _ = self._load()
        except SettingsError as error:
            self.problem = str(error)
            self._views = {}
            return
        trusted = {record.identity(): frozenset(record.approved) for record in file.folders}
        kept = {record.identity(): frozenset(record.approved) for record in file.kept}
        self._views = {
            folder: TrustView(folder in trusted, trusted.get(folder, frozenset()), kept.get(folder, frozenset()))
            for folder in (*trusted, *kept)
        }

    def _load(self) -> tuple[_File, bytes | None]:
        try:
            data = read_guarded(self.path, limit_bytes=_LIMIT_BYTES, owner="me", follow=False)
        except ReadRefusedError as error:
            raise self._unusable(error.reason) from error
        except OSError as error:
            raise self._unusable(error.strerror or "it cannot be read") from error
        if data is None:
            return _File(_VERSION), None
        try:
            file = msgspec.json.decode(data, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._unusable(f"it is damaged ({error})") from error
        if file.version != _VERSION:
            raise self._unusable(f"it has version {file.version}, this program knows version {_VERSION}")
        return file, data

    def _unusable(self, reason: str) -> SettingsError:
        return SettingsError(
            f"the trust record is not used: {reason}", path=self.path, advice="Until then no folder is trusted."
        )

    def _update(
        self, folder: FolderIdentity, *, add: frozenset[str] | None = None, keep: frozenset[str] | None = None
    ) -> None:
        private_directory(self._state)
        for attempt in range(_ATTEMPTS):
            if attempt:  # somebody else writes too: all who come back at once would meet again
                time.sleep((0.5 + os.urandom(1)[0] / 512) * min(_LONGEST_PAUSE_S, 0.001 * 2**attempt))
            # Looked at before it is read: a change in between then shows, whichever way round it falls.
            before = os.lstat(self.path) if os.path.lexists(self.path) else None
            file, seen = self._load()
            if (before is None) == (seen is None) and self._write(_changed(file, folder, add, keep), before, seen):
                self._signature = None
                return
        raise SettingsError("the trust record is being changed all the time", path=self.path, advice="Try again.")

    def _write(self, file: _File, before: os.stat_result | None, seen: bytes | None) -> bool:
        from holdfast.lib.atomic import ABSENT, FileChangedError, WriteFailedError, write_atomic  # noqa: PLC0415
        from holdfast.lib.stamp import Stamp  # noqa: PLC0415 - loaded only where it is used

        expect = ABSENT if before is None else Stamp.of(before, sha256=hashlib.sha256(seen or b"").hexdigest())
        try:
            data = msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"
            path = os.path.join(os.path.realpath(self._state), TRUST_FILE)
            write_atomic(path, data, mode=0o600, expect=expect, links="refuse")
        except FileChangedError:
            return False
        except WriteFailedError as error:
            raise SettingsError(f"the trust record cannot be written: {error}", path=self.path) from error
        return True


def _changed(file: _File, folder: FolderIdentity, add: frozenset[str] | None, keep: frozenset[str] | None) -> _File:
    """Trust with `add`, remember with `keep`; without either the folder is forgotten."""
    if keep is not None:
        return msgspec.structs.replace(file, kept=_with(file.kept, folder, keep))
    if add is not None:
        return msgspec.structs.replace(file, folders=_with(file.folders, folder, add))
    return _File(_VERSION, _others(file.folders, folder), _others(file.kept, folder))


def _with(records: tuple[_Record, ...], folder: FolderIdentity, add: frozenset[str]) -> tuple[_Record, ...]:
    known = next((set(record.approved) for record in records if record.identity() == folder), set[str]())
    record = _Record(folder.path, folder.dev, folder.ino, folder.git, tuple(sorted(known | add)))
    return (*_others(records, folder), record)


def _others(records: tuple[_Record, ...], folder: FolderIdentity) -> tuple[_Record, ...]:
    # Another folder at the same path is gone; its record must not wait for an inode number that comes back.
    return tuple(record for record in records if record.path != folder.path)
