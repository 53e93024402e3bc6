"""The watcher of a library user, where no guard can stand: a tiny process that waits for our death.

It shares the record of what runs. When we are gone it ends all of it by session, by tree and by environment mark. It
cannot see one thing: a process that cleared its environment, left its session and was left by its parent.
"""

import contextlib
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
    """Our side: starts the watcher with the first process, and again should somebody have killed it."""

    def __init__(self, registry_fd: int) -> None:
        self._registry_fd = registry_fd
        self._pipe = -1
        self._owner_pid = os.getpid()
        self._watcher: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        """Make sure that somebody watches."""
        if self.has_ended() and self._owner_pid == os.getpid():  # a fork of us owns nothing
            self.close()
            self._start()

    @property
    def has_begun(self) -> bool:
        """Whether it was ever started."""
        return self._watcher is not None

    def has_ended(self) -> bool:
        """Whether its process is gone, or was never needed."""
        return self._watcher is None or self._watcher.poll() is not None

    def close(self) -> None:
        """Let it end whatever is still there, and itself."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def leave(self) -> None:
        """Wait for it no longer: a thread of nobody's collects it whenever it ends, so that none is left over."""
        if self._watcher is None or self.has_ended():
            return
        import threading  # noqa: PLC0415 - the watcher's own process loads this file too, and must stay small

        with contextlib.suppress(RuntimeError):  # no thread may start any more: then our own end collects it
            threading.Thread(target=self._watcher.wait, name="holdfast-sidecar", daemon=True).start()

    def _start(self) -> None:
        import subprocess  # noqa: PLC0415 - the watcher's own process loads this file too, and must stay small

        listen, self._pipe = os.pipe()
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        code = f"import sys; sys.path.insert(0, {root!r}); from holdfast.host.sidecar import serve; serve()"
        try:
            self._watcher = subprocess.Popen(
                # -I and -S: nothing of the user's Python set-up runs, and it starts in half the time.
                [sys.executable, "-I", "-S", "-c", code, str(os.getpid())],
                stdin=listen,
                stdout=self._registry_fd,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(listen)


def serve() -> None:
    """The watcher's own program: wait until the pipe on stdin ends or the owner does, then end what is recorded."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    _wait_for_the_end(int(sys.argv[1]))
    record = registry.read_record(1)
    if record is None:
        return

    def find() -> list[tree.Entry]:
        return registry.leftovers(tree.scan(), record, counts_leaderless=True)

    for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=lambda: None):
        time.sleep(pause_s)
    if not tree.has_process_table():
        for pid in record.running:
            tree.send_group(pid, signal.SIGKILL)


def _wait_for_the_end(owner_pid: int) -> None:
    # A fork of the owner may hold the pipe open, so the owner itself is watched too.
    poller = select.poll()
    poller.register(0, select.POLLIN)
    if hasattr(os, "pidfd_open"):
        try:
            poller.register(os.pidfd_open(owner_pid), select.POLLIN)
        except OSError:  # gone already
            return
    poller.poll()
