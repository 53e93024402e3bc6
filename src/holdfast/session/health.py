"""What `holdfast doctor` says about sessions: directories, rights, locks, journals, formats, the log."""

import os
import stat as st
from typing import BinaryIO, NamedTuple

from holdfast.events import Event
from holdfast.lib.visible import visible
from holdfast.session.directory import SessionStore, journal_file
from holdfast.session.errors import SessionError
from holdfast.session.lock import holder_of, is_live
from holdfast.session.private import open_private_directory
from holdfast.session.records import JOURNAL_VERSION, JournalGap, SessionOpened
from holdfast.session.transcript import Transcript, read_transcript

__all__ = ["Check", "check_sessions"]

_MANY = 200
"""So many of the latest journals are read; all of them would keep the user waiting."""
_EACH_BYTES = 32_000_000
_ALL_BYTES = 200_000_000
"""So much is read of one journal and of all, the latest first."""


class Check(NamedTuple):
    """One line of the doctor's report."""

    name: str
    ok: bool
    detail: str


class _Findings:
    def __init__(self) -> None:
        self.unsafe: list[str] = []
        self.live: list[str] = []
        self.damaged: list[str] = []
        self.newer: list[str] = []
        self.left_bytes = _ALL_BYTES
        self.cut = 0
        """How many journals were not read to their end."""


class _Counted(Transcript):
    """Only what the checks tell, so that a journal of any size needs no memory."""

    def take(self, record: Event) -> None:
        if isinstance(record, JournalGap):
            self.lost_lines += record.lines
        elif isinstance(record, SessionOpened) and self.header is None:
            self.header = record


class _Beginning:
    """The lines of a file up to a size; the one that goes beyond it is the last."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self.is_cut = False

    def readline(self, limit: int) -> bytes:
        """The next line, or as much of it as is wanted."""
        if self._left <= 0:
            self.is_cut = bool(self._file.read(1))
            return b""
        line = self._file.readline(limit)
        self._left -= len(line)
        return line


def check_sessions(store: SessionStore) -> list[Check]:
    """Look at the session store; nothing is changed but rights that are too wide are narrowed."""
    if not os.path.lexists(store.root):
        return [Check("directory", ok=True, detail=f"{visible(store.root)} (made with the first session)")]
    try:
        os.close(open_private_directory(store.root))
        paths = sorted(store.paths(), key=os.path.basename, reverse=True)
    except (OSError, SessionError) as error:
        return [Check("directory", ok=False, detail=str(error))]
    findings = _Findings()
    for path in paths[:_MANY]:
        _look(store, path, findings)
    in_part = f", {findings.cut} of them not to the end" if findings.cut else ""
    read = f"{len(paths[:_MANY])} of {len(paths)} looked at"
    return [
        Check("directory", ok=True, detail=f"{visible(store.root)}, {len(paths)} sessions, {_free(store.root)}"),
        _check("permissions", findings.unsafe, f"private and ours, {read}"),
        Check("locks", ok=True, detail=", ".join(findings.live) or "none is in use"),
        _check("journals", findings.damaged, f"whole, {read}{in_part}"),
        _check("versions", findings.newer, f"format {JOURNAL_VERSION}, {read}"),
    ]


def _look(store: SessionStore, path: str, findings: _Findings) -> None:
    name = os.path.basename(path)
    try:
        with store.opened(path) as directory:
            if is_live(directory, path=path):
                holder = holder_of(directory, path=path)
                findings.live.append(f"{name} (process {holder.pid if holder else '?'})")
            transcript = _read(directory, path, findings)
            for entry in os.scandir(path):
                if entry.is_symlink() or not (st.S_ISDIR(mode := entry.stat().st_mode) or st.S_ISREG(mode)):
                    findings.unsafe.append(f"{visible(entry.path)}: a link or special file")
    except (OSError, SessionError) as error:
        findings.unsafe.append(str(error))
        return
    if transcript.is_newer:
        findings.newer.append(f"{name} has format {transcript.version}")
    if transcript.damaged_lines or transcript.lost_lines:
        findings.damaged.append(f"{name}: {transcript.damaged_lines} damaged, {transcript.lost_lines} lost lines")


def _read(directory: int, path: str, findings: _Findings) -> Transcript:
    counted = _Counted()
    with journal_file(directory, path) as file:
        allowed = min(_EACH_BYTES, findings.left_bytes)
        beginning = _Beginning(file, allowed)
        read_transcript(beginning, into=counted)
        findings.left_bytes -= min(allowed, os.fstat(file.fileno()).st_size)
        findings.cut += beginning.is_cut
    return counted


def _check(name: str, problems: list[str], fine: str) -> Check:
    return Check(name, ok=not problems, detail="; ".join(problems) or fine)


def _free(path: str) -> str:
    try:
        found = os.statvfs(path)
    except OSError:
        return "free space unknown"
    return f"{found.f_bavail * found.f_frsize // 1_000_000:,} MB free"
