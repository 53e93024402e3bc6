"""A door to the network of a sandbox: a socket that listens inside it and is served by us outside.

Nothing of ours runs inside. A small process that stays outside forks for each command; the fork enters the command's
network, makes the socket and hands it over. It must be a process of its own: a program with threads, such as ours, can
neither enter a user namespace nor fork safely.
"""

import array
import fcntl
import os
import socket
import sys
import threading
from typing import Final

TYPE_CHECKING = False  # `typing` would double the helper's size
if TYPE_CHECKING:
    import subprocess

__all__ = ["Doorkeeper", "serve"]

_ANSWER_S: Final = 10.0
_OWNER_OF: Final = 0xB701
"""The request that asks a namespace for the user namespace that owns it."""
_USERS, _NETWORK = 0x10000000, 0x40000000
_WAITING: Final = 128
_MAX_TEXT: Final = 200


class Doorkeeper:
    """Our side: starts the helper with the first command that may reach something."""

    def __init__(self) -> None:
        self._helper: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._lock = threading.Lock()

    def listen_in(self, pid: int, port: int) -> socket.socket:
        """A socket that listens at 127.0.0.1 in the network of a process. Blocks for a moment: not for the event loop.

        Raises:
            OSError: There is none to be had, or the process has no network of its own.
        """
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(network).st_ino == os.stat("/proc/self/ns/net").st_ino:
                raise OSError("the command has no network of its own")
            users = fcntl.ioctl(network, _OWNER_OF)
            try:
                with self._lock:
                    return self._ask(users, network, port)
            finally:
                os.close(users)
        finally:
            os.close(network)

    def _ask(self, users: int, network: int, port: int) -> socket.socket:
        for _ in range(2):  # one that was killed a moment ago still seems to run
            line = self._get_line()
            try:
                socket.send_fds(line, [port.to_bytes(2, "big")], [users, network])
                said, handles, _, _ = socket.recv_fds(line, _MAX_TEXT, 1)
            except ConnectionError:
                self._end()
                continue
            except OSError:
                self._end()  # whatever it says later must not count for another command
                raise
            if handles:
                return socket.socket(fileno=handles[0])
            if said:
                raise OSError(said.decode("utf-8", "replace"))
            self._end()
        raise OSError("the helper for networks has ended")

    def _get_line(self) -> socket.socket:
        if self._line is None or self._helper is None or self._helper.poll() is not None:
            self._end()
            self._start()
        assert self._line is not None
        return self._line

    def _start(self) -> None:
        import subprocess  # noqa: PLC0415 - the helper's own process loads this file too, and must stay small

        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(_ANSWER_S)
        place = os.path.abspath(__file__)
        code = (
            "import importlib.util as u, sys; s = u.spec_from_file_location('door', sys.argv[1]); "
            "m = u.module_from_spec(s); s.loader.exec_module(m); m.serve()"
        )
        try:
            self._helper = subprocess.Popen(
                # -I and -S: nothing of the user's Python set-up runs, and it starts in half the time.
                [sys.executable, "-I", "-S", "-c", code, place],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            theirs.close()

    def close(self) -> None:
        """End the helper."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._helper is not None:
            self._helper.kill()
            self._helper.wait(_ANSWER_S)
            self._helper = None


def serve() -> None:
    """The helper's own program: a socket for each pair of namespaces that comes, until nobody asks any more."""
    import signal  # noqa: PLC0415 - only the helper needs it

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = socket.socket(fileno=os.dup(0))
    while True:
        asked, control, _, _ = line.recvmsg(2, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        if not asked:
            return
        handles = array.array("i")
        for _, _, data in control:
            handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
        child = os.fork()
        if child == 0:
            _enter_and_listen(line, handles, int.from_bytes(asked, "big"))
        for handle in handles:
            os.close(handle)
        os.waitpid(child, 0)


def _enter_and_listen(line: socket.socket, handles: "array.array[int]", port: int) -> None:
    try:
        users, network = handles
        _enter(users, _USERS)
        _enter(network, _NETWORK)
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.bind(("", port))  # nothing but the loopback is there, and it may not have its address yet
        made.listen(_WAITING)
        socket.send_fds(line, [b"+"], [made.fileno()])
    except (OSError, ValueError) as problem:
        line.send(str(problem).encode()[:_MAX_TEXT] or b"?")
    finally:
        os._exit(0)


def _enter(handle: int, kind: int) -> None:
    import ctypes  # noqa: PLC0415 - before Python 3.12 nothing else has this call; only the helper needs it

    if ctypes.CDLL(None, use_errno=True).setns(handle, kind) < 0:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))
