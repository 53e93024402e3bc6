"""The sandbox as the shell tools see it: who makes a session says what it is."""

from typing import Protocol

from holdfast.contract import ToolContext
from holdfast.contract.roles import Resource
from holdfast.host.command import Command

__all__ = ["ShellWall"]


class ShellWall(Resource, Protocol):
    """Decides which commands are confined, and confines them."""

    @property
    def is_on(self) -> bool:
        """Whether there is a sandbox to be in or to leave."""
        ...

    def confines(self, command: str, ctx: ToolContext, *, leaves: bool) -> bool:
        """Whether a command runs in the sandbox; `leaves`: the call asks to run outside."""
        ...

    def holds_files(self, ctx: ToolContext) -> bool:
        """Whether every rule about files is a mask of the next command: none could be meant that it does not hold."""
        ...

    def refuses_to_leave(self) -> str:
        """Why no call may leave the sandbox; empty when one may."""
        ...

    def wrap(self, command: Command, ctx: ToolContext) -> Command:
        """The same process in the sandbox.

        Raises:
            ToolFailed: There is no sandbox here although one was asked for.
        """
        ...

    def without_writes(self, command: Command, ctx: ToolContext) -> Command:
        """Where no sandbox is asked for, in plan mode: the same process, unable to write if that can be held."""
        ...

    def outside(self, *, leaves: bool) -> str:
        """What is told about a command that runs outside.

        Raises:
            ToolFailed: Nothing may run outside here.
        """
        ...

    @property
    def has_doubt(self) -> bool:
        """A command made something that other programs obey: none runs unasked until a person was asked."""
        ...

    def answered(self) -> None:
        """A person was asked since, and let a command run."""
        ...

    def notices(self, command: str, errors: str, *, failed: bool) -> list[str]:
        """What is to be told about a confined command that ended: what it made, and what it was kept from."""
        ...
