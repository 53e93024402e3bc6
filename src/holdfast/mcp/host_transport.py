"""A server inside the program that started us: each message travels as one question to that program."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from holdfast.mcp.session import Session
from holdfast.mcp.wire import McpError

__all__ = ["AskHost", "HostTransport"]

AskHost = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Hands one message to a server of the host by its name; returns what the server answers, if anything."""


class HostTransport:
    """Carries messages to one server of the host."""

    def __init__(self, session: Session, name: str, ask: AskHost) -> None:
        self._session = session
        self._name = name
        self._ask = ask
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._telling: set[asyncio.Task[None]] = set()

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Hand one message over; its answer is taken when it comes."""
        del method, params
        task = asyncio.get_running_loop().create_task(self._carry(msgspec.json.decode(message), key))
        if key is None:
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)
        else:
            self._asking[key] = task
            task.add_done_callback(partial(self._over, key))

    def _over(self, key: int, task: "asyncio.Task[None]") -> None:
        self._asking.pop(key, None)
        self._session.ended(key, task)

    def abandon(self, key: int) -> bool:
        """The server must be told by a message; what it still answers is not waited for."""
        task = self._asking.get(key)
        if task is not None:
            task.cancel()
        return False

    async def close(self) -> None:
        """Wait for nothing any more."""
        tasks = [*self._asking.values(), *self._telling]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _carry(self, message: Mapping[str, Any], key: int | None) -> None:
        try:
            answer = await self._ask(self._name, message)
        except McpError as error:
            if key is not None:
                self._session.fail(key, str(error), error)
            return
        if key is not None and answer is not None:
            self._session.take(msgspec.json.encode({"jsonrpc": "2.0", **answer}))
