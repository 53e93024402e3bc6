"""The way of one command to the network: it waits behind bubblewrap until somebody listens at its door."""

import asyncio
import os
import select
import socket
from collections.abc import Mapping
from typing import Final

import msgspec

from holdfast.host.command import StartError
from holdfast.host.sandbox.door import Doorkeeper
from holdfast.host.sandbox.proxy import Border, Proxy
from holdfast.host.sandbox.proxy_variables import PORT, proxy_variables

__all__ = ["Way"]

_START_S: Final = 10.0
_MAX_INFO_BYTES: Final = 4096


class Way:
    """Two pipes to bubblewrap (who the command is, and that it may begin) and the proxy that serves its door."""

    def __init__(self, border: Border, doorkeeper: Doorkeeper, handles: list[int]) -> None:
        """Make ready; what bubblewrap is to inherit goes to `handles`."""
        self._doorkeeper = doorkeeper
        self._proxy = Proxy(border)
        self._info, told = os.pipe2(os.O_CLOEXEC)
        handles.append(told)
        waits, self._begin = os.pipe2(os.O_CLOEXEC)
        handles.append(waits)
        self.arguments = ["--info-fd", str(told), "--block-fd", str(waits)]
        """What bubblewrap is told."""

    def variables(self, given: Mapping[str, str | None]) -> dict[str, str]:
        """What the command sees, on top of what it is given."""
        return proxy_variables(given)

    async def open(self) -> None:
        """Serve the door, then let the command begin. Where bubblewrap has ended there is nobody to serve.

        Raises:
            StartError: There is no door.
        """
        work = asyncio.ensure_future(asyncio.to_thread(self._listen))
        try:
            listener = await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(_forget)
            raise
        except OSError as problem:
            raise StartError(
                f"The sandbox's way to the network cannot be made: {problem}. Nothing was run."
            ) from problem
        if listener is None or self._begin < 0:
            return
        await self._proxy.serve(listener)
        os.write(self._begin, b"+")
        self._close_pipes()

    def _listen(self) -> socket.socket | None:
        pid = self._read_pid()
        return None if pid is None else self._doorkeeper.listen_in(pid, PORT)

    def _read_pid(self) -> int | None:
        handle = os.dup(self._info)  # a command that is left meanwhile closes the other
        try:
            said = b""
            while len(said) < _MAX_INFO_BYTES:
                if not select.select([handle], [], [], _START_S)[0]:
                    raise OSError("bubblewrap does not say which process it started")
                piece = os.read(handle, _MAX_INFO_BYTES)
                said += piece
                if not piece or b"}" in piece:
                    break
        finally:
            os.close(handle)
        try:
            found: object = msgspec.json.decode(said).get("child-pid")
        except (msgspec.DecodeError, AttributeError):
            return None  # it ended, and its own words say why
        return found if isinstance(found, int) else None

    def close(self) -> None:
        """Nothing of the command runs any more."""
        self._close_pipes()
        self._proxy.close()

    def _close_pipes(self) -> None:
        for handle in (self._info, self._begin):
            if handle >= 0:
                os.close(handle)
        self._info = self._begin = -1


def _forget(work: "asyncio.Future[socket.socket | None]") -> None:
    if not work.cancelled() and work.exception() is None and (listener := work.result()) is not None:
        listener.close()
