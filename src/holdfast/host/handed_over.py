"""A command that another program starts for us, such as an editor in one of its terminals.

It goes over as a file that is a program of its own, because others read words differently: some hand them to a shell
again, and then the text would not be the one that was judged. What the command sees, where it begins and what it is,
all stand in the file; of the starter's own environment nothing is left.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Iterable, Mapping

from holdfast.host import tree
from holdfast.host.command import KILL_GRACE_S, Command
from holdfast.host.shell import CwdReport
from holdfast.host.spawn import Environment

__all__ = ["HandedOver", "end_marked"]

_GIVE_UP_S = 5.0
_PAUSE_S = 0.02
_REPORT_FD = 190
_NOT_TO_BE_SET = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID", "_"))
_STARTER = b"""#!/bin/bash -p
set -o noclobber
{ : > %(began)s; } 2>/dev/null || exit 126
exec -c /bin/bash --norc --noprofile %(inner)s </dev/null
"""


class FileReport(CwdReport):
    """The last directory of a shell that we do not start ourselves: it is left in a file with a name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def script(self, text: str) -> str:
        """The script with its report in front, which goes to the handle that the file was opened by."""
        return f"trap 'builtin pwd -P >&{_REPORT_FD} 2>&-' EXIT 2>/dev/null\n{text}"


class HandedOver:
    """One command in a private directory of its own. It begins once, or never: whoever is first decides."""

    def __init__(
        self, directory: str, name: str, mark: bytes, seen: Callable[[Mapping[str, str | None]], Environment]
    ) -> None:
        """Make the directory.

        Args:
            directory: Where; it must not exist, and its path needs no quotes in any shell.
            name: What the file is called, for people who see it in the editor.
            mark: `NAME=value` by which its processes are known.
            seen: Makes all that a process sees of what a command wants changed.

        Raises:
            OSError: It cannot be made.
        """
        os.mkdir(directory, 0o700)
        self._directory = directory
        self._mark = mark
        self._seen = seen
        self._began = os.path.join(directory, "began")
        self._inner = os.path.join(directory, "inner")
        self.program = os.path.join(directory, name)
        """What is to be started, without words behind it."""
        self.report: FileReport | None = None

    def reports(self) -> FileReport:
        """Have the shell say where it was when it left."""
        self.report = FileReport(os.path.join(self._directory, "left"))
        return self.report

    def write(self, command: Command) -> None:
        """Write the command down.

        Raises:
            OSError: The disk does not take it.
        """
        lines = [
            b"export %b=%b" % (name, _quoted(value))
            for name, value in _named([*self._seen(command.env).entries, self._mark])
        ]
        lines.append(b"cd -- %b || exit 1" % _quoted(os.fsencode(command.cwd or "/")))
        if self.report is not None:
            lines.append(b"exec %d>>%b" % (_REPORT_FD, _quoted(os.fsencode(self.report.path))))
        words = b" ".join(_quoted(os.fsencode(word)) for word in command.argv)
        _write(self._inner, b"%b\nexec %b\n" % (b"\n".join(lines), words), 0o600)
        names = {b"began": _quoted(os.fsencode(self._began)), b"inner": _quoted(os.fsencode(self._inner))}
        _write(self.program, _STARTER % names, 0o700)

    @property
    def has_begun(self) -> bool:
        """Whether somebody started it."""
        return os.path.exists(self._began)

    def prevent(self) -> bool:
        """Let it never begin from now on; false where it already has."""
        try:
            _write(self._began, b"", 0o600)
        except FileExistsError:
            return False
        except OSError:
            return not self.has_begun and _is_gone(self._inner)
        return True

    async def end(self) -> None:
        """End what is left of it."""
        await end_marked(self._mark)

    def remove(self) -> None:
        """Take the directory away; a shell that runs has read what it needs."""
        if self.report is not None:
            self.report.close()
        for name in (self._inner, self._began, self.program, *(() if self.report is None else (self.report.path,))):
            with contextlib.suppress(OSError):
                os.unlink(name)
        with contextlib.suppress(OSError):
            os.rmdir(self._directory)


async def end_marked(mark: bytes, grace_s: float = KILL_GRACE_S) -> None:
    """End every process that sees `NAME=value`: ask first, then kill."""

    def find() -> list[tree.Entry]:
        return tree.marked(tree.scan(), mark)

    left = await asyncio.to_thread(find)
    for entry in left:
        tree.send(entry, signal.SIGTERM)
    deadline = asyncio.get_running_loop().time() + grace_s
    while left and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(_PAUSE_S)
        left = await asyncio.to_thread(find)
    for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=_nothing):
        await asyncio.sleep(pause_s)


def _nothing() -> None:
    """They are not our children: whoever started them collects them."""


def _named(environment: Iterable[bytes]) -> Iterable[tuple[bytes, bytes]]:
    """The variables that a shell can set: others have names that no script can write."""
    for entry in environment:
        name, _, value = entry.partition(b"=")
        text = name.decode("latin-1")
        if text.isascii() and text.isidentifier() and text not in _NOT_TO_BE_SET:
            yield name, value


def _quoted(value: bytes) -> bytes:
    return shlex.quote(value.decode("latin-1")).encode("latin-1")


def _write(path: str, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _is_gone(path: str) -> bool:
    """The disk is full or broken: without its inner file it cannot begin either."""
    with contextlib.suppress(OSError):
        os.unlink(path)
        return True
    return False
