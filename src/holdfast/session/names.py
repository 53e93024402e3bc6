"""Names on disk: session ids that sort by time, and a readable, unique name for each project."""

import hashlib
import os
import re
import threading
import time

from holdfast.session.errors import SessionError

__all__ = ["check_session_id", "new_session_id", "project_slug"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")
_SLUG_CHARS = 32
_last_ms = 0
_guard = threading.Lock()


def new_session_id() -> str:
    """A UUID of version 7: later ids of one process sort behind earlier ones, and no two are alike."""
    global _last_ms  # noqa: PLW0603 - the clock may stand still or step back; ids must not
    with _guard:
        _last_ms = stamp = max(time.time_ns() // 1_000_000, _last_ms + 1)
    number = (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | 0b10 << 62
    noise = int.from_bytes(os.urandom(10), "big")
    number |= (noise & 0xFFF) << 64 | noise >> 18
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def check_session_id(session_id: str) -> str:
    """Return an id that is safe as a file name, or say why it is none."""
    if not _ID.match(session_id):
        raise SessionError(
            f"{session_id!r} is not a session id",
            advice="Use up to 64 letters, digits, '-' and '_', beginning with a letter or digit.",
        )
    return session_id


def project_slug(project: str) -> str:
    """The directory name of a project: its own name for people, a hash of its resolved path for certainty."""
    real = os.path.realpath(project)
    plain = _NOT_PLAIN.sub("-", os.path.basename(real)).strip("-").lower()[:_SLUG_CHARS]
    return f"{plain or 'root'}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"
