"""Which process belongs to which job: by its root, its session, its mark, its parents, and what was seen before."""

import os
from collections.abc import Callable, Mapping

from holdfast.host import tree

_JOB_PREFIX = tree.JOB_MARK.encode() + b"="


class Census:
    """Assigns the rows of the process table to jobs, and remembers: a process that hides later stays known."""

    def __init__(self, mark: str) -> None:
        self._mark = b"\0" + _JOB_PREFIX + mark.encode() + b"."
        self._known: dict[tuple[int, int], int] = {}
        self._unmarked: set[tuple[int, int]] = set()
        me = tree.read_entry(os.getpid())
        self._since_ticks = me.start_ticks if me else 0

    def take(self, roots: Mapping[int, int], table: tree.Table | None = None) -> dict[int, list[tree.Entry]]:
        """Members of each job, roots included.

        Args:
            roots: The first process of each job, by job number.
            table: A scan, when there is a fresh one.
        """
        table = tree.scan() if table is None else table
        job_of_session = {pid: job for job, pid in roots.items()}
        assigned: dict[int, int] = {}
        for entry in table.values():
            job = self._own_sign(entry, job_of_session)
            if job is not None:
                assigned[entry.pid] = job
        self._inherit(table, assigned)
        self._remember(table, assigned)
        members: dict[int, list[tree.Entry]] = {job: [] for job in roots}
        for pid, job in assigned.items():
            if job in members:
                members[job].append(table[pid])
        return members

    def finder(self, job: int, root_pid: int) -> Callable[[], list[tree.Entry]]:
        """A function that looks for the members of one job."""
        return lambda: self.take({job: root_pid})[job]

    def recognise(self, pid: int, job_of_session: Mapping[int, int]) -> bool:
        """Look at one process while it is there to be seen: later it may be a zombie, and those show no mark.

        Returns:
            Whether it is clear now whose it is; a process that is just becoming another program does not show.
        """
        entry = tree.read_entry(pid)
        if entry is None:
            return True
        key = (entry.pid, entry.start_ticks)
        if (job := self._own_sign(entry, job_of_session)) is not None:
            self._known[key] = job
            return True
        return key in self._unmarked or not entry.is_running or entry.start_ticks < self._since_ticks

    def is_known(self, entry: tree.Entry) -> bool:
        """Whether this process was seen to belong to a job."""
        return (entry.pid, entry.start_ticks) in self._known

    def _own_sign(self, entry: tree.Entry, job_of_session: Mapping[int, int]) -> int | None:
        key = (entry.pid, entry.start_ticks)
        if (job := self._known.get(key)) is not None:
            return job
        if entry.start_ticks < self._since_ticks:
            return None
        if (job := job_of_session.get(entry.session)) is not None:
            return job
        return self._read_mark(key)

    def _read_mark(self, key: tuple[int, int]) -> int | None:
        if key in self._unmarked:
            return None
        try:
            with open(f"/proc/{key[0]}/environ", "rb") as file:
                text = b"\0" + file.read()
        except OSError:
            return None
        found = text.find(self._mark)
        if found < 0:
            # Empty is also what a process shows for the moment in which it becomes another program.
            if len(text) > 1:
                self._unmarked.add(key)
            return None
        start = found + len(self._mark)
        digits = text[start : text.find(b"\0", start)]
        return int(digits) if digits.isdigit() else None

    @staticmethod
    def _inherit(table: tree.Table, assigned: dict[int, int]) -> None:
        children = tree.children_of(table)
        waiting = list(assigned)
        while waiting:
            pid = waiting.pop()
            for child in children.get(pid, ()):
                if child.pid not in assigned:
                    assigned[child.pid] = assigned[pid]
                    waiting.append(child.pid)

    def _remember(self, table: tree.Table, assigned: Mapping[int, int]) -> None:
        self._known = {(pid, table[pid].start_ticks): job for pid, job in assigned.items()}
        self._unmarked &= {(entry.pid, entry.start_ticks) for entry in table.values()}
