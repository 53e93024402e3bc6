"""Two processes that watch each other, so that nothing we started outlives us, however we die.

`run_guarded` forks before anything heavy is imported. The parent keeps the pid the shell knows and stays as the guard:
it passes signals down and the exit status up. The child is the program. Both are subreapers: a descendant that left its
session, its group and its environment still becomes a child of one of them. When one dies, the other kills everything.

This file imports nothing heavy and must stay so: the guard's memory is what is loaded before the fork.
"""

import os
import sys

from holdfast.host import tree

TYPE_CHECKING = False  # `typing` would cost the guard a megabyte
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

    Prctl = Callable[[int, int], int]
else:
    # The C half of `signal`: the other makes enums, and loads with them a fifth of what the guard would hold.
    import _signal as signal

_GIVE_UP_S = 10.0

# Options of the prctl system call.
_PR_SET_PDEATHSIG = 1
_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

# The terminal sends these to the whole foreground group, so the program has its own copy already.
_FROM_KERNEL = 0x80

DEBUGGER = "HOLDFAST_DEBUGGER"
"""Set to anything, a debugger of the same user may look into the program, and so may every command."""

_guard_pid: int | None = None
_is_closing = False


class Guarantee:
    """One promise about processes, whether it holds on this machine, and what is missing where it does not."""

    __slots__ = ("holds", "missing", "name")

    def __init__(self, name: str, missing: str = "") -> None:
        self.name = name
        self.missing = missing
        self.holds = not missing

    def __repr__(self) -> str:
        return f"Guarantee({self.name!r}, {'holds' if self.holds else self.missing!r})"


def is_guarded() -> bool:
    """Whether this process is the program under a living guard."""
    return _guard_pid is not None and os.getppid() == _guard_pid


def is_closing() -> bool:
    """Whether the guard died and everything is being ended: nothing may be started any more."""
    return _is_closing


def guarantees() -> list[Guarantee]:
    """What this machine lets us promise about processes, for `holdfast doctor`."""
    from holdfast.host import cgroup  # noqa: PLC0415 - not for the guard itself

    has_table = tree.has_process_table()
    table = "" if has_table else "there is no /proc, so only process groups are ended"
    reaper = "" if has_table and _find_prctl() else "no child subreaper here: a daemon that leaves its group can stay"
    unguarded = "" if is_guarded() else "no guard: a sidecar ends what it knows by session, tree and mark"
    handles = "" if hasattr(os, "pidfd_open") else "no pidfd: a thread waits for each process"
    closed = "" if _is_closed_to_others() else f"commands can read the keys of Holdfast in /proc; is {DEBUGGER} set?"
    keys = (
        [] if os.geteuid() == 0 else [Guarantee("commands cannot read the keys of Holdfast", closed)]
    )  # root reads everything
    return [
        Guarantee("every descendant is found", table),
        Guarantee("orphaned processes are adopted by Holdfast", reaper),
        Guarantee("the guard is running", reaper or unguarded),
        Guarantee("the kernel reports exits", handles),
        *keys,
        Guarantee("the kernel caps the number of tasks", "" if cgroup.can_limit() else "only the watchdog counts"),
    ]


def run_guarded(program: "Callable[[], int]") -> int:
    """Run the program under a guard and return its exit code; the guard's side never returns.

    Where the system has no subreaper or no /proc the program runs directly, and `guarantees` says so.
    """
    prctl = _find_prctl()
    if prctl is not None and not os.environ.get(DEBUGGER):
        # Commands run as the same user: they may read neither the keys in our environment nor our memory.
        prctl(_PR_SET_DUMPABLE, 0)
    if prctl is None or not tree.has_process_table():
        return program()
    every, found = signal.valid_signals(), _found_terminal()
    # A launcher may have left SIGCHLD ignored; the kernel would then drop exit statuses.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, every)
    guard = os.getpid()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = os.fork()
    except OSError:  # no process left for a guard: the program matters more
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return program()
    if child:
        _stand_guard(prctl, child, found)
    _become_program(prctl, guard)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return program()


def _found_terminal() -> "list[Any] | None":
    """How the terminal is set, if this program reads from it and writes to it."""
    if not (os.isatty(0) and os.isatty(1)):
        return None
    from holdfast.host.terminal import as_it_is  # noqa: PLC0415 - only at a terminal

    return as_it_is()


def _find_prctl() -> "Prctl | None":
    if not sys.platform.startswith("linux"):
        return None
    try:
        # The C half of `ctypes`: a tenth of the cost of the whole, and this is on the path of every start.
        import _ctypes  # noqa: PLC0415 - loaded only where it is used

        # None is this program itself; the stub does not know it.
        handle = _ctypes.dlopen(None, os.RTLD_NOW)  # pyright: ignore[reportArgumentType]
        address = _ctypes.dlsym(handle, "prctl")
    except (ImportError, AttributeError, OSError):
        return None

    def prctl(option: int, value: int) -> int:
        return int(_ctypes.call_cdeclfunction(address, (option, value, 0, 0, 0)))

    return prctl


def _is_closed_to_others() -> bool:
    prctl = _find_prctl()
    return prctl is not None and prctl(_PR_GET_DUMPABLE, 0) != 1


# -- the program's side


def _become_program(prctl: "Prctl", guard: int) -> None:
    global _guard_pid  # noqa: PLW0603 - a fact about this process, as its pid is
    _guard_pid = guard
    signal.signal(_guard_death_signal(), _guard_died)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # not under nohup
        signal.signal(signal.SIGHUP, _hung_up)
    signal.signal(signal.SIGCONT, _continued)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_PDEATHSIG, _guard_death_signal())
    if os.getppid() != guard:  # it died before the kernel knew that we want to be told
        os._exit(1)


def _guard_death_signal() -> int:
    return int(signal.SIGRTMAX) - 1


def _guard_died(_signal_number: int, _frame: "FrameType | None") -> None:
    global _is_closing  # noqa: PLW0603 - a fact about this process
    if _guard_pid is None or os.getppid() == _guard_pid:
        return  # somebody else sent it
    _is_closing = True
    tree.end_all_descendants(give_up_s=_GIVE_UP_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _hung_up(signal_number: int, frame: "FrameType | None") -> None:
    # The kernel sends SIGHUP to a stopped group that its guard's death has orphaned, and it comes before the death
    # signal: dying at once would leave the descendants. With the guard alive this is the default action.
    _guard_died(signal_number, frame)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGHUP)


def _continued(_signal_number: int, _frame: "FrameType | None") -> None:
    # Whoever continues only the program must not leave a stopped guard behind.
    if is_guarded():
        os.kill(os.getppid(), signal.SIGCONT)


# -- the guard's side


def _stand_guard(prctl: "Prctl", child: int, found: "list[Any] | None") -> "NoReturn":
    _let_go_of_files()
    # The guard holds the same environment as the program; nobody of this user may read it there, and it dumps no core.
    prctl(_PR_SET_DUMPABLE, 0)
    every = signal.valid_signals()
    status: int | None = None
    while status is None:
        info = signal.sigwaitinfo(every)
        if info.si_signo == signal.SIGCHLD:
            status = _collect(child)
        elif _is_news(info, child):
            tree.send_by_number(child, info.si_signo)
    if status < 0 and found is not None:
        from holdfast.host.terminal import give_back  # noqa: PLC0415 - loaded before the fork

        give_back(found)
    tree.end_all_descendants(give_up_s=_GIVE_UP_S)
    _end_like(status)


def _let_go_of_files() -> None:
    """Close every inherited file: a pipe must break, and end, exactly when the program lets go of it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(3, 1 + max(int(name) for name in os.listdir("/proc/self/fd")))


def _is_news(info: "signal.struct_siginfo", child: int) -> bool:
    """Whether the program does not have this signal yet."""
    if info.si_code == _FROM_KERNEL:
        # The terminal told the whole group. Only a hang-up goes to the session leader alone.
        return info.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid()
    return info.si_pid != child


def _collect(child: int) -> int | None:
    """Reap what has ended; the program's status once it has one, as `Popen.returncode` would show it."""
    status: int | None = None
    while True:
        try:
            change = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG)
        except ChildProcessError:
            return status
        if change is None:
            return status
        if change.si_pid != child:
            continue
        if change.si_code == os.CLD_EXITED:
            status = change.si_status
        elif change.si_code == os.CLD_STOPPED:
            _stop_together(child)
        else:
            status = -change.si_status


def _stop_together(child: int) -> None:
    """Stop with the program, so that the shell sees a stopped job; continued, continue it too."""
    entry = tree.read_entry(child)
    if entry is None or not entry.is_stopped:
        return  # continued in the meantime
    os.kill(os.getpid(), signal.SIGSTOP)
    tree.send_by_number(child, signal.SIGCONT)


def _end_like(status: int) -> "NoReturn":
    if status < 0:
        number = -status
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
        status = 128 + number  # only a signal whose default is to be ignored gets here
    os._exit(status)
