"""What standard input, output and error can and cannot do: other encodings, readers that went away, and bounds."""

import codecs
import io
import os
import sys
from typing import TextIO

from holdfast.contract.errors import UsageError

__all__ = ["let_go_of_output", "make_printable", "read_argument"]

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
