"""Make room."""

from holdfast.agent.state import LoopState
from holdfast.events import ContextCompacted

__all__ = ["Compactor"]


class Compactor:
    """Shortens the history of one loop."""

    def __init__(self, state: LoopState) -> None:
        self._state = state

    async def before_request(self) -> None:
        """Shorten the history when the next request would fill too much of the window."""

    async def make_room(self) -> bool:
        """The model found the history too long."""
        return False

    async def compact(self, instructions: str = "") -> ContextCompacted | None:
        """Shorten now."""
        del instructions
        return None
