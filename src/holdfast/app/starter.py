"""Who starts agents: the session's own loop, or an agent that may."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.engine import Executor
from holdfast.permissions import PermissionContext

if TYPE_CHECKING:
    from holdfast.agent import Loop

__all__ = ["Starter"]


class Starter:
    """Who starts agents: the session's own loop, or an agent that may."""

    def __init__(self, executor: Executor, loop: "Loop", *, agent_id: str | None = None, depth: int = 0) -> None:
        self.executor = executor
        self.loop = loop
        self.agent_id = agent_id
        self.depth = depth
        self.chain_id = ""
        """Of an agent: the prompt at the beginning of its chain."""
        self.types: tuple[str, ...] | None = None
        """The types that it may start; none: all."""
        self.renew: Callable[[], None] | None = None
        """Brings its own rights up to date with those above it."""

    @property
    def rights(self) -> PermissionContext:
        """What it may now."""
        if self.renew is not None:
            self.renew()
        return self.executor.state.permissions
