"""Start a program in a session of its own, by the call that `subprocess.Popen` makes, without what it does around it.

`Popen` prepares the environment anew for each start and builds an object that nobody here needs. Where that call is
not known to be the same (another Python, another implementation), `Popen` itself is used.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

UNKNOWN_CODE = 255
"""How a process ended whose end somebody else has collected."""

_ERROR_LIMIT_BYTES = 50_000
# The private call below has one signature in all of these.
_KNOWN = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 14)


def _find_fork_exec() -> Callable[..., int] | None:
    try:
        import _posixsubprocess  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    return cast("Callable[..., int]", _posixsubprocess.fork_exec) if _KNOWN else None


_fork_exec = _find_fork_exec()
_USES_VFORK: bool = getattr(subprocess, "_USE_VFORK", True)


class Environment:
    """What a process sees, ready for the kernel."""

    __slots__ = ("_found", "_places", "entries")

    def __init__(self, variables: dict[bytes, bytes]) -> None:
        """Encode the variables.

        Raises:
            ValueError: A name is empty or holds an equals sign.
        """
        for name in variables:
            if not name or b"=" in name:
                raise ValueError(f"illegal environment variable name {os.fsdecode(name)!r}")
        self.entries = [b"%b=%b" % entry for entry in variables.items()]
        path = variables.get(b"PATH", os.fsencode(os.defpath))
        self._places = path.split(os.fsencode(os.pathsep))
        self._found: tuple[str | bytes, tuple[bytes, ...]] = (b"", ())

    def find(self, program: str | bytes) -> tuple[bytes, ...]:
        """Where the program may be, first place first; the last answer is kept, most starts are of one program."""
        known, places = self._found
        if known is not program:
            name = os.fsencode(program)
            places = (name,) if b"/" in name else tuple([os.path.join(place, name) for place in self._places])
            self._found = (program, places)
        return places


def spawn(
    argv: Sequence[str | bytes],
    environment: Environment,
    own_entry: bytes,
    *,
    streams: tuple[int, int, int],
    errors: tuple[int, int] | None = None,
    cwd: str | None = None,
    pass_fds: Sequence[int] = (),
) -> int:
    """Start a program and return its pid; it has been loaded when this returns.

    Args:
        argv: The program and its arguments.
        environment: What it sees.
        own_entry: One more variable, as `NAME=value`.
        streams: Handles that become its input, output and error output.
        errors: A pipe for what keeps it from being loaded; it is closed here.
        cwd: Where it starts.
        pass_fds: Handles that it gets besides its streams.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable holds a NUL byte.
    """
    problems, tell = errors or os.pipe()
    try:
        # Low numbers are what the child's own streams become; only who has closed them gets pipes there.
        if _fork_exec is None or min(problems, tell, *streams) <= 2:
            return _by_popen(argv, environment, own_entry, streams=streams, cwd=cwd, pass_fds=pass_fds)
        try:
            pid = _start(_fork_exec, argv, environment, own_entry, (problems, tell), streams, cwd, pass_fds)
        finally:
            os.close(tell)
            tell = -1
        # The other end closes by itself when the program is loaded, so nothing to read is good news.
        report = os.read(problems, _ERROR_LIMIT_BYTES)
    finally:
        os.close(problems)
        if tell >= 0:
            os.close(tell)
    if report:
        os.waitpid(pid, 0)
        raise _error(report, argv[0], cwd)
    return pid


def _start(
    fork_exec: Callable[..., int],
    argv: Sequence[str | bytes],
    environment: Environment,
    own_entry: bytes,
    errors: tuple[int, int],
    streams: tuple[int, int, int],
    cwd: str | None,
    pass_fds: Sequence[int],
) -> int:
    program = argv[0]
    sys.audit("subprocess.Popen", program, argv, cwd, None)
    stdin, stdout, stderr = streams
    problems, tell = errors
    return fork_exec(
        argv,
        environment.find(program),
        True,  # noqa: FBT003 - closes what is not passed
        tuple(sorted((*pass_fds, tell))) if pass_fds else (tell,),
        cwd,
        [*environment.entries, own_entry],
        stdin,
        -1,
        -1,
        stdout,
        -1,
        stderr,
        problems,
        tell,
        True,  # noqa: FBT003 - signals that Python ignores get their default again
        True,  # noqa: FBT003 - a session of its own
        -1,  # no process group but the session's
        None,
        None,
        None,
        -1,
        None,
        _USES_VFORK,
    )


def _error(report: bytes, program: str | bytes, cwd: str | None) -> Exception:
    """What the child said before it gave up: the name of an error, its number in hexadecimal, where it happened."""
    kind, number, place = report.split(b":", 2)
    if kind != b"OSError" or not number:
        return subprocess.SubprocessError(f"{kind.decode()}: {place.decode()}")
    code = int(number, 16)
    what: Any = cwd if place == b"noexec:chdir" else program
    return OSError(code, os.strerror(code), what)


def _by_popen(
    argv: Sequence[str | bytes],
    environment: Environment,
    own_entry: bytes,
    *,
    streams: tuple[int, int, int],
    cwd: str | None,
    pass_fds: Sequence[int],
) -> int:
    variables = dict(entry.split(b"=", 1) for entry in (*environment.entries, own_entry))
    stdin, stdout, stderr = streams
    popen = subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=cast("dict[str, str]", variables),  # bytes are as good, and need no encoding
        start_new_session=True,
        pass_fds=tuple(pass_fds),
    )
    popen.returncode = 0  # we wait for it by its pid; the object must not
    return popen.pid


def collect(pid: int) -> int:
    """Wait for the end of a child: its exit code, or its signal as a negative number."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return UNKNOWN_CODE
