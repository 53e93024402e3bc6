"""Shell tasks: what the end of a background command means."""

import signal
from collections.abc import Callable

from holdfast.host.command import Exit, Stopped
from holdfast.tasks.states import TaskStatus

__all__ = ["ExitMeaning", "no_meaning", "outcome", "signal_name"]

ExitMeaning = Callable[[int], str | None]
"""What an exit code says when it is no failure, such as 1 of `grep`."""

_FROM_OUTSIDE = frozenset(getattr(signal, name, None) for name in ("SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"))


def no_meaning(code: int) -> str | None:
    """Every exit code but zero is a failure."""
    del code
    return None


def outcome(ended: Exit, meaning: ExitMeaning, *, was_stopped: bool) -> tuple[TaskStatus, int | None, str | None]:
    """The state, the exit code and the reason of a command that ended."""
    if ended.stopped_by is Stopped.WATCHDOG:
        return "failed", ended.code, "it started too many processes and was ended"
    if was_stopped or ended.was_killed:
        return "killed", None, None
    if ended.signal is not None:
        reason = f"ended by {signal_name(ended.signal)}"
        return ("killed" if ended.signal in _FROM_OUTSIDE else "failed"), None, reason
    code = ended.shell_code
    return ("completed" if code == 0 or meaning(code) is not None else "failed"), code, None


def signal_name(number: int) -> str:
    """A signal as people know it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
