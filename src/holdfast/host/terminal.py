"""The terminal as it was found, given back by the guard when the program was killed before it could do that itself.

This file is loaded before the fork and imports nothing heavy.
"""

import os

TYPE_CHECKING = False  # `typing` would cost the guard a megabyte
if TYPE_CHECKING:
    from typing import Any

__all__ = ["as_it_is", "give_back"]

_MODES = 4
"""So many of a terminal's attributes say how it reads and writes; behind them stand speeds and keys."""
_SEQUENCES = b"\x1b[?2026l\x1b7\x1b[?1049l\x1b[0m\x1b[?25h\x1b[?2004l\r\x1b[J"
"""Shows what was held back, leaves the other screen (the cursor is kept where there is none), draws the cursor, takes
pastes as keys, and clears the lines that lived."""


def as_it_is() -> "list[Any] | None":
    """How the terminal on our input is set."""
    import termios  # noqa: PLC0415 - not everywhere, and only at a terminal

    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def give_back(found: "list[Any]") -> None:
    """Set the terminal as it was, if the program has left it set for a screen of its own."""
    import termios  # noqa: PLC0415 - loaded before

    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:  # it is gone
        return
    try:
        if os.tcgetpgrp(handle) == os.getpgrp() and termios.tcgetattr(handle)[:_MODES] != found[:_MODES]:
            termios.tcsetattr(handle, termios.TCSANOW, found)
            os.write(handle, _SEQUENCES)
    except (OSError, termios.error):
        return
    finally:
        os.close(handle)
