"""What `async with` means for everything that is closed: its end closes it."""

from typing import Self


class ClosedAtExit:
    """Leaving the block closes; what is raised in it goes on."""

    __slots__ = ()

    async def close(self) -> None:
        """End it, in whatever way that is."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
