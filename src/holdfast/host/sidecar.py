"""The watcher of a library user, where no guard can stand: a tiny process at the other end of a pipe.

It is told which processes run. When the pipe ends, we are dead, and it ends them by session, by tree and by environment
mark. It cannot see one thing: a process that cleared its environment, left its session and was left by its parent.
"""

import os
import select
import signal
import sys
import time

from holdfast.host import registry, tree

TYPE_CHECKING = False  # `typing` would double the watcher's size
if TYPE_CHECKING:
    import subprocess

_GIVE_UP_S = 5.0


class Sidecar:
    """Our end of the pipe. Starts its process with the first note, and again should somebody have killed it."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._pipe = -1
        self._running: dict[int, int] = {}
        self._owner_pid = os.getpid()
        self._watcher: subprocess.Popen[bytes] | None = None

    def started(self, pid: int, start_ticks: int) -> None:
        """A process runs now."""
        self._running[pid] = start_ticks
        self._tell(f"+ {pid} {start_ticks}\n")

    def ended(self, pid: int) -> None:
        """A process and its tree are gone."""
        if self._running.pop(pid, None) is not None:
            self._tell(f"- {pid}\n")

    def close(self) -> None:
        """Let it end whatever is still there, and itself."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def has_ended(self) -> bool:
        """Whether its process is gone, or was never needed."""
        return self._watcher is None or self._watcher.poll() is not None

    def _tell(self, line: str) -> None:
        if self._owner_pid != os.getpid():
            return  # a fork of us owns nothing
        if self._pipe < 0:
            self._start()
            return
        try:
            os.write(self._pipe, line.encode())
        except BlockingIOError:
            pass  # somebody stopped it; it still knows everyone by the mark
        except BrokenPipeError:
            self.close()
            self.has_ended()
            self._start()

    def _start(self) -> None:
        if not self._running:
            return
        import subprocess  # noqa: PLC0415 - the watcher's own process loads this file too, and must stay small

        listen, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        code = f"import sys; sys.path.insert(0, {root!r}); from holdfast.host.sidecar import serve; serve()"
        try:
            self._watcher = subprocess.Popen(
                # -I and -S: nothing of the user's Python set-up runs, and it starts in half the time.
                [sys.executable, "-I", "-S", "-c", code, self._mark, str(os.getpid())],
                stdin=listen,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(listen)
        lines = "".join(f"+ {pid} {ticks}\n" for pid, ticks in self._running.items())
        os.write(self._pipe, lines.encode())


def serve() -> None:
    """The watcher's own program: read notes from stdin until they end, then end what they name."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    mark, owner_pid = sys.argv[1], int(sys.argv[2])
    owner = tree.read_entry(owner_pid)
    since_ticks = owner.start_ticks if owner else 0
    running = _listen(owner_pid)
    assignment = f"{tree.SESSION_MARK}={mark}".encode()

    def find() -> list[tree.Entry]:
        return registry.leftovers(tree.scan(), running, assignment, since_ticks=since_ticks, counts_leaderless=True)

    for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=lambda: None):
        time.sleep(pause_s)
    if not tree.has_process_table():
        for pid in running:
            tree.send_group(pid, signal.SIGKILL)


def _listen(owner_pid: int) -> dict[int, int]:
    """Follow the notes until the owner is gone. A fork of the owner may hold the pipe, so the owner is watched too."""
    running: dict[int, int] = {}
    os.set_blocking(0, False)
    poller = select.poll()
    poller.register(0, select.POLLIN)
    owner = -1
    if hasattr(os, "pidfd_open"):
        try:
            owner = os.pidfd_open(owner_pid)
        except OSError:  # gone already
            return _notes(running, b"")[0]
        poller.register(owner, select.POLLIN)
    rest = b""
    while True:
        is_owner_gone = any(fd == owner for fd, _ in poller.poll())
        running, rest, has_ended = _notes(running, rest)
        if is_owner_gone or has_ended:
            return running


def _notes(running: dict[int, int], rest: bytes) -> tuple[dict[int, int], bytes, bool]:
    """Take every note that is in the pipe; the last value says whether the pipe has ended."""
    while True:
        try:
            data = os.read(0, 1 << 16)
        except BlockingIOError:
            return running, rest, False
        if not data:
            return running, rest, True
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            parts = line.split()
            if parts[0] == b"+":
                running[int(parts[1])] = int(parts[2])
            else:
                running.pop(int(parts[1]), None)
