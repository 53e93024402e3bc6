"""The command line's front door: answers `--version` before anything is loaded."""

import os
import sys

TYPE_CHECKING = False  # `typing` would cost more than the answer to `--version`
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run the command line."""
    try:
        _start()
    except KeyboardInterrupt:  # so early that nobody else could take it
        sys.exit(130)
    except (OSError, MemoryError, ImportError) as error:
        _explain(error)


def _explain(error: OSError | MemoryError | ImportError) -> None:
    """Say in one line what the machine lacks, even where hardly anything can be loaded any more."""
    try:
        from holdfast.lib.shortage import shortage  # noqa: PLC0415 - only for this answer

        lacks = shortage(error)
    except (OSError, MemoryError, ImportError):
        lacks = "the machine lacks memory or files to start; raise the limits (`ulimit -n`, `ulimit -v`)"
    if lacks is None:
        raise error
    from contextlib import suppress  # noqa: PLC0415 - only for this answer

    with suppress(OSError):
        os.write(2, f"holdfast: {lacks}\n".encode("utf-8", "backslashreplace"))
    sys.exit(1)


def _start() -> None:
    _hold_standard_streams()
    if sys.argv[1:] in (["--version"], ["-V"], ["-v"]):
        from holdfast import __version__  # noqa: PLC0415 - nothing else is needed for this answer

        try:
            os.write(1, f"holdfast {__version__}\n".encode())
        except OSError:  # nobody reads it
            sys.exit(141)
        return
    from holdfast.host.guard import run_guarded  # noqa: PLC0415 - the fast path above must not pay for it

    _end(run_guarded(_run))


def _hold_standard_streams() -> None:
    """Keep 0, 1 and 2 for what they are, also when they came closed: a journal or a connection must not take them.

    Nothing comes in, what is said to people is lost, and output still fails as it does without a reader.
    """
    for number, stream, flags in (
        (0, sys.stdin, os.O_RDONLY),
        (1, sys.stdout, os.O_RDONLY),
        (2, sys.stderr, os.O_RDWR),
    ):
        if stream is None:  # the interpreter found it closed
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open as long as we do
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above


def _end(code: int) -> None:
    """End the process as the interpreter would, in its order, but without taking every object apart first.

    That takes as long as a tenth of a whole run, while the answer is on the screen already and the user waits.
    """
    import atexit  # noqa: PLC0415 - not for the fast path
    import threading  # noqa: PLC0415 - loaded already

    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 - the interpreter's own step; logs are closed and leftovers removed in it
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # nobody reads it, or it is closed
            code = code or 1
    os._exit(code)


def _run() -> int:
    # Loaded behind the guard, whose memory stays small.
    from holdfast.lib.collector import hold_off  # noqa: PLC0415
    from holdfast.lib.plugins import leave_out_plugins  # noqa: PLC0415

    hold_off()
    leave_out_plugins()
    from holdfast.cli.standard_streams import let_nothing_stop_the_work  # noqa: PLC0415

    let_nothing_stop_the_work()
    if os.isatty(0) and os.isatty(1):
        return _run_at_terminal()
    return _answer()


def _run_at_terminal() -> int:
    """The same, behind a prompt that stands there before anything is loaded."""
    from holdfast.tui import early  # noqa: PLC0415 - only here

    early.begin(sys.argv[1:])
    try:
        return _answer(early.put_away)
    finally:
        early.put_away()


def _answer(before_words: "Callable[[], None]" = lambda: None) -> int:
    if sys.argv[1:] == ["acp"]:  # an editor waits for the first answer; there is nothing to parse
        from holdfast.acp.start import run_for_editor  # noqa: PLC0415

        return run_for_editor()
    from holdfast.cli.main import run  # noqa: PLC0415

    return run(before_words=before_words)


if __name__ == "__main__":
    main()
