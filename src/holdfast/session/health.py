"""What `holdfast doctor` says about sessions: directories, rights, locks, journals, formats, the log."""

import os
import stat as st
from typing import NamedTuple

from holdfast.lib.visible import visible
from holdfast.session.directory import SessionStore, read_journal
from holdfast.session.errors import SessionError
from holdfast.session.lock import holder_of, is_live
from holdfast.session.private import open_private_directory
from holdfast.session.records import JOURNAL_VERSION

__all__ = ["Check", "check_sessions"]

_MANY = 200
"""So many of the latest journals are read; all of them would keep the user waiting."""


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
        self.versions: set[int] = set()


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
    read = f"{len(paths[:_MANY])} of {len(paths)} looked at"
    return [
        Check("directory", ok=True, detail=f"{visible(store.root)}, {len(paths)} sessions, {_free(store.root)}"),
        _check("permissions", findings.unsafe, f"private and ours, {read}"),
        Check("locks", ok=True, detail=", ".join(findings.live) or "none is in use"),
        _check("journals", findings.damaged, f"whole, {read}"),
        _check("versions", findings.newer, f"format {JOURNAL_VERSION}, {read}"),
    ]


def _look(store: SessionStore, path: str, findings: _Findings) -> None:
    name = os.path.basename(path)
    try:
        with store.opened(path) as directory:
            if is_live(directory, path=path):
                holder = holder_of(directory, path=path)
                findings.live.append(f"{name} (process {holder.pid if holder else '?'})")
            transcript = read_journal(directory, path)
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


def _check(name: str, problems: list[str], fine: str) -> Check:
    return Check(name, ok=not problems, detail="; ".join(problems) or fine)


def _free(path: str) -> str:
    try:
        found = os.statvfs(path)
    except OSError:
        return "free space unknown"
    return f"{found.f_bavail * found.f_frsize // 1_000_000:,} MB free"
