"""What standard input, output and error can and cannot do: other encodings, readers that went away, and bounds."""

import codecs
import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer as ReadableBuffer

__all__ = ["let_go_of_output", "let_nothing_stop_the_work", "make_printable", "read_argument"]

_LIMIT_BYTES = 64 << 20
_PLAIN = {
    "✓": "+",
    "✗": "x",
    "●": "*",
    "⎿": "`",
    "│": "|",
    "─": "-",
    "█": "#",
    "→": "->",
    "…": "...",
}


class _Forgiving(io.FileIO):
    """Takes everything, also where it cannot be written: what is said to people must not decide about the work."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes


def let_nothing_stop_the_work() -> None:
    """From here on a full disk or a reader that went away behind standard error is no error."""
    stream = sys.stderr
    below: object = getattr(stream, "buffer", None)
    if isinstance(stream, io.TextIOWrapper) and type(below) in (io.BufferedWriter, io.FileIO):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
        encoding, errors = stream.encoding, stream.errors
        raw = _Forgiving(2, "wb", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=True, write_through=True
        )


def make_printable(*streams: TextIO | None) -> None:
    """Let these streams take every text: what their encoding lacks is written in plain letters or spelled out."""
    codecs.register_error("holdfast-plain", _in_plain_letters)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="holdfast-plain")


def _in_plain_letters(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    plain = _PLAIN.get(error.object[error.start])
    if plain is not None:
        return plain, error.start + 1
    one = UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, error.reason)
    return codecs.backslashreplace_errors(one)


def let_go_of_output() -> None:
    """Nobody reads any more: what is still to be written goes nowhere, and the interpreter's end is quiet."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def read_argument(given: str) -> str:
    """An argument of the command line; `-` stands for what comes in by standard input.

    Raises:
        UsageError: There is too much of it, it cannot be read, or it is not UTF-8.
    """
    if given != "-":
        return given
    try:
        data = sys.stdin.buffer.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror}") from error
    if len(data) > _LIMIT_BYTES:
        raise UsageError(f"standard input holds more than {_LIMIT_BYTES:,} bytes; an argument cannot be so large")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8: {error.reason} at byte {error.start:,}") from error
