"""Put a command behind the wall: just before it starts, with what is on disk then."""

import os
from collections.abc import Callable

import msgspec

from holdfast.host.command import Command, StartError
from holdfast.host.sandbox.bubblewrap import Blanks, arguments
from holdfast.host.sandbox.mounts import Plan, plan_mounts
from holdfast.host.sandbox.placeholders import Placeholders
from holdfast.host.sandbox.policy import Policy
from holdfast.host.sandbox.probe import Found
from holdfast.host.sandbox.seccomp import filter_program

__all__ = ["Entered", "Wall"]


class Entered:
    """One command on its way in: its arguments, what it holds, and what happens when all of it is gone."""

    def __init__(self, command: Command, handles: list[int], leave: Callable[[], None]) -> None:
        self.command = command
        """What is really started."""
        self._handles = handles
        self._leave = leave

    def started(self) -> None:
        """It has its own copies of the handles now."""
        while self._handles:
            os.close(self._handles.pop())

    def left(self) -> None:
        """Nothing of it runs any more, or nothing came of it."""
        self.started()
        leave, self._leave = self._leave, _nothing
        leave()


class Wall:
    """The sandbox of one session. `wrap` is cheap; the work is done when the command starts."""

    def __init__(self, found: Found, *, placeholders: Placeholders | None = None) -> None:
        self._found = found
        self._placeholders = placeholders or Placeholders()
        self._blanks: Blanks | None = None

    def wrap(self, command: Command, policy: Policy) -> Command:
        """The same command behind the wall."""
        return msgspec.structs.replace(command, wall=_Way(self, policy))

    def enter(self, command: Command, policy: Policy) -> Entered:
        """Make ready what the command needs.

        Raises:
            StartError: The wall cannot be built.
        """
        held: tuple[str, ...] = ()
        handles: list[int] = []
        try:
            plan = plan_mounts(policy)
            held = self._placeholders.hold(plan.placeholders, plan.perhaps)
            argv = self._arguments(command, policy, plan, handles)
        except OSError as problem:
            self._give_up(held, handles)
            raise StartError(f"The sandbox cannot be built: {problem}. Nothing was run.") from problem
        env = dict(command.env)
        if policy.temporary is not None:
            env.update(TMPDIR=policy.temporary, TMP=policy.temporary, TEMP=policy.temporary)
        wrapped = msgspec.structs.replace(
            command, argv=[*argv, "--", *command.argv], env=env, pass_fds=(*command.pass_fds, *handles), wall=None
        )
        return Entered(wrapped, handles, lambda: self._placeholders.release(held))

    def _arguments(self, command: Command, policy: Policy, plan: Plan, handles: list[int]) -> list[str]:
        found = self._found
        cwd = command.cwd or os.getcwd()
        made = arguments(
            policy,
            plan,
            self._get_blanks(),
            cwd=cwd,
            disables_users=found.disables_users,
            opened=(lambda path: _opened(path, handles)) if found.binds_handles else None,
        )
        program = filter_program(
            unix=bool(policy.sockets) or policy.all_sockets, users=found.disables_users, internet=True
        )
        filter_handle = _readable(program, handles)
        given = "\0".join([*made, "--seccomp", str(filter_handle), ""]).encode("utf-8", "surrogateescape")
        return [found.program, "--args", str(_readable(given, handles))]

    def _give_up(self, held: tuple[str, ...], handles: list[int]) -> None:
        self._placeholders.release(held)
        for handle in handles:
            os.close(handle)

    def _get_blanks(self) -> Blanks:
        if self._blanks is None:
            self._blanks = Blanks()
        return self._blanks

    def close(self) -> None:
        """Remove what was made for the session."""
        if self._blanks is not None:
            self._blanks.remove()
            self._blanks = None


class _Way(msgspec.Struct, frozen=True):
    """A wall and the policy of one command."""

    wall: Wall
    policy: Policy

    def enter(self, command: Command) -> Entered:
        return self.wall.enter(command, self.policy)


def _opened(path: str, handles: list[int]) -> int:
    """A handle for what is to be mounted, and never for what a link leads to that came in between."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    handles.append(handle)
    if os.readlink(f"/proc/self/fd/{handle}") != path:
        raise OSError(f"{path!r} is no longer where it was")
    return handle


def _readable(data: bytes, handles: list[int]) -> int:
    handle = os.memfd_create("holdfast", os.MFD_CLOEXEC)
    handles.append(handle)
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _nothing() -> None:
    pass
