"""Shared by the tests of MCP: a hub around one scene, and an executor with its tools."""

import asyncio
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.mcp.config import parse_server
from holdfast.mcp.hub import Hub, HubChoices
from holdfast.mcp.records import Records, record_key
from holdfast.settings.mcp_servers import ServerEntry

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in a loop of its own, with a limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), 90))
    return True


class Kit:
    """What the tests of MCP need."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.scene = SCENE
        self.notices: list[str] = []
        self._executors: list[Executor] = []

    def entry(self, scene: str, *more: str, name: str = "scene", **config: Any) -> ServerEntry:
        """A server that plays a scene."""
        return ServerEntry(name, {"command": sys.executable, "args": [SCENE, scene, *more], **config}, "user")

    def hub(self, *entries: ServerEntry, **choices: Any) -> AbstractAsyncContextManager[Hub]:
        """A hub around these servers, closed at the end."""

        @asynccontextmanager
        async def opened() -> AsyncGenerator[Hub]:
            servers = [(parse_server(entry), record_key(entry, str(self.place))) for entry in entries]
            options = HubChoices(cwd=str(self.place), root=str(self.place), **choices)
            hub = Hub(servers, options, Records(str(self.place / "records")), on_notice=self.notices.append)
            try:
                yield hub
            finally:
                while self._executors:
                    await self._executors.pop().close()
                await asyncio.wait_for(hub.close(), 30)

        return opened()

    async def connected(self, hub: Hub) -> Executor:
        """An executor with the tools of all servers, once they are connected."""
        for server in hub.servers.values():
            await asyncio.wait_for(server.ensure(), 30)
        executor = Executor(hub.tools(), permission_mode="bypassPermissions", resources=())
        self._executors.append(executor)
        return executor

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what sends no word of its own."""
        while not condition():  # noqa: ASYNC110 - it is looked at from outside
            await asyncio.sleep(0.005)

    async def call(self, executor: Executor, name: str, arguments: dict[str, Any] | None = None) -> CallFinished:
        """One call, with a limit on everything."""
        executor.add({"type": "tool_use", "id": "1", "name": name, "input": arguments or {}})
        async with asyncio.timeout(60):
            replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
        executor.end_turn()
        assert len(replies) == 1
        return replies[0]


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)
