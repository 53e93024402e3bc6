"""What a server asks while calls wait for it: no call's time runs meanwhile, and no moot question stays."""

import asyncio
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

__all__ = ["ASKS_PEOPLE", "Questions"]

ASKS_PEOPLE = frozenset({"elicitation/create", "sampling/createMessage"})


class _Open(NamedTuple):
    task: "asyncio.Task[None]"
    calls: frozenset[int]
    """Our requests that waited when it came: one of them wants it."""


class Questions:
    """Those of one connection that are not answered yet."""

    def __init__(self) -> None:
        self._open: dict[object, _Open] = {}
        self._people = 0
        """Questions to a person."""
        self._stopped = ExitStack()

    def began(self, key: object, task: "asyncio.Task[None]", calls: Iterable[int]) -> None:
        """The server has asked; `key` is its number for it."""
        asked = self._open[key] = _Open(task, frozenset(calls))

        def ended(_: object) -> None:
            if self._open.get(key) is asked:
                del self._open[key]

        task.add_done_callback(ended)

    def taken_back(self, key: object) -> None:
        """The server does not want to know any more, and hears nothing of it."""
        found = self._open.get(key) if isinstance(key, str | int | float) else None
        if found is not None:
            found.task.cancel()

    def moot(self, call: int, waiting: Collection[int]) -> list[object]:
        """A call was cancelled: what only it can have wanted ends; returns the questions that are to be refused."""
        ended = [
            key
            for key, asked in self._open.items()
            if call in asked.calls and not any(one in waiting for one in asked.calls - {call})
        ]
        for key in ended:
            self._open[key].task.cancel()
        return ended

    @contextmanager
    def to_person(self, clocks: Callable[[], Iterable[AbstractContextManager[None]]]) -> Generator[None]:
        """A person is asked; the time of all that waits stands still until nobody is."""
        self._people += 1
        if self._people == 1:
            for clock in clocks():
                self._stopped.enter_context(clock)
        try:
            yield
        finally:
            self._people -= 1
            if not self._people:
                self._stopped.close()
