"""A wall without bubblewrap: Landlock and the filter of system calls, where no user namespaces can be had.

It keeps a command from writing elsewhere and from any network. What it cannot do is said wherever it is used: nothing
is hidden, what governs the agent can be changed where the command may write, and other processes are seen.
"""

import os

import msgspec

from holdfast.host.command import Command, StartError
from holdfast.host.sandbox.landlock import grants_for, rights_of
from holdfast.host.sandbox.mounts import writable_roots
from holdfast.host.sandbox.policy import Policy
from holdfast.host.sandbox.seccomp import filter_program
from holdfast.host.sandbox.starter import Starter, starter_handle, starting
from holdfast.host.sandbox.wall import Entered

__all__ = ["LoneWall"]


class LoneWall:
    """The weaker wall of one session."""

    def __init__(self, version: int, *, only_files: bool = False) -> None:
        """Take the version of Landlock.

        Args:
            version: Of `look_for_landlock`.
            only_files: Nothing but writing is held back: for commands that only read by their words.
        """
        self._version = version
        self._only_files = only_files

    def wrap(self, command: Command, policy: Policy) -> Command:
        """The same command behind the wall."""
        return msgspec.structs.replace(command, wall=_Inward(self, policy))

    def enter(self, command: Command, policy: Policy) -> Entered:
        """Make ready what the command needs.

        Raises:
            StartError: The wall cannot be built.
        """
        handles: list[int] = []
        try:
            handle = starter_handle(self._starter(policy), handles)
        except OSError as problem:
            for one in handles:
                os.close(one)
            raise StartError(f"The sandbox cannot be built: {problem}. Nothing was run.") from problem
        env = dict(command.env)
        if policy.temporary is not None:
            env.update(TMPDIR=policy.temporary, TMP=policy.temporary, TEMP=policy.temporary)
        wrapped = msgspec.structs.replace(
            command,
            argv=starting(handle, command.argv),
            env=env,
            pass_fds=(*command.pass_fds, *handles),
            wall=None,
        )
        return Entered(wrapped, handles, _nothing, None)

    def _starter(self, policy: Policy) -> Starter:
        if self._only_files:
            rights = rights_of(self._version, sockets=True)
            # Signals are another matter than files.
            rights = rights._replace(scopes=0)
            return Starter(rights, grants_for(rights, writable_roots(policy), also=("/proc",)), is_alone=True)
        rights = rights_of(self._version, network=True)
        program = filter_program(unix=False, internet=False)
        return Starter(
            rights, grants_for(rights, writable_roots(policy)), program, is_alone=True, drops_capabilities=True
        )

    def close(self) -> None:
        """Nothing was made for the session."""

    def rest(self) -> None:
        """Nothing waits for further commands."""


class _Inward(msgspec.Struct, frozen=True):
    """A wall and the policy of one command."""

    wall: LoneWall
    policy: Policy

    def enter(self, command: Command) -> Entered:
        return self.wall.enter(command, self.policy)


def _nothing() -> None:
    pass
