"""Keep an eye on how many processes there are, and end the job that makes too many."""

import time
from collections.abc import Callable

MAX_DESCENDANTS = 512

TICK_S = 0.25
_GROWTH_TASKS = 128
_SHORTEST_LOOK_S = 1.0
_LONGEST_LOOK_S = 5.0


class Pressure:
    """Tells cheaply when it is worth looking at the whole process table.

    The kernel counts all tasks for the load average; one read of it costs microseconds. A real look is due when that
    count jumped, and now and then anyway, because other programs' ends can hide a jump.
    """

    def __init__(self, read_tasks: Callable[[], int] | None = None) -> None:
        self._read_tasks = read_tasks or count_tasks
        self._tasks = self._read_tasks()
        self._looked_at = time.monotonic()
        self._interval_s = _SHORTEST_LOOK_S

    def should_look(self) -> bool:
        """Whether a look is due now; the caller then looks."""
        tasks = self._read_tasks()
        now = time.monotonic()
        has_jumped = tasks - self._tasks > _GROWTH_TASKS
        if not has_jumped and now - self._looked_at < self._interval_s:
            self._tasks = min(self._tasks, tasks)
            return False
        self._tasks = tasks
        self._looked_at = now
        self._interval_s = min(self._interval_s * 2, _LONGEST_LOOK_S)
        return True

    def look_soon(self) -> None:
        """Something changed: the pauses between looks become short again."""
        self._interval_s = _SHORTEST_LOOK_S


def count_tasks() -> int:
    """All tasks of the machine; 0 where that is not told."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].split("/")[1])
    except (OSError, ValueError, IndexError):
        return 0
