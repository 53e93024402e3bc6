"""What to start, and how it ended: the plain records that go in and out of the process room."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from holdfast.host.capture import Output

KEPT_BYTES = 128 << 10
SPILL_CAP_BYTES = 64 << 20
KILL_GRACE_S = 1.0


class StartError(OSError):
    """A process could not be started; the text says which one, why, and what to do."""


class Stopped(StrEnum):
    """Who ended a process before it ended by itself."""

    NOBODY = ""
    TIMEOUT = "timeout"
    CALLER = "caller"
    WATCHDOG = "watchdog"


class Stdin(StrEnum):
    """Where a process reads from when it is not given bytes."""

    NOTHING = "nothing"
    """End of file at once: whoever asks for input gets none and goes on or fails."""
    PIPE = "pipe"
    """We write, through `Process.write`: for servers."""


class Entering(Protocol):
    """A command on its way behind a wall."""

    command: "Command"

    def started(self) -> None:
        """It runs."""
        ...

    async def opened(self) -> None:
        """Give it its way to the network, if it has one, and let it begin.

        Raises:
            StartError: It cannot have it.
        """
        ...

    def left(self) -> None:
        """Nothing of it runs any more."""
        ...


class WayIn(Protocol):
    """What puts a command behind a wall when it starts."""

    def enter(self, command: "Command") -> Entering:
        """Build the wall.

        Raises:
            StartError: It cannot be built.
        """
        ...


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One process to start. Always an argument list, never text for a shell."""

    argv: Sequence[str | bytes]
    cwd: str | None = None
    env: Mapping[str, str | None] = msgspec.field(default_factory=dict[str, str | None])
    """Added to the environment of children; None takes a variable away."""
    inherits_env: bool = True
    """False: the process sees only `env` and our marks, as servers with a clean environment do."""
    stdin: bytes | Stdin = Stdin.NOTHING
    merge_stderr: bool = False
    """Both streams in one, in the order they were written."""
    streams_stdout: bool = False
    """Read stdout by `Process.read` or `Process.lines` as it comes instead of capturing it."""
    pass_fds: Sequence[int] = ()
    spill_path: str | Callable[[], str | None] | None = None
    """Where the full text goes once it is more than what is kept in memory; who names the place is asked then, once."""
    cap_bytes: int = SPILL_CAP_BYTES
    """How much of the full text goes to `spill_path`; the rest is drained and counted."""
    kept_bytes: int = KEPT_BYTES
    """How much of each end of each stream stays in memory."""
    timeout_s: float | None = None
    """The tree is ended after this time, whatever its pipes do."""
    kill_grace_s: float = KILL_GRACE_S
    """Time between the polite signal and the last one."""
    drain_grace_s: float = 0.1
    """How long output may still come after the process has ended while somebody else holds its pipe."""
    label: str = ""
    """For people: task lists, `doctor`."""
    wall: WayIn | None = None
    """The sandbox that it runs in, from `Wall.wrap`."""


class Exit(msgspec.Struct, frozen=True):
    """How a process ended."""

    code: int | None
    """The exit code, or None when a signal ended it."""
    signal: int | None
    stopped_by: Stopped
    duration_s: float

    @property
    def shell_code(self) -> int:
        """One number as a shell shows it: the code, or 128 plus the signal."""
        return self.code if self.code is not None else 128 + (self.signal or 0)

    @property
    def timed_out(self) -> bool:
        """Whether the deadline ended it."""
        return self.stopped_by is Stopped.TIMEOUT

    @property
    def was_killed(self) -> bool:
        """Whether we ended it, for any reason."""
        return self.stopped_by is not Stopped.NOBODY


class Finished(msgspec.Struct, frozen=True):
    """A process that ran to its end, with what it wrote."""

    exit: Exit
    output: "Output"


class Progress(msgspec.Struct, frozen=True):
    """What a running process has done so far."""

    total_bytes: int
    line_count: int
    elapsed_s: float
    recent: str
    """The last lines."""
