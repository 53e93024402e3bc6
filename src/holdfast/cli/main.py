"""The command line: the usual ones at once, all others by the command-line library, and how any of them ends."""

import logging
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial

from holdfast.cli.standard_streams import let_go_of_output, make_printable
from holdfast.contract.errors import HoldfastError
from holdfast.lib.shortage import shortage

__all__ = ["run"]


def run(arguments: list[str] | None = None, *, before_words: Callable[[], None] = lambda: None) -> int:
    """Run the command line and return its exit code. `before_words` is called before an error is told.

    0 ok, 1 failed, 2 wrong use, 130 interrupted, 141 nobody reads the output any more.
    """
    make_printable(sys.stdout, sys.stderr)
    try:
        return _answer(sys.argv[1:] if arguments is None else arguments, before_words)
    except BrokenPipeError:
        let_go_of_output()
        return 141
    except Exception as error:
        lacks = shortage(error)
        if lacks is None:
            raise
        return _give_up(lacks, error)


def _answer(words: list[str], before_words: Callable[[], None]) -> int:
    try:
        return _do(words, before_words)
    except HoldfastError as error:
        _say(str(error))
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        return _explain(error)


def _do(words: list[str], before_words: Callable[[], None]) -> int:
    act = _usual(words)
    if act is None:
        from holdfast.cli.group import run_group  # noqa: PLC0415 - not for the usual ones

        return run_group(words, before_words)
    try:
        _begin_log()
        return act()
    except (EOFError, KeyboardInterrupt):
        _write("")
        return 130
    finally:
        before_words()


def _usual(words: list[str]) -> Callable[[], int] | None:
    """What a usual command line asks for; None where the command-line library has to read it."""
    first = words[0] if words else "-"
    if first == "--help" or not (first == "exec" or first.startswith("-")):
        return None
    from holdfast.cli.plain_words import read_exec, read_prompt  # noqa: PLC0415 - not for the others

    if (lines := read_exec(words)) is not None:
        from holdfast.cli.exec_session import run_exec  # noqa: PLC0415 - only here

        return partial(run_exec, lines)
    if (prompt := read_prompt(words)) is not None:
        from holdfast.cli.prompt import answer_prompt  # noqa: PLC0415 - only here

        return partial(answer_prompt, prompt)
    return None


def _begin_log() -> None:
    from holdfast.session.log import configure_logging  # noqa: PLC0415 - `--help` needs no log
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - see above

    configure_logging(debug=False, directory=user_directories().state)


def _explain(error: OSError) -> int:
    """The machine said no where no command knows a better word for it."""
    logging.getLogger(__name__).debug("the system refused", exc_info=error)
    try:
        os.getcwd()
    except FileNotFoundError:
        _say("the current directory is gone; go to one that exists and try again")
        return 2
    lacks = shortage(error)
    if lacks is not None:
        return _give_up(lacks, error)
    _say(f"{error}; `holdfast doctor` checks what is needed, `--debug` shows where it happened")
    return 1


def _give_up(lacks: str, error: Exception) -> int:
    """The machine ran out of something at a place that nobody foresaw: one line instead of many."""
    logging.getLogger(__name__).debug("a system limit was reached", exc_info=error)
    warnings.simplefilter("ignore", RuntimeWarning)  # what never began is not worth a word now
    sys.unraisablehook = lambda _unraisable: None  # nor is what cannot be taken down in order
    _say(lacks)
    return 1


def _say(text: str) -> None:
    from holdfast.lib.visible import without_controls  # noqa: PLC0415 - only for an error

    _write(f"holdfast: {without_controls(text)}")


def _write(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
