"""Run one script by bash and learn where it ended: the directory it was in when it left."""

import contextlib
import os
from collections.abc import Sequence

_CWD_LIMIT_BYTES = 1 << 16
_FLAGS = ("--norc", "--noprofile")


class CwdReport:
    """A hidden file in which the shell leaves its last directory; it has no name that anybody could plant or find.

    Every child of the shell can write to it too, so it is only a claim: check that the place exists and is allowed.
    """

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("cwd", os.MFD_CLOEXEC)
        else:
            import tempfile  # noqa: PLC0415 - only for systems without memfd

            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())

    def script(self, text: str) -> str:
        """The script with its report in front; the text follows as it is, byte for byte, from the second line on.

        A trap reports on every way out: the end, `exit` in the middle, `set -e`. `exec` and a trap of the script's own
        win, and then nothing is reported.
        """
        # What the report itself has to complain about (the directory is gone) is not the script's.
        return f"trap 'builtin pwd -P >&{self.fd} 2>&-' EXIT 2>/dev/null\n{text}"

    def read(self) -> str | None:
        """The directory, or None when the shell said nothing."""
        # The shell's writes moved the shared position, so the place is given.
        data = os.pread(self.fd, _CWD_LIMIT_BYTES, 0)
        text = os.fsdecode(data[:-1]) if data.endswith(b"\n") else ""
        return text or None

    def close(self) -> None:
        """Forget the file."""
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)
            self.fd = -1


def shell_argv(script: str, *, bash: str = "/bin/bash") -> Sequence[str]:
    """The one way in which scripts are run: no start-up file of the user or the project takes part."""
    return [bash, *_FLAGS, "-c", script]
