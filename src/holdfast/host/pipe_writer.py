"""The input of a process: written without blocking the loop."""

import asyncio
import os


class PipeWriter:
    """Writes without blocking the loop. Whoever does not read its input is not our problem: the rest is dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        os.set_blocking(fd, False)
        self._loop = loop
        self._fd = fd
        self._rest = memoryview(b"")
        self._done: asyncio.Future[None] | None = None
        self._closes_after = False
        self.is_open = True

    def send_and_close(self, data: bytes) -> None:
        """Write all of it in the background, then end the input."""
        self._closes_after = True
        self._rest = memoryview(data)
        self._push()

    async def write(self, data: bytes) -> None:
        """Write all of it; raises `BrokenPipeError` when the process no longer reads."""
        while self._done is not None:
            await asyncio.shield(self._done)
        self._rest = memoryview(data)
        self._push()
        if self._rest and self.is_open:
            self._done = self._loop.create_future()
            await asyncio.shield(self._done)
        if not self.is_open:
            raise BrokenPipeError("the process closed its input: check whether it is still running")

    def _push(self) -> None:
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._push)
            return
        except OSError:
            self.close()
            return
        self._loop.remove_writer(self._fd)
        if self._closes_after:
            self.close()
        else:
            self._settle()

    def _settle(self) -> None:
        done, self._done = self._done, None
        if done is not None and not done.done():
            done.set_result(None)

    def close(self) -> None:
        """End the process's input."""
        if self.is_open:
            self._loop.remove_writer(self._fd)
            self.is_open = False
            os.close(self._fd)
        self._settle()
