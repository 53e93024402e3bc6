"""Put a command behind the wall: just before it starts, with what is on disk then."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.host.command import Command, StartError
from holdfast.host.sandbox.blanks import Blanks
from holdfast.host.sandbox.bubblewrap import arguments
from holdfast.host.sandbox.landlock import grants_for, rights_of
from holdfast.host.sandbox.mounts import Plan, plan_mounts
from holdfast.host.sandbox.named import is_below
from holdfast.host.sandbox.placeholders import Placeholders
from holdfast.host.sandbox.policy import Policy
from holdfast.host.sandbox.probe import Found
from holdfast.host.sandbox.seccomp import filter_program
from holdfast.host.sandbox.starter import Starter, starter_handle, starting

if TYPE_CHECKING:
    from holdfast.host.sandbox.door import Doorkeeper
    from holdfast.host.sandbox.way import Way

__all__ = ["Entered", "Wall"]


class Entered:
    """One command on its way in: its arguments, what it holds, and what happens when all of it is gone."""

    def __init__(self, command: Command, handles: list[int], leave: Callable[[], None], way: "Way | None") -> None:
        self.command = command
        """What is really started."""
        self._handles = handles
        self._leave = leave
        self._way = way

    def started(self) -> None:
        """It has its own copies of the handles now."""
        while self._handles:
            os.close(self._handles.pop())

    async def opened(self) -> None:
        """Give it its way to the network, if it has one, and let it begin.

        Raises:
            StartError: It cannot have it.
        """
        if self._way is not None:
            await self._way.open()

    def left(self) -> None:
        """Nothing of it runs any more, or nothing came of it."""
        self.started()
        if self._way is not None:
            self._way.close()
        leave, self._leave = self._leave, _nothing
        leave()


class Wall:
    """The sandbox of one session. `wrap` is cheap; the work is done when the command starts."""

    def __init__(self, found: Found, *, placeholders: Placeholders | None = None) -> None:
        self._found = found
        self._placeholders = placeholders or Placeholders()
        self._blanks: Blanks | None = None
        self._doorkeeper: Doorkeeper | None = None

    def wrap(self, command: Command, policy: Policy) -> Command:
        """The same command behind the wall."""
        return msgspec.structs.replace(command, wall=_Inward(self, policy))

    def enter(self, command: Command, policy: Policy) -> Entered:
        """Make ready what the command needs.

        Raises:
            StartError: The wall cannot be built.
        """
        held: tuple[str, ...] = ()
        handles: list[int] = []
        way: Way | None = None
        try:
            plan = plan_mounts(policy)
            held = self._placeholders.hold(plan.placeholders, plan.perhaps, files=plan.files)
            way = self._way(policy, handles)
            argv = [*self._arguments(command, policy, plan, handles, way), "--"]
            argv += self._inside(command, policy, plan, handles)
        except OSError as problem:
            self._give_up(held, handles)
            if way is not None:
                way.close()
            raise StartError(f"The sandbox cannot be built: {problem}. Nothing was run.") from problem
        env = dict(command.env)
        if policy.temporary is not None:
            env.update(TMPDIR=policy.temporary, TMP=policy.temporary, TEMP=policy.temporary)
        if way is not None:
            env.update(way.variables(env))
        wrapped = msgspec.structs.replace(
            command, argv=argv, env=env, pass_fds=(*command.pass_fds, *handles), wall=None
        )
        return Entered(wrapped, handles, lambda: self._placeholders.release(held), way)

    def _way(self, policy: Policy, handles: list[int]) -> "Way | None":
        if policy.border is None:
            return None
        from holdfast.host.sandbox.door import Doorkeeper  # noqa: PLC0415 - only where something may be reached
        from holdfast.host.sandbox.way import Way  # noqa: PLC0415 - the same

        if self._doorkeeper is None:
            self._doorkeeper = Doorkeeper()
        return Way(policy.border, self._doorkeeper, handles)

    def _arguments(
        self, command: Command, policy: Policy, plan: Plan, handles: list[int], way: "Way | None"
    ) -> list[str | bytes]:
        found = self._found
        cwd = command.cwd or os.getcwd()
        made = arguments(
            policy,
            plan,
            self._get_blanks(),
            cwd=cwd,
            disables_users=found.disables_users,
            opened=self._opener(handles) if found.binds_handles else None,
        )
        program = filter_program(unix=bool(policy.sockets) or policy.all_sockets, internet=True)
        if way is not None:
            made += way.arguments
        filter_handle = _readable(program, handles)
        given = "\0".join([*made, "--seccomp", str(filter_handle), ""]).encode("utf-8", "surrogateescape")
        return [found.program, "--args", str(_readable(given, handles))]

    def _inside(self, command: Command, policy: Policy, plan: Plan, handles: list[int]) -> Sequence[str | bytes]:
        """What bubblewrap starts: the command, by way of the second wall where there is one."""
        version = self._found.landlock
        if not version or not _is_there(command):
            return command.argv  # bubblewrap says best what is not there
        rights = rights_of(version, sockets=policy.all_sockets)
        writable = [mount.path for mount in plan.mounts if mount.kind == "writable"]
        inner = [path for path in writable if not any(is_below(path, other) for other in writable)]
        starter = Starter(rights, grants_for(rights, inner, also=("/proc",)))
        return starting(starter_handle(starter, handles), command.argv)

    def _give_up(self, held: tuple[str, ...], handles: list[int]) -> None:
        self._placeholders.release(held)
        for handle in handles:
            os.close(handle)

    def _opener(self, handles: list[int]) -> Callable[[str], int]:
        blanks = self._get_blanks()

        def opened(path: str) -> int:
            handle = blanks.opened(path) if path in blanks else _opened(path)
            handles.append(handle)
            return handle

        return opened

    def _get_blanks(self) -> Blanks:
        if self._blanks is None:
            self._blanks = self._placeholders.make_blanks()
        return self._blanks

    def close(self) -> None:
        """Remove what was made for the session."""
        if self._blanks is not None:
            self._blanks.remove()
            self._blanks = None
        self.rest()

    def rest(self) -> None:
        """End what waits for further commands; it starts again with the next."""
        if self._doorkeeper is not None:
            self._doorkeeper.close()
            self._doorkeeper = None


class _Inward(msgspec.Struct, frozen=True):
    """A wall and the policy of one command."""

    wall: Wall
    policy: Policy

    def enter(self, command: Command) -> Entered:
        return self.wall.enter(command, self.policy)


def _is_there(command: Command) -> bool:
    """Whether a program that is named by its path can be started; others are looked for inside."""
    program = os.fsdecode(command.argv[0])
    return "/" not in program or os.access(os.path.join(command.cwd or "", program), os.X_OK)


def _opened(path: str) -> int:
    """A handle for what is to be mounted, and never for what a link leads to that came in between."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.readlink(f"/proc/self/fd/{handle}") != path:
        os.close(handle)
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
